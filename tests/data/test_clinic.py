"""The made-up clinic: the same records for everybody, and counts of all its items that a corpus bears out."""

import hashlib
from collections import Counter
from importlib.resources import files
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from decloak.data.generators.clinic import generate, knowledge
from decloak.relate.clinic import clinic_counts
from decloak.relate.ngd import distances
from decloak.yaml import source as positions

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COUNTS = files("decloak.relate") / "clinic_counts.csv"
DIGEST = "db187bf52890bcc8b0389dfe29806680f4709a6872e2da10489487f52dab1a92"


def test_a_seed_makes_the_same_records_on_every_machine():
    text = "\n".join("|".join(record) for record in generate(200, 7).transactions)
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST


def test_fewer_records_of_a_seed_are_the_first_of_more_and_another_seed_makes_others():
    few, more, others = generate(50, 1), generate(80, 1), generate(50, 2)
    assert more.transactions[:50] == few.transactions != others.transactions
    assert few.labels == tuple(str(number) for number in range(1, 51))
    assert few.origin == "clinic"


def test_a_record_is_about_a_condition_and_holds_3_to_15_items():
    clinic = knowledge()
    records = generate(20_000, 3).transactions
    assert {record[0] for record in records} == set(clinic.conditions)
    assert {item for record in records for item in record} == set(clinic.vocabulary)
    assert {len(record) for record in records} == set(range(3, 16))
    assert all(len(set(record)) == len(record) for record in records)


def test_a_condition_is_told_in_the_order_of_symptoms_tests_and_treatments():
    ordered = []
    for name, *told in generate(2000, 3).transactions:
        place = {item: number for number, (item, _) in enumerate(knowledge().conditions[name].items)}
        if all(item in place for item in told):
            places = [place[item] for item in told]
            ordered.append(places == sorted(places))
    assert len(ordered) > 300
    assert np.mean(ordered) > 0.9  # what any record may hold comes last, and may be among them


def test_items_of_a_condition_are_as_frequent_as_it_says_and_supports_have_a_long_tail():
    records = generate(5000, 3).transactions
    diabetics = [record for record in records if record[0] == "diabetes"]
    assert np.mean(["metformin" in record for record in diabetics]) == pytest.approx(0.5, abs=0.1)
    assert np.mean(["metformin" in record for record in records]) < 0.1
    supports = sorted(Counter(item for record in records for item in record).values())
    assert supports[-1] > 20 * supports[len(supports) // 2] > 60 * supports[0]


def test_the_clinic_knows_at_least_40_conditions_and_nothing_twice():
    path = str(files("decloak.data.generators") / "clinic.yaml")
    raw = positions.read_source(path).value  # refuses a key written twice
    clinic = knowledge()
    assert len(clinic.conditions) == len(raw["conditions"]) >= 40
    assert len(clinic.vocabulary) >= 250
    for one in clinic.conditions.values():
        told = [item for item, _ in one.items + one.further]
        assert len(told) == len(set(told)) >= 5
        assert one.prevalence > 0
    chances = [chance for one in clinic.conditions.values() for _, chance in one.items + one.further]
    assert all(0 < chance < 1 for chance in [*chances, *dict(clinic.general).values()])


def test_every_item_the_clinic_can_make_is_counted():
    counts = clinic_counts()
    assert tuple(counts.single) == knowledge().vocabulary
    assert all(5 <= f < counts.n for f in counts.single.values())
    assert set(counts.both) == set(combinations(knowledge().vocabulary, 2))
    assert all(0 <= f <= min(counts.single[a], counts.single[b]) for (a, b), f in counts.both.items())


def test_counts_are_read_as_the_lines_say_in_either_order():
    table = [line.split(",") for line in COUNTS.read_text(encoding="utf-8").splitlines()]
    counts = clinic_counts()
    assert table[0] == ["", str(counts.n)]
    for row in range(1, len(table), 20):
        assert counts.counts([table[row][0]]) == {table[row][0]: int(table[row][1])}
        for column in range(1, row):
            pair = (table[row][0], table[column][0])
            assert counts.joint([pair]) == {pair: int(table[row][column + 1])}


def test_what_was_not_counted_has_no_count():
    counts = clinic_counts()
    assert counts.counts(["leeches"]) == {"leeches": None}
    assert counts.joint([("leeches", "gout")]) == {("leeches", "gout"): None}


def test_what_belongs_to_a_condition_is_nearer_to_it_than_what_does_not():
    clinic = knowledge()
    own = {(name, item) for name, one in clinic.conditions.items() for item, _ in one.items + one.further}
    other = {
        (name, item)
        for name, item in product(clinic.conditions, clinic.vocabulary)
        if name != item and (name, item) not in own and (item, name) not in own
    }
    found, warnings = distances(clinic_counts(), [*own, *other, ("fracture", "metformin")])
    assert warnings == []
    assert found["diabetes", "metformin"] < found["fracture", "metformin"] == 1
    rank = rankdata([found[pair] for pair in [*own, *other]])
    auc = 1 - (rank[: len(own)].sum() / len(own) - (len(own) + 1) / 2) / len(other)
    assert auc > 0.85


@pytest.mark.slow
def test_the_counts_are_those_of_the_corpus(shared_data, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from count_clinic import lines

    assert list(lines(shared_data / "corpus_medical.tsv.xz")) == COUNTS.read_text(encoding="utf-8").splitlines()
