"""Assignments of whole chunks, and those that agree with the algorithm, against every way there is."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import naive_reassociate as naive
from decloak.data.assignment import Assignment
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.rules.reassociate.consistent import cover_limits
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.strategy import Reassociation
from disassociated_releases import GOLDEN, in_chunks, release_of, releases, scores
from row_values import row_values

ABA = Reassociation.build(combine="mean")


def chunks_of(release, given_rows):
    """(cluster, chunk) and its units' rows, record chunks only."""
    found = {}
    for cluster, chunk, unit, rows in given_rows:
        if chunk != "T":
            found.setdefault((cluster, chunk), {})[unit] = rows
    return found


def values_of(release, known, strategy):
    return {(one.cluster, one.chunk, one.unit): one.values for one in row_values(release, known, strategy)}


@settings(max_examples=80)
@given(releases(most_records=5), scores(), st.sampled_from(["mean", "upper_half", "best", "bayes"]))
def test_an_assignment_is_the_best_of_all_ways(made, known, combine):
    release, _, _ = made
    strategy = Reassociation.build(combine=combine, match="assignment")
    values = values_of(release, known, strategy)
    for (cluster, chunk), units in chunks_of(release, reassociate(release, known, strategy)).items():
        rows = [row for own in units.values() for row in own]
        assert len(set(rows)) == len(rows) == len(release.clusters[cluster].record_chunks[chunk].subrecords)
        own = [values[cluster, chunk, unit] for unit in units]
        given_rows = list(units.values())
        reached = naive.total([v[row] for v, rows in zip(own, given_rows, strict=True) for row in rows])
        best, lowest = naive.best_assignment(own, list(map(len, given_rows)))
        assert reached == pytest.approx(best, abs=1e-6)
        if len(given_rows) > 1:
            assert sum(rows) == lowest


@pytest.mark.parametrize("noise", [0, 1e-12, -1e-12])
def test_of_several_best_assignments_it_is_the_one_of_the_lowest_rows(noise):
    anchors, units = Chunk(("a", "b", "c"), (("a",), ("b",), ("c",))), Chunk(("x", "y"), (("x",), ("y",)))
    release = Disassociated((Cluster(3, (anchors, units), ()),), k=2, m=2)
    # Sums of 2 are x to 0 and y to 2, x to 1 and y to 2, x to 1 and y to 0; the first is what a solver happens on.
    known = {("a", "x"): 1 + noise, ("b", "x"): 1, ("c", "x"): 0, ("a", "y"): 1, ("b", "y"): 0, ("c", "y"): 1 + noise}
    assignment = Reassociation.build(combine="mean", match="assignment")
    given_rows = chunks_of(release, reassociate(release, known, assignment))
    assert given_rows == {(0, 1): {("x",): (1,), ("y",): (0,)}}


@settings(max_examples=60)
@given(releases(), scores())
def test_an_assignment_gives_terms_and_lonely_subrecords_their_best_rows(made, known):
    release, _, _ = made
    alone = {key for key, units in chunks_of(release, reassociate(release, known, ABA)).items() if len(units) == 1}
    best, assigned = (
        [one for one in reassociate(release, known, strategy) if one.chunk == "T" or one[:2] in alone]
        for strategy in (ABA, Reassociation.build(combine="mean", match="assignment"))
    )
    assert best == assigned


def test_the_assignment_of_a_cluster_of_many_rows_is_as_good_as_that_of_its_rows():
    rng = np.random.default_rng(1)
    held = [{item for item in "abcdxyz" if rng.random() < 0.4} | {"a"} for _ in range(1600)]
    place = dict.fromkeys("abcd", 0) | dict.fromkeys("xyz", 1)
    release = Disassociated((in_chunks(held, place)[0],), k=2, m=2)
    known = {(a, y): float(rng.random()) for a in "abcd" for y in "xyz"}
    assigned = Reassociation.build(combine="mean", match="assignment")
    values, found = values_of(release, known, assigned), reassociate(release, known, assigned)
    wanted = np.array([values[one[:3]] for one in found for _ in one.rows])
    assert len({row for one in found for row in one.rows}) == len(wanted)
    rows = linear_sum_assignment(wanted, maximize=True)
    assert sum(values[one[:3]][row] for one in found for row in one.rows) == pytest.approx(wanted[rows].sum())


def obeys(release, number, given_rows):
    """Whether a cluster breaks no rule of the algorithm that binds the rows of its units."""
    cluster = release.clusters[number]
    anchors = naive.anchors(cluster)
    first = [frozenset(one) for one in cluster.record_chunks[0].subrecords]
    for j, chunk in enumerate(cluster.record_chunks[1:], 1):
        for x in chunk.items:
            support = sum(x in one for one in chunk.subrecords)
            joined = {row for _, at, unit, rows in given_rows if at == j and x in unit for row in rows}
            held = {y: [one for one in first if y in one] for y in cluster.record_chunks[0].items}
            frequent = {y for y in held if len(held[y]) >= support}
            for y in frequent:
                covered = all(frequent <= one for one in held[y])
                if covered and sum(y in anchors[row] for row in joined) > release.k - 1:
                    return False
    filled = {row for one in given_rows for row in one[3]}
    return all(anchors[row] or row in filled for row in range(cluster.size))


def ways(units, size):
    """Every way to give the units of a cluster to rows, none twice to the same row in a chunk."""
    for rows in product(*(combinations(range(size), count) for _, _, count in units)):
        found = [(0, chunk, unit, own) for (chunk, unit, _), own in zip(units, rows, strict=True)]
        taken = [(one[1], row) for one in found if one[1] != "T" for row in one[3]]
        if len(set(taken)) == len(taken):
            yield found


@settings(max_examples=80)
@given(
    releases(most_clusters=1, most_records=4, items="abcde"),
    scores("abcde"),
    st.sampled_from(["mean", "bayes"]),
)
def test_a_consistent_assignment_is_the_best_of_the_consistent_ways(made, known, combine):
    release, _, _ = made
    strategy = Reassociation.build(combine=combine, match="assignment", consistent=True)
    found = reassociate(release, known, strategy)
    if not found:
        return
    values = values_of(release, known, strategy)

    def total(way):
        return naive.total([values[one[:3]][row] for one in way for row in one[3]])

    units = list(naive.units(release.clusters[0], release.k))
    possible = [way for way in ways(units, release.clusters[0].size) if obeys(release, 0, way)]
    if possible:
        assert obeys(release, 0, found)
        assert total(found) == pytest.approx(max(map(total, possible)), abs=1e-6)


def test_consistency_keeps_a_covered_pair_below_k_and_fills_empty_rows():
    first = Chunk(("a", "b"), (("a", "b"), ("a", "b"), ("a",)))
    release = Disassociated((Cluster(5, (first, Chunk(("x",), (("x",), ("x",)))), ("t",)),), k=2, m=2)
    known = {("b", "x"): 1.0, ("a", "x"): 0.0, ("a", "t"): 1.0, ("b", "t"): 0.9}
    freely, consistently = (
        [
            one.rows
            for one in reassociate(
                release, known, Reassociation.build(combine="best", match="assignment", consistent=c)
            )
        ]
        for c in (False, True)
    )
    assert freely == [(0, 1), (0,)]  # b covers: x with b twice would have put x beside a and b
    assert len({0, 1} & set(consistently[0])) <= 1
    assert {3, 4} <= {row for rows in consistently for row in rows}


def test_a_covered_pair_may_be_together_in_one_row_less_than_k():
    first = Chunk(("a", "b"), (("a", "b"), ("a", "b"), ("a", "b"), ("a",), ("a",)))
    known = {("b", "x"): 1.0, ("a", "x"): 0.0}
    consistent = Reassociation.build(combine="best", match="assignment", consistent=True)
    for k in (2, 3, 4):
        cluster = Cluster(5, (first, Chunk(("x",), (("x",),) * 3)), ())
        (one,) = reassociate(Disassociated((cluster,), k=k, m=2), known, consistent)
        assert len({0, 1, 2} & {*one.rows}) == k - 1


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['kind']}-{case['id']}")
def test_the_truth_breaks_no_rule_of_consistency(case):
    release = release_of(case["release"])
    for number, ruled_out in cover_limits(release, case["k"]).items():
        for _, x, y in ruled_out.covered:
            assert sum({x, y} <= {*case["records"][one]} for one in case["truth"][number]) <= ruled_out.most


def test_a_row_that_cannot_be_filled_rules_nothing_out():
    release = Disassociated((Cluster(4, (Chunk(("a",), (("a",),)),), ("t",)),), k=2, m=2)
    rules = {"combine": "mean", "match": "assignment"}
    known = {("a", "t"): 1.0}
    consistent = Reassociation.build(**rules, consistent=True)
    assert reassociate(release, known, consistent) == [Assignment(0, "T", ("t",), (0,))]
