"""The page of whole runs says what was measured, and is read back by the check."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import bench_whole

    yield bench_whole
    sys.modules.pop("bench_whole", None)


def test_what_is_written_is_read_back(bench):
    costs = {
        name: bench.Cost(10.0 * number, 5.25 * number, 1_234.5, 0.1, "start 60%, attack 40%")
        for number, (name, _) in enumerate(bench.works(None), 1)
    }
    rows = {name: bench.line(name, cost) for name, cost in costs.items()}
    again = bench.read_lines(bench.page(rows, rows))
    assert again == rows
    assert [bench.units_of(row) for row in again.values()] == [round(cost.units, 1) for cost in costs.values()]
    assert len(list(bench.growth(rows))) == sum(len(sizes) - 1 for *_, sizes in bench.METHODS.values())


def test_every_work_is_a_scenario(bench, tmp_path):
    from decloak.scenario.document import load

    for number, (_, text) in enumerate(bench.works(None)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text)
        assert load(path).cases


def test_names_that_a_measured_process_imports_exist(bench):
    names = {}
    exec("\n".join(line for line in bench.RUN.splitlines() if line.startswith(("import ", "from "))), names)
    assert {"configure_process", "run", "family_named", "Progress"} <= names.keys()


def test_shares_name_the_stages_that_matter(bench):
    assert bench.shares({"start": 1.0, "attack": 8.0, "measurement": 0.9, "run": 0.1}) == (
        "attack 80%, start 10%, measurement 9%"
    )
