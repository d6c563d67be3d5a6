"""The verdict: its rule, and its words for each outcome and each published form."""

import json
import re

import pytest

import decloak
from decloak.commands.carding import account_of
from decloak.measure.kernels.lead import Claims, repeated_lead
from decloak.report.knowledge import attacker_phrase
from decloak.report.leads import Lead
from decloak.report.study import Study
from decloak.report.verdict import Outcome, judged
from decloak.store.studies import StudyRun

CLINIC = {
    "relate": {"measure": "ngd", "source": "clinic-counts"},
    "anonymise": {"method": "coat", "k": 10},
    "measure": ["recovery", {"coverage": {"least": 0.3}}],
}


def study(config: dict, added: float = 500, singled: float = 543) -> Study:
    runs = tuple(StudyRun(n, "t", "base", n, n, "", config) for n in (1, 2, 3))
    figures = {("added", "rba"): added, ("singled_out_2_release", "rba"): singled, ("people", "rba"): 800.0}
    figures |= {("singled_out_2_original", "rba"): 600.0}
    return Study(runs, {run.run: figures for run in runs}, {run.run: 800 for run in runs})


def lead(*repetitions: tuple[float, float, float], attack: str = "rba", level: float = 0.99) -> Lead:
    claims = tuple(Claims(*one) for one in repetitions)
    return Lead("base", attack, claims, repeated_lead(claims, level), True)


FIVE = ("mda", "tba", "wba", "gba", "rba")
STRONG = lead((449, 395, 265), (440, 386, 260), (460, 406, 271))
WEAK = lead((400, 297, 296), (4000, 2961, 2960), (40000, 29605, 29600))
OPEN = lead((40, 32, 19), (38, 20, 18), (41, 38, 20))


def test_much_comes_back():
    concluded = judged(study(CLINIC), [STRONG, WEAK], FIVE, None)
    assert concluded.outcome == Outcome.COMES_BACK
    assert concluded.heading == "Much of what this release hides comes back"
    low, high = (f"{100 * bound:.0f}" for bound in (STRONG.interval.low, STRONG.interval.high))
    assert " ".join(concluded.text.split()) == (
        "Much of what this release hides comes back. An attacker who has the release and knows how often medical "
        "texts mention two terms together rules out 450 of the items put there to hide the real ones and is right 88 "
        f"times in 100 with the attack rba; guessing would be right 59 times. The gain is 29 points ({low} to {high} "
        "with 95% confidence, all five attacks considered, three repetitions of one data set). Whatever the attack: "
        "two known items already single out 543 of the 800 people."
    )


def test_a_little_beyond_chance_is_told_in_tenths():
    small = lead((1000, 162, 150), (1000, 161, 150), (1000, 163, 150))
    concluded = judged(study(CLINIC, added=1000), [small], ["rba"], None)
    assert concluded.heading == "Very little of what this release hides comes back"
    text = " ".join(concluded.sentences)
    assert "is right 16.2 times in 100 with the attack rba; guessing would be right 15.0 times." in text
    assert re.search(r"The gain is 1\.2 points \([01]\.\d to 1\.\d with 95% confidence", text)


def test_nothing_beyond_guessing():
    concluded = judged(study(CLINIC, singled=0), [WEAK], ["gba", "rba"], None)
    assert concluded.outcome == Outcome.NOTHING
    assert concluded.heading == "These attacks win back nothing beyond guessing"
    text = " ".join(concluded.sentences)
    assert "guessing is right 74 times in 100" in text
    assert re.search(r"better by more than [01]\.\d points \(95%, both attacks considered", text)
    assert "An attacker who knows more may win back more." in text


def test_repetitions_that_cannot_tell_say_how_many_would():
    concluded = judged(study(CLINIC), [OPEN], FIVE, None)
    assert concluded.outcome == Outcome.CANNOT_TELL
    assert concluded.heading == "Three repetitions cannot tell"
    text = " ".join(concluded.sentences)
    assert "was right 76 times in 100 with the attack rba where guessing would be 48" in text
    assert "points worse" in text
    assert re.search(r"If they go on like this, \d+ repetitions decide: repeat: \{times: \d+\}\.", text)


def test_one_attack_above_chance_is_enough_and_the_most_won_back_is_spoken_of():
    few = lead((21, 20, 8), (22, 21, 8), (20, 19, 8), attack="mda")
    concluded = judged(study(CLINIC), [few, STRONG, OPEN], FIVE, None)
    assert "with the attack rba" in concluded.text.replace("\n", " ")


FORBIDDEN = ("anonymous", "safe", "compliant", "no risk", "secure")


@pytest.mark.parametrize("leads", [[STRONG], [WEAK], [OPEN]], ids=["much", "nothing", "open"])
def test_nothing_is_claimed_that_no_attack_can_show(leads):
    text = judged(study(CLINIC), leads, FIVE, None).text.lower()
    assert not [word for word in FORBIDDEN if word in text]
    assert "attacker" in text


def run(tmp_path, text: str, rows: int | None = None) -> tuple[Outcome, str]:
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{text}")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", **({} if rows is None else {"rows": rows}))
    concluded = account_of(done.store, [variant.run for variant in done.variants]).verdict
    return concluded.outcome, " ".join(concluded.text.split())


DATA = "data: {generate: clinic, transactions: 200, seed: 7}\n"
RELATE = "relate: {measure: ngd, source: clinic-counts}\n"


def test_set_generalised(tmp_path):
    method = "anonymise: {method: coat, k: 5, privacy: {count: 40, sizes: [3]}}\n"
    outcome, text = run(tmp_path, f"{DATA}{RELATE}{method}attack: [ra, rba]\nrepeat: {{times: 3}}\n")
    assert outcome in (Outcome.COMES_BACK, Outcome.CANNOT_TELL)
    assert "one attack considered" in text
    assert "three repetitions" in text.lower()


def test_generalised(tmp_path):
    method = "anonymise: {method: cut, k: 3, m: 1, hierarchy: {by: random, fanout: 4}}\n"
    outcome, text = run(tmp_path, f"{DATA}{RELATE}{method}attack: [tba]\n")
    assert outcome == Outcome.COMES_BACK
    assert "parts of this release resampled" in text
    outcome, text = run(tmp_path, f"{DATA}{method}attack: [km_violation]\nmeasure: [loss]\n")
    assert outcome == Outcome.CANNOT_TELL
    assert "no attack that guesses what is meant was tried" in text


def test_disassociated(tmp_path):
    method = "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}\n"
    outcome, text = run(tmp_path, f"{DATA}{RELATE}{method}attack: [random, mra]\nmeasure: [accuracy]\n")
    assert outcome in set(Outcome)
    assert "with the attack mra" in text or "better by more than" in text
    outcome, text = run(tmp_path, f"{DATA}{method}attack: [cover]\nmeasure: [breach]\n")
    assert outcome == Outcome.COMES_BACK
    assert "An attacker who has the release and knows any items of the persons can place items that the release" in text
    both = f"{DATA}{RELATE}{method}attack: [mra, cover]\nmeasure: [accuracy, breach]\n"
    outcome, text = run(tmp_path, both, rows=0)  # of so many records, though no row shows them
    assert outcome == Outcome.COMES_BACK
    assert re.search(r"keep apart in \d+ of the 200 records \(cover\)", text)


def test_a_release_whose_originals_nobody_gave(example):
    text = (example / "scenario.yaml").read_text().replace("file: original.txt, format: basket, ", "")
    (example / "s.yaml").write_text(re.sub(r"\nmeasure: .*", "", text))
    done = decloak.run(example / "s.yaml", store=example / "s.db")
    concluded = account_of(done.store, [1]).verdict
    assert concluded.outcome == Outcome.NOT_MEASURED
    assert concluded.heading == "What comes back cannot be measured: the originals were not given"
    assert "only the publisher can tell" in concluded.text


def test_only_a_coin(example):
    text = re.sub(r"attack: .*", "attack: [ra]", (example / "scenario.yaml").read_text())
    (example / "s.yaml").write_text(text)
    done = decloak.run(example / "s.yaml", store=example / "s.db")
    concluded = account_of(done.store, [1]).verdict
    assert concluded.outcome == Outcome.CANNOT_TELL
    assert "No attack was run that learns anything" in concluded.text


def test_it_is_the_first_line_of_a_run_and_in_its_json(example, call):
    table = call("run", example / "scenario.yaml", "--store", example / "s.db").out
    assert table.startswith("One release cannot tell. An attacker who has the release and has scores")
    verdict = json.loads(call("run", example / "scenario.yaml", "--store", example / "s.db", "--json").out)["verdict"]
    assert verdict["outcome"] == "cannot tell"
    assert " ".join(f"{verdict['heading']}. {' '.join(verdict['sentences'])}".split()) in " ".join(table.split())
    assert call("run", example / "scenario.yaml", "--store", example / "s.db", "--format", "csv").out[:7] == "variant"


@pytest.mark.parametrize(
    ("config", "phrase"),
    [
        ({}, "An attacker who has only the release"),
        ({"relate": {"measure": "wordnet"}}, "An attacker who has the release and has a dictionary of how terms"),
        ({"relate": [{"measure": "ngd", "source": "corpus"}, {"measure": "embedding"}]},
         "knows how often texts mention two terms together and knows how near terms are"),
        ({"data": {"distances": "d.csv"}}, "An attacker who has the release and has tables of how far items are apart"),
    ],
)  # fmt: skip
def test_the_attacker_is_named_by_what_is_known(config, phrase):
    assert phrase in attacker_phrase(config)


COAT = "anonymise: {method: coat, k: 5, privacy: {count: 40, sizes: [3]}}\n"


def test_who_asked_that_sets_be_frequent_is_not_said_to_have_been_promised_it(tmp_path):
    asked = "attack: [{rule: km_violation, k: 4, m: 1, as: rare}]\nmeasure: [loss]\n"
    outcome, text = run(tmp_path, f"{DATA}{COAT}{asked}")
    assert outcome == Outcome.COMES_BACK, "whatever it is called"
    assert "promised" not in text  # coat promised something else, and keeps it
    assert re.match(r"What is known of a person may leave fewer than 4 records\. [\d,]+ sets of at most 1 item are in "
                    r"fewer than k = 4 records \(rare\)\.", text)  # fmt: skip
    method = "anonymise: {method: cut, k: 3, m: 2, hierarchy: {by: random, fanout: 4}}\n"
    _, text = run(tmp_path, f"{DATA}{method}attack: [km_violation]\nmeasure: [loss]\n")
    assert (
        "Every set of at most 2 items that a record shows is in k = 3 records or more (km_violation); no attack" in text
    )


@pytest.mark.parametrize(
    "attack",
    ["[{rule: km_violation, k: 4, m: 1}]", "[ra]", "[tba]"],
    ids=["by frequency", "a coin", "nothing known of any pair"],
)
def test_every_verdict_says_whom_known_items_single_out_whatever_the_attack(tmp_path, attack):
    (tmp_path / "scores.csv").write_text("a,b,ngd\nnobody,nothing,0.5\n")
    relate = "relate: {measure: ngd, source: scores, file: scores.csv}\n"
    _, text = run(tmp_path, f"{DATA}{relate}{COAT}attack: {attack}\n")
    assert re.search(r"Whatever the attack: two known items already single out \d+ of the 200 people\.", text)


def test_where_nobody_is_singled_out_it_says_of_whom_two_items_tell_a_third(tmp_path):
    (tmp_path / "alike.txt").write_text("flu, cough, fever\n" * 20)
    data = "data: {file: alike.txt, format: basket}\n"
    for method in ("cut, k: 3, m: 2, hierarchy: {by: names, fanout: 3}", "disassociation, k: 3, m: 2, max_cluster: 10"):
        _, text = run(tmp_path, f"{data}anonymise: {{method: {method}}}\n")
        assert "Whatever the attack: two known items already tell a third for certain of 20 of the 20 people." in text


def test_it_counts_people_as_the_card_does(tmp_path, call):
    text = f"scenario: s\n{DATA}{RELATE}{COAT}attack: [rba]\nrepeat: {{times: 3, seed: 1}}\n"
    (tmp_path / "s.yaml").write_text(text)
    code, out, _ = call("run", str(tmp_path / "s.yaml"), "--store", str(tmp_path / "s.db"), "--json")
    told = json.loads(out)
    before = told["cards"][0]["singled_out_2"]["release"]
    assert code == 0
    assert f"single out {before:,.0f} of the 200 people" in " ".join(told["verdict"]["sentences"])


def test_cover_problems_are_part_of_it_where_no_measure_is_listed(tmp_path):
    method = "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}\n"
    _, text = run(tmp_path, f"{DATA}{method}")
    assert re.search(r"can place items that the release was to keep apart in \d+ of the 200 records \(cover\)", text)


def test_a_release_that_shows_all_its_records_hold_is_told_to_hide_nothing(tmp_path, call):
    (tmp_path / "d.txt").write_text("a, b, c\na, b\nb, c\na, c, d\n")
    relate = "relate: {measure: ngd, source: release}\n"
    outcome, text = run(tmp_path, f"data: {{file: d.txt, format: basket, published: d.txt}}\n{relate}")
    assert outcome == Outcome.COMES_BACK
    assert text.startswith("This release hides nothing. All that its records hold is shown with them, so that no")
    assert "single out 1 of the 4 people" in text
    (tmp_path / "s.yaml").write_text(f"scenario: s\ndata: {{published: d.txt}}\n{relate}attack: [tba]\n")
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "t.db")
    assert "note: no record shows a generalised item: each item stands for itself, so there was nothing" in said.err


def test_records_without_items_are_not_said_to_hide_nothing(tmp_path):
    (tmp_path / "d.txt").write_text("p1\np2\n")
    data = "data: {file: d.txt, format: basket, ids: true, as_said: true}\n"
    method = "anonymise: {method: sets, size: 2, share: 0.5}\nrelate: {measure: ngd, source: release}\n"
    _, text = run(tmp_path, f"{data}{method}")
    assert "hide" not in text


def test_cover_problems_of_somebody_elses_release_are_told_though_nobody_knows_of_whom(tmp_path, call):
    method = "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}\n"
    run(tmp_path, f"{DATA}{method}attack: [cover]\n")
    call("publish", "last", tmp_path / "r.jsonl", "--store", tmp_path / "s.db")
    for attacks in ("[cover]", "[aba, cover]"):
        outcome, text = run(tmp_path, f"data: {{release: r.jsonl}}\n{RELATE}attack: {attacks}\n")
        assert outcome == Outcome.NOT_MEASURED
        assert re.search(r"can place \d+ items? of (a cluster|clusters) that the release was to keep apart", text)


def test_what_breaks_one_release_of_several_is_not_hidden_by_what_does_not_break_another(tmp_path):
    (tmp_path / "d.txt").write_text("a, c\n" * 4 + "a\n" * 4 + "c\n" * 4 + "b, d\n" * 5 + "a, b, c\n")
    apart, coat = "{method: disassociation, k: 3, m: 2, max_cluster: 30}", "{method: coat, k: 3, privacy: [[b]]}"
    text = f"data: {{file: d.txt, format: basket}}\nvary: {{anonymise: [{apart}, {coat}]}}\n"
    outcome, text = run(tmp_path, f"{text}attack: [{{rule: km_violation, k: 5, m: 2}}, cover]\n")
    assert outcome == Outcome.COMES_BACK
    assert "in fewer than k = 5 records (km_violation)" in text
