"""The figures of the papers: what their scenarios may say, how trends are judged, and that the page says what came."""

import json
from pathlib import Path

import pytest

from decloak.errors import DecloakError
from decloak.report import gallery
from decloak.report.gallery import judged_trend
from decloak.report.study import Study
from decloak.scenario.document import load
from decloak.scenario.paper_figure import Trend
from decloak.store.results import StudyRun
from slowly import slow_but

ROOT = Path(__file__).parents[2]
QUICK = [entry.name for entry in gallery.entries(quick=True)]


def study(values: dict, attacks: tuple[str, ...] = ("rba",), figure: str = "recall") -> Study:
    """Runs by (k, method): of each the figure of every attack, a list of repetitions."""
    runs, figures = [], {}
    for (k, method), repetitions in values.items():
        for repetition, value in enumerate(repetitions, 1):
            number = len(runs) + 1
            config = {"anonymise": {"k": k, "method": method}}
            variant = f"anonymise.k={k}, anonymise.method={method}"
            runs.append(StudyRun(number, "t", variant, repetition, repetition, "", config))
            each = value if isinstance(value, dict) else dict.fromkeys(attacks, value)
            figures[number] = {(figure, attack): value for attack, value in each.items()}
    return Study(tuple(runs), figures, {run.run: 10 for run in runs})


def trend(**said) -> Trend:
    return Trend.model_validate_json(json.dumps({"says": "x", "of": "recall", **said}))


def holds(values: dict, **said) -> bool | None:
    return judged_trend(study(values), trend(**said)).holds


def line(*values, method="cut"):
    return {(k, method): value if isinstance(value, list) else [value] for k, value in enumerate(values, 2)}


@pytest.mark.parametrize(
    ("values", "shape", "expected"),
    [
        ((0.1, 0.2, 0.3), "rising", True),
        ((0.1, 0.4, 0.3), "rising", True),
        ((0.3, 0.2, 0.1), "rising", False),
        ((0.3, 0.2, 0.1), "falling", True),
        ((0.2, 0.9, 0.1), "rising", False),
        ((0.1, 0.1), "rising", False),
        ((0.1, 0.3, 0.2), "peaking", True),
        ((0.1, 0.2, 0.3), "peaking", False),
        ((0.2, 0.1, 0.3), "peaking", False),
        ((0.50, 0.52, 0.49), "level", True),
        ((0.50, 0.58, 0.49), "level", False),
        ((0.5, None, 0.5), "level", None),
        ((None, None, 0.5), "rising", None),
    ],
)
def test_a_trend_along_a_key(values, shape, expected):
    assert holds(line(*values), **{"is": shape, "along": "anonymise.k"}) is expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ([0.10, 0.11, 0.12], [0.20, 0.21, 0.22], True),
        ([0.10, 0.50, 0.12], [0.20, 0.21, 0.22], None),
        ([0.30, 0.31, 0.32], [0.20, 0.21, 0.22], False),
        ([0.10, 0.50, 0.90], [0.11, 0.51, 0.91], True),
    ],
    ids=["apart", "overlapping", "the other way", "pair by pair"],
)
def test_where_chance_decides_a_difference_counts_when_its_interval_is_on_one_side(first, last, expected):
    assert holds(line(first, last), **{"is": "rising", "along": "anonymise.k"}) is expected


def test_a_trend_holds_when_it_does_on_every_line_and_says_on_how_many_it_does():
    values = {**line(0.1, 0.2), **line(0.2, 0.1, method="coat")}
    rising = {"is": "rising", "along": "anonymise.k"}
    assert judged_trend(study(values), trend(**rising))[1:4] == (False, 2, 1)
    here = trend(**rising, where={"anonymise.method": "cut"})
    assert judged_trend(study(values), here) == ("x", True, 1, 1, "0.1, 0.2 at k 2, 3")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"is": "above", "than": 0.4}, False),
        ({"is": "below", "than": 0.6}, True),
        ({"is": "below", "where": {"anonymise.method": "cut"}, "than": {"where": {"anonymise.method": "aa"}}}, True),
        ({"is": "near", "where": {"anonymise.method": "cut"}, "than": {"where": {"anonymise.method": "aa"}}}, False),
        ({"is": "near", "where": {"anonymise.method": "cut"}, "within": 0.5,
          "than": {"where": {"anonymise.method": "aa"}}}, True),
        ({"is": "near", "where": {"anonymise.method": "cut"},
          "than": {"where": {"anonymise.method": "aa"}, "times": 0.6}}, True),
        ({"is": "above", "where": {"anonymise.method": "aa", "anonymise.k": 2},
          "than": {"where": {"anonymise.method": "cut", "anonymise.k": None}}}, True),
    ],
)  # fmt: skip
def test_a_figure_beside_another(said, expected):
    values = {(2, "cut"): [0.3], (3, "cut"): [0.3], (2, "aa"): [0.5], (3, "aa"): [0.5]}
    assert holds(values, **said) is expected


def test_attacks_beside_attacks_are_compared_each_with_each():
    at_two = {"rba": 0.7, "gba": 0.6, "tba": 0.5, "mda": 0.65}
    values = {(2, "cut"): [at_two], (3, "cut"): [dict.fromkeys(at_two)]}
    beside = trend(**{"attack": ["rba", "gba"], "is": "above", "than": {"attack": ["tba", "mda"]}})
    verdict = judged_trend(study(values, ("rba", "gba", "tba", "mda")), beside)
    assert verdict[1:4] == (False, 8, 3)
    assert "gba vs mda, k 2: 0.6 vs 0.65" in verdict.seen


def test_a_trend_about_nothing_is_an_error_and_never_holds():
    nothing = trend(**{"is": "above", "than": 0.1, "where": {"anonymise.k": 99}})
    with pytest.raises(DecloakError, match="no variant is what 'x' is about"):
        judged_trend(study(line(0.1, 0.2)), nothing)


SCENARIO = """\
scenario: x
data: {generate: baskets, transactions: 50, items: 6, length: 2}
anonymise: {method: cut, k: 2, m: 2, hierarchy: {by: names, fanout: 3}}
attack: [km_violation]
measure: [loss]
vary: {anonymise.k: [2, 3]}
figure:
  number: Figure 1
  saw: nothing
  trends:
    - {says: more is lost, of: ncp, along: anonymise.k, is: rising}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("of: ncp", "of: npc", "s.yaml:11:28: no figure 'npc' is measured; did you mean 'ncp'?"),
        ("of: ncp", "of: precision", "no figure 'precision' is measured; measured here: ncp"),
        ("along: anonymise.k", "along: anonymise.m", "'anonymise.m' does not vary"),
        ("along: anonymise.k, is: rising", "is: rising", "'along' goes with rising, falling, level, peaking; add it"),
        ("is: rising", "is: above", "'along' goes with rising, falling, level, peaking; delete it"),
        ("along: anonymise.k, is: rising", "is: above, than: {attack: rba}", "no attack 'rba'"),
        ("is: rising", "is: rising, within: 0.2", "'within' goes with level and near; delete it"),
        ("is: rising", "is: rising, where: {anonymise.m: 2}", "'anonymise.m' does not vary"),
        ("number: Figure 1", "number: 1", "expected text"),
    ],
)
def test_what_is_wrong_with_a_figure_is_told_at_its_place(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    assert old in SCENARIO
    Path("s.yaml").write_text(SCENARIO.replace(old, new))
    with pytest.raises(DecloakError) as caught:
        load("s.yaml")
    assert message in str(caught.value)


def test_a_figure_decides_nothing_of_a_run(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    assert call("run", "s.yaml").code == 0
    Path("s.yaml").write_text(SCENARIO[: SCENARIO.index("figure:")])
    assert "(2 of 2 were there already)" in call("run", "s.yaml").err


def test_every_figure_says_why_where_it_does_not_agree():
    known = gallery.known_outcomes()
    for entry in gallery.entries():
        if known[entry.name].verdict != gallery.AGREES:
            assert entry.figure.why, entry.name


@pytest.fixture
def gallery_page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import gallery_page

    return gallery_page


def test_the_page_of_the_gallery_is_what_came_of_the_scenarios_as_they_are(gallery_page):
    entries, known = gallery.entries(), gallery.known_outcomes()
    assert [entry.name for entry in entries if known[entry.name].digest != entry.digest] == []
    assert (ROOT / "docs" / "gallery.md").read_text() == gallery_page.page_text(entries, known, ROOT / "docs")
    assert sorted(known) == sorted(entry.name for entry in entries)
    assert json.loads((ROOT / "docs" / "gallery" / gallery.VERDICTS).read_text()) == json.loads(
        (gallery.folder_of_papers() / gallery.VERDICTS).read_text()
    )


@pytest.mark.parametrize("name", slow_but(["cover-problem/fig4a-strong"], QUICK))
def test_figures_that_take_seconds_come_out_as_the_page_says(name):
    (entry,) = gallery.entries([name])
    fresh, _ = gallery.outcome(entry, None)
    known = gallery.known_outcomes()[name]
    timed = {trend.says for trend in entry.figure.trends if "seconds" in trend.of}
    pairs = zip(fresh.trends, known.trends, strict=True)
    assert [one for one, _ in pairs if one.says not in timed] == [two for two in known.trends if two.says not in timed]


def test_quick_figures_are_of_every_paper():
    assert {name.partition("/")[0] for name in QUICK} == {entry.paper for entry in gallery.entries()}


def test_the_command_lists_names_and_tells(call):
    listed = call("gallery", "--json")
    assert [row["scenario"] for row in json.loads(listed.out)] == [f"{e.name}.yaml" for e in gallery.entries()]
    told = call("gallery", "fig13b")
    assert "the paper saw: " in told.out
    assert "decloak run " in told.out
    wrong = call("gallery", "fig99")
    assert wrong.code == 2
    assert "no figure 'fig99'" in wrong.err
    assert "--store and --set go with --run" in call("gallery", "--set", "data.seed=2").err


def test_a_figure_on_data_of_ones_own(tmp_path, call):
    override = "data={generate: baskets, transactions: 300, items: 20, length: 3}"
    told = call("gallery", "fig13d", "--run", "--set", override)
    assert told.code == 0, told.err
    assert "✓" in told.out or "✗" in told.out


@pytest.mark.slow
def test_the_page_and_pictures_are_the_same_when_written_again(tmp_path, gallery_page):
    (entry,) = gallery.entries(["fig13d"])
    pictures = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        gallery_page.folder_of_pictures(folder).mkdir(parents=True)
        outcome, panels = gallery.outcome(entry, tmp_path / "s.db")
        gallery_page.write_picture(entry, panels, folder)
        gallery_page.write_outcomes([entry], {entry.name: outcome}, folder)
        picture = gallery_page.folder_of_pictures(folder) / gallery_page.picture_of(entry.name)
        pictures.append((picture.read_bytes(), (folder / "gallery.md").read_bytes()))
    assert pictures[0] == pictures[1]
    assert len(pictures[0][0]) < 60_000
