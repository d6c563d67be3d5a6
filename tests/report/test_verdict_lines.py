"""The verdict in words: the worst finding first, in people, the same wherever it is shown."""

import html
import inspect
import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import decloak
from decloak.measure.kernels.statistics import Interval
from decloak.report import advice as advice_module
from decloak.report.advice import advice, dominating
from decloak.report.risk_card import NOBODY, ROWS, Cell, ExposureCard
from decloak.report.study import Study
from decloak.report.verdict_figures import at_place, judged_variants
from decloak.report.verdict_lines import LIMITS, account_of
from decloak.report.wording import attacker_phrase
from decloak.scenario.variant import is_random
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs
from mutants import loaded, mutants

QUICKSTART = Path(__file__).parents[2] / "scenarios" / "quickstart.yaml"
FORBIDDEN = ("anonymous", "safe", "compliant", "no risk", "secure", "publish it")

DATA = "data: {generate: clinic, transactions: 200, seed: 7}\n"
RELATE = "relate: {measure: ngd, source: clinic-counts}\n"
COAT = "anonymise: {method: coat, k: 5, privacy: {count: 40, sizes: [3]}}\n"
CHUNKS = "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}\n"


def concluded(tmp_path, text, name="s.yaml"):
    (tmp_path / name).write_text(f"scenario: s\n{text}")
    done = decloak.run(tmp_path / name, store=tmp_path / "s.db")
    verdict = account_of(done.store, [variant.run for variant in done.variants]).verdict
    words = f"{verdict.headline} {' '.join(line.text for line in verdict.lines)}"
    assert not [word for word in FORBIDDEN if word in words.lower()]
    assert all(len(row) <= 110 for row in verdict.text.splitlines())
    return verdict


def line(verdict, label):
    texts, last = [], ""
    for each in verdict.lines:
        last = each.label or last
        texts += [each.text] if last == label else []
    return " ".join(texts)


def plain(page: str) -> str:
    """The text of a page without definitions of terms, and with plain quotation marks."""
    return (
        re.sub(r"</?abbr[^>]*>", "", page)
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&quot;", '"')
        .replace("&#34;", '"')
    )


def test_the_quickstart_begins_with_ids_and_row_order(call, tmp_path):
    out = call("run", QUICKSTART, "--store", tmp_path / "s.db").out
    first, second, *_ = out.splitlines()
    assert first == "RESULT         WARNING: ids and row order re-identify 24 of 24 people."
    assert second.startswith("Identifiers    The release contains ids. Anyone who knows the ids re-identifies 24 of 24")
    said = " ".join(out.split())
    assert "Singling out 2 known items single out 22 of 24 people in the release (22 in the original data)." in said
    assert "This release: rba eliminated 120 items with a precision of 96% (115 of 120)" in said
    assert "It reaches this precision with probability 2.3e-23 (exact, within the item groups, corrected for 5" in said
    assert "Other data of this kind: inconclusive. 95% interval of the advantage -41 to +25 points (3 item" in said
    assert "repeat" not in said
    assert "Guarantee The release states no guarantee." in said
    assert "Cost The release hides 43% of the item occurrences." in said


def test_the_remedy_for_ids_and_row_order_works(call, tmp_path):
    call("run", QUICKSTART, "--store", tmp_path / "s.db")
    assert call("publish", "1", tmp_path / "out.txt", "--store", tmp_path / "s.db").code == 0
    scores = f"relate: {{measure: ngd, source: counts, file: {QUICKSTART.parent / 'quickstart' / 'counts.csv'}}}\n"
    verdict = concluded(tmp_path, f"data: {{published: out.txt}}\n{scores}attack: [rba]\n", "again.yaml")
    assert verdict.outcome not in ("ids re-identify people", "row order re-identifies people")
    assert not line(verdict, "Identifiers")


def test_baskets_under_coat_are_not_green_where_two_items_single_out_most_people(tmp_path, call):
    """The page was green over 1,921 of 3,000 people."""
    baskets = "data: {generate: baskets, transactions: 300, seed: 1}\n"
    attack = "relate: {measure: ngd, source: release}\nattack: [ra, tba]\nrepeat: {times: 2}\n"
    verdict = concluded(tmp_path, f"{baskets}{COAT}{attack}")
    assert verdict.outcome == "people singled out"
    met = r"The release meets its guarantee \(k = 5\) and still exposes \d+ of 300 people\. "
    assert re.match(met + r"2 known items single them out \(\d+ in the original data\)\.", verdict.headline)
    assert call("report", "last", "--store", tmp_path / "s.db", "-o", tmp_path / "p.html").code == 0
    page = (tmp_path / "p.html").read_text()
    assert '<h1 class="bad">' in page
    assert html.escape(verdict.headline) in plain(page.partition("</h1>")[0])


def test_a_blind_attacker_tests_nothing(tmp_path):
    """The tutorial's counts know one pair in twenty; the page said in green that nothing comes back."""
    (tmp_path / "scores.csv").write_text("a,b,ngd\nnobody,nothing,0.5\n")
    relate = "relate: {measure: ngd, source: scores, file: scores.csv}\n"
    verdict = concluded(tmp_path, f"{DATA}{relate}{COAT}attack: [tba]\n")
    assert verdict.outcome == "people singled out"
    assert line(verdict, "Recovery") == "Not tested: no attack had enough input."
    assert "tba has scores for 0% of the pairs that it needs; it needs at least 20%." in line(verdict, "Not tested")


def test_three_items_are_named_where_the_guarantee_is_about_two(tmp_path):
    method = "anonymise: {method: cut, k: 3, m: 2, hierarchy: {by: random, fanout: 4}}\n"
    verdict = concluded(tmp_path, f"{DATA}{RELATE}{method}attack: [tba]\n")
    assert "The release meets its guarantee (cut: k = 3, m = 2)." in line(verdict, "Guarantee")
    assert re.search(r"2 known items single out 0 of 200 .* 3 known items single out \d+ of 200 people in the release",
                     line(verdict, "Singling out"))  # fmt: skip


def test_a_guarantee_that_a_rule_finds_violated_is_a_warning(tmp_path):
    verdict = concluded(
        tmp_path, f"{DATA}{COAT}attack: [{{rule: km_violation, k: 4, m: 1, as: rare}}]\nmeasure: [loss]\n"
    )
    said = line(verdict, "Guarantee")
    assert said.startswith("The release meets its guarantee (coat: k = 5")
    assert (
        "WARNING: the release violates its guarantee (every set of up to 1 item in 0 or at least 4 records, rare)."
        in said
    )
    assert line(verdict, "Recovery") == "Not tested: no attack was run that recovers hidden items."


def test_a_release_without_its_originals_is_not_measured_and_never_lower_risk(example):
    text = (example / "scenario.yaml").read_text().replace("file: original.txt, format: basket, ", "")
    (example / "s.yaml").write_text(re.sub(r"\n(measure|expect): .*", "", text))
    done = decloak.run(example / "s.yaml", store=example / "s.db")
    verdict = account_of(done.store, [1]).verdict
    assert "Not measured, because the original data were not given. Claims of the attacks:" in line(verdict, "Recovery")
    assert verdict.outcome != "lower risk"


def test_disassociated_data_name_certain_links_and_never_advise_to_repeat(tmp_path, call):
    text = f"{DATA}{RELATE}{CHUNKS}attack: [random, mra, cover]\nmeasure: [accuracy, breach]\n"
    verdict = concluded(tmp_path, f"{text}repeat: {{times: 3}}\n")
    assert "cover re-associates separated items with certainty for" in line(verdict, "Certain links")
    said = line(verdict, "Recovery")
    assert "permutations within clusters" in said
    assert "clusters resampled" in said
    assert "repeat:" not in said, "nothing differs between its repetitions"
    err = " ".join(call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").err.split())
    assert f"WARNING: {tmp_path / 's.yaml'}:7:17: the 3 repetitions do not differ (disassociation draws nothing" in err
    assert "remove repeat, or vary the data (vary: {data.file: [...]})" in err
    told = call("validate", tmp_path / "s.yaml")
    assert (told.code, "WARNING:" in told.err) == (0, True)


@pytest.mark.parametrize(("control", "differ"), [("null", False), ("held_out", True)])
def test_repetitions_without_other_people_differ_in_their_releases(tmp_path, call, control, differ):
    text = f"{DATA}{RELATE}{CHUNKS}attack: [mra]\nmeasure: [accuracy, {{exposure: {{control: {control}}}}}]\n"
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{text}repeat: {{times: 2}}\n")
    first, second = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").variants
    assert (first.figures != second.figures) is differ
    assert ("do not differ" in call("validate", tmp_path / "s.yaml").err) is not differ
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (run,) = read_runs(connection, [1])
    assert is_random(run.config) is differ
    verdict = concluded(tmp_path, text, "once.yaml")
    assert ("Repetitions would narrow it" in line(verdict, "Recovery")) is differ


def test_repetitions_of_a_published_file_are_warned_about_and_those_that_differ_are_not(tmp_path, call):
    scenario = tmp_path / "s.yaml"
    scenario.write_text(f"scenario: s\n{DATA}{RELATE}{COAT}attack: [rba]\nrepeat: {{times: 2}}\n")
    assert "WARNING" not in call("validate", scenario).err
    (tmp_path / "d.txt").write_text("(a, b), c\n(a, b), d\n")
    scenario.write_text(f"scenario: s\ndata: {{published: d.txt}}\n{RELATE}attack: [rba]\nrepeat: {{times: 2}}\n")
    assert f"{scenario}:5:17: the 2 repetitions do not differ (the release is given)" in call("validate", scenario).err


def test_the_verdict_is_the_same_wherever_it_is_shown(tmp_path, call):
    vary = "vary: {anonymise.k: [2, 5]}\nrepeat: {times: 2}\n"
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{DATA}{RELATE}{COAT}{vary}attack: [rba]\n")
    store = tmp_path / "s.db"
    table = call("run", tmp_path / "s.yaml", "--store", store).out
    verdict = json.loads(call("run", tmp_path / "s.yaml", "--store", store, "--json").out)["verdict"]
    shown = call("show", "last", "--store", store).out
    call("report", "last", "--store", store, "-o", tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    lines = table.split("\n\n")[0]
    assert shown.split("\n\n")[0] == lines
    assert " ".join(lines.split()).startswith(f"RESULT {verdict['headline']}")
    for each in verdict["lines"]:
        assert each["text"] in " ".join(lines.split())
        assert html.escape(each["text"], quote=False) in plain(page)
    assert verdict["variant"] in ("anonymise.k=2", "anonymise.k=5")
    assert verdict["limits"]["people exposed/3"] == 0.01


def test_the_limits_are_printed_in_words():
    for number in ("0.1%", "1.0%", "2 points", "5%", "10%", "25%"):
        assert number in LIMITS


def card(name, singled, inferred=50.0, implied=10.0, hidden=0.3, of=800, **more):
    values = {"singled_out_2": singled, "inferred_own": inferred, "implied": implied}
    cells = {
        row.key: Cell(of, 600.0, Interval(values.get(row.key, 1.0), None, None, 1), source="release") for row in ROWS
    }
    return ExposureCard(name, of, of, cells, hidden, frozenset({hash(name)}), name, **more)


def test_a_release_that_hides_everything_is_never_preferred(tmp_path, call):
    """2,000 lines of `*` were preferred."""
    said = advice([card("star", 0, 0, 0, hidden=1.0, uniform=True), card("coat", 300), card("chunks", 12)])
    assert said.startswith("star hides everything. A label contains a quarter of all items")
    assert "The release that exposes the fewest people is chunks." in said
    assert "star" not in said.partition(". ")[2]
    text = f"scenario: s\ndata: {{generate: clinic, transactions: 60, seed: 7}}\n{RELATE}"
    methods = "vary:\n  anonymise:\n" + "".join(
        f"    - {{method: cut, k: {k}, m: 1, hierarchy: {{by: names, fanout: 8}}}}\n" for k in (2, 45)
    )
    (tmp_path / "s.yaml").write_text(f"{text}{methods}attack: [ra]\n")
    out = " ".join(call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out.split())
    assert "hides everything. A label contains a quarter of all items" in out


def test_releases_that_all_expose_most_people_need_another_method():
    said = advice([card("a", 541.0), card("b", 540.0, hidden=0.29), card("c", 540.0)])
    assert said.startswith(
        "The releases do not differ measurably in the people they expose. All of them single out about 540 of 800 "
        "people with 2 known items: use another method."
    )
    assert "choose by" not in said
    assert "Item occurrences hidden: 30% with a, 29% with b, 30% with c." in said
    few = advice([card("a", 0.0), card("b", 1.0)])
    assert "Each singles out 0 to 1 of 800 people with 2 known items." in few
    assert "another method" not in few


DOMINATED = [
    (card("a", 10), card("b", 300), True),
    (card("a", 300), card("b", 300), False),
    (card("a", 300, hidden=0.27), card("b", 300, hidden=0.3), True),
    (card("a", 300, hidden=0.29), card("b", 300, hidden=0.3), False),
    (card("a", 10, hidden=0.31), card("b", 300, hidden=0.3), False),
    (card("a", 10, inferred=51), card("b", 300), False),
    (card("a", 10, uniform=True), card("b", 300), False),
    (card("a", 10, hidden=None), card("b", 300), False),
    (card("a", 284), card("b", 300), False),
    (card("a", 283), card("b", 300), True),
]


@pytest.mark.parametrize(("better", "worse", "expected"), DOMINATED)
def test_a_release_is_dominated_where_another_is_worse_in_nothing(better, worse, expected):
    assert dominating(better, worse) is expected
    assert ("Release b is dominated: a is better" in advice([better, worse])) is expected


def test_the_best_release_stands_beside_the_others_in_exposure_and_cost():
    said = advice([card("coat", 540, hidden=0.2), card("chunks", 120, hidden=0.6)])
    assert "The release that exposes the fewest people is chunks. These numbers are no proof of protection." in said
    assert "2 known items single out 120 of 800 people with chunks (540 with coat, 600 in the original data)" in said
    assert "chunks still singles out 120 of 800: use another method." in said
    assert "Item occurrences hidden: 60% with chunks, 20% with coat." in said
    assert "no item with its record" not in said
    nothing = advice([card("cut", 0, hidden=1.0), card("coat", 300, hidden=0.2)])
    assert "cut publishes no item with its record. Check that readers can use it." in nothing
    lacking = replace(card("b", 80), cells=card("b", 80).cells | {"implied": Cell(800, 600.0, reason="unknown")})
    some = advice([card("a", 80), lacking])
    assert "do not differ measurably in people singled out with 2 items and items known or inferred. Not all" in some
    assert not [word for word in FORBIDDEN if word in said.lower()]


@pytest.mark.parametrize(
    ("config", "phrase"),
    [
        ({}, "An attacker who has only the release"),
        ({"relate": {"measure": "wordnet"}}, "An attacker who has the release and has a dictionary of how terms"),
        ({"relate": [{"measure": "ngd", "source": "corpus"}, {"measure": "embedding"}]},
         "knows how often texts mention two terms together and knows the relatedness of terms as word vectors"),
        ({"data": {"distances": "d.csv"}}, "An attacker who has the release and has tables of how far items are apart"),
    ],
)  # fmt: skip
def test_the_attacker_is_named_by_what_is_known(config, phrase):
    assert phrase in attacker_phrase(config, "language" if config else "nothing")


def test_a_release_that_shows_all_its_records_hold_hides_nothing(tmp_path):
    (tmp_path / "d.txt").write_text("a, b, c\na, b\nb, c\na, c, d\n")
    relate = "relate: {measure: ngd, source: release}\n"
    verdict = concluded(tmp_path, f"data: {{file: d.txt, format: basket, published: d.txt}}\n{relate}")
    assert (
        line(verdict, "Cost")
        == "The release hides 0% of the item occurrences. Every item is published with its record."
    )
    assert verdict.outcome in ("row order re-identifies people", "people singled out")


def _wide(name, mean, half):
    """A card of people singled out with an interval."""
    cell = Cell(800, 600.0, Interval(mean, mean - half, mean + half, 5), source="release")
    return replace(card(name, 0), cells=card(name, 0).cells | {"singled_out_2": cell})


def _unknown_original(singled):
    """A card of people whose original data are not known."""
    other = card("o", singled)
    return replace(other, cells={figure: replace(cell, original=None) for figure, cell in other.cells.items()})


LACKING = replace(card("a", 10), cells=card("a", 10).cells | {"implied": Cell(800, 600.0, reason="unknown")})
DOMINATED += [(card("a", 300, hidden=0.0), card("b", 300, hidden=0.02), False), (LACKING, card("b", 300), False)]


def advice_failures(v):
    """Return the names of what a changed copy of the comparison gets wrong."""
    near, far, alike = card("near", 284), card("far", 300), card("a", 80)
    part = replace(card("b", 80), cells=alike.cells | {"implied": Cell(800, 600.0, reason="unknown")})
    none = replace(card("b", 80), cells={figure: Cell(800, 600.0, reason="unknown") for figure in alike.cells})
    overlapping, apart = ([_wide("a", 200.0, half), _wide("b", 290.0, half)] for half in (50, 40))
    unknown = replace(card("c", 10), cells=card("c", 10).cells | {"implied": Cell(800, 600.0, reason="unknown")})
    many = [card(name, 100.0 + 100 * at) for at, name in enumerate("abcde")]
    found = {
        "2% of the people is no difference": (v.advice([near, far]), "do not differ measurably"),
        "more than 2% is": (v.advice([card("near", 283), far]), "The release that exposes the fewest people is near."),
        "overlapping intervals": (v.advice(overlapping), "do not differ measurably"),
        "intervals apart": (v.advice(apart), "The release that exposes the fewest people is a."),
        "10% of the people needs no other method": (
            v.advice([card("a", 80), card("b", 80)]),
            "Each singles out 80 of 800",
        ),
        "more than 10% does": (
            v.advice([card("a", 81), card("b", 81)]),
            "about 81 of 800 people with 2 known items: use",
        ),
        "the best of them at 10%": (str("still" in v.advice([card("a", 80), card("b", 300)])), "False"),
        "the best of them above": (v.advice([card("a", 81), card("b", 300)]), "a still singles out 81 of 800"),
        "alike in all figures": (
            v.advice([alike, card("b", 80)]),
            "measurably in the people they expose. Each singles",
        ),
        "alike in some figures": (
            v.advice([alike, part]),
            "in people singled out with 2 items and items known or inferred. Not all of them have the other figures.",
        ),
        "without a common figure": (v.advice([alike, none]), "measurably in any figure that all have. Not all of them"),
        "one publishes nothing": (
            v.advice([card("a", 1, hidden=1.0), card("b", 300)]),
            "a publishes no item with its record. Check that readers can use it.",
        ),
        "two publish nothing": (
            v.advice([card("a", 1, hidden=1.0), card("b", 300, hidden=1.0), card("c", 300)]),
            "a and b publish no item with its record. Check that readers can use them.",
        ),
        "not measured": (v.advice([card("a", 300), unknown]), "2 known items single out 10 of 800 people with c"),
        "one release is no choice": (str(v.advice([card("a", 1)]) == ""), "True"),
        "the same release twice is no choice": (
            str(v.advice([card("a", 1), replace(card("a", 1), name="b")]) == ""),
            "True",
        ),
        "other people": (v.advice([card("a", 1), card("b", 1, of=900)]), "different people"),
        "everything hidden, twice": (
            v.advice([card("a", 1, uniform=True), card("b", 1, uniform=True)]),
            "a and b hide everything",
        ),
        "a draw": (v.advice([card("a", 1, random=True), card("b", 300)]), "made once"),
        "no draw": (str("made once" in v.advice([card("a", 1), card("b", 300)])), "False"),
        "few are listed": (v.advice(many[:4]), "(200 with b, 300 with c, 400 with d, 600 in the original data)"),
        "many are a range": (v.advice(many), "(200 with b to 500 with e, 600 in the original data)"),
        "several winners": (
            v.advice([card("a", 1, hidden=0.5), card("b", 1, hidden=0.4), card("c", 300)]),
            "are a and b. These numbers are no proof of protection. 2 known items single out 1 of 800",
        ),
        "more than four winners": (
            v.advice([*(card(name, 1) for name in "abcde"), card("z", 300)]),
            "The releases that expose the fewest people are 5 of 6, for example a.",
        ),
        "four winners": (
            v.advice([*(card(name, 1) for name in "abcd"), card("z", 300)]),
            "The releases that expose the fewest people are a, b, c and d.",
        ),
        "no release is best in everything": (
            v.advice([card("a", 10, inferred=400), card("b", 300)]),
            "No release exposes the fewest",
        ),
        "costs where they are known": (
            str("hidden:" in v.advice([card("a", 1, hidden=None), card("b", 300)])),
            "False",
        ),
        "costs of two": (v.advice([card("a", 1, hidden=0.5), card("b", 300, hidden=0.2)]), "50% with a, 20% with b"),
    }
    untried = {figure: replace(cell, reason=NOBODY) for figure, cell in card("u", 300).cells.items()}
    idle = replace(card("idle", 300), cells=untried)
    without = {figure: replace(cell, original=None) for figure, cell in card("w", 1).cells.items()}
    drawn = replace(card("w", 1), people=700, records=800)
    lacking = replace(card("l", 1), cells=card("l", 1).cells | {"singled_out_2": Cell(800, 600.0, reason="unknown")})
    twice = {"singled_out_2": Cell(800, 600.0, Interval(1.0, None, None, 2), source="release")}
    found |= {
        "just above 2% of the people": (
            v.advice([card("near", 283.99), far]),
            "The release that exposes the fewest people is near",
        ),
        "just above 10% of the people": (v.advice([card("a", 80.01), card("b", 80.01)]), "use another method"),
        "the best of them just above": (v.advice([card("a", 80.01), card("b", 300)]), "still singles out"),
        "the most of them above 10%": (v.advice([_wide("a", 50.0, 99), _wide("b", 120.0, 99)]), "use another method"),
        "from the fewest to the most": (v.advice([card("a", 0), card("b", 1)]), "Each singles out 0 to 1 of 800"),
        "one was not tested": (v.advice([card("a", 1), idle]), "Not tested: idle, because"),
        "none was tested": (
            str("Not tested" in v.advice([idle, replace(idle, name="b", releases=frozenset({2}))])),
            "False",
        ),
        "intervals that touch": (v.advice([_wide("a", 200.0, 45), _wide("b", 290.0, 45)]), "do not differ measurably"),
        "a sample of other people": (
            str("different people" in v.advice([drawn, replace(drawn, cells=without, releases=frozenset({3}))])),
            "False",
        ),
        "one of two hides everything": (
            str("do not differ" in v.advice([card("star", 0, uniform=True), card("b", 1)])),
            "False",
        ),
        "star": (v.advice([card("star", 0, uniform=True), card("b", 1)]), "star hides everything. A label"),
        "people not measured of one": (v.advice([card("a", 1), lacking]), "was not measured for all of them"),
        "a figure that one lacks": (str("imply" in v.advice([card("a", 300), unknown])), "False"),
        "a row in which several are best": (
            v.advice([card("b", 20, inferred=400), card("a", 10, inferred=400), card("c", 300)]),
            "single out 10 of 800 people with a (20 with b, 300 with c",
        ),
        "originals that are not known": (
            str("in the original" in v.advice([replace(card("w", 1), cells=without), _unknown_original(300)])),
            "False",
        ),
        "the cheapest is named where costs are not known": (
            v.advice([card("a", 1, hidden=None), card("b", 1, hidden=0.4), card("c", 300)]),
            "single out 1 of 800 people with b",
        ),
        "two dominate": (
            v.advice([card("a", 1), card("b", 1), card("z", 300, hidden=0.4)]),
            "Release z is dominated: a is better",
        ),
        "made twice": (
            str(
                "made once"
                in v.advice([replace(card("w", 1, random=True), cells=card("w", 1).cells | twice), card("b", 300)])
            ),
            "False",
        ),
    }
    yield from (name for name, (said, expected) in found.items() if expected not in said)
    yield from (str(pair) for *pair, expected in DOMINATED if v.dominating(*pair) is not expected)


@pytest.mark.slow
def test_a_case_fails_for_every_changed_bound_of_the_comparison():
    assert not [*advice_failures(advice_module)]
    alive = []
    for at, change, tree in mutants(inspect.getsource(advice_module)):
        try:
            found = any(True for _ in advice_failures(loaded(tree)))
        except Exception:  # a copy that fails is found as well
            found = True
        if not found:
            alive.append(f"line {at}: {change}")
    assert not alive, "\n".join(alive)


def test_probabilities_are_corrected_for_every_attack_in_every_variant(tmp_path):
    vary = "vary: {anonymise.k: [2, 5]}\n"
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{DATA}{RELATE}{COAT}{vary}attack: [ra, tba, rba]\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(done.store)) as connection:
        judged = judged_variants(connection, Study.of(connection, read_runs(connection)))
    assert [one.figures.comparisons for one in judged] == [4, 4], "ra is the baseline"
    for one, run in zip(judged, done.variants, strict=True):
        for recovery in one.figures.recoveries:
            assert recovery.p == (run.figures["p_random", recovery.attack].value,)
            assert one.settings.leads[recovery.attack].level == 1 - 0.05 / 4
        worst = max(run.figures["singled_out_2", name].value for name in ("tba", "rba"))
        assert one.figures.after_attack[2].count == worst
        assert one.figures.singled_out[2].count == run.figures["singled_out_2_release", "tba"].value


@pytest.mark.parametrize(
    ("places", "records", "expected"), [(3, 24, 0), (4, 24, 4), (3, 3, 3), (2, 3, 0), (0, 24, 0), (None, 24, None)]
)
def test_as_few_rows_at_their_places_as_chance_leaves_there_are_nobody(places, records, expected):
    assert at_place(places, records) == expected
