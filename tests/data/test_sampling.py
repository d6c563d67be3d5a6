"""A part of the data: lines at random, or lines and items of a density; constraints in a file; keys of every entry."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.dataset import Dataset
from decloak.data.generators.clinic import generate
from decloak.data.sampling import draw_sample
from decloak.errors import DecloakError

CLINIC = generate(2000, 7)


def held(data: Dataset) -> dict[str, tuple[str, ...]]:
    return dict(zip(data.labels, data.transactions, strict=True))


@settings(max_examples=60)
@given(st.lists(st.sets(st.sampled_from("abcdef")), min_size=1, max_size=20), st.data())
def test_lines_drawn_at_random_are_lines_of_the_data_as_they_were(rows, draw):
    data = Dataset.of(rows)
    lines, seed = draw.draw(st.integers(1, len(rows))), draw.draw(st.integers(0, 3))
    part = draw_sample(data, lines, None, seed)
    assert len(part.transactions) == lines
    assert held(part).items() <= held(data).items()
    assert held(part) == held(draw_sample(data, lines, None, seed))
    assert list(part.labels) == sorted(part.labels, key=int)


def test_another_seed_draws_other_lines():
    assert held(draw_sample(CLINIC, 50, None, 1)) != held(draw_sample(CLINIC, 50, None, 2))


@pytest.mark.parametrize("density", [0.06, 0.1, 0.3, 0.5])
def test_a_part_of_a_density_has_so_many_lines_with_something_of_what_they_had(density):
    part = draw_sample(CLINIC, 200, density, seed=3)
    assert len(part.transactions) == 200
    naive = sum(map(len, part.transactions)) / (200 * len({item for row in part.transactions for item in row}))
    assert naive == pytest.approx(density, rel=0.1)
    before = held(CLINIC)
    for label, row in held(part).items():
        assert row
        assert row == tuple(item for item in before[label] if item in part.items)
    assert held(part) == held(draw_sample(CLINIC, 200, density, seed=3))


def test_the_denser_the_fewer_items():
    counts = [len(draw_sample(CLINIC, 200, density, 3).items) for density in (0.06, 0.1, 0.2, 0.4)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("lines", "density", "message"),
    [
        (2001, None, "a sample of 2,001 lines of 2,000; write at most 2,000"),
        (500, 0.01, "no 500 lines have a density of 0.01: the nearest is 0.0"),
    ],
)
def test_what_cannot_be_had_is_told(lines, density, message):
    with pytest.raises(DecloakError) as caught:
        draw_sample(CLINIC, lines, density, 1)
    assert message in str(caught.value)


SETS = """\
scenario: x
data: {generate: clinic, transactions: 400, seed: 7}
anonymise: {method: sets, size: 3, share: 0.5}
relate: {measure: ngd, source: clinic-counts}
attack: [{rule: tba}, {rule: wba}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_scenario_takes_a_part_of_made_up_data_and_of_a_file(folder):
    Path("s.yaml").write_text(SETS.replace("seed: 7", "seed: 7, sample: 100") + "vary: {data.density: [0.06, 0.2]}\n")
    run = decloak.run("s.yaml", store="s.db")
    assert len(run.variants) == 2
    rows = "\n".join(",".join(row) for row in generate(400, 7).transactions)
    Path("f.csv").write_text(rows + "\n")
    file = SETS.replace(
        "{generate: clinic, transactions: 400, seed: 7}", "{file: f.csv, format: basket, sample: 100, density: 0.2}"
    )
    Path("f.yaml").write_text(file + "vary: {data.seed: [1, 2]}\n")
    assert len(decloak.run("f.yaml", store="f.db").variants) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{file: f.csv, format: basket, seed: 3}", "no sample is drawn here; delete it, or add sample: NUMBER"),
        ("{generate: clinic, transactions: 400, sample: 0}", "expected a whole number, at least 1"),
        ("{generate: clinic, transactions: 400, density: 2}", "expected a number, above 0, at most 1"),
        ("{generate: clinic, transactions: 400, sample: 500}", "a sample of 500 lines of 400"),
    ],
)
def test_a_part_that_cannot_be_is_told_at_its_place(folder, call, data, message):
    Path("f.csv").write_text("a,b\n")
    Path("s.yaml").write_text(SETS.replace("{generate: clinic, transactions: 400, seed: 7}", data))
    said = call("run", "s.yaml")
    assert said.code == 2
    assert message in said.err
    assert not Path("store.db").exists()


def test_a_ratio_is_put_into_every_attack(folder):
    Path("s.yaml").write_text(SETS + "vary: {'attack.*.ratio': [0.5, 1.0, 1.5]}\n")
    run = decloak.run("s.yaml", store="s.db")
    eliminated = {
        attack: [variant.measures["eliminated", attack] for variant in run.variants] for attack in ("tba", "wba")
    }
    for counts in eliminated.values():
        assert counts == sorted(counts, reverse=True)
        assert len(set(counts)) == 3
    assert [variant.name for variant in run.variants] == [f"attack.*.ratio={ratio}" for ratio in (0.5, 1.0, 1.5)]


@pytest.mark.slow
def test_the_figure_of_a_study_lies_along_the_ratio(folder, call):
    Path("s.yaml").write_text(SETS + "vary: {'attack.*.ratio': [0.5, 1.5]}\n")
    assert call("run", "s.yaml").code == 0
    assert call("plot", "--x", "attack.*.ratio", "--y", "recall", "--by", "attack", "-o", "p.svg").code == 0


COAT = SETS.replace("{method: sets, size: 3, share: 0.5}", "{method: coat, k: 5, privacy: {file: p.txt}%s}")


def test_constraints_are_read_from_a_file(folder):
    Path("p.txt").write_text("asthma, inhaler\nmigraine\n")
    listed = SETS.replace(
        "{method: sets, size: 3, share: 0.5}", "{method: coat, k: 5, privacy: [[asthma, inhaler], [migraine]]}"
    )
    Path("l.yaml").write_text(listed)
    Path("f.yaml").write_text(COAT % "")
    one, two = (decloak.run(path, store=f"{path}.db") for path in ("l.yaml", "f.yaml"))
    assert one.variants[0].measures == two.variants[0].measures
    Path("u.txt").write_text("asthma, inhaler, migraine, nausea\n")
    Path("u.yaml").write_text(COAT % ", utility: {file: u.txt}")
    assert decloak.run("u.yaml", store="u.db").variants


@pytest.mark.parametrize(
    ("text", "message"),
    [("asthma, unicorn\n", "'unicorn'"), ("\n", "p.txt: the file is empty"), (None, "p.txt: ")],
    ids=["strange", "empty", "missing"],
)
def test_constraints_of_a_file_that_do_not_fit_are_told_before_anything_is_written(folder, call, text, message):
    if text is not None:
        Path("p.txt").write_text(text)
    Path("s.yaml").write_text(COAT % "")
    said = call("run", "s.yaml")
    assert said.code == 2
    assert message in said.err
    assert not Path("store.db").exists()
