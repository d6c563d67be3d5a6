"""A disassociated release in the store is the release, its attacks are the kernels', and its truth stays inside."""

import json
import math
import random
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.cli import _code
from decloak.counting.inverse import enumerated
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.measure.accuracy import accuracy_of, reconstructed
from decloak.measure.kernels.true_rows import TrueRows
from decloak.measure.pair_links import risky_pairs
from decloak.measure.utility import re_chunks, tkd_chunks, tlost
from decloak.measure.wmd import mean_distance
from decloak.rules.load import Catalogue
from decloak.rules.operators.reassociate import RankedAssignments
from decloak.rules.reassociate.kernel import reassociate
from decloak.store.assigned import as_read, read_assigned
from decloak.store.disassociated import read_clusters as read_torn
from decloak.store.disassociated import write_clusters as write_torn
from decloak.store.distance_tables import read_pair_scores
from decloak.store.opening import open_store
from decloak.store.records import link_origins, read_origins
from decloak.store.writing import read_knowledge, write_dataset
from row_values import row_values

ITEMS = ["a", "b,c", "d e", "f", "g", "h"]
records = st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4, unique=True), min_size=4, max_size=14)

ORIGINAL = """\
chest pain, aspirin, cholesterol
chest pain, aspirin
chest pain, cholesterol, smoking
aspirin, cholesterol, smoking
wheezing, asthma, inhaler
wheezing, asthma
wheezing, inhaler, smoking
asthma, inhaler, allergy
"""
SCENARIO = """\
scenario: a clinic in clusters
data: {file: original.txt, format: basket}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 4, refine: true, order: recorded}
relate: {measure: ngd, source: scores, file: scores.csv}
attack: [random, aba, rga, mra, assignment, bayes, cover]
measure: [accuracy, breakage, breach]
"""


@pytest.fixture
def clinic(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("original.txt").write_text(ORIGINAL)
    items = sorted({item for line in ORIGINAL.splitlines() for item in line.split(", ")})
    pairs = [(a, b, (len(a) * len(b) % 7) / 10) for n, a in enumerate(items) for b in items[n + 1 :]]
    Path("scores.csv").write_text("a,b,ngd\n" + "".join(f"{a},{b},{d}\n" for a, b, d in pairs))
    Path("clinic.yaml").write_text(SCENARIO)
    return tmp_path


@settings(max_examples=25)
@given(records, st.booleans())
def test_what_is_written_is_read_back_with_the_truth(tmp_path_factory, rows, refine):
    data = Dataset(tuple(map(tuple, rows)), tuple(map(str, range(len(rows)))))
    made = disassociate(data, k=2, m=2, max_cluster=4, refine=refine)
    with open_store(tmp_path_factory.mktemp("store") / "s.db") as store:
        with store.stage() as connection:
            original = write_dataset(connection, "original", data, "original", "basket")
            release = write_torn(connection, "release", made.release, "disassociation", {})
            link_origins(connection, release, original, list(chain(*made.truth)))
        assert read_torn(store.connection, release) == made.release
        assert read_origins(store.connection, release).tolist() == list(chain(*made.truth))


def test_a_run_finds_and_measures_what_the_kernels_do(clinic):
    run = decloak.run("clinic.yaml", store="s.db")
    data = decloak.read("original.txt", "basket")
    made = disassociate(data, k=2, m=2, max_cluster=4, refine=True)
    lines = Path("scores.csv").read_text().splitlines()[1:]
    scores = {tuple(line.split(",")[:2]): float(line.split(",")[2]) for line in lines}
    values = run.variants[0].measures
    with open_store("s.db") as store:
        attacks = dict(store.connection.execute("select label, attack from run_attack").fetchall())
        for name in ("aba", "rga", "mra", "assignment", "bayes", "random"):
            rule, seed = Catalogue().rule(name).compiled, run.variants[0].seed
            given = reassociate(made.release, scores, rule, closer="smaller", seed=seed)
            expected = [one for one in given if one.rows]
            assert read_assigned(store.connection, attacks[name]) == as_read(reversed(expected))
            counts = accuracy_of(TrueRows(made.release, data.transactions, made.truth), expected)
            assert values["accuracy", name] == counts.accuracy
            assert values["baseline", name] == counts.chance
    assert values["findings", "cover"] == len(decloak.cover_problems(made.release))
    assert values["breach", "cover"] == decloak.breach(made.release)


def test_what_was_handed_over_is_measured_as_what_is_read(clinic, monkeypatch):
    chance = random.Random(0)
    drawn = [[item for item in "abcdefghié" if chance.random() < 0.35] or ["a"] for _ in range(16)]
    Path("original.txt").write_text("\n".join(map(", ".join, drawn)))
    scenario = SCENARIO.replace("{measure: ngd, source: scores, file: scores.csv}", "{measure: ngd, source: release}")
    attacks = "[random, aba, assignment, bayes, expectation, exact, cover]"
    Path("clinic.yaml").write_text(scenario.replace("[random, aba, rga, mra, assignment, bayes, cover]", attacks))
    handed_over = decloak.run("clinic.yaml", store="handed.db")
    with open_store("handed.db") as store:
        chunks = {chunk for (chunk,) in store.connection.execute("select chunk from assigned")}
    assert {chunk[0] for chunk in chunks} == {"1", "T", "S"}
    monkeypatch.setattr(RankedAssignments, "assigned", lambda self: None)
    assert decloak.run("clinic.yaml", store="read.db").measures == handed_over.measures


@pytest.mark.parametrize("name", ["aba", "rga", "mra", "assignment", "bayes", "random"])
def test_the_store_keeps_what_the_rows_were_ranked_by(clinic, name):
    decloak.run("clinic.yaml", store="s.db")
    with open_store("s.db") as store:
        release, scores = read_torn(store.connection, 1), read_pair_scores(store.connection, 1)
        ranked = row_values(release, scores, Catalogue().rule(name).compiled, closer="smaller")
        lines = {(one.cluster, str(one.chunk), one.unit): one.values for one in ranked}
        stored = store.connection.execute(
            "select c.number, s.chunk, s.unit, r.row, s.value from finding f join assigned s on s.finding = f.id "
            "join cluster_row r on r.txn = s.txn join cluster c on c.id = r.cluster "
            "join run_attack a on a.attack = f.attack where a.label = ?",
            (name,),
        ).fetchall()
    assert stored
    for cluster, chunk, unit, row, value in stored:
        known = lines[cluster, chunk, tuple(json.loads(unit))][row]
        assert value == (known if math.isfinite(known) else None)
    assert all(value is None for *_, value in stored) == (name == "random")


def test_a_published_release_says_nothing_of_the_original_and_is_attacked_alike(clinic, capsys):
    decloak.run("clinic.yaml", store="s.db")
    assert _code(["publish", "last", "release.jsonl", "--store", "s.db"]) == 0
    made = disassociate(decloak.read("original.txt", "basket"), k=2, m=2, max_cluster=4, refine=True)
    assert decloak.read_release("release.jsonl") == made.release
    assert _code(["check", "release.jsonl"]) == 0
    Path("auditor.yaml").write_text(
        "scenario: an auditor\ndata: {release: release.jsonl}\n"
        "relate: {measure: ngd, source: scores, file: scores.csv}\nattack: [aba, cover]\nmeasure: [accuracy, breach]\n"
    )
    run = decloak.run("auditor.yaml", store="audit.db")
    assert ("accuracy", "aba") not in run.variants[0].measures
    assert run.variants[0].notes[0] == "accuracy cannot be measured: the original records are not known"
    assert run.variants[0].measures["breach", "cover"] == decloak.breach(made.release)
    capsys.readouterr()
    given = decloak.run("clinic.yaml", store="s.db")
    assert [one.fresh for one in given.variants] == [False]


def test_explain_says_why_a_term_went_to_a_record(clinic, capsys):
    decloak.run("clinic.yaml", store="s.db")
    with open_store("s.db") as store:
        label, unit = store.connection.execute(
            "select record, unit from named_assigned where attack = 'aba' and chunk = 'T' limit 1"
        ).fetchone()
    capsys.readouterr()
    assert _code(["explain", "last", label, unit, "--attack", "aba", "--store", "s.db", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["sentence"].startswith(f"{unit} was assigned to record ")
    assert found["contexts"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("k: 2, m: 2", "k: 1, m: 2"), "clinic.yaml:3:40: expected a whole number, at least 2, found 1"),
        (("max_cluster: 4", "max_cluster: 1"), "expected a whole number, at least 2, found 1"),
        (("k: 2, m: 2, max_cluster: 4", "k: 5, m: 2, max_cluster: 4"), "max_cluster is 4 and k is 5; write at least k"),
        (("k: 2, m: 2, max_cluster: 4", "k: 9, m: 2, max_cluster: 9"), "8 records"),
        (
            ("[random", "[rba, random"),
            "the rule rba attacks set-generalised data, these are disassociated; leave it out",
        ),
        (
            ("[accuracy", "[recovery, accuracy"),
            "the measure 'recovery' does not apply to disassociated data; use one of exposure, accuracy,",
        ),
        (
            ("relate: {measure: ngd, source: scores, file: scores.csv}\n", ""),
            "the rule aba needs relatedness; add relate to the scenario",
        ),
    ],
)
def test_bad_settings_are_answered_and_nothing_is_written(clinic, capsys, change, fault):
    Path("clinic.yaml").write_text(SCENARIO.replace(*change))
    assert _code(["run", "clinic.yaml", "--store", "s.db"]) == 2
    captured = capsys.readouterr()
    assert fault in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("s.db").exists()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            '{"size": 2, "record_chunks": [], "term_chunk": ["a"]}\n{"joint": [0, 7], "shared_chunks": []}',
            "release.jsonl:3",
        ),
        (
            '{"size": 2, "record_chunks": [{"items": ["a"], "subrecords": [["a"], ["a"]]}], "term_chunk": ["a"]}',
            "release.jsonl:2",
        ),
        ('{"size": 2, "record_chunks": [], "term_chunk": ["a"]', "release.jsonl:2"),
    ],
)
def test_a_damaged_release_is_answered_and_nothing_is_written(clinic, capsys, line, fault):
    head = '{"decloak": "release", "version": 1, "method": "disassociation", "k": 2, "m": 2}'
    Path("release.jsonl").write_text(f"{head}\n{line}\n")
    Path("r.yaml").write_text("scenario: r\ndata: {release: release.jsonl}\nattack: [cover]\nmeasure: [breach]\n")
    for command in (["run", "r.yaml", "--store", "s.db"], ["check", "release.jsonl"]):
        assert _code(command) == 2
        assert capsys.readouterr().err.startswith(f"decloak: {fault}")
    assert not Path("s.db").exists()


def test_knowledge_of_items_that_are_not_there_is_answered_and_nothing_is_written(clinic, capsys):
    Path("known.txt").write_text("asthma, inhaler\nasthma, unicorn\n")
    Path("clinic.yaml").write_text(SCENARIO.replace("attack: [", "attacker: {knowledge: known.txt}\nattack: ["))
    assert _code(["run", "clinic.yaml", "--store", "s.db"]) == 2
    assert "known.txt:2: known items that the data do not have: 'unicorn' (line 2)" in capsys.readouterr().err
    assert not Path("s.db").exists()


@pytest.mark.parametrize(
    ("attacker", "model"),
    [
        ("{model: strong}", "strong"),
        ("{model: strong_pairs}", "strong_pairs"),
        ("{model: moderate, share: 0.6}", "moderate"),
        ("{model: weak, foreign: foreign.txt}", "weak"),
        ("{model: weak, frequent: {support: 0.2, count: 5}}", "weak"),
        ("{model: weak, frequent: {support: 0.2, file: original.txt}}", "weak"),
        ("{knowledge: known.txt}", "explicit"),
    ],
)
def test_what_an_attacker_knows_is_in_the_store_and_decides_the_breaches(clinic, attacker, model):
    Path("foreign.txt").write_text("".join(f"word{n}\n" for n in range(12)))
    Path("known.txt").write_text("chest pain, smoking\nasthma, inhaler\n")
    text = SCENARIO.replace("attack: [", f"attacker: {attacker}\nattack: [breached, ")
    Path("clinic.yaml").write_text(text)
    run = decloak.run("clinic.yaml", store="s.db")
    made = disassociate(decloak.read("original.txt", "basket"), k=2, m=2, max_cluster=4, refine=True)
    with open_store("s.db") as store:
        ((number, kept),) = store.connection.execute("select id, model from attacker").fetchall()
        knowledge = read_knowledge(store.connection, number)
    assert kept == model
    values = run.variants[0].measures
    assert values["breach", "cover"] == decloak.breach(made.release, knowledge)
    pairs = {
        (one.cluster, one.chunk, one.item, one.earlier, covered)
        for one in decloak.cover_problems(made.release)
        for covered in one.covered
        if knowledge is None or any({one.item, covered} <= set(itemset) for itemset in knowledge)
    }
    assert values["findings", "breached"] == len(pairs)


@pytest.mark.parametrize(
    ("attacker", "different"),
    [
        ("{model: strong}", 1),
        ("{model: strong_pairs}", 1),
        ("{knowledge: known.txt}", 1),
        ("{model: moderate}", 3),
        ("{model: weak, foreign: foreign.txt}", 3),
    ],
)
def test_every_repetition_has_an_attacker_of_its_own_where_chance_says_what_is_known(clinic, attacker, different):
    Path("foreign.txt").write_text("".join(f"word{n}\n" for n in range(40)))
    Path("known.txt").write_text("chest pain, smoking\n")
    Path("clinic.yaml").write_text(f"{SCENARIO}attacker: {attacker}\nrepeat: {{times: 3, seed: 1}}\n")
    decloak.run("clinic.yaml", store="s.db")
    with open_store("s.db") as store:
        numbers = [number for (number,) in store.connection.execute("select id from attacker")]
        known = {str(read_knowledge(store.connection, number)) for number in numbers}
    assert (len(numbers), len(known)) == (different, different)


KNOWN_ITEMS = """\
rule: known_items
form: query
about: Every item of an itemset that is known.
derives: known_item(item)
facts: select item from knows
because: "somebody is known to have {item:item}"
reference: ours
wrong_when: never
"""


def test_a_rule_that_reads_nothing_but_what_is_known_is_run_again_for_another_attacker(clinic):
    Path("known_items.yaml").write_text(KNOWN_ITEMS)
    Path("known.txt").write_text("chest pain, smoking\n")
    Path("more.txt").write_text("chest pain, smoking\nasthma, inhaler\n")
    scenario = SCENARIO.replace("attack: [", "attack: [./known_items.yaml, ")
    counts = []
    for knowledge in ("known.txt", "more.txt", "known.txt"):
        Path("clinic.yaml").write_text(f"{scenario}attacker: {{knowledge: {knowledge}}}\n")
        (variant,) = decloak.run("clinic.yaml", store="s.db").variants
        counts.append((variant.measures["findings", "known_items"], variant.fresh))
    assert counts == [(2, True), (4, True), (2, False)]


@pytest.mark.parametrize("reading", ["sound", "literal", "per_item", "sum"])
def test_breaches_are_added_up_in_the_reading_asked_for(clinic, reading):
    Path("clinic.yaml").write_text(SCENARIO.replace("breach]", f"{{breach: {{reading: {reading}}}}}]"))
    run = decloak.run("clinic.yaml", store="s.db")
    made = disassociate(decloak.read("original.txt", "basket"), k=2, m=2, max_cluster=4, refine=True)
    assert run.variants[0].measures["breach", "cover"] == decloak.breach(made.release, reading=reading)


def test_similarities_and_distances_that_mirror_each_other_find_the_same(clinic):
    before = decloak.run("clinic.yaml", store="s.db").variants[0].measures
    head, *lines = Path("scores.csv").read_text().splitlines()
    rows = [line.rsplit(",", 1) for line in lines]
    Path("scores.csv").write_text("\n".join([head, *(f"{pair},{5 - float(d):.9f}" for pair, d in rows)]) + "\n")
    Path("clinic.yaml").write_text(SCENARIO.replace("scores.csv}", "scores.csv, closer: larger}"))
    after = decloak.run("clinic.yaml", store="t.db").variants[0].measures
    for name in ("aba", "rga", "mra", "assignment"):
        assert after["accuracy", name] == before["accuracy", name]


def test_utility_and_word_movers_distance_are_those_of_the_kernels(clinic):
    items = sorted({item for line in ORIGINAL.splitlines() for item in line.split(", ")})
    vectors = {item: [float(n), float(n * n % 5)] for n, item in enumerate(items)}
    Path("vectors.csv").write_text("".join(f"{item},{x},{y}\n" for item, (x, y) in vectors.items()))
    Path("clinic.yaml").write_text(
        SCENARIO.replace("[accuracy, breakage, breach]", "[{utility: {top: 5}}, {wmd: {vectors: vectors.csv}}]")
    )
    run = decloak.run("clinic.yaml", store="s.db")
    data = decloak.read("original.txt", "basket")
    made = disassociate(data, k=2, m=2, max_cluster=4, refine=True)
    values = run.variants[0].measures
    assert values["tkd", "aba"] == tkd_chunks(made.release, data.transactions, 5)
    assert values["re", "aba"] == re_chunks(made.release, data.transactions)
    assert values["tlost", "aba"] == tlost(made.release, data.transactions, 2)
    with open_store("s.db") as store:
        (attack,) = store.connection.execute("select attack from run_attack where label = 'aba'").fetchone()
        rebuilt = reconstructed(made.release, made.truth, read_assigned(store.connection, attack))
    assert values["wmd", "aba"] == pytest.approx(mean_distance(data.transactions, rebuilt, vectors).mean)
    Path("vectors.csv").write_text("asthma,1,x\n")
    assert _code(["run", "clinic.yaml", "--store", "s.db"]) == 2


def test_check_lists_what_is_wrong_and_what_links_too_surely(clinic, capsys):
    decloak.run("clinic.yaml", store="s.db")
    _code(["publish", "last", "release.jsonl", "--store", "s.db"])
    capsys.readouterr()
    assert _code(["check", "release.jsonl", "--k", "5", "--m", "1", "--json"]) == 3
    assert {"support", "size"} <= {row["kind"] for row in json.loads(capsys.readouterr().out)}
    assert _code(["check", "release.jsonl", "--links", "--json", "--most", "100"]) == 3
    found = {(row["cluster"], row["itemset"]): row for row in json.loads(capsys.readouterr().out)}
    expected = risky_pairs(decloak.read_release("release.jsonl"))
    assert len(found) == len(expected)
    for cluster, one in expected:
        row = found[cluster, ", ".join(one.itemset)]
        assert (row["by the release"], row["knowing the algorithm"]) == (one.release, one.algorithm)


def test_enumeration_finds_what_no_reconstruction_gives_to_k_records():
    apart = Cluster(2, (Chunk(("a",), (("a",),)), Chunk(("b",), (("b",),))), ())
    kinds = {one.itemset for one in enumerated(Disassociated((apart,)), k=2, m=2)}
    assert kinds == {("a",), ("b",)}  # a and b never meet: no row may stay empty
