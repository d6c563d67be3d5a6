"""`decloak advise`: golden screens, small data from end to end, budget, interruption and the written scenario."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest

import decloak
from decloak.advice import advising
from decloak.advice.advising import Bench, advise
from decloak.advice.candidates import Candidate, OwnerInputs, Tried, Untried, candidates_for, hides_everything
from decloak.advice.screen import LINES, WIDTH, Advice, _people, listing
from decloak.advice.writing import front_text, scenario_text
from decloak.errors import DecloakError
from decloak.pipeline import scheduler
from decloak.scenario.criteria import PRESETS, Accepted, Ranged, accepted

GOLDEN = Path(__file__).parents[1] / "golden"
BANNED = re.compile(r"\b(safe|anonymous|compliant|publish this)\b", re.IGNORECASE)


def candidate(k, size):
    settings = {"method": "disassociation", "k": k, "m": 2, "max_cluster": size}
    return Candidate("disassociation", f"disassociation k = {k}, clusters of {size:,}", settings, "random")


ATTACKS = ("random", "aba", "expectation", "cover")


def tried(k, size, error, exposed, advantage, surest, *, attacks=()):
    people = 4917
    figures = {
        "exposed_3": Ranged(exposed / people, exposed / people, exposed, people),
        "exposed_2": Ranged(0.0, 0.0, 0, people),
        "exposed_3_original": Ranged(0.77, 0.77, 3814, people),
        "exposed_2_original": Ranged(0.3, 0.3, 1482, people),
        "inference_advantage": Ranged(advantage, advantage + 0.02),
        "inference_advantage_at_5": Ranged(surest / 3, surest / 2),
        "inference_advantage_at_1": Ranged(surest, surest + 0.1),
        "membership_auc": Ranged(0.51, 0.51),
        "guarantee_violations": Ranged(0.0, 0.0),
        "certain_links": Ranged(0.0, 0.0),
        "implied_advantage": Ranged(0.0, 0.0),
        "hidden": Ranged(0.5, 0.5),
        "count_error": Ranged(error, error),
        **{f"count_error_{n}": Ranged(error * n / 2, error * n / 2) for n in (1, 2, 3)},
    }
    sections = {
        "anonymise": candidate(k, size).anonymise, "attack": "all",
        "measure": [{"exposure": {"control": "/data/others.txt"}}, {"utility": {"workload": "/data/asked.txt"}}],
        "repeat": {"seed": 0},
    }  # fmt: skip
    return Tried(candidate(k, size), figures, sections, attacks)


def advice(table, lead, passes, **changes):
    values = {
        "records": 4917, "items": 169, "control": 4917, "by": Accepted("public", PRESETS["public"]),
        "tried": tuple(table), "untried": (Untried("COAT", "no constraints given"),), "lead": lead, "passes": passes,
        "ended": None, "base": {"data": {"file": "/data/visits.txt", "format": "basket"}},
    }  # fmt: skip
    return Advice(**{**values, **changes})


TABLE = [
    tried(3, 50, 0.11, 379, 0.25, 1.0),
    tried(3, 1000, 0.14, 197, 0.08, 1.0),
    tried(5, 200, 0.16, 15, 0.10, 0.9),
    tried(11, 1000, 0.21, 7, 0.02, 0.1, attacks=ATTACKS),
    *(tried(11, size, 0.25, 400, 0.3, 1.0) for size in (50, 200)),
]
MISSED = [*TABLE[:3], tried(11, 1000, 0.21, 7, 0.04, 0.6, attacks=ATTACKS), *TABLE[4:]]
SCREENS = {
    "passes": advice(TABLE, TABLE[3], True),
    "nothing-passes": advice(MISSED, MISSED[3], False),
    "budget-ended": advice(
        MISSED[:4], MISSED[3], False, ended="the budget ended",
        untried=(Untried("cut k = 5, m = 2, by popularity", "the budget ended"),),
    ),
    "shows-nothing": advice([tried(11, 50, 1.0, 0, 0.0, 0.0)], None, False),
}  # fmt: skip


@pytest.mark.parametrize("name", SCREENS)
def test_golden_screens(name, request):
    text = str(SCREENS[name])
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    assert not BANNED.search(text)
    file = GOLDEN / f"advice-{name}.txt"
    assert text + "\n" == file.read_text(encoding="utf-8")


def test_a_limit_of_nobody_is_judged_by_all_people_and_has_the_rule_of_three(tmp_path):
    by = accepted(["exposed_3 <= 0"])
    assert by.asks_for_nobody
    assert not Accepted("public", PRESETS["public"]).asks_for_nobody
    bench = Bench(tmp_path / "s.yaml", tmp_path / "s.db", everyone=True)
    assert bench.measures()[0]["exposure"]["targets"] == "all"
    shown = tried(11, 1000, 0.2, 0, 0.0, 0.0, attacks=ATTACKS)
    text = " ".join(str(advice([shown], shown, True, by=by)).split())
    assert "(limit 0) and, by the rule of three, at most 0.06% of others like them" in text


def test_the_name_of_a_file_of_criteria_is_bounded_and_cannot_write_to_the_terminal(tmp_path):
    hostile = tmp_path / f"a\x1b[31m\n{'b' * 90}.yaml"
    hostile.write_text("[exposed_3 <= 3%]")
    shown = tried(11, 1000, 0.2, 7, 0.0, 0.0, attacks=ATTACKS)
    found = advice([shown], shown, True, by=accepted(str(hostile)))
    screen = str(found)
    assert 'the criteria "a\\x1b[31m\\x0abbb' in screen
    assert "b" * 60 not in screen
    for text in (screen, repr(found), scenario_text(found, tmp_path)):
        assert "\x1b" not in text
        assert "\nbbb" not in text


def test_paths_in_a_written_scenario_are_seen_from_its_folder():
    shown = tried(11, 1000, 0.2, 0, 0.0, 0.0, attacks=ATTACKS)
    found = advice([shown], shown, True, digest="abc123")
    for text in (scenario_text(found, Path("/data/deep")), front_text(found, Path("/data/deep"))):
        assert "/data/" not in text.replace("../", "")
        assert '"control": "../others.txt"' in text
        assert '"workload": "../asked.txt"' in text
        assert "# Data: 9,834 records with the digest abc123." in text
        assert re.search(r"^#   disassociation k = 11, clusters of 1,000: count_error 0.2", text, re.MULTILINE)


def test_the_leading_candidate_is_in_a_table_that_is_too_long():
    many = [tried(3, size, 0.01 * size, 379 - size, 0.25, 1.0) for size in range(1, 31)]
    text = str(advice([*many, MISSED[3]], MISSED[3], False))
    assert len(text.splitlines()) <= LINES
    assert re.search(r"^> disassociation k = 11, clusters of 1,000", text, re.MULTILINE)
    assert len(list(listing(advice(many, many[0], False)))) == 32  # a head, 30 candidates, one that was not tried


def records(count, seed=1):
    """People with items that go together: three groups with a few items of their own."""
    chance = random.Random(seed)
    lines = []
    for _ in range(count):
        group = chance.choice("abc")
        own = [f"{group}{chance.randrange(6)}" for _ in range(chance.randrange(1, 4))]
        lines.append(sorted({*own, *(f"x{chance.randrange(9)}" for _ in range(chance.randrange(1, 4)))}))
    return lines


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("advice")
    (folder / "visits.txt").write_text("\n".join(map(", ".join, records(400))))
    return folder, advise(folder / "visits.txt", accept=["exposed_3 <= 40%", "guarantee_violations <= 0"])


def test_all_candidates_are_tried_and_the_lead_is_attacked_and_not_dominated(small):
    _, found = small
    assert found.passes
    assert found.lead.attacked
    assert found.lead in found.front
    methods = {one.candidate.anonymise["method"] for one in found.tried}
    assert methods == {"disassociation", "cut", "lra", "partition", "suppression", "itemsets", "synthetic"}
    assert found.counts.candidate.of_counts
    assert found.counts.attacked
    assert not found.lead.candidate.of_counts
    assert (found.records, found.control) == (200, 200)


def test_what_was_written_gives_every_figure_again_and_fails_when_k_is_lowered(small, monkeypatch, call):
    folder, found = small
    monkeypatch.chdir(folder)
    assert found.write("mine.yaml") == Path("mine.yaml")
    assert Path("mine.yaml").read_text() == scenario_text(found, folder)
    again = decloak.run("mine.yaml", store="s.db").variants[0]
    for key, figure in found.lead.figures.items():
        values = [one for (name, _), one in again.figures.items() if name == key and one.value is not None]
        if values and key not in ("inference_advantage", "inference_advantage_at_1", "inference_advantage_at_5"):
            worst = max(one.value / one.whole if figure.of else one.value for one in values)
            assert worst == figure.value, key
    assert call("run", "mine.yaml", "--store", "s.db").code == 0
    handed_out = call("publish", "last", "mine.jsonl", "--store", "s.db")
    assert "note: the release lacks the people of the control group" in handed_out.err
    text = Path("mine.yaml").read_text()
    Path("lower.yaml").write_text(re.sub(r'"k": \d+', '"k": 2', text))
    said = call("run", "lower.yaml", "--store", "s.db")
    assert said.code == 3
    assert re.search(r"FAILED: exposed_3(_release)? = .* <= 40%", said.out + said.err)


@pytest.mark.parametrize(
    ("method", "ways"),
    [
        ("itemsets", {"certain", "differenced"}),  # reconstruction by integer programs, and differences
        ("synthetic", {"copies"}),
        ("suppression", {"km_violation", "rba"}),
        ("diversity", {"rba", "selftrained"}),
        ("cut", {"km_violation", "rba", "selftrained"}),  # the attacker learns from the release
    ],
)
def test_a_form_that_is_advised_was_attacked(small, monkeypatch, method, ways):
    of_method = [
        one for one in candidates_for(200, OwnerInputs(sensitive=["a1", "b2"])) if one.anonymise["method"] == method
    ]
    monkeypatch.setattr(advising, "candidates_for", lambda *_: of_method[:1])
    found = advise(small[0] / "visits.txt")
    lead = found.lead or found.counts
    assert set(lead.attacks) >= ways
    assert "selftrained_labels" not in lead.attacks  # a negative control decides nothing
    # People outside the data are the control of inference and of membership.
    assert {"membership_auc", "inference_advantage", "inference_advantage_at_1"} <= lead.figures.keys()
    assert f"attacks on {lead.candidate.name}: {', '.join(lead.attacks)}" in listing(found)


@pytest.mark.slow
def test_two_processes_and_another_run_give_the_same_bytes(small, monkeypatch):
    folder, found = small
    monkeypatch.setattr(scheduler, "TRIAL", -1)
    again = advise(folder / "visits.txt", accept=["exposed_3 <= 40%", "guarantee_violations <= 0"], jobs=2)
    assert again.json == found.json


def test_the_budget_ends_the_search_and_an_interruption_gives_the_screen_so_far(small):
    folder, _ = small
    found = advise(folder / "visits.txt", budget=0.001)
    assert (len(found.tried), found.ended) == (1, "the budget ended")
    assert "INCOMPLETE: only 1 candidate was tried, because the budget ended" in str(found)

    def interrupt(number, of, candidate):
        if number == 1:
            raise KeyboardInterrupt

    found = advise(folder / "visits.txt", progress=interrupt)
    assert (len(found.tried), found.ended, found.passes) == (1, "it was interrupted", False)
    assert json.loads(found.json)["ended"] == "it was interrupted"
    with pytest.raises(KeyboardInterrupt):
        advise(folder / "visits.txt", progress=lambda *_: interrupt(1, 1, None))


def test_too_few_records_are_refused(tmp_path, call):
    (tmp_path / "few.txt").write_text("\n".join(map(", ".join, records(60))))
    said = call("advise", tmp_path / "few.txt")
    golden = (GOLDEN / "advice-too-few.txt").read_text(encoding="utf-8")
    assert (said.code, said.err.replace(str(tmp_path), "")) == (2, golden)


def test_records_in_python_and_scenarios_are_data_too(tmp_path):
    def stop(number, of, candidate):
        if number:
            raise KeyboardInterrupt

    of_records = advise(records(400), progress=stop)
    (tmp_path / "visits.txt").write_text("\n".join(map(", ".join, records(400))))
    (tmp_path / "own.yaml").write_text(
        "scenario: own\ndata: {file: visits.txt, format: basket}\n"
        "anonymise: {method: disassociation, k: 3, m: 2}\nattack: [random]\n"
    )
    of_scenario = advise(tmp_path / "own.yaml", progress=stop)
    assert of_records.tried[0].figures == of_scenario.tried[0].figures
    assert (
        scenario_text(of_scenario, tmp_path / "deep")
        .splitlines()
        .count('data: {"file": "../visits.txt", "format": "basket"}')
    )


@pytest.mark.slow
def test_the_advice_on_data_in_memory_is_written_and_run_on_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = records(300)
    found = advise(rows, accept="exposed_3 <= 40%", readers="counts", budget=1)
    found.write("mine.yaml")
    assert 'data: {"file": "data.jsonl", "format": "jsonl"' in Path("mine.yaml").read_text()
    again = decloak.run("mine.yaml", data=rows, store="s.db").variants[0]
    errors = {figure.value for (key, _), figure in again.figures.items() if key == "count_error"}
    assert errors == {found.written.error}


def test_an_advice_is_written_once_and_only_if_a_candidate_shows_anything(tmp_path):
    with pytest.raises(DecloakError, match="no candidate shows anything"):
        SCREENS["shows-nothing"].write(tmp_path / "mine.yaml")
    assert not list(tmp_path.iterdir())
    SCREENS["passes"].write(tmp_path / "mine.yaml")
    with pytest.raises(DecloakError, match="there is something already"):
        SCREENS["passes"].write(tmp_path / "mine.yaml", front=True)


def test_wrong_arguments_are_named(tmp_path, call):
    (tmp_path / "visits.txt").write_text("\n".join(map(", ".join, records(300))))
    assert "write such as 60s" in call("advise", tmp_path / "visits.txt", "--budget", "soon").err
    assert "is no criterion" in call("advise", tmp_path / "visits.txt", "--accept", "everything").err
    release = decloak.anonymise(records(300), "disassociation", k=3, m=2)
    release.write(tmp_path / "release.jsonl")
    with pytest.raises(DecloakError, match="file of original records"):
        advise(tmp_path / "release.jsonl")


def test_the_front_is_a_scenario_whose_page_plots_exposure_and_error(small, monkeypatch, call):
    pytest.importorskip("vl_convert")
    folder, found = small
    monkeypatch.chdir(folder)
    found.write("front.yaml", front=True)
    done = decloak.run("front.yaml", store="front.db")
    assert len(done.variants) == len(found.front) > 1
    for one, ran in zip(found.front, done.variants, strict=True):
        errors = {figure.value for (key, _), figure in ran.figures.items() if key == "count_error"}
        assert errors == {one.error}
    assert call("report", "last", "-o", "page.html", "--store", "front.db").code == 0
    text = Path("page.html").read_text()
    assert "exposed by 3 random items" in text
    assert "mean error of counts" in text
    assert "--front has no file to write" in call("advise", "visits.txt", "--front").err


def test_very_many_records_are_sampled_and_the_screen_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(advising, "MOST", 300)

    def stop(number, of, candidate):
        if number:
            raise KeyboardInterrupt

    (tmp_path / "visits.txt").write_text("\n".join(map(", ".join, records(400))))
    found = advise(tmp_path / "visits.txt", progress=stop)
    assert str(found).startswith("Drawn from 400 records, because they are too many.\n150 records, ")
    assert json.loads(found.json)["drawn_from"] == 400
    written = scenario_text(found, tmp_path)
    assert '"sample": 300' in written
    assert len(str(found).splitlines()) <= LINES


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_names_the_source_of_each_limit(preset):
    assert all(len(criterion.source) > 10 for criterion in PRESETS[preset])
    assert accepted([preset]).criteria == PRESETS[preset]
    screen = str(advice(TABLE, TABLE[3], False, by=accepted([preset])))
    assert len(screen.splitlines()) <= LINES
    named = {"cms": "CMS", "tre": "SACRO", "nhs": "NHS", "ontario": "Ontario"}.get(preset, "Health Canada")
    assert named in screen


@pytest.mark.slow
def test_what_leads_is_never_dominated_and_never_hides_everything_on_200_small_data_sets(monkeypatch):
    few = [
        Candidate("disassociation", "3/12", {"method": "disassociation", "k": 3, "m": 2, "max_cluster": 12}, "random"),
        Candidate("disassociation", "5/30", {"method": "disassociation", "k": 5, "m": 2, "max_cluster": 30}, "random"),
        Candidate("generalisation", "cut", {"method": "cut", "k": 3, "m": 2, "hierarchy": {"by": "popularity"}},
                  "km_violation"),
    ]  # fmt: skip
    monkeypatch.setattr(advising, "FEWEST", 40)
    monkeypatch.setattr(advising, "candidates_for", lambda *_: few)
    for seed in range(200):
        found = advise(records(80, seed), seed=seed)
        shown = [one for one in found.tried if not hides_everything(one)]
        costs = {id(one): one.costs(found.criteria) for one in shown}
        if found.lead is None:
            assert not shown
            continue
        own = costs[id(found.lead)]
        assert found.lead in shown
        assert not any(all(a <= b for a, b in zip(of, own, strict=True)) and of != own for of in costs.values()), seed


@pytest.mark.slow
def test_groceries_have_a_screen_with_disassociation_in_large_clusters(shared_data):
    with gzip.open(shared_data / "groceries.tsv.gz", "rt", encoding="utf-8") as lines:
        found = advise([line.rstrip("\n").split("\t")[1].split("|") for line in lines])
    screen = str(found)
    assert len(screen.splitlines()) <= LINES
    assert found.lead.attacked
    assert found.passes == all(state == "met" for state in found.lead.states(found.criteria).values())
    assert ("nothing tried is acceptable. Nearest: " in screen) != found.passes
    name = "disassociation k = 11, clusters of 1,000"
    assert re.search(rf"^[> ] {name} +\d+ +-?\d+% +-?\d+% +\d+%  ", screen, re.MULTILINE)
    (large,) = [one for one in found.tried if one.candidate.name == name]
    assert large.error <= 0.22
    assert large.figures["exposed_3_release"].value <= 0.002
    assert large.figures["implied_advantage"].value > 0  # 6 of 5,766 people, and none of the control


@pytest.mark.slow
def test_nothing_is_acceptable_for_keywords_of_medical_notes(shared_data, tmp_path):
    with gzip.open(shared_data / "mtsamples_keywords.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t")[1].split("|") for line in lines]
    found = advise(rows)
    screen = " ".join(str(found).split())
    assert (found.passes, found.counts_pass) == (False, False)
    assert "nothing tried is acceptable" in screen
    assert "First leave out rare items and items that identify." in screen
    assert len(str(found).splitlines()) <= LINES
    small = next(one for one in found.tried if one.candidate.name == "disassociation k = 3, clusters of 50")
    assert small.figures["exposed_3_original"].value > 0.9
    assert small.figures["exposed_3_release"].value > 0.3


def test_errors_of_counts_are_read_from_the_store_for_pairs_of_candidates(tmp_path):
    def stop(number, of, candidate):
        if number == 3:
            raise KeyboardInterrupt

    (tmp_path / "visits.txt").write_text("\n".join(map(", ".join, records(700))))
    (tmp_path / "asked.txt").write_text("a1\nb1, x3\na2, x1\nx2, x5\n")
    for workload in (None, tmp_path / "asked.txt"):
        store = tmp_path / f"{workload is None}.db"
        found = advise(tmp_path / "visits.txt", progress=stop, store=store, workload=workload)
        bench = Bench(tmp_path / "advice.yaml", store, workload=None if workload is None else str(workload))
        for one in found.tried:
            means = [of_size.mean() for of_size in bench._errors(one)]
            assert sum(means) / len(means) == pytest.approx(one.error, abs=1e-12)
        assert not bench.differ(found.tried[0], found.tried[0], 1)
        if workload is None:
            ordered = sorted(found.tried, key=lambda one: one.error)
            assert bench.differ(ordered[0], ordered[-1], 2)


def test_unknown_people_read_as_part_of_a_sentence():
    assert f"3 known items expose {_people(None, True)}" == "3 known items expose an unknown number of people"
    assert f"2 known items {_people(None, False)}" == "2 known items an unknown number"
