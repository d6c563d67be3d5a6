"""What an attack on a disassociated release recovered: golden figures, brute force, and what the measures promise."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_reassociate as naive
from decloak.data.assignment import Assignment, AssignmentList
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.measure.accuracy import Accuracy, reconstructed
from decloak.measure.breakage import KmBreakage, TransactionBreakage, km_breakage_of
from decloak.measure.kernels.true_rows import TrueRows
from decloak.measure.utility import re_chunks, tkd_chunks, tlost
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.strategy import Reassociation
from disassociated_releases import (
    GOLDEN,
    accuracy,
    attacks_of,
    km_breakage,
    release_of,
    releases,
    scores,
    transaction_breakage,
)

CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['kind']}-{case['id']}")
ABA = Reassociation.build(combine="mean")
CHANCE = Reassociation.build(match="random")


@st.composite
def attacked(draw, **sizes):
    """(release, records, truth, assignments)"""
    release, records, truth = draw(releases(**sizes))
    if draw(st.booleans()):
        return release, records, truth, reassociate(release, draw(scores()), ABA)
    return release, records, truth, reassociate(release, {}, CHANCE, seed=draw(st.integers(0, 99)))


@CASES
def test_golden_accuracy_and_breakage(case):
    release, records, truth = release_of(case["release"]), case["records"], case["truth"]
    for name, metrics in case["metrics"].items():
        given_rows = [Assignment(*one) for one in attacks_of(case["attacks"][name])]
        found = accuracy(release, records, truth, given_rows)
        assert found == Accuracy(
            metrics["assigned"],
            metrics["true"],
            naive.reachable(release, records, truth),
            metrics["correct_row"],
            metrics["correct_class"],
            Fraction(metrics["correct_exp"]),
            Fraction(case["random_baseline"]["expected_correct_row"]),
        )
        assert found.assigned == case["random_baseline"]["assigned"]
        broken = transaction_breakage(release, records, truth, given_rows)
        assert broken == TransactionBreakage(metrics["broken_row"], metrics["broken_class"], metrics["records"])
        exposed = km_breakage(release, records, truth, given_rows, k=case["k"], m=case["m"])
        assert exposed == KmBreakage(metrics["km_exposed_row"], metrics["km_exposed_class"], metrics["km_protected"])


@settings(max_examples=150)
@given(attacked(), st.data())
def test_a_row_among_equals_is_right_as_often_as_they_are(made, data):
    release, records, truth, assignments = made
    rows = TrueRows(release, records, truth)
    every = [range(release.clusters[one.cluster].size) for one in assignments]
    ties = {
        one[:3]: tuple(sorted(data.draw(st.sets(st.sampled_from(all_rows)))))
        for one, all_rows in zip(assignments, every, strict=True)
    }
    gifts = [Assignment(*one[:3], (row,)) for one in assignments for row in one.rows]
    expected = [
        fmean(share_right(release, records, truth, gift[:3], row) for row in tied)
        if gift.rows[0] in (tied := ties[gift[:3]])
        else share_right(release, records, truth, gift[:3], gift.rows[0])
        for gift in gifts
    ]
    assert rows.right_of_equals(gifts, AssignmentList.of(assignments, ties)).tolist() == pytest.approx(expected)


def share_right(release, records, truth, unit, row):
    """The share of the rows with the anchor of a row that truly have a unit."""
    cluster, chunk, items = unit
    whole = release.clusters[cluster]
    anchors = [*whole.record_chunks[0].subrecords, *[()] * whole.size][: whole.size]
    shown = set(items) if chunk == "T" else set(whole.record_chunks[chunk].items)
    alike = [at for at, anchor in enumerate(anchors) if anchor == anchors[row]]
    return fmean(shown & set(records[truth[cluster][at]]) == set(items) for at in alike)


@CASES
def test_golden_utility(case):
    release, records, wanted = release_of(case["release"]), case["records"], case["utility"]
    assert tkd_chunks(release, records, 10) == pytest.approx(wanted["tkd_chunks_K10"], abs=1e-9)
    assert re_chunks(release, records) == pytest.approx(wanted["re_chunks_all_items"], abs=1e-9)
    assert (tlost(release, records, case["k"]) or 0) == pytest.approx(wanted["tlost"], abs=1e-9)


def test_the_papers_example_by_all_measures():
    paper = GOLDEN["worked"]["alshuhail"]
    release = release_of({"clusters": [paper["release_cluster"]], "joints": [], "k": 2, "m": 2})
    rows = [
        Assignment(0, "T" if len(one["unit"]) == 1 else 1, tuple(one["unit"]), tuple(one["rows"]))
        for one in paper["rows_for_all_three_methods"]
    ]
    found, wanted = accuracy(release, paper["records"], [paper["truth"]], rows), paper["metrics_ABA"]
    assert (found.assigned, found.true) == (wanted["assigned"], wanted["true"])
    assert (found.correct_row, found.correct_class) == (wanted["correct_row"], wanted["correct_class"])
    assert found.correct_exp == Fraction(wanted["correct_exp"])
    assert found.accuracy == found.recall == 0.8
    broken = transaction_breakage(release, paper["records"], [paper["truth"]], rows)
    assert broken == TransactionBreakage(wanted["broken_row"], wanted["broken_class"], wanted["records"])


@settings(max_examples=120)
@given(attacked())
def test_accuracy_is_what_counting_row_by_row_gives(made):
    found, wanted = accuracy(*made), naive.accuracy(*made)
    assert found.assigned == wanted["assigned"]
    assert (found.correct_row, found.correct_class) == (wanted["correct_row"], wanted["correct_class"])
    assert (found.correct_exp, found.expected) == (wanted["correct_exp"], wanted["expected"])
    assert found.reachable == naive.reachable(*made[:3]) <= found.true
    assert found.recall is None or found.recall == float(found.correct_exp / found.reachable) <= 1
    if found.gain is not None:
        assert found.gain == pytest.approx((found.accuracy - found.chance) / (1 - found.chance))


@settings(max_examples=80)
@given(attacked(), st.integers(1, 4), st.integers(1, 3))
def test_breakage_is_what_brute_force_finds(made, k, m):
    release, records, truth, given_rows = made
    broken = naive.broken(release, records, truth, given_rows)
    assert transaction_breakage(*made) == (*broken, len(records))
    protected, by_row, by_class = naive.exposed(release, records, truth, given_rows, k, m)
    found = km_breakage(*made, k=k, m=m)
    assert found == tuple(len({itemset for _, itemset in some}) for some in (by_row, by_class, protected))


@settings(max_examples=60)
@given(attacked(), st.integers(2, 3))
def test_exposed_itemsets_are_the_same_counted_item_by_item(made, m):
    rows = TrueRows(*made[:3])
    gifts = rows.assigned_units(made[3])
    assert km_breakage_of(rows, gifts, k=3, m=m, piece=1) == km_breakage_of(rows, gifts, k=3, m=m)


@settings(max_examples=120)
@given(attacked())
def test_measures_are_ordered_and_bounded(made):
    found, broken = accuracy(*made), transaction_breakage(*made)
    exposed = km_breakage(*made, k=3, m=2)
    assert 0 <= found.correct_exp <= found.correct_class <= min(found.assigned, found.true)
    assert found.correct_row <= found.correct_class
    assert broken.row <= broken.by_class <= broken.records
    assert exposed.row <= exposed.by_class <= exposed.protected


@settings(max_examples=60)
@given(attacked(most_clusters=1, most_records=4))
def test_the_headline_is_the_mean_over_all_ways_to_tell_identical_anchors_apart(made):
    release, records, truth, given_rows = made
    rows = naive.anchors(release.clusters[0]) or [frozenset()] * release.clusters[0].size
    found = []
    for ways in product(*(permutations(one) for one in naive.classes(rows))):
        relabelled = list(truth[0])
        for one, way in zip(naive.classes(rows), ways, strict=True):
            for row, other in zip(one, way, strict=True):
                relabelled[row] = truth[0][other]
        found.append(accuracy(release, records, [relabelled], given_rows))
    assert {one.correct_exp for one in found} == {Fraction(sum(one.correct_row for one in found), len(found))}


def test_chance_is_the_mean_over_all_draws():
    cluster = Cluster(4, (Chunk(("a",), (("a",),)), Chunk(("x",), (("x",), ("x",)))), ())
    release, records, truth = Disassociated((cluster,)), [["a", "x"], ["b"], ["x"], ["c"]], [[0, 1, 2, 3]]
    drawn = [accuracy(release, records, truth, [Assignment(0, 1, ("x",), rows)]) for rows in combinations(range(4), 2)]
    assert {one.expected for one in drawn} == {Fraction(sum(one.correct_row for one in drawn), len(drawn))}
    assert drawn[0].chance == 0.5


def test_units_given_to_nobody_lower_recall_not_accuracy():
    cluster = Cluster(2, (Chunk(("a",), (("a",), ("a",))), Chunk(("x",), (("x",),))), ("t",))
    release, records = Disassociated((cluster,)), [["a", "x", "t"], ["a"]]
    found = accuracy(release, records, [[0, 1]], [Assignment(0, "T", ("t",), (0,))])
    assert (found.accuracy_row, found.accuracy, found.recall) == (1.0, 0.5, 0.25)
    nothing = accuracy(release, records, [[0, 1]], [])
    assert (nothing.accuracy, nothing.accuracy_class, nothing.chance, nothing.recall) == (
        None,
        None,
        None,
        0.0,
    )


def test_recall_is_of_what_an_anchor_lets_somebody_give():
    torn = Cluster(2, (Chunk(("a",), (("a",), ("a",))), Chunk(("x",), (("x",), ("x",)))), ())
    terms = Cluster(2, (), ("s", "t"))
    records, truth = [["a", "x"], ["a", "x"], ["s"], ["s", "t"]], [[0, 1], [2, 3]]
    found = accuracy(Disassociated((torn, terms)), records, truth, [Assignment(0, 1, ("x",), (0, 1))])
    assert (found.true, found.reachable, found.recall) == (5, 2, 1.0)
    nobody = accuracy(Disassociated((terms,)), records[2:], [[0, 1]], [])
    assert (nobody.true, nobody.recall) == (3, None)


@settings(max_examples=60)
@given(attacked())
def test_reconstructions_are_the_rows_in_the_order_of_the_records(made):
    release, records, truth, given_rows = made
    whole, _ = naive.reconstructed(release, given_rows)
    wanted = {
        record: items for rows, own in zip(truth, whole, strict=True) for record, items in zip(rows, own, strict=True)
    }
    assert reconstructed(release, truth, given_rows) == [wanted[record] for record in range(len(records))]


@settings(max_examples=80)
@given(releases(), st.integers(1, 12))
def test_utility_is_what_counting_gives(made, top):
    release, records, _ = made
    rows = [one for cluster in release.clusters for chunk in cluster.record_chunks for one in chunk.subrecords]

    def ranked(held):
        counts = Counter(itemset for one in held for size in (1, 2, 3) for itemset in combinations(sorted(one), size))
        return set(sorted(counts, key=lambda itemset: (-counts[itemset], len(itemset), itemset))[:top])

    kept = ranked(records)
    assert tkd_chunks(release, records, top) == pytest.approx(1 - len(kept & ranked(rows)) / len(kept))
    s, t = (Counter(pair for one in held for pair in combinations(sorted(one), 2)) for held in (records, rows))
    apart = [abs(s[pair] - t[pair]) / ((s[pair] + t[pair]) / 2) for pair in s | t]
    assert re_chunks(release, records) == (pytest.approx(fmean(apart)) if apart else None)
    counts = Counter(item for record in records for item in record)
    frequent = [item for item in counts if counts[item] >= release.k]
    lost = [item for item in frequent if not any(item in row for row in rows)]
    assert tlost(release, records, release.k) == (len(lost) / len(frequent) if frequent else None)


BAD_TRUTH = [
    ([[0]], "does not have a record for every row"),
    ([[0, 1], [2]], "does not have a record for every row"),
    ([[0, 0]], "does not name each of 2 records once"),
    ([[0, 2]], "does not name each of 2 records once"),
]


@pytest.mark.parametrize(("truth", "message"), BAD_TRUTH)
@pytest.mark.parametrize("measure", [accuracy, transaction_breakage, lambda *made: km_breakage(*made, k=2, m=2)])
def test_a_truth_of_something_else_is_refused(measure, truth, message):
    release = Disassociated((Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ()),))
    with pytest.raises(DecloakError, match=message):
        measure(release, [["a"], ["a"]], truth, [])


def test_numbers_out_of_range_are_refused():
    release = Disassociated((Cluster(1, (Chunk(("a",), (("a",),)),), ()),))
    with pytest.raises(DecloakError, match="k is 0 and m is 2"):
        km_breakage(release, [["a"]], [[0]], [], k=0, m=2)
    with pytest.raises(DecloakError, match="the top 0"):
        tkd_chunks(release, [["a"]], 0)


def test_measures_of_nothing_are_nothing():
    nothing = Disassociated(())
    assert accuracy(nothing, [], [], []).accuracy is None
    assert transaction_breakage(nothing, [], [], []) == (0, 0, 0)
    assert km_breakage(nothing, [], [], [], k=2, m=2) == (0, 0, 0)
    assert (tkd_chunks(nothing, [], 5), re_chunks(nothing, []), tlost(nothing, [], 2)) == (None, None, None)
