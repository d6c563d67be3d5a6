"""The ladder of attackers: which measures and attacks each step has, samples held out, audits, and how all is named."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.data.dataset import Dataset
from decloak.data.knowledge_levels import KnowledgeLevel, level_name
from decloak.data.sampling import split_records
from decloak.pipeline.validate import plans
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.ngd_sources import ReleaseSource, SampleSource, ScoresSource
from decloak.relate.wordnet_similarity import WordnetSource
from decloak.report.wording import attacker_phrase
from decloak.scenario.document import load
from decloak.scenario.knowledge import measures_for_levels
from decloak.store.opening import connect_readonly
from decloak.store.records import read_dataset

COAT = "anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}\n"
CHUNKS = "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 25}\n"
CLINIC = "scenario: ladder\ndata: {generate: clinic, transactions: 120, seed: 7}\n"
COUNTS = "relate: {measure: ngd, source: clinic-counts}\n"
WORDNET = WordnetSource(measure="wordnet")
CLUSTERS = ClustersSource(measure="clusters")
SAMPLE = SampleSource(measure="ngd", source="sample", file="others.txt")


def written(folder: Path, *lines: str) -> Path:
    path = folder / "s.yaml"
    path.write_text("".join(lines))
    return path


def steps(path: Path) -> dict[str, str]:
    """The step of every attack that would run."""
    (plan,) = plans(load(path))
    named = [attack for attack in plan.attacks if attack.label and attack.settings.control is None]
    return {attack.label: level_name(attack.knowledge_levels) for attack in named}


def test_steps_are_named_from_the_bottom():
    assert (
        level_name([KnowledgeLevel.PERSON, KnowledgeLevel.LANGUAGE, KnowledgeLevel.SAMPLE])
        == "language + sample + person"
    )


def all_of(*parts):
    return CombinedBase(measure="combined", of=parts)


@pytest.mark.parametrize(
    ("relate", "knowledge_levels", "clusters", "known"),
    [
        (WORDNET, {"language"}, False, "wordnet"),
        (WORDNET, {"nothing"}, False, "none"),
        (WORDNET, {"nothing"}, True, None),
        (WORDNET, {"release"}, False, "none"),
        (WORDNET, {"release"}, True, "clusters"),
        (WORDNET, {"language", "release"}, True, "wordnet + clusters"),
        (all_of(WORDNET, SAMPLE), {"sample"}, True, "ngd sample"),
        (None, {"sample"}, False, "ngd sample"),
        (all_of(WORDNET, CLUSTERS, SAMPLE), {"language", "release", "sample"}, True, "wordnet + clusters + ngd sample"),
        (all_of(WORDNET, CLUSTERS, SAMPLE), {"release", "sample"}, True, "clusters + ngd sample"),
    ],
)
def test_an_attacker_goes_by_the_measures_of_its_knowledge_levels(relate, knowledge_levels, clusters, known):
    measures = measures_for_levels(
        relate, set(map(KnowledgeLevel, knowledge_levels)), clusters=clusters, tables=not clusters
    )
    assert (measures and measures.title) == known
    if known not in (None, "none"):
        assert measures.knowledge_levels <= set(map(KnowledgeLevel, knowledge_levels))


def test_weights_stay_with_their_measures():
    relate = CombinedBase(measure="combined", of=(WORDNET, SAMPLE, CLUSTERS), weights=(2.0, 3.0, 5.0))
    known = measures_for_levels(relate, {KnowledgeLevel.LANGUAGE, KnowledgeLevel.RELEASE}, clusters=True, tables=False)
    assert (known.title, known.weights) == ("wordnet + clusters", (2.0, 5.0))
    added = measures_for_levels(
        CombinedBase(measure="combined", of=(WORDNET, WORDNET), weights=(2.0, 3.0)),
        {KnowledgeLevel.LANGUAGE, KnowledgeLevel.SAMPLE}, clusters=True, tables=False,
    )  # fmt: skip
    assert (added.title, added.weights) == ("wordnet + wordnet + ngd sample", (2.0, 3.0, 1.0))


@given(
    st.lists(st.sets(st.sampled_from("abcd"), max_size=3), min_size=2, max_size=9),
    st.floats(0.05, 0.95), st.integers(0, 99), st.randoms(use_true_random=False),
)  # fmt: skip
def test_records_are_divided_as_a_set_whatever_their_order(rows, share, seed, random):
    data = Dataset.of(rows)
    left, out = split_records(data, share, seed)
    both = [*zip(left.labels, left.transactions, strict=True), *zip(out.labels, out.transactions, strict=True)]
    assert sorted(both) == sorted(zip(data.labels, data.transactions, strict=True))
    assert len(out.labels) == round(share * len(rows))
    assert list(map(int, left.labels)) == sorted(map(int, left.labels))  # in the order they were in
    assert left.items == tuple(sorted({item for row in left.transactions for item in row}))
    shuffled = list(rows)
    random.shuffle(shuffled)
    again = split_records(Dataset.of(shuffled), share, seed)
    assert sorted(again.held_out.transactions) == sorted(out.transactions)


SET_STEPS = {
    "nothing": {"nothing"},
    "language": {"nothing", "language"},
    "[language, release]": {"nothing", "language", "language + release"},
    "release": {"nothing", "release"},
    "[{sample: 0.5}]": {"nothing", "sample"},
    "{sample: 0.5}": {"nothing", "sample"},
    "[language, release, {sample: 0.5}]": {"nothing", "language + sample", "language + release + sample"},
}


@pytest.mark.parametrize(("knows", "expected"), SET_STEPS.items())
def test_an_audit_of_generalised_items_runs_all_that_can_run(tmp_path, knows, expected):
    planned = steps(written(tmp_path, CLINIC, COAT, COUNTS, f"attacker: {{knows: {knows}}}\n"))
    assert set(planned.values()) == expected
    assert planned["ra"] == "nothing"
    assert ("selftrained" in planned) == ("release" in knows)
    assert ("rba" in planned) == ("language" in knows or "sample" in knows)
    assert list(planned) == sorted(planned, key=lambda name: list(planned).index(name))


CHUNK_STEPS = {
    "nothing": {"random": "nothing"},
    "language": {"random": "nothing", "aba": "language", "bayes": "language"},
    "release": {"random": "nothing", "aba": "release", "expectation": "release"},
    "person": {"random": "nothing", "cover": "person", "breached": "person"},
    "[release, person, {sample: 0.3}]": {"expectation": "release + sample", "mra": "release + sample"},
}  # fmt: skip


@pytest.mark.parametrize(("knows", "expected"), CHUNK_STEPS.items())
def test_an_audit_of_a_disassociated_release_runs_all_that_can_run(tmp_path, knows, expected):
    planned = steps(written(tmp_path, CLINIC, CHUNKS, COUNTS, f"attacker: {{knows: {knows}}}\nattack: all\n"))
    assert expected.items() <= planned.items()
    assert "rba" not in planned
    assert "km_violation" not in planned
    assert ("cover" in planned) == ("person" in knows)
    assert ("expectation" in planned) == ("release" in knows)


def test_without_a_word_on_the_ladder_an_audit_goes_by_all_that_the_scenario_says(tmp_path):
    planned = steps(written(tmp_path, CLINIC, CHUNKS, "relate: {measure: clusters}\n"))
    assert planned["aba"] == planned["expectation"] == "release"
    assert planned["cover"] == "person"
    planned = steps(written(tmp_path, CLINIC, CHUNKS))
    assert planned == {
        "random": "nothing", "expectation": "release", "breached": "person", "cover": "person",
        "cover_adjacent": "person",
    }  # fmt: skip


def test_a_yardstick_runs_where_it_is_named(tmp_path):
    planned = steps(written(tmp_path, CLINIC, CHUNKS, "attack: [exact]\n"))
    assert planned == {"exact": "release"}


WRONG = {
    "twice": ("attacker: {knows: [language, language]}", "'language' is written twice; delete one"),
    "nothing more": ("attacker: {knows: [nothing, language]}", "'nothing' cannot be combined with other knowledge"),
    "no rung": ("attacker: {knows: languages}", "did you mean 'language'?"),
    "no language": ("attacker: {knows: language}\nrelate: {measure: clusters}", "add relate to the scenario, or leave"),
    "no sample": ("attacker: {knows: sample}", "which sample the attacker knows; write knows: [{sample"),
    "no sample to relate by": ("relate: {measure: ngd, source: sample}", "nothing here says which sample the attacker"),
    "held out in part": ("attacker: {knows: {sample: 0.5, format: long}}", "'format' is of a file, these"),
    "all held out": ("attacker: {knows: {sample: 1.5}}", "above 0, below 1, or text that is not empty, found 1.5"),
    "a rule above": ("attacker: {knows: language}\nattack: [expectation]", "an attacker who knows the release; add"),
    "nothing to go by": ("attacker: {knows: nothing}\nattack: [aba]", "the rule aba needs relatedness"),
    "of persons": ("attacker: {knows: language, model: moderate}", "add person to knows, or delete it"),
    "nothing left": ("attacker: {knows: {sample: 0.001}}", "a share of 0.001 of 120 records leaves none; hold out"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "answer"), WRONG.values(), ids=WRONG)
def test_what_does_not_go_together_is_told(tmp_path, call, lines, answer):
    relate = "" if "relate:" in lines else COUNTS
    said = call("run", written(tmp_path, CLINIC, CHUNKS, relate, lines), "--store", tmp_path / "s.db")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert answer in said.err
    assert not (tmp_path / "s.db").exists()


def test_no_rule_that_needs_relatedness_runs_for_who_knows_nothing_of_it(tmp_path, call):
    path = written(tmp_path, CLINIC, COAT, COUNTS, "attacker: {knows: nothing}\nattack: [ra, rba]\n")
    said = call("run", path, "--store", tmp_path / "s.db")
    assert said.code == 2
    assert "which this attacker does not have" in said.err
    path = written(tmp_path, CLINIC, COAT, COUNTS, "attacker: {knows: [language, person]}\nattack: [ra]\n")
    assert "no attack on set-generalised data uses items of specific people" in call("run", path).err


RECORDS = "milk, bread, tea\nmilk, bread\ntea, rice\nrice, milk\nbread, rice\ntea, bread\n"


def test_a_sample_that_has_all_that_is_published_is_the_answers(tmp_path, call):
    for name, text in (
        ("d.txt", RECORDS),
        ("more.txt", RECORDS + "oats, milk\n"),
        ("others.txt", "tea, milk\nbread, rice\nmilk, bread\ntea, rice\nmilk\n"),
    ):
        (tmp_path / name).write_text(text)
    head = "scenario: s\ndata: {file: d.txt, format: basket}\nanonymise: {method: sets, size: 2}\nattack: [rba]\n"
    for name in ("d.txt", "more.txt"):
        path = written(tmp_path, head, f"attacker: {{knows: {{sample: {name}}}}}\n")
        said = call("run", path, "--store", tmp_path / "s.db")
        assert (said.code, (tmp_path / "s.db").exists()) == (2, False)
        assert f"the sample '{name}' has every record, so the attacker knows the answers; use other records" in said.err
    for more in ("sample: d.txt, published: true", "sample: others.txt"):
        path = written(tmp_path, head, f"attacker: {{knows: {{{more}}}}}\n")
        said = call("run", path, "--store", tmp_path / "s.db")
        assert said.code == 0
        assert re.search(r"^rba +sample ", said.out, re.MULTILINE)
        assert "records is known (" in said.err


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    lines = "attacker: {knows: [language, release, {sample: 0.5}]}\nattack: [ra, rba]\nrepeat: {times: 2}\n"
    return decloak.run(written(folder, CLINIC, COAT, COUNTS, lines), store=folder / "s.db")


def test_records_held_out_are_neither_published_nor_kept(held_out):
    assert all("a sample of 60 records is known, held out of 120" in " ".join(run.notes) for run in held_out.variants)
    with closing(connect_readonly(held_out.store)) as connection:
        kept = [
            read_dataset(connection, number)
            for (number,) in connection.execute("select id from dataset where kind = 'original' order by id")
        ]
    assert [len(data.transactions) for data in kept] == [60, 60]
    assert set(kept[0].labels) != set(kept[1].labels)  # each repetition holds out others


def test_the_step_stands_in_every_table(held_out, call):
    assert {variant.knows["ra"] for variant in held_out.variants} == {"nothing"}
    assert {m.knows for m in held_out.measures if m.attack == "rba"} == {"language + sample"}
    shown = json.loads(call("show", "1", "--store", held_out.store, "--json").out)
    assert {(row["attack"], row["knows"]) for row in shown} == {("ra", "nothing"), ("rba", "language + sample")}
    call("report", "1", "--store", held_out.store, "-o", held_out.store.parent / "page.html")
    page = (held_out.store.parent / "page.html").read_text()
    assert "language + sample" in page
    who = page[page.index("What the attacker knows") : page.index("What was left out")]
    assert "knows other records of the same population" in who
    assert "any person, not a chosen one" in who
    assert who.count('"v">not tested<') == 2


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("strong", "a chosen person who is known to be in the data (prosecutor model). The attacker knows any items"),
        ("moderate", "any person with known items (journalist model). The attacker knows items of some people"),
    ],
)
def test_a_page_says_after_whom_somebody_is_who_knows_persons(tmp_path, call, model, target):
    path = written(tmp_path, CLINIC, CHUNKS, f"attacker: {{model: {model}}}\nattack: [random, cover]\n")
    assert call("run", path, "--store", tmp_path / "s.db").code == 0
    assert call("report", "1", "--store", tmp_path / "s.db", "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    page_text = re.sub(r"</?abbr[^>]*>", "", page)
    assert f"Attacker goal: {target}" in page_text
    assert page.count('"v">not tested<') == 3


@pytest.mark.parametrize(
    ("config", "knows", "phrase"),
    [
        ({"relate": {"measure": "wordnet"}}, "nothing", "An attacker who has only the release"),
        ({"relate": {"measure": "wordnet"}}, "release", "the release and learns from its own items"),
        ({"relate": {"measure": "combined", "of": [{"measure": "wordnet"}, {"measure": "ngd", "source": "sample"}]}},
         "language + sample", "terms are related and knows other records of the same population"),
        ({"relate": {"measure": "clusters"}}, "release", "the release and learns from its own items"),
        ({"attacker": {"model": "weak"}}, "person", "the release and knows itemsets that are common elsewhere"),
    ],
)  # fmt: skip
def test_who_attacks_is_said_by_the_step(config, knows, phrase):
    assert attacker_phrase(config, knows).endswith(phrase)


def test_sources_stand_on_the_rung_they_take():
    release = ReleaseSource(measure="ngd", source="release")
    scores = ScoresSource(measure="ngd", source="scores", file="f")
    assert [part.knowledge_level for part in (WORDNET, CLUSTERS, SAMPLE, release, scores)] == [
        KnowledgeLevel.LANGUAGE,
        KnowledgeLevel.RELEASE,
        KnowledgeLevel.SAMPLE,
        KnowledgeLevel.RELEASE,
        KnowledgeLevel.LANGUAGE,
    ]
