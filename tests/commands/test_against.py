"""A run is compared with an earlier one: no figure of exposure or loss may be worse."""

import json
import shutil
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import write_example
from decloak.cli import _code
from decloak.figures import Direction
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.run import Measure
from decloak.report.compare.runs import not_worse

WORST = [key for key, metric in metrics_by_key().items() if metric.direction in (Direction.EXPOSES, Direction.LOSES)]
FREE = sorted(set(metrics_by_key()) - set(WORST))


def measure(name, value, of=None, attack="rba", variant="base", knows="nothing"):
    return Measure(variant, attack, name, value, None, None, 1, None, of, knows)


@pytest.fixture(scope="module")
def figures(tmp_path_factory) -> str:
    """The figures of the worked example."""
    folder = write_example(tmp_path_factory.mktemp("figures") / "example")
    path = folder / "earlier.jsonl"
    assert _code(["run", str(folder / "scenario.yaml"), "--store", str(folder / "s.db"), "--figures", str(path)]) == 0
    return path.read_text()


@pytest.fixture
def earlier(example, example_run, figures):
    """The figures of the worked example, which a test may change, beside a store that has them."""
    shutil.copy(example_run, example / "s.db")
    path = example / "earlier.jsonl"
    path.write_text(figures)

    def written(**changes):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line |= changes.get(f"{line['measure']}_of_{line['attack']}", {})
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    return written


def test_an_equal_run_is_not_worse(example, call, earlier):
    done = call("run", example / "scenario.yaml", "--store", example / "s.db", "--against", earlier())
    assert done.code == 0
    assert "no figure is worse" in done.err.splitlines()[-1]
    assert "(tolerance 0)" in done.err.splitlines()[-1]
    assert call("run", example / "scenario.yaml", "--store", example / "s.db", "--against", "last").code == 0


def test_worse_figures_are_listed_the_worst_first_and_fail_the_run(example, call, earlier):
    path = earlier(precision_of_rba={"value": 0.7}, recall_of_gba={"value": 0.1}, recall_of_rba={"value": 1.0})
    asked = ("run", example / "scenario.yaml", "--store", example / "s.db", "--against", path)
    done = call(*asked, "--junit", example / "j.xml", "--json")
    assert done.code == 3
    lines = [line for line in done.err.splitlines() if line.startswith("WORSE")]
    assert lines == [
        "WORSE: recall (gba): 50.0%, was 10.0%",
        "WORSE: precision (rba): 100.0%, was 70.0%",
    ]
    assert [entry["measure"] for entry in json.loads(done.out)["worse"]] == ["recall", "precision"]
    (case,) = ElementTree.parse(example / "j.xml").getroot()
    assert case[0].get("message") == "; ".join(lines)
    tolerant = call(*asked, "--tolerance", "0.35").err
    assert tolerant.count("WORSE") == 1
    assert "1 line is worse (tolerance 0.35)" in " ".join(tolerant.split())
    assert call(*asked, "--tolerance", "0.4").code == 0


def test_a_figure_that_is_no_longer_measured_is_worse(example, call, earlier):
    path = earlier()
    done = call("run", example / "scenario.yaml", "--store", example / "s.db", "--set", "attack=[mda, gba]",
                "--against", path)  # fmt: skip
    assert done.code == 3
    lines = [line.partition(":")[2] for line in done.err.splitlines() if line.startswith("WORSE")]
    assert [line.partition(":")[0] for line in lines[:3]] == [
        " all figures (tba)",
        " all figures (wba)",
        " all figures (rba)",
    ]
    assert "no value, was " in lines[0]


MISTAKES = {
    "no file": ("missing.jsonl", "", "missing.jsonl: no such file"),
    "no run": ("nothing", None, "no run 'nothing'; `decloak runs` lists the runs"),
    "no figure": ("f.jsonl", '{"a": 1}\n', "f.jsonl:1: not a figure of a run; use a file that"),
    "no number": ("f.jsonl", json.dumps(measure("precision", "many")._asdict()), "f.jsonl:1: not a figure of a run"),
    "no finite number": ("f.jsonl", json.dumps(measure("precision", float("inf"))._asdict()), "f.jsonl:1: not a "),
    "an old name": ("f.jsonl", json.dumps(measure("struck", 1)._asdict()), "f.jsonl:1: no figure 'struck'; use a "),
    "nothing to compare": ("f.jsonl", json.dumps(measure("seconds", 1)._asdict()), "the earlier run has no figure"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_a_remedy(example, call, earlier, monkeypatch, name):
    file, content, said = MISTAKES[name]
    earlier()
    monkeypatch.chdir(example)
    if content:
        (example / file).write_text(content)
    done = call("run", "scenario.yaml", "--store", "s.db", "--brief", "--against", file)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if line.startswith("decloak: ")]
    assert line.removeprefix("decloak: ").startswith(said)


def test_people_are_compared_as_shares_and_other_counts_by_their_growth():
    people = measure("singled_out_2", 10, 100), measure("singled_out_2", 30, 200)
    (line,) = not_worse(people[:1], people[1:]).worse
    assert line.change == pytest.approx(0.05)
    assert line.text == "WORSE: singled out with up to 2 items (rba): 30 of 200, was 10 of 100"
    assert not not_worse(people[:1], [measure("singled_out_2", 15, 200)]).worse
    (line,) = not_worse([measure("suppressed", 10)], [measure("suppressed", 40)]).worse
    assert line.change == pytest.approx(0.75)


def test_a_figure_of_the_release_alone_is_one_line_for_all_attacks():
    first, second = ([measure("ncp", value, attack=name) for name in "abcde"] for value in (0.1, 0.2))
    (line,) = not_worse(first, second).worse
    assert line.text == "WORSE: NCP (a, b, c and 2 more): 20.0%, was 10.0%"


def test_negative_controls_and_variants_that_did_not_run_do_not_count():
    kept = [measure("precision", 0.2)]
    control = measure("precision", 0.1, attack="rba_control", knows="control")
    other = measure("precision", 0.1, variant="k=5")
    assert not not_worse([*kept, control], kept).worse
    assert [line.variant for line in not_worse([*kept, other], kept).worse] == ["k=5"]
    assert not not_worse([*kept, other], kept, some=True).worse


@given(
    st.lists(st.tuples(st.sampled_from([*WORST, *FREE]), st.floats(0, 1), st.floats(0, 1)), min_size=1,
             unique_by=lambda one: one[0]),
    st.sampled_from([0.0, 0.01, 0.5]),
)  # fmt: skip
def test_all_that_grew_by_more_than_the_tolerance_is_listed_and_nothing_else(values, tolerance):
    values = [("precision", 0.5, 0.5), *(one for one in values if one[0] != "precision")]
    first, second = ([measure(one[0], one[number]) for one in values] for number in (1, 2))
    ways = {key for key, metric in metrics_by_key().items() if metric.way in ("", "_release")}
    grown = set()
    for name, before, after in values:
        scale = 1 if metrics_by_key()[name].unit == "share" else max(before, after) or 1
        if name in WORST and name in ways and (after - before) / scale > tolerance + 1e-9:
            grown.add(name)
    found = not_worse(first, second, tolerance).worse
    assert {line.measure for line in found} == grown
    exposing = [metrics_by_key()[line.measure].direction is Direction.EXPOSES for line in found]
    assert exposing == sorted(exposing, reverse=True)
