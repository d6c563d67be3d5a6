"""The verifier of disassociated releases: against enumeration, the papers' examples, and releases spoilt on purpose."""

import json
import random
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import naive_inverse
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.counting import disassociation_guarantee, inverse
from decloak.counting.inverse import enumerated, guarantee_by_enumeration
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.errors import DecloakError
from fidelity import check_release
from naive_inverse import largest_supports, reconstructions

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "disassociation.json").read_text())


def chunk(text, items=None):
    """`chunk("a ab")` is a chunk over a and b with two sub-records."""
    subrecords = tuple(tuple(one) for one in text.split())
    return Chunk(tuple(sorted(items or set(text.replace(" ", "")))), subrecords)


def cluster(size, *chunks, terms=""):
    return Cluster(size, tuple(map(chunk, chunks)), tuple(terms))


def kinds(release, **options):
    return [one.kind for one in check_release(release, **options)]


@st.composite
def tiny_clusters(draw):
    size = draw(st.integers(1, 5))
    chunks = []
    for items in draw(st.sampled_from([["ab"], ["ab", "cd"], ["a", "c", "e"], ["a", "c"], []])):
        parts = [part for length in range(1, 3) for part in combinations(items, length)]
        subrecords = tuple(sorted(draw(st.lists(st.sampled_from(parts), min_size=1, max_size=size))))
        chunks.append(Chunk(tuple(items), subrecords))
    terms = tuple(draw(st.sampled_from(["", "", "x", "xy"] if size < 5 else ["", "x"])))
    return Cluster(size, tuple(chunks), terms)


@settings(max_examples=200)
@given(tiny_clusters(), st.integers(2, 3), st.integers(1, 3))
@example(cluster(5, "a a a", "b b"), 2, 2)  # no sub-record to spare: nothing can stand together
@example(cluster(4, "a a a", "b b"), 2, 2)  # one to spare: a and b can stand together once, never twice
@example(cluster(4, "a a a", "b b b"), 2, 2)
@example(cluster(5, "a a a", "c c c", "e e e"), 3, 3)
def test_the_closed_form_promises_what_enumeration_finds(one, k, m):
    """The guarantee holds by `check_release` exactly when every itemset that may occur reaches k somewhere."""
    missed = guarantee_by_enumeration(one, k=k, m=m)
    assert missed == naive_inverse.guarantee_by_enumeration(one, k=k, m=m)
    assume(next(reconstructions([one]), None) is not None)
    assert (check_release(Disassociated((one,), k=k, m=m)) == []) == (missed == [])


def closed_form(one, itemset):
    """The support of its rarest part among those that record chunks show; a term may be in every record."""
    parts = [(set(itemset).intersection(shown.items), shown.subrecords) for shown in one.record_chunks]
    return min([one.size, *(sum(part.issubset(own) for own in subrecords) for part, subrecords in parts if part)])


@settings(max_examples=100)
@given(tiny_clusters())
def test_the_largest_support_is_the_one_enumeration_finds(one):
    largest = largest_supports([one], 3)
    for itemset, support in largest.items():
        bound = closed_form(one, itemset)
        assert support == bound if one.term_chunk else support <= bound


@settings(max_examples=60)
@given(tiny_clusters())
def test_no_reconstruction_means_too_few_sub_records(one):
    possible = next(reconstructions([one]), None) is not None
    spare = sum(len(part.subrecords) for part in one.record_chunks) - one.size
    assert possible == (bool(one.term_chunk) or spare >= 0)


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.sets(st.sampled_from("xyz"), max_size=2)] * 2), min_size=2, max_size=3), st.booleans())
def test_shared_chunks_keep_the_guarantee(pairs, mixed):
    """Clusters of two records that REFINE joins: every itemset of a record reaches k in a reconstruction."""
    records = [{"abc"[number], *extra} for number, pair in enumerate(pairs) for extra in pair]
    if mixed:
        records += [{"d", "x"}, {"d", "x"}]
    release, truth, *_ = disassociate(records, k=2, m=2, max_cluster=2, refine=True)
    assert check_release(release, original=records, truth=truth) == []
    try:
        largest = largest_supports(release.clusters, 2, release.joints)
    except DecloakError:
        assume(False)
    for record in records:
        for size in (1, 2):
            assert all(largest[itemset] >= 2 for itemset in combinations(sorted(record), size))


def test_figure_3_of_barakat_has_six_labelled_reconstructions_and_four_data_sets():
    worked = GOLDEN["worked"]["barakat_fig3"]
    one = cluster(4, "abc abc ab a", "e e")
    rows = list(reconstructions([one]))
    assert len(rows) == worked["labelled"]
    assert len({frozenset(Counter(made).items()) for made in rows}) == worked["distinct_multisets"]
    assert kinds(Disassociated((one,), k=worked["k"], m=worked["m"])) == []


@pytest.mark.parametrize("key", ["release_bad", "with_2_anonymous_shared"])
def test_a_shared_chunk_with_an_item_of_a_record_chunk_must_be_k_anonymous(key):
    worked = GOLDEN["worked"]["shared_chunk_needs_k_anonymity"]
    bad = key == "release_bad"
    shared = worked[key]["shared"] if bad else worked[key]
    joint = JointCluster((0, 1), (chunk(" ".join(shared)),))
    release = Disassociated((cluster(2, "ux ux"), cluster(2, terms="p")), (joint,), 2, 2)
    most = largest_supports(release.clusters, 2, release.joints)["w", "x"]
    assert most == (worked["max_support_xw"] if bad else worked["then"])
    found = [(one.kind, one.cluster, one.chunk, one.itemset, one.support) for one in check_release(release)]
    assert found == ([("shared alike", 0, 0, ("w",), 1)] if bad else [])


@pytest.mark.parametrize("example_", GOLDEN["small"]["km"])
def test_golden_chunks(example_):
    release = Disassociated((cluster(5, " ".join(example_["rows"]), terms="z"),), k=example_["k"], m=example_["m"])
    assert (check_release(release) == []) == example_["km"]


@pytest.mark.parametrize("example_", GOLDEN["small"]["lemma2"])
def test_golden_rule_that_no_record_is_empty(example_):
    size, counts, terms, k, m, holds = example_
    chunks = [" ".join("abc"[number] * count) for number, count in enumerate(counts)]
    release = Disassociated((cluster(size, *chunks, terms="z" if terms else ""),), k=k, m=m)
    assert (check_release(release) == []) == holds


def test_only_minimal_itemsets_are_named_and_the_chunk_is_the_right_one():
    release = Disassociated((cluster(4, "ab ab", "cd c c c", terms="z"), cluster(3, "de de", "a a")), k=2, m=2)
    found = check_release(release)
    assert [(one.kind, one.cluster, one.chunk, one.itemset, one.support) for one in found] == [
        ("support", 0, 1, ("d",), 1)
    ]
    assert found[0].message == "'d' is in 1 sub-records of chunk 1 of cluster 0, fewer than k = 2"


def test_what_is_no_promise_is_no_violation():
    """Chunks that could be one, a frequent item among the terms, any order, an item that no sub-record holds."""
    other_tool = Cluster(4, (chunk("b b b"), chunk("a a a a", "ac")), ("x", "d"))
    assert check_release(Disassociated((other_tool,), k=2, m=2)) == []
    records = ["abd", "abd", "abd", "ax"]
    truth = [[3, 0, 1, 2]]
    assert check_release(Disassociated((other_tool,)), k=2, m=2, original=map(list, records)) == []
    assert check_release(Disassociated((other_tool,), k=2, m=2), original=map(list, records), truth=truth) == []


WELL = Disassociated(
    (cluster(3, "ab ab a", terms="xy"), cluster(2, "ac ac", terms="y")), (JointCluster((0, 1), (chunk("p p"),)),), 2, 2
)


def with_cluster(**changes):
    return replace(WELL, clusters=(replace(WELL.clusters[0], **changes), *WELL.clusters[1:]))


def with_joint(clusters=(0, 1), *chunks):
    return replace(WELL, joints=(JointCluster(clusters, tuple(map(chunk, chunks))),))


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (WELL, []),
        (with_cluster(size=2), ["size"]),
        (with_cluster(size=1, record_chunks=()), ["size"]),
        (with_cluster(size=3, record_chunks=(), term_chunk=()), ["records"]),
        (with_cluster(record_chunks=(chunk("ab ab b", "b"),)), ["outside"]),
        (with_cluster(record_chunks=(Chunk(("a",), (("a",), (), ("a",))),)), ["empty"]),
        (with_cluster(record_chunks=(Chunk(("a",), (("a", "a"), ("a",), ("a",))),)), ["repeated"]),
        (with_cluster(record_chunks=(Chunk(("a", "a"), (("a",), ("a",), ("a",))),)), ["overlap"]),
        (with_cluster(record_chunks=(chunk("a a"), chunk("ab ab"))), ["overlap"]),
        (with_cluster(term_chunk=("a", "x")), ["overlap"]),
        (with_cluster(term_chunk=("x", "x")), ["overlap"]),
        (with_cluster(record_chunks=(chunk("ab a a"),)), ["support"]),
        (with_joint((0,), "p p"), ["shared clusters"]),
        (with_joint((0, 0), "p p"), ["shared clusters"]),
        (with_joint((0, 2), "p p"), ["shared clusters"]),
        (with_joint((-1, 0), "p p"), ["shared clusters"]),
        (with_joint((0, 1), "p p p p p p"), ["shared size"]),
        (with_joint((0, 1), "p p", "p p"), ["shared overlap"]),
        (with_joint((0, 1), "pq p"), ["shared support"]),
        (with_joint((0, 1), "a a"), ["shared homeless"]),
        (with_joint((0, 1), "bc bc"), ["shared homeless"]),
        (with_joint((0, 1), "b b"), []),
        (with_joint((0, 1), "bp bp p"), ["shared alike"]),
    ],
)
def test_each_fault_has_its_kind(release, expected):
    found = check_release(release)
    assert [one.kind for one in found] == expected
    assert all(one.message and "\n" not in one.message for one in found)


def test_an_item_of_an_inner_shared_chunk_makes_the_outer_one_mixed():
    clusters = tuple(cluster(2, f"{name} {name}", terms="t") for name in "abc")
    inner, outer = JointCluster((0, 1), (chunk("p p"),)), JointCluster((0, 1, 2), (chunk("pq pq q"),))
    for joints in ((inner, outer), (outer, inner)):
        assert kinds(Disassociated(clusters, joints, 2, 2)) == ["shared alike"]


def test_a_cluster_of_a_joint_one_must_have_the_whole_of_the_spare_sub_records():
    alone = Disassociated((cluster(4, "a a", "b b"), cluster(2, terms="x")), (), 2, 2)
    assert kinds(alone) == []
    assert kinds(replace(alone, joints=(JointCluster((0, 1), (chunk("p p"),)),))) == ["records"]


RECORDS = [list("abx"), list("aby"), list("a"), list("acp"), list("acpy")]
RELEASE = Disassociated((cluster(3, "a ab ab", terms="xy"), cluster(2, "ac ac", terms="py")), (), 2, 2)


def test_a_faithful_release_agrees_with_its_original():
    assert check_release(RELEASE, original=RECORDS) == []
    assert check_release(RELEASE, original=RECORDS, truth=[[2, 0, 1], [3, 4]]) == []


@pytest.mark.parametrize(
    ("clusters", "truth", "message"),
    [
        ((cluster(3, "a a ab", terms="xy"), RELEASE.clusters[1]), True, "chunk 0 of cluster 0"),
        ((cluster(3, "a a ab", terms="xy"), RELEASE.clusters[1]), False, "'b' is in 2 original records, and in 1"),
        ((cluster(3, "a ab ab", terms="xyz"), RELEASE.clusters[1]), True, "no record of cluster 0 holds the term 'z'"),
        ((cluster(3, "a ab ab", terms="xyz"), RELEASE.clusters[1]), False, "'z' is in 0 original records"),
        ((cluster(3, "a ab ab", terms="x"), RELEASE.clusters[1]), True, "cluster 0 does not publish 'y'"),
        ((cluster(3, "a ab ab", terms="y"), RELEASE.clusters[1]), False, "'x' is in 1 original records, and in 0 as"),
        ((RELEASE.clusters[0],), False, "the release has 3 records, the original 5"),
    ],
)
def test_an_unfaithful_release_is_told(clusters, truth, message):
    options = {"truth": [[2, 0, 1], [3, 4]]} if truth else {}
    found = check_release(Disassociated(clusters, (), 2, 1), original=RECORDS, **options)
    assert any(one.kind == "fidelity" and one.message.startswith(message) for one in found)


def test_a_shared_chunk_is_what_the_records_give():
    records = [list("abp"), list("abp"), list("acq"), list("acp")]
    clusters = (cluster(2, "ab ab", terms=""), cluster(2, "ac ac", terms="q"))
    right = Disassociated(clusters, (JointCluster((0, 1), (chunk("p p p"),)),), 2, 2)
    wrong = replace(right, joints=(JointCluster((0, 1), (chunk("p p"),)),))
    assert kinds(right, original=records, truth=[[0, 1], [2, 3]]) == []
    assert kinds(wrong, original=records, truth=[[0, 1], [2, 3]]) == ["shared fidelity"]
    assert kinds(wrong, original=records) == ["fidelity"]


@pytest.mark.parametrize("truth", [[[0, 1, 2]], [[0, 1, 2], [3, 3]], [[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 5]]])
def test_a_truth_that_is_no_partition_is_refused(truth):
    with pytest.raises(DecloakError, match="not a partition"):
        check_release(RELEASE, original=RECORDS, truth=truth)


def test_k_and_m_come_from_the_release_or_from_the_caller():
    assert kinds(RELEASE, k=3) == ["size", "support", "support", "support"]
    with pytest.raises(DecloakError, match="does not say its k; give k"):
        check_release(replace(RELEASE, k=None))
    with pytest.raises(DecloakError, match="m is '0'"):
        check_release(RELEASE, m=0)


def test_large_clusters_are_not_enumerated():
    big = cluster(40, " ".join("a" * 40), " ".join("b" * 20))
    with pytest.raises(DecloakError, match="too many reconstructions"):
        next(reconstructions([big]))
    assert enumerated(Disassociated((big,)), k=41, m=2) == []


def test_a_cluster_that_comes_from_no_data_set_is_not_enumerated():
    # One sub-record too many for 40 records, and a term that may be on any of 2^40 sets of rows.
    none = cluster(40, " ".join("a" * 40), " ".join("b" * 41), terms="t")
    with patch.object(inverse, "_placements") as placements:
        assert enumerated(Disassociated((none,)), k=2, m=2) == []
    placements.assert_not_called()


def test_sub_records_that_fit_nowhere_have_no_reconstruction():
    assert list(reconstructions([cluster(2, "a a", "b b b")])) == []


def minimal_rare(chunk: Chunk, k: int, m: int) -> dict[tuple[str, ...], int]:
    """By the definition: itemsets of at most m items in 1..k-1 sub-records, none of whose parts is one of them."""
    support = Counter(
        itemset for held in chunk.subrecords for size in range(1, m + 1) for itemset in combinations(held, size)
    )
    rare = {itemset: count for itemset, count in support.items() if count < k}
    parts = {itemset: [itemset[:at] + itemset[at + 1 :] for at in range(len(itemset))] for itemset in rare}
    return {itemset: count for itemset, count in rare.items() if not any(part in rare for part in parts[itemset])}


SUBRECORDS = st.lists(
    st.sets(st.sampled_from("abcdef"), min_size=1).map(lambda held: tuple(sorted(held))), min_size=1, max_size=12
)


@settings(max_examples=200)
@given(
    st.lists(SUBRECORDS, min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 6), st.sampled_from([0, 10, 10**6])
)
def test_all_minimal_rare_itemsets_are_listed_or_the_smallest_of_each_chunk(listed, k, m, most):
    chunks = [Chunk(tuple(sorted(set().union(*rows))), tuple(sorted(rows))) for rows in listed]
    release = Disassociated(tuple(Cluster(20, (chunk,), ("z",)) for chunk in chunks), k=k, m=m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disassociation_guarantee, "MOST_ITEMSETS", most)
        found = disassociation_guarantee.check_release(release)
    assert {fault.kind for fault in found} <= {"support"}
    for number, chunk in enumerate(chunks):
        expected = minimal_rare(chunk, k, m)
        of_chunk = {fault.itemset: fault.support for fault in found if fault.cluster == number}
        assert of_chunk.items() <= expected.items()
        assert bool(of_chunk) == bool(expected)
        if most == 10**6:
            assert of_chunk == expected
        elif expected:
            assert min(map(len, of_chunk)) == min(map(len, expected))


def test_long_sub_records_are_verified_at_any_m():
    """184 items that go together have more itemsets of five than could be counted; the rows that hold them are few."""
    items = tuple(f"i{number:03}" for number in range(184))
    rows = [items, items, items[:100], items[50:150], items[:100], items[50:150]]
    for m in (6, 10**9):
        release = Disassociated((Cluster(6, (Chunk(items, tuple(sorted(rows))),), ("z",)),), k=2, m=m)
        assert disassociation_guarantee.check_release(release) == []
    broken = (*rows, items[90:])  # items 90 to 149 with 150 to 183 are in three rows, the others of these in one
    broken = (*broken, tuple(sorted((items[0], items[183], "x"))), ("x",))
    names = tuple(sorted((*items, "x")))
    (fault,) = disassociation_guarantee.check_release(
        Disassociated((Cluster(9, (Chunk(names, tuple(sorted(broken))),), ("z",)),), k=2, m=6)
    )[:1]
    assert (len(fault.itemset), fault.support) == (2, 1)
    assert "x" in fault.itemset


def test_small_clusters_of_long_records_are_not_gone_through():
    """Two records of 100 items have one placement, and 79 million itemsets of five items."""
    names = tuple(f"i{number:03}" for number in range(100))
    release = Disassociated((Cluster(2, (Chunk(names, (names, names)),), ()),), k=2, m=5)
    begin = time.process_time()
    assert enumerated(release, k=2, m=5) == []
    assert time.process_time() - begin < 2


def wide(sizes):
    """Return a release of one chunk per size, with 200 random sub-records of half of its items."""
    rng = random.Random(7)
    clusters = []
    for number, size in enumerate(sizes):
        items = [f"{number} {item:02}" for item in range(size)]
        subrecords = tuple(tuple(sorted(rng.sample(items, size // 2))) for _ in range(200))
        clusters.append(Cluster(200, (Chunk(tuple(items), subrecords),), ()))
    return Disassociated(tuple(clusters))


@pytest.mark.slow
def test_a_check_of_as_many_items_as_the_remedy_says_is_done():
    assert disassociation_guarantee.check_release(wide([8, 60]), k=1, m=4) == []


def test_a_check_that_would_take_too_long_is_refused_before_it_is_begun(monkeypatch):
    release = wide([8, 60])
    with pytest.raises(DecloakError) as told:
        disassociation_guarantee.check_release(release, k=1, m=20)
    message = "a check of all sets of 5 items in chunk 0 of cluster 1 takes over 20,000,000 steps"
    assert str(told.value) == f"{message}; check the release with m = 4"
    # The steps of all chunks count together, and as many as are allowed may be taken.
    steps = sum(len(kinds) ** 2 for kinds in (range(8), range(6)))
    monkeypatch.setattr(disassociation_guarantee, "MOST_STEPS", steps)
    assert disassociation_guarantee.check_release(wide([8, 6]), k=1, m=2) == []
    monkeypatch.setattr(disassociation_guarantee, "MOST_STEPS", steps - 1)
    with pytest.raises(DecloakError, match=r"sets of 2 items in chunk 0 of cluster 1 takes over 99 steps; .* m = 1"):
        disassociation_guarantee.check_release(wide([8, 6]), k=1, m=2)
