"""The figures of the papers: what their scenarios may say, how trends are judged, and that the page says what came."""

import gzip
import json
import random
import re
from hashlib import sha256
from pathlib import Path

import pytest

from decloak.errors import DecloakError
from decloak.report import gallery
from decloak.report.gallery import FigureOutcome, real_files
from decloak.report.study import Study
from decloak.report.trends import JudgedTrend, judged_trend
from decloak.scenario.document import load
from decloak.scenario.plots import TOLERANT, Figure, Trend
from decloak.store.results import StudyRun
from decloak.yaml.source import read_source
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
        ((0.1, 0.2, 0.3, 0.4), "linear", True),
        ((0.1, 0.24, 0.27, 0.4), "linear", True),
        ((0.1, 0.1, 0.1, 0.4), "linear", False),
        ((0.4, 0.3, 0.2, 0.1), "linear", False),
        ((0.1, 0.1, 0.1), "linear", False),
        ((0.1, 0.2), "linear", None),
        ((0.1, None, 0.3), "linear", None),
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


@pytest.mark.parametrize(
    ("cut", "shown"),
    [
        ([0.30, 0.34, 0.32], "0.32 vs 0.51 (-0.21 to -0.17)"),
        ([0.30], "0.3 vs 0.5"),
        ([-300.0, -340.0, -320.0], "-320 vs 0.51 (-370 to -271)"),
    ],
    ids=["repeated", "once", "large"],
)
def test_a_comparison_shows_the_interval_of_its_difference(cut, shown):
    values = {(2, "cut"): cut, (2, "aa"): [0.50, 0.52, 0.51][: len(cut)]}
    sides = {"where": {"anonymise.method": "cut"}, "than": {"where": {"anonymise.method": "aa"}}}
    assert judged_trend(study(values), trend(**sides, **{"is": "below"})).seen == shown


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
  claim: more is lost
  saw: [More is lost.]
  trends:
    - {says: more is lost, of: ncp, along: anonymise.k, is: rising}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("of: ncp", "of: npc", "s.yaml:12:28: no figure 'npc' is measured; did you mean 'ncp'?"),
        ("of: ncp", "of: precision", "no figure 'precision' is measured; measured here: ncp"),
        ("along: anonymise.k", "along: anonymise.m", "'anonymise.m' does not vary"),
        (
            "along: anonymise.k, is: rising",
            "is: rising",
            "'along' goes with rising, falling, level, peaking, linear; add it",
        ),
        ("is: rising", "is: above", "'along' goes with rising, falling, level, peaking, linear; delete it"),
        ("along: anonymise.k, is: rising", "is: above, than: {attack: rba}", "no attack 'rba'"),
        ("is: rising", "is: rising, within: 0.2", "'within' goes with level, linear, near; delete it"),
        ("is: rising", "is: rising, where: {anonymise.m: 2}", "'anonymise.m' does not vary"),
        ("number: Figure 1", "number: 1", "expected text"),
        ("[More is lost.]", "[More is lost., Slightly.]", "no trend judges 'Slightly.'; write a trend with clause: 2"),
        ("of: ncp", "clause: 2, of: ncp", "there is no clause 2; saw has 1"),
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


def outcomes(entry):
    known = gallery.known_outcomes(), gallery.known_outcomes(real=True)
    return [of[entry.name] for of in known if entry.name in of]


ENTRIES = pytest.mark.parametrize("entry", gallery.entries(), ids=lambda entry: entry.name)


@ENTRIES
def test_every_figure_says_why_where_it_does_not_agree(entry):
    verdicts = {outcome.verdict(entry.figure) for outcome in outcomes(entry)}
    assert verdicts <= {gallery.AGREES, gallery.CHECKED} or entry.figure.why


@ENTRIES
def test_a_claim_has_at_most_ten_words(entry):
    assert len(entry.figure.claim.split()) <= 10


@pytest.fixture
def gallery_page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import gallery_page

    return gallery_page


@ENTRIES
def test_the_first_table_fits_a_screen(entry, gallery_page):
    assert len(entry.figure.claim) <= 60
    assert len(gallery_page.reason_of(entry)) <= 85
    assert len(gallery_page.short_number(entry.figure.number)) <= 24
    assert re.fullmatch(r"\d{4}", gallery_page.year_of(entry.paper))


VAGUE = re.compile(
    r"slight|about|near|hardly|same|equal|depend|linear|proportional|similar|exponential|explode"
    r"|\bfar (?:more|less|fewer)|\bmuch (?:more|less)|no more|no effect|small effect|almost nothing",
    re.IGNORECASE,
)


def states_a_bound(trend):
    """Whether a trend has a tolerance, or compares with a number or a multiple."""
    return trend.trend in TOLERANT or isinstance(trend.than, float) or (trend.than and trend.than.times != 1)


@ENTRIES
def test_a_vague_word_of_a_clause_has_a_stated_bound(entry):
    """A clause needs no bound for "slightly lower" if not even "lower" agrees."""
    vague = [number for number, clause in enumerate(entry.figure.saw, 1) if VAGUE.search(clause)]
    for number in vague:
        judging = [(at, trend) for at, trend in enumerate(entry.figure.trends) if trend.clause == number]
        agreeing = any(outcome.trends[at].holds for outcome in outcomes(entry) for at, _ in judging)
        assert any(states_a_bound(trend) for _, trend in judging) or not agreeing, entry.figure.saw[number - 1]


NUMBER = re.compile(r"(?<![\w.])[.]?\d[\d,]*(?:[.]\d+)?")


def numbers(text):
    """The numbers in a text, those of other figures, sections and measures left out."""
    plain = re.sub(r"(?:Figures?|Formula|Section|Table|WebView-|BMS-WebView-|I2B)\s?\d[\d.]*[a-d]?", "", text)
    return {float(found.replace(",", "")) for found in NUMBER.findall(plain)}


def settings(entry):
    """The scenario without the reason and without the texts about experiments."""
    said = read_source(entry.path).value
    trends = [{key: value for key, value in one.items() if key != "checked"} for one in said["figure"]["trends"]]
    figure = {key: value for key, value in said["figure"].items() if key != "why"}
    return str(said | {"figure": figure | {"trends": trends}})


def measured(entry):
    return " ".join(judged.seen for outcome in outcomes(entry) for judged in outcome.trends)


def experiments(text):
    return re.findall(r"\bbenchmarks/[\w/]+[.]py\b", text)


def printed(text):
    """The paragraphs of the documentation that name an experiment of `text`: they state what it printed."""
    names = {Path(name).name for name in experiments(text)}
    pages = [*(ROOT / "docs").glob("*/*.md"), ROOT / "benchmarks" / "README.md"]
    paragraphs = [block for page in pages if names for block in re.split(r"\n\s*\n", page.read_text())]
    return " ".join(block for block in paragraphs if any(name in block for name in names))


def unsupported(entry):
    """The numbers of the reason and of the texts about experiments that nobody measured, set or printed."""
    known = numbers(measured(entry)) | numbers(settings(entry)) | numbers("0 1 2 3 100")  # counted in words, per cent
    for text in (entry.figure.why or "", *(trend.checked or "" for trend in entry.figure.trends)):
        sources = known | numbers(printed(text))
        yield from (quoted for quoted in numbers(text) if not near(quoted, sources))


@ENTRIES
def test_a_reason_quotes_only_numbers_that_were_measured_or_set(entry):
    assert list(unsupported(entry)) == []


@pytest.mark.parametrize("place", ["why: >-\n", 'checked: "'])
def test_no_text_is_the_source_of_its_own_numbers(tmp_path, place):
    (entry,) = gallery.entries(["fig13b-k"])
    path = tmp_path / entry.path.parent.name / entry.path.name
    path.parent.mkdir()
    path.write_text(entry.path.read_text().replace(place, f"{place}    It is 0.4321. ", 1))
    assert list(unsupported(gallery._entry(path))) == [0.4321]


def near(quoted, known):
    return any(abs(quoted - number) <= 0.006 * max(abs(number), 0.1) for number in known)


def test_the_page_states_the_tolerance_of_a_trend(gallery_page):
    judged = JudgedTrend("x", False, 3, 1, "0.1, 0.2")
    level = trend(**{"is": "level", "along": "anonymise.k", "within": 0.3})
    assert gallery_page._trend(level, judged) == "- **differs** (1 of 3 lines agree): x [0.3]. `0.1, 0.2`"
    assert " [" not in gallery_page._trend(trend(**{"is": "above", "than": 0.5}), judged)
    assert " [" not in gallery_page._trend(None, judged)


def test_the_page_of_the_gallery_is_what_came_of_the_scenarios_as_they_are(gallery_page):
    entries, generated, real = gallery.entries(), gallery.known_outcomes(), gallery.known_outcomes(real=True)
    assert [entry.name for entry in entries if generated[entry.name].digest != entry.digest] == []
    assert [entry.name for entry in entries if real.get(entry.name, entry).digest not in digests(entry)] == []
    page = gallery_page.page_text(entries, generated, real, ROOT / "docs")
    assert (ROOT / "docs" / "gallery.md").read_text() == page
    assert sorted(generated) == sorted(entry.name for entry in entries)
    assert sorted(real) == sorted(entry.name for entry in entries if isinstance(entry.figure.real, dict))
    for file in gallery.OUTCOMES.values():
        of_page, shipped = (ROOT / "docs" / "gallery" / file), (gallery.folder_of_papers() / file)
        assert json.loads(of_page.read_text()) == json.loads(shipped.read_text())


def digests(entry):
    return {entry.real_digest} if isinstance(entry.figure.real, dict) else {entry.digest}


AGREE_ON_REAL_DATA = [
    ("fig13a-real-data", "in the order of popularity AA loses at most 3 %"),
    ("fig13a-real-data", "the count tree is manageable"),
    ("fig13c-height", None),
    ("fig14-partitioning", "VPA has about the loss of AA"),
    ("fig14-partitioning", "LRA loses more than AA"),
    ("fig18d-level", None),
]
"""Figures on the real data, and the trend that agrees, or None for all of them."""


@pytest.mark.parametrize(("name", "says"), AGREE_ON_REAL_DATA)
def test_these_trends_agree_on_the_real_files(name, says):
    judged = gallery.known_outcomes(real=True)[f"km-anonymity/{name}"].trends
    assert {one.holds for one in judged if says in (None, one.says)} == {True}


@pytest.mark.parametrize("name", ["fig11-domain-size", "fig12-knowledge"])
def test_the_built_trees_agree_with_the_paper(name):
    (entry,) = gallery.entries([name])
    assert gallery.known_outcomes()[entry.name].verdict(entry.figure) == gallery.AGREES


@ENTRIES
def test_an_experiment_that_a_reason_names_is_there(entry):
    texts = [entry.figure.why or "", *(trend.checked or "" for trend in entry.figure.trends)]
    named = {found for text in texts for found in experiments(text)}
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_generated_data_decide_nothing_about_real_data(tmp_path):
    real = SCENARIO.replace("  trends:", "  real: {data: {real: bms_pos}}\n  trends:")
    found = []
    for old, new in (("", ""), ("transactions: 50", "transactions: 60"), ("k: 2", "k: 3")):
        (tmp_path / "s.yaml").write_text(real.replace(old, new, 1))
        found.append(gallery._entry(tmp_path / "s.yaml"))
    first, data, k = found
    assert (data.real_digest, k.real_digest != first.real_digest) == (first.real_digest, True)
    assert len({entry.digest for entry in found}) == 3


def test_figures_about_time_are_known():
    (timed,), (untimed,) = gallery.entries(["fig13d"]), gallery.entries(["fig18d"])
    assert (timed.timed, untimed.timed) == (True, False)


def test_every_figure_has_real_data_or_says_why_not():
    assert [entry.name for entry in gallery.entries() if not entry.figure.real] == []


def figure(*trends):
    said = {"number": "Figure 1", "claim": "more", "saw": ["More."], "trends": [trend_of(one) for one in trends]}
    return Figure.model_validate_json(json.dumps(said))


def trend_of(checked):
    return {"says": "x", "of": "recall", "is": "above", "than": 0.5} | ({"checked": checked} if checked else {})


@pytest.mark.parametrize(
    ("checked", "holds", "verdict"),
    [
        (["", ""], [True, True], "agrees"),
        (["", ""], [True, False], "partly"),
        (["", ""], [None, None], "differs"),
        (["", "we tried"], [True, False], "not reproduced, checked"),
        (["we tried", ""], [True, False], "partly"),
        (["we tried", "we tried"], [True, True], "agrees"),
        (["", ""], [True, "not there"], "agrees"),
    ],
)
def test_the_verdict_of_a_figure(checked, holds, verdict):
    judged = [JudgedTrend("x", None if one == "not there" else one, one != "not there", 0, "") for one in holds]
    assert FigureOutcome("", 1, tuple(judged)).verdict(figure(*checked)) == verdict


def test_real_data_are_found_by_content_or_by_name(tmp_path, monkeypatch, call):
    papers = tmp_path / "papers"
    papers.mkdir()
    lines = b"1 2\n2 3\n"
    known = {"pos": ["bmspos"], "web": ["bms1"], "shop": ["shop"]}
    data_sets = {name: {"names": starts, "sha256": [], "read": {"format": "basket"}} for name, starts in known.items()}
    data_sets["pos"]["sha256"] = [sha256(lines).hexdigest()]
    data_sets["words"] = {"names": ["bms1"], "sha256": [], "key": "vectors", "read": {}}
    (papers / gallery.REAL_DATA).write_text(json.dumps(data_sets))
    monkeypatch.setattr(gallery, "folder_of_papers", lambda: papers)
    data = tmp_path / "data"
    data.mkdir()
    (data / "mine.gz").write_bytes(gzip.compress(lines))
    (data / "BMS-1.dat").write_bytes(b"1\n")
    found = real_files(data)
    assert found.pop("words") == {"vectors": str(data / "BMS-1.dat")}
    assert {name: Path(said["file"]).name for name, said in found.items()} == {"pos": "mine.gz", "web": "BMS-1.dat"}


def test_figures_run_on_the_readers_own_data(tmp_path, call):
    rng = random.Random(1)
    records = [" ".join(str(one) for one in sorted(rng.sample(range(30), 3))) for _ in range(400)]
    (tmp_path / "bms-pos.dat").write_text("\n".join(records) + "\n")
    told = call("gallery", "fig13d", "--data", tmp_path)
    assert told.code == 0, told.err
    assert "real data found: bms_pos; 1 of 1 figures can run" in told.err
    assert "  real data: " in told.out
    (tmp_path / "bms-pos.dat").rename(tmp_path / "other.dat")
    told = call("gallery", "fig13d", "--data", tmp_path)
    assert "real data found: none; 0 of 1 figures can run" in told.err
    assert (
        call("gallery", "--data", tmp_path / "none").err
        == f"decloak: {tmp_path}/none: no such folder; name the folder with your copies of the real data\n"
    )
    assert "choose one" in call("gallery", "--data", tmp_path, "--run").err


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
    assert "--store and --set go with --run or --data" in call("gallery", "--set", "data.seed=2").err


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
        gallery_page.write_outcomes([entry], {entry.name: outcome}, {}, folder)
        picture = gallery_page.folder_of_pictures(folder) / gallery_page.picture_of(entry.name)
        pictures.append((picture.read_bytes(), (folder / "gallery.md").read_bytes()))
    assert pictures[0] == pictures[1]
    assert len(pictures[0][0]) < 60_000
