"""E[1/s] of a known itemset: worked examples, the golden counts, and brute force over every labelled placement."""

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_cover as naive
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.errors import DecloakError
from decloak.measure.pair_links import algorithm_ways, link_probabilities, released_ways, risky_pairs
from test_cover import FIGURE_1, FIGURE_3, GOLDEN

EXACT = [(case, one) for case in GOLDEN["cases"] for one in case["exact"]]


def anchored(*chunks, size, terms=()):
    """A cluster from its chunks as words of one-letter items."""
    made = [Chunk(tuple(sorted({*"".join(words)})), tuple(tuple(word) for word in words)) for words in chunks]
    return Cluster(size, tuple(made), tuple(terms))


def consistent_ways(cluster, itemset, **given):
    [[ways]] = algorithm_ways(cluster, [frozenset(itemset)], **given)
    return ways


def test_figure_3_has_six_reconstructions_and_five_agree_with_the_algorithm():
    cluster = naive.restored_cluster(FIGURE_3["cluster"])
    assert released_ways(cluster, "ce") == [1, 4, 1, 0, 0]
    assert consistent_ways(cluster, "ce", k=2, m=2) == [1, 4, 0, 0, 0]
    assert sum(released_ways(cluster, "ce")) == FIGURE_3["labelled"]
    assert FIGURE_3["ce_support"] == sorted([0, 1, 1, 1, 1])


def test_figure_3_who_knows_c_and_e_finds_the_record_with_certainty():
    cluster = naive.restored_cluster(FIGURE_3["cluster"])
    [found] = link_probabilities(cluster, k=2, m=2, itemsets=["ce"])
    assert found == (("c", "e"), pytest.approx(0.9), 1.0, None, 0, 1)


@pytest.mark.parametrize("row", FIGURE_3["completions_X_Y_labelled_invalid_lemma2"], ids=str)
def test_figure_3_with_other_sub_records_in_the_rows_the_paper_leaves_open(row):
    x, y, labelled, invalid, _ = row
    rest = [word for word in ("".join(x), "".join(y)) if word]
    cluster = anchored(["abc", "abc", *rest], ["e", "e"], size=4)
    assert sum(released_ways(cluster, "ce")) == labelled
    assert sum(consistent_ways(cluster, "ce", k=2, m=2)) == labelled - invalid


def test_figure_1b_the_covered_pair_is_in_one_or_two_records_of_nine_reconstructions():
    cluster = naive.restored_cluster(FIGURE_1["release"] | {"term_chunk": []})
    assert sum(consistent_ways(cluster, ["side", "cancer"], k=3, m=2)) == 9
    [found] = link_probabilities(cluster, k=3, m=2, itemsets=[("side", "cancer")])
    assert (found.least, found.most) == (1, 2)


@pytest.mark.parametrize(("case", "one"), EXACT, ids=lambda value: f"{value.get('id', value.get('cluster'))}")
def test_golden_exact_breaches(case, one):
    given = {"k": case["k"], "m": case["m"], "empty_rows": one["empty_records_allowed"]}
    cluster = naive.restored_cluster(case["release"]["clusters"][one["cluster"]] | {"term_chunk": []})
    assert (
        sum(released_ways(cluster, (), empty_rows=given["empty_rows"])) == one["posterior"]["labelled_reconstructions"]
    )
    assert sum(consistent_ways(cluster, (), **given)) == one["posterior"]["valid"] == one["valid_for_breaches"]
    chunk_of = {item: j for j, chunk in enumerate(cluster.record_chunks) for item in chunk.items}
    found = {
        (frozenset(pair.itemset), pair.least, pair.most)
        for pair in link_probabilities(cluster, **given)
        if pair.most < case["k"] and len({chunk_of[item] for item in pair.itemset}) == 2
    }
    assert found == {(frozenset(pair), least, most) for *pair, least, most in one["breached_pairs"]}


@st.composite
def tiny_clusters(draw):
    """Made by the algorithm or by nobody, with or without terms, with rows that may be empty or not."""
    cluster, _, k, m = draw(naive.made_clusters(rows=5, items=4))
    if draw(st.booleans()):
        chunks = draw(st.lists(st.lists(st.sampled_from(["x", "y", "xy"]), min_size=1, max_size=4), max_size=3))
        words = [
            [word.translate({120: "abc"[at], 121: "def"[at]}) for word in chunk] for at, chunk in enumerate(chunks)
        ]
        cluster = anchored(*words, size=4, terms=draw(st.sampled_from(["", "t", "tu"])))
    return cluster, k, m, draw(st.booleans())


@settings(max_examples=80)
@given(tiny_clusters(), st.data())
def test_every_count_equals_brute_force_over_labelled_placements(tiny, data):
    cluster, k, m, empty_rows = tiny
    items = sorted({*cluster.term_chunk, *(item for chunk in cluster.record_chunks for item in chunk.items), "alien"})
    assume(len(cluster.term_chunk) <= 2)
    itemset = data.draw(st.sets(st.sampled_from(items), max_size=3))
    released = list(naive.reconstructions(cluster, cluster.size, empty_rows))
    assert released_ways(cluster, itemset, empty_rows=empty_rows) == naive.ways(itemset, released, cluster.size)
    agreed = naive.algorithm_consistent(cluster, k, m, empty_rows)
    expected = naive.ways(itemset, agreed, cluster.size)
    assert consistent_ways(cluster, itemset, k=k, m=m, empty_rows=empty_rows) == expected


@settings(max_examples=40)
@given(tiny_clusters())
def test_every_pair_that_may_occur_has_its_mean_of_one_over_s(tiny):
    cluster, k, m, empty_rows = tiny
    assume(len(cluster.term_chunk) <= 2)
    items = sorted({*cluster.term_chunk, *(item for chunk in cluster.record_chunks for item in chunk.items)})
    released = list(naive.reconstructions(cluster, cluster.size, empty_rows))
    agreed = naive.algorithm_consistent(cluster, k, m, empty_rows)
    expected = {}
    for pair in combinations(items, 2):
        counts = naive.ways(pair, agreed, cluster.size)
        known = naive.chance(counts)
        if (plain := naive.chance(naive.ways(pair, released, cluster.size))) is not None:
            expected[pair] = (float(plain), None if known is None else float(known), None)
    found = link_probabilities(cluster, k=k, m=m, empty_rows=empty_rows)
    assert {one.itemset: (one.release, one.algorithm, one.error) for one in found} == expected


LARGER = anchored(["abc"] * 3 + ["ab"] * 2 + ["a"] * 3, ["de"] * 3 + ["d"] * 2, ["f"] * 3, size=9, terms="tu")


def test_sampling_is_within_four_standard_errors_of_enumeration_and_the_error_is_honest():
    exact = link_probabilities(LARGER, k=3, m=2, tables=10**6)
    sampled = link_probabilities(LARGER, k=3, m=2, tables=0, seed=5)
    off = [
        abs(one.algorithm - other.algorithm) / other.error
        for one, other in zip(exact, sampled, strict=True)
        if other.error > 1e-9
    ]
    assert len(off) > 20
    assert max(off) < 4
    assert all(other.error < 0.03 for other in sampled)
    assert all(one.release == other.release for one, other in zip(exact, sampled, strict=True))
    assert {one.error for one in exact} == {None}


def test_sampling_is_seeded():
    first, again, other = (link_probabilities(LARGER, k=3, m=2, tables=0, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_cluster_no_algorithm_made_has_no_consistent_reconstruction():
    cluster = anchored(["a", "a"], ["b", "b"], size=2)
    for tables in (0, 100):
        [found] = link_probabilities(cluster, k=2, m=2, tables=tables)
        assert found == (("a", "b"), 0.5, None, None, 0, 0)


def test_sub_records_of_one_chunk_are_never_above_one_over_k():
    pairs = {one.itemset: one for one in link_probabilities(LARGER, k=3, m=2)}
    assert pairs["b", "c"].release == pairs["b", "c"].algorithm == 1 / 3


def test_above_names_the_pairs_and_their_cluster():
    figure = naive.restored_cluster(FIGURE_3["cluster"])
    lone = anchored(["xy", "xy"], size=2)
    found = risky_pairs(Disassociated((lone, figure), k=2, m=2))
    assert [(number, one.itemset) for number, one in found] == [(1, ("b", "e")), (1, ("c", "e"))]


def test_rows_of_a_joint_cluster_may_be_empty_for_a_shared_chunk_may_fill_them():
    cluster = anchored(["ab", "ab", "a"], ["c", "c"], size=4)
    joint = JointCluster((0,), (Chunk(("s",), (("s",), ("s",))),))
    alone, joined = (dict(risky_pairs(Disassociated((cluster,), joints, k=2, m=2))) for joints in ((), (joint,)))
    assert alone != joined


def test_bad_input_is_named():
    with pytest.raises(DecloakError, match="published: the release does not say its k and m"):
        risky_pairs(Disassociated((), origin="published"))
    with pytest.raises(DecloakError, match="k is '0'"):
        link_probabilities(LARGER, k=0, m=2)
    with pytest.raises(DecloakError, match="a chunk of 3 sub-records in a cluster of 2 records"):
        link_probabilities(anchored(["a"] * 3, size=2), k=2, m=2)
