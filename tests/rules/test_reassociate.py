"""Re-association attacks: the naive twin, what every attack keeps, and what is refused."""

import math
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_reassociate as naive
from decloak.data.assignment import Assignment
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.rules.reassociate import scores as kernel_scores
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.scores import coded_scores
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.units import AnchoredRows, Unit
from disassociated_releases import GOLDEN, release_of, releases, scores, scores_of
from row_values import row_values

ABA = Reassociation.build(combine="mean")
RGA = Reassociation.build(units=["term"], combine="upper_half")
CHANCE = Reassociation.build(match="random")
EVERYTHING = [ABA, Reassociation.build(combine="bayes", match="assignment")]


@settings(max_examples=150)
@given(
    releases(),
    scores(),
    st.sampled_from(["mean", "upper_half", "best", "bayes"]),
    st.sampled_from([("term",), ("subrecord",), ("term", "subrecord")]),
    st.sampled_from(["k - 1", "multiplicity"]),
    st.sampled_from(["larger", "smaller"]),
)
def test_every_unit_on_its_own_goes_where_the_naive_attack_puts_it(made, known, combine, units, give, closer):
    release, _, _ = made
    strategy = Reassociation.build(units=units, combine=combine, give=give)
    expected = naive.attack(release, known, combine, units, give, closer)
    assert reassociate(release, known, strategy, closer=closer) == expected


@given(scores())
def test_scores_are_the_same_in_a_table_and_by_a_search(known):
    items = sorted({item for pair in known for item in pair} | {"other"})
    a, b = np.meshgrid(np.arange(-1, len(items)), np.arange(-1, len(items)))
    found = coded_scores(known, "larger", items, None).of(a, b)
    with mock.patch.object(kernel_scores, "TABLE", 0):
        assert np.array_equal(coded_scores(known, "larger", items, None).of(a, b), found, equal_nan=True)
    for x, y, score in zip(a.flat, b.flat, found.flat, strict=True):
        pair = (items[x], items[y]) if min(x, y) >= 0 else ()
        wanted = known.get(pair, known.get(pair[::-1]))
        assert np.isnan(score) if wanted is None else score == wanted


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([0, 1, 3, 7, 8, 9, 17, 129, 300]), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(["mean", "upper_half", "best", "bayes", "fitted"]),
    st.integers(0, 99),
)
def test_compiled_loops_value_units_to_the_last_digit(lengths, missing, combine, seed):
    pytest.importorskip("numba", reason="numba is not installed")
    rng = np.random.default_rng(seed)
    code = {f"i{number:03}": number for number in range(320)}
    cases = [_drawn_case(rng, number, rng.permutation(lengths).tolist(), list(code)) for number in range(2)]
    keys = np.flatnonzero(np.triu(rng.random((320, 320)) >= missing, 1))
    # Few different scores, so that some are equal to the median, and some sums are rounded.
    coded = kernel_scores.Scores(code, keys, rng.integers(0, 9, len(keys)) / 10, 0.3)
    strategy = Reassociation.build(units=["term"], combine=combine)
    plain = kernel_scores.values(kernel_scores.ClusterBatch(cases, code), strategy, coded)
    compiled = kernel_scores.values(kernel_scores.ClusterBatch(cases, code, of_large=True), strategy, coded)
    assert compiled.tobytes() == plain.tobytes()


def _drawn_case(rng, number, lengths, items):
    anchors = [tuple(sorted(rng.choice(items, length, replace=False).tolist())) for length in lengths]
    units = [Unit(1, tuple(sorted(rng.choice(items, size, replace=False).tolist())), 1) for size in (1, 2, 5)]
    terms = [Unit("T", (item,), 1) for item in sorted(rng.choice(items, 2, replace=False).tolist())]
    return kernel_scores.ClusterCase(number, AnchoredRows(tuple(anchors), tuple(range(len(anchors)))), units + terms)


@settings(max_examples=50)
@given(releases(), scores(), st.integers(0, 5))
def test_chance_is_the_same_for_the_same_seed_and_gives_each_unit_its_rows(made, known, seed):
    release, _, _ = made
    found = reassociate(release, known, CHANCE, seed=seed)
    assert found == reassociate(release, {}, CHANCE, seed=seed)
    wanted = [
        (i, *one)
        for i, cluster in enumerate(release.clusters)
        if cluster.record_chunks
        for one in naive.units(cluster, release.k)
    ]
    assert [(one.cluster, one.chunk, one.unit, len(set(one.rows))) for one in found] == wanted
    assert all(0 <= row < release.clusters[one.cluster].size for one in found for row in one.rows)


def test_chance_draws_every_pair_of_rows_about_as_often():
    cluster = Cluster(4, (Chunk(("a",), (("a",),)), Chunk(("x",), (("x",), ("x",)))), ())
    release = Disassociated((cluster,) * 3000, k=2, m=2)
    drawn = [one.rows for one in reassociate(release, {}, CHANCE, seed=1)]
    counts = [drawn.count(pair) for pair in combinations(range(4), 2)]
    assert all(400 < count < 600 for count in counts), counts  # 500 each, deviation 20


def test_the_rows_drawn_in_a_cluster_do_not_depend_on_the_other_clusters():
    cluster = Cluster(6, (Chunk(("a",), (("a",),)),), ("t",))
    other = Cluster(9, (Chunk(("a",), (("a",),) * 9),), tuple("bcdef"))
    one, two = (
        [found.rows for found in reassociate(Disassociated(some, k=3), {}, CHANCE, seed=4) if found.cluster == 1]
        for some in ((cluster, cluster), (other, cluster, other))
    )
    assert one == two


@settings(max_examples=60)
@given(releases(), scores(), st.sampled_from([*EVERYTHING, CHANCE]))
def test_names_mean_nothing_but_their_order(made, known, strategy):
    release, _, _ = made

    def renamed(items):
        return tuple(f"item {ord(item) - 97:03}" for item in items)

    clusters = tuple(
        Cluster(
            one.size,
            tuple(Chunk(renamed(chunk.items), tuple(map(renamed, chunk.subrecords))) for chunk in one.record_chunks),
            renamed(one.term_chunk),
        )
        for one in release.clusters
    )
    again = reassociate(
        Disassociated(clusters, k=release.k, m=2), {renamed(pair): x for pair, x in known.items()}, strategy
    )
    assert again == [one._replace(unit=renamed(one.unit)) for one in reassociate(release, known, strategy)]


@settings(max_examples=40)
@given(releases(), scores(), st.sampled_from(EVERYTHING))
def test_the_order_of_a_pair_and_of_the_scores_means_nothing(made, known, strategy):
    release, _, _ = made
    turned = {pair[::-1]: known[pair] for pair in reversed(known)}
    assert reassociate(release, turned, strategy) == reassociate(release, known, strategy)


@settings(max_examples=40)
@given(releases(), scores(), st.sampled_from(EVERYTHING))
def test_distances_are_similarities_turned_round(made, known, strategy):
    release, _, _ = made
    distances = {pair: None if x is None else -x for pair, x in known.items()}
    assert reassociate(release, distances, strategy, closer="smaller") == reassociate(release, known, strategy)


def test_a_cluster_means_the_same_alone_and_among_others():
    case = GOLDEN["cases"][0]
    release, known = release_of(case["release"]), scores_of(case)
    for number, cluster in enumerate(release.clusters):
        alone = reassociate(Disassociated((cluster,), k=release.k), known, RGA)
        among = [one for one in reassociate(release, known, RGA) if one.cluster == number]
        assert [one[1:] for one in alone] == [one[1:] for one in among]


def test_float_noise_breaks_no_tie_and_moves_nothing_across_a_median():
    # 0.1 + 0.2 and 0.3 differ in the last bit: with the two equal the upper half has three items, not two
    noisy, clean = (0.1 + 0.2) / 2, 0.15
    first = Chunk(tuple("abcd"), (("a", "b", "c", "d"),))
    release = Disassociated((Cluster(2, (first,), ("t",)),), k=2)
    known = {("a", "t"): 0.0, ("b", "t"): clean, ("c", "t"): noisy, ("d", "t"): 0.9}
    (one,) = row_values(release, known, RGA)
    assert one.values[0] == pytest.approx((0.15 + 0.15 + 0.9) / 3)


@pytest.mark.parametrize("match", ["best", "assignment"])
def test_rows_that_only_float_noise_tells_apart_are_equal(match):
    # a row of a and b has (0.1 + 0.2)/2, by the last bit more than the 0.15 of a row of c
    noisy = (0.1 + 0.2) / 2
    assert noisy > 0.15
    first = Chunk(tuple("abc"), (("c",), ("a", "b")))
    release = Disassociated((Cluster(2, (first, Chunk(tuple("xy"), (("x",), ("y",)))), ("t",)),), k=2)
    known = {(a, y): s for a, s in (("a", 0.1), ("b", 0.2), ("c", 0.15)) for y in "txy"}
    found = reassociate(release, known, Reassociation.build(combine="mean", match=match))
    assert found[-1] == Assignment(0, "T", ("t",), (0,))
    if match == "best":
        assert {one.rows for one in found} == {(0,)}


def test_anchors_of_other_clusters_bridge_no_gap():
    # the values 0.6e-9 and -0.6e-9 are too far apart to be equal, though both are near the 0 of no score
    one = Cluster(2, (Chunk(("a", "b"), (("a",), ("b",))),), ("t",))
    other = Cluster(3, (Chunk(("c", "d", "e"), (("c",), ("d",), ("e",))),), ("u",))
    known = {("a", "t"): -0.6e-9, ("b", "t"): 0.6e-9}
    bayes = Reassociation.build(combine="bayes")
    found = reassociate(Disassociated((one, other), k=2), known, bayes, unrelated=0.0)
    assert found[0] == Assignment(0, "T", ("t",), (1,))


def test_units_come_in_order_whatever_order_they_were_published_in():
    chunks = (Chunk(("a",), (("a",),)), Chunk(("y", "x"), (("y", "x"), ("x",), ("x", "y"))))
    release = Disassociated((Cluster(3, chunks, ("t", "s")),), k=2)
    found = [one[1:3] for one in reassociate(release, {}, ABA)]
    assert found == [(1, ("x",)), (1, ("x", "y")), ("T", ("s",)), ("T", ("t",))]


def test_bayes_prefers_an_empty_anchor_to_one_that_speaks_against():
    release = Disassociated((Cluster(3, (Chunk(("a", "b"), (("a",), ("b",))),), ("t",)),), k=2)
    bayes = Reassociation.build(combine="bayes")
    (one,) = reassociate(release, {("a", "t"): -1.0, ("b", "t"): -0.5}, bayes, unrelated=0.0)
    assert one.rows == (2,)
    (one,) = row_values(release, {("a", "t"): -1.0, ("b", "t"): -0.5}, bayes, unrelated=0.0)
    assert one.values == (-1.0, -0.5, 0.0)


def test_bayes_finds_the_posterior_that_counting_gives():
    # one anchor item, one term: with the odds ratio of the population the value is the exact log odds, up to a constant
    release = Disassociated((Cluster(4, (Chunk(("a",), (("a",), ("a",))),), ("t",)),), k=2)
    theta = math.log(20.5 * 55.5 / (20.5 * 5.5))  # of 100 records 40 hold a, 25 t, 20 both; a half more of each count
    (one,) = row_values(release, {("a", "t"): theta}, Reassociation.build(combine="bayes"), unrelated=0.0)
    odds_with, odds_without = 20.5 / 20.5, 5.5 / 55.5
    assert one.values[0] - one.values[2] == pytest.approx(math.log(odds_with / odds_without))


def test_terms_go_to_no_more_rows_than_there_are():
    release = Disassociated((Cluster(2, (Chunk(("a",), (("a",),)),), ("t",)),), k=2)
    assert reassociate(release, {}, ABA, k=9) == [Assignment(0, "T", ("t",), (0, 1))]


BAD_CHOICES = [
    ({"combine": "uper_half"}, "combine: unknown choice 'uper_half'; did you mean 'upper_half'"),
    ({"combine": "mean\x00"}, "combine: unknown choice 'mean\\\\x00'"),
    ({}, "combine: the way to combine"),
    ({"combine": "mean", "match": "random"}, "combine: a random match ignores"),
    ({"units": [], "combine": "mean"}, "units: units are terms, sub-records or both"),
    ({"units": ["term", "term"], "combine": "mean"}, "units: units are"),
    ({"units": ["terms"], "combine": "mean"}, "units: unknown choice 'terms'; did you mean 'term'"),
    ({"units": ["term"], "match": "random"}, "units: a random match assigns terms"),
    ({"combine": "mean", "give": "k"}, "give: unknown choice 'k'"),
    ({"combine": "mean", "match": "assign"}, "match: unknown choice 'assign'"),
    ({"combine": "mean", "consistent": True}, "consistent: consistent needs a rule that matches all parts together"),
]


@pytest.mark.parametrize(("choices", "message"), BAD_CHOICES)
def test_choices_that_do_not_go_together_are_refused(choices, message):
    places = {name: name for name in ("units", "combine", "give", "match", "consistent")}
    with pytest.raises(DecloakError, match=message):
        Reassociation.build(**choices, places=places)


ONE = Disassociated((Cluster(2, (Chunk(("a",), (("a",),)),), ("t",)),))
BAD_INPUT = [
    (ONE, {}, {}, "does not say its k; give k"),
    (ONE, {}, {"k": 1}, "k is 1"),
    (ONE, {}, {"k": 2, "closer": "nearer"}, "closer is 'nearer'"),
    (ONE, {("a", "t"): 1.0, ("t", "a"): 2.0}, {"k": 2}, "'a' and 't' have two different scores"),
    (ONE, {"at": 1.0}, {"k": 2}, "a score is given for 'at'"),
    (ONE, {("a", "t"): "much"}, {"k": 2}, "a score is not a number"),
    (
        Disassociated((Cluster(1, (Chunk(("a",), (("a",),) * 2),), ("t",)),)),
        {},
        {"k": 2},
        "chunk 0 of cluster 0 has 2",
    ),
    (Disassociated((Cluster(0, (Chunk(("a",), ()),), ("t",)),)), {}, {"k": 2}, "cluster 0 has 0 records"),
]


@pytest.mark.parametrize(("release", "known", "options", "message"), BAD_INPUT)
def test_what_cannot_be_attacked_is_refused(release, known, options, message):
    with pytest.raises(DecloakError, match=message):
        reassociate(release, known, ABA, **options)


def test_a_seed_below_zero_and_consistency_without_k_are_refused():
    with pytest.raises(DecloakError, match="the seed is -1"):
        reassociate(ONE, {}, CHANCE, k=2, seed=-1)
    once = Reassociation.build(combine="mean", give="multiplicity", match="assignment", consistent=True)
    with pytest.raises(DecloakError, match="leave consistent out"):
        reassociate(ONE, {}, once)


def test_nothing_to_attack_gives_nothing():
    nothing = [Disassociated(()), Disassociated((Cluster(3, (), ("a", "b")),), k=2)]
    nothing.append(Disassociated((Cluster(2, (Chunk(("a",), (("a",),)),), ()),), k=2))
    for release in nothing:
        for strategy in (*EVERYTHING, CHANCE):
            assert reassociate(release, {}, strategy) == []


@pytest.mark.parametrize("combine", ["mean", "upper_half", "best", "bayes"])
def test_anchors_that_all_show_nothing_are_equal(combine):
    release = Disassociated((Cluster(3, (Chunk(("a",), ()),), ("t",)),), k=3)
    strategy = Reassociation.build(combine=combine)
    assert reassociate(release, {("a", "t"): 1.0}, strategy) == [Assignment(0, "T", ("t",), (0, 1))]
