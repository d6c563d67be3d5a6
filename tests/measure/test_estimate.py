"""Estimates of how many people have some items: every form against the definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import naive_estimate as naive
from decloak.data.content import Chunk, Elements, JointCluster
from decloak.data.disassociated import Disassociated
from decloak.data.rows import CodedRows
from decloak.measure.estimates import Published, with_exclusive
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.estimate.estimator import distinct_itemsets, estimates_of
from decloak.measure.kernels.estimate.figures import guess_items
from decloak.measure.kernels.estimate.rows import RowEstimates
from disassociated_releases import ITEMS, releases

ELEMENT = st.sampled_from(ITEMS) | st.sets(st.sampled_from(ITEMS), min_size=2, max_size=4).map(
    lambda s: tuple(sorted(s))
)
ROWS = st.lists(st.lists(ELEMENT, max_size=4, unique=True), min_size=1, max_size=8)
KNOWN = st.lists(st.sampled_from([*ITEMS, "unseen"]), min_size=1, max_size=4, unique=True)
SLOW = pytest.mark.slow


def columns(known, number):
    """Itemsets of one size as columns of item numbers."""
    return np.array([[number.get(item, -1) for item in items] for items in known], np.int64).T


def of_one_size(draw, most=5):
    size = draw(st.integers(1, 4))
    sets = st.lists(st.sampled_from([*ITEMS, "unseen"]), min_size=size, max_size=size, unique=True)
    return draw(st.lists(sets, min_size=1, max_size=most))


def check_rows(rows, data):
    known = of_one_size(data.draw)
    check_eliminated(rows, known, [data.draw(st.frozensets(st.sampled_from(ITEMS))) for _ in rows])


def check_eliminated(rows, known, gone):
    coded = CodedRows.of([tuple(row) for row in rows])
    elements = Elements(coded.names, ITEMS)
    cells = sorted((row, elements.number[item]) for row, out in enumerate(gone) for item in out)
    for out, cells_out in ((None, None), (gone, cells)):
        eliminated = None if cells_out is None else tuple(np.array(cells_out, np.int64).reshape(-1, 2).T)
        estimator = RowEstimates.of(coded, elements, eliminated)
        check(estimator, lambda items, out=out: naive.rows_weights(rows, items, out), known, elements.number, len(rows))


def check(estimator, weights_of, known, number, rows, estimate=None):
    """Compare all answers of an estimator with those of the definitions."""
    estimate = estimate or (lambda items: sum(weights_of(items)))
    itemsets = columns(known, number)
    assert estimator.supports(itemsets) == pytest.approx([estimate(items) for items in known], rel=1e-9, abs=1e-12)
    for row in range(-1, rows):
        expected = [weights_of(items)[row] if row >= 0 else 0.0 for items in known]
        found = estimator.weights(itemsets, np.full(len(known), row))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    supports, extended = estimator.extended(itemsets)
    assert supports.tolist() == estimator.supports(itemsets).tolist()
    for items, found in zip(known, extended, strict=True):
        for item in set(number).difference(items):
            assert found[number[item]] == pytest.approx(estimate([*items, item]), rel=1e-9, abs=1e-12)
    held = np.random.default_rng(rows).random((len(known), estimator.items)) < 0.5
    p, right = guess_items(estimator, itemsets, sparse.csr_array(held.astype(float)))
    for at, items in enumerate(known):
        guesses, probability = naive.guess(estimate, items, number)
        assert p[at] == pytest.approx(probability)
        assert right[at] == pytest.approx(np.mean([held[at, number[item]] for item in guesses]) if guesses else 0)


@st.composite
def joined(draw):
    """A release whose joint clusters share chunks of their own items and of others, one inside the other."""
    release, _, _ = draw(releases())
    joints = []
    for members in ((0, 1), (0, 1, 2)):
        if len(release.clusters) < len(members) or not draw(st.booleans()):
            continue
        chunks = []
        for names in (["a", "b", "x", "y"], ["c", "d", "z"]):
            rows = sum(release.clusters[member].size for member in members)  # each gives a sub-record at most
            units = draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=min(4, rows)))
            chunks.append(Chunk(tuple(sorted(set().union(*units))), tuple(tuple(sorted(unit)) for unit in units)))
        joints.append(JointCluster(members, tuple(chunks)))
    shown = sorted({item for cluster in release.clusters for item in cluster.items})
    totals = draw(st.dictionaries(st.sampled_from(shown), st.integers(1, 12))) if shown else {}
    k = draw(st.sampled_from([None, release.k]))
    return Disassociated(release.clusters, tuple(joints), k, release.m, totals=tuple(totals.items()))


def check_chunks(release, data):
    known = of_one_size(data.draw)
    number = {name: place for place, name in enumerate([*ITEMS, "x", "y", "z"])}
    estimator = ChunkEstimates.of(release, number)

    def weights(items):
        return [w for cluster in naive.cluster_weights(release, items)[0] for w in cluster]

    rows = sum(cluster.size for cluster in release.clusters)
    check(estimator, weights, known, number, rows, lambda items: sum(naive.cluster_weights(release, items)[1]))


@pytest.mark.parametrize("known", ["a", "b", "d", "ab", "bd", "abd"])
def test_labels_share_items_and_lose_members_in_some_records_only(known):
    rows = [[("a", "b", "c"), "d"], [("a", "b", "c")], [("a", "d")]]
    check_eliminated(rows, [known], [{"c"}, set(), set()])


@settings(max_examples=60)
@given(ROWS, st.data())
def test_of_records_the_answers_are_those_of_the_definitions(rows, data):
    check_rows(rows, data)


@given(st.integers(1, 4), st.lists(st.integers(-1, 3), max_size=60))
def test_each_itemset_is_estimated_once(size, values):
    itemsets = np.array(values[: len(values) // size * size], np.int64).reshape(size, -1)
    found, place = distinct_itemsets(itemsets)
    assert sorted(map(tuple, found.T.tolist())) == sorted(set(map(tuple, itemsets.T.tolist())))
    assert found[:, place].tolist() == itemsets.tolist()
    rows = CodedRows.of([("0", "1"), ("0", "2", "3"), ("1",)])
    estimator = RowEstimates.of(rows, Elements(rows.names, ()))
    assert estimates_of(estimator, itemsets).tolist() == estimator.supports(itemsets).tolist()


@settings(max_examples=60)
@given(joined(), st.data())
def test_of_clusters_the_answers_are_those_of_the_definitions(release, data):
    check_chunks(release, data)


@SLOW
@settings(max_examples=1000)
@given(ROWS, st.data())
def test_of_a_thousand_releases_of_records_the_answers_are_right(rows, data):
    check_rows(rows, data)


@SLOW
@settings(max_examples=1000)
@given(joined(), st.data())
def test_of_a_thousand_disassociated_releases_the_answers_are_right(release, data):
    check_chunks(release, data)


@settings(max_examples=100)
@given(st.lists(st.sets(st.sampled_from(["x=a", "x=b", "x=c", "y", "z"]), min_size=1), min_size=1, max_size=10),
       st.lists(st.sampled_from(["x=a", "x=b", "x=c", "y", "z"]), min_size=1, max_size=3, unique=True))  # fmt: skip
def test_items_of_one_column_exclude_each_other(records, itemset):
    rows = CodedRows.of([tuple(sorted(record)) for record in records])
    elements = Elements(rows.names, ["x=a", "x=b", "x=c", "y", "z"])
    plain = Published(RowEstimates.of(rows, elements), elements.number, np.zeros(0, np.int64))
    known = with_exclusive(plain, ["x"]).estimator
    column = np.array([[elements.number[item]] for item in itemset])
    together = sum(item.startswith("x=") for item in itemset) > 1
    assert known.supports(column)[0] == (0 if together else plain.estimator.supports(column)[0])
    assert known.weights(column, np.zeros(1, np.int64))[0] <= plain.estimator.weights(column, np.zeros(1, np.int64))[0]
    (support, found), (_, expected) = ([one[0] for one in of.extended(column)] for of in (known, plain.estimator))
    assert support == known.supports(column)[0]
    for item in set(elements.number) - set(itemset):
        excluded = together or (item.startswith("x=") and any(one.startswith("x=") for one in itemset))
        assert found[elements.number[item]] == (0 if excluded else expected[elements.number[item]])
    assert with_exclusive(plain, []) is plain
