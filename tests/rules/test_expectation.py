"""The attack that learns from a disassociated release: its weights, its expected counts, its probabilities."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import decloak
import naive_expectation as naive
from attacked_clusters import attack
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.assignment import Assignment, PairScores
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.data.generators.clinic import generate
from decloak.errors import DecloakError
from decloak.relate.clusters import item_vectors
from decloak.rules.load import Catalogue
from decloak.rules.reassociate import expected, fitted
from decloak.rules.reassociate.expected import GRID, expectation, term_counts, term_rows, term_supports
from decloak.rules.reassociate.fitted import NegativeControl, fitted_scores, softmax_weights
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.scores import ClusterBatch, ClusterCase, add_lines, coded_scores
from decloak.rules.reassociate.shared import joint_cases
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.units import AnchoredRows, Unit
from disassociated_releases import ITEMS, accuracy, releases, scores

EXPECTATION = Catalogue().rule("expectation").compiled
COUNTING = replace(EXPECTATION, combine="bayes")


@settings(max_examples=40)
@given(releases(most_records=6), scores(), scores())
def test_fitted_scores_are_the_weighted_sum_of_scores_and_lifts(made, known, more):
    release = made[0]
    items = sorted({item for cluster in release.clusters for item in cluster.items})
    measures = [coded_scores(one, "larger", items, 0.3) for one in (known, more)]
    combined = fitted_scores(release, measures)
    pairs = [(a, b) for a in items for b in items if a < b]
    chunk_pairs = {pair for _, shown, _ in naive.chunks(release) for pair in pairs if set(pair) <= set(shown)}
    thetas = [{pair: score - 0.3 for pair, score in one.items() if score is not None and pair in pairs}
              for one in (known, more)]  # fmt: skip
    thetas.append({pair: naive.lift(release, *pair) for pair in chunk_pairs})
    deviations = [math.sqrt(sum(x * x for x in theta.values()) / max(1, len(theta))) for theta in thetas]
    learned = learned_weights(release, measures)
    weights = [max(w, 0.01 / s) if s else 0 for w, s in zip(learned[:-1], deviations, strict=True)]
    for a, b in pairs:
        value = sum(weight * theta.get((a, b), 0) for weight, theta in zip(weights, thetas, strict=True))
        at = np.array(items.index(a)), np.array(items.index(b))
        assert np.nan_to_num(combined.of(*at)) == pytest.approx(value, abs=1e-9)


def learned_weights(release, measures):
    chunks = list(fitted._by_width(release, measures[0].code))
    return fitted._weights(chunks, fitted._pairs(chunks, len(measures[0].code)), measures, NegativeControl(None))


@settings(max_examples=40)
@given(releases(most_records=6), scores(), scores())
def test_no_other_weights_make_torn_items_more_likely_to_go_back(made, known, more):
    release = made[0]
    items = sorted({item for cluster in release.clusters for item in cluster.items})
    weights = learned_weights(release, [coded_scores(one, "larger", items, 0.3) for one in (known, more)])
    thetas = [{frozenset(pair): score - 0.3 for pair, score in one.items() if score is not None}
              for one in (known, more)]  # fmt: skip
    every = list(naive.examples(release, *thetas))
    best = naive.likelihood(weights, every)
    for step in [*np.eye(4), *-np.eye(4), (1, 1, 1, 1), (-1, 0, 1, 0), (1, 0, 0, -1), (-1, 1, 0, 0)]:
        assert naive.likelihood(weights + 0.05 * np.array(step), every) <= best + 1e-9


def short_records(count: int, seed: int) -> list[tuple[str, ...]]:
    """Two or three items each, mostly of one of three kinds; frequent ones are in every other."""
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(count):
        kind = rng.integers(3)
        items = {
            f"{'abc'[kind if rng.random() < 0.8 else rng.integers(3)]}{int(9 * rng.random() ** 2)}" for _ in range(4)
        }
        records.append(tuple(sorted(items)))
    return records


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nearness_does_not_count_against_an_item_where_records_are_short(seed):
    records = short_records(1500, seed)
    made = disassociate(records, k=3, m=2, max_cluster=25)
    vectors = item_vectors(
        [one.items for one in made.release.clusters], [one.size for one in made.release.clusters], 20
    )
    near = {(a, b): 1 - float(vectors[a] @ vectors[b]) for a in vectors for b in vectors if a < b}
    weights = learned_weights(made.release, [coded_scores(near, "smaller", sorted(vectors), 1.0)])
    assert weights[2] < 0  # pairs that stand in a chunk are mostly never together
    assert weights[0] > 0


def test_many_chunks_are_learned_from_by_a_sample_of_them(monkeypatch):
    rng = np.random.default_rng(1)
    clusters = [
        Cluster(
            6,
            (
                Chunk(
                    ("a", "b", "c"),
                    tuple(sorted(tuple(x for x in "abc" if rng.random() < 0.6 or x == "a") for _ in range(6))),
                ),
            ),
            (),
        )
        for _ in range(1200)
    ]
    release = Disassociated(tuple(clusters), k=2, m=2)
    coded = [coded_scores({("a", "b"): 0.2, ("b", "c"): 0.9}, "larger", ["a", "b", "c"], 0.0)]
    whole = fitted_scores(release, coded)
    monkeypatch.setattr(fitted, "ENTRIES", 5400)
    assert fitted_scores(release, coded).values == pytest.approx(whole.values, abs=0.5)


def by_clusters(release):
    vectors = item_vectors([one.items for one in release.clusters], [one.size for one in release.clusters], 20)
    return PairScores({(a, b): 1 - float(vectors[a] @ vectors[b]) for a in vectors for b in vectors if a < b},
                      "smaller", 1.0)  # fmt: skip


def published(records):
    """A release, the records, and which stands where."""
    made = disassociate(records, k=3, m=2, max_cluster=50)
    return made.release, records, made.truth


def visits(seed):
    return published([tuple(record) for record in generate(1500, seed).transactions])


def independent_items(seed):
    """Records of which nothing can be learned: each item is in them whatever else is."""
    rng = np.random.default_rng(seed)
    drawn = rng.random((1500, 30)) < rng.uniform(0.02, 0.25, 30)
    records = [tuple(f"i{item}" for item in np.flatnonzero(row)) for row in drawn]
    return published([record for record in records if record])


def noise_of(pairs, seed):
    rng = np.random.default_rng(seed)
    return PairScores({pair: float(rng.random()) for pair in pairs}, unrelated=0.5)


def test_a_measure_that_says_nothing_takes_nothing_from_one_that_does():
    release, *_ = visits(1)
    near = by_clusters(release)
    items = sorted({item for cluster in release.clusters for item in cluster.items})
    measures = (near, noise_of(near.scores, 1))
    coded = [coded_scores(one.scores, one.closer, items, one.unrelated) for one in measures]
    alone, both = learned_weights(release, coded[:1]), learned_weights(release, coded)
    assert both[0] == pytest.approx(alone[0], rel=0.1)
    assert abs(both[1]) * coded[1].values.std() < both[0] * coded[0].values.std() / 3


def test_what_cannot_be_weighed_still_decides_where_all_else_is_equal():
    torn = Cluster(6, (Chunk(("a", "b"), (("a",),) * 3 + (("b",),) * 3),), ("x",))
    release = Disassociated((torn,) * 4, k=3, m=2)
    scored = {("a", "x"): 0.1, ("b", "x"): 0.2}
    (rows,) = {one.rows for one in reassociate(release, scored, EXPECTATION, unrelated=0.0) if one.chunk == "T"}
    assert set(rows) <= {3, 4, 5}


def right(release, records, truth, **settings):
    rows = [one for part in attack(release, {}, EXPECTATION, **settings) for one in part.assignments]
    return accuracy(release, records, truth, rows).accuracy


@pytest.mark.slow
def test_spoilt_labels_leave_no_more_than_counting_has():
    ahead, left = [], []
    for case in map(visits, (1, 2)):
        counting = accuracy(*case, reassociate(case[0], {}, COUNTING, unrelated=0.0)).accuracy
        measures = [by_clusters(case[0])]
        ahead.append(right(*case, measures=measures) - counting)
        left += [right(*case, measures=measures, control="labels", seed=seed) - counting for seed in range(3)]
    assert min(ahead) > 0.02
    assert np.mean(left) < 0.005


@pytest.mark.slow
def test_who_can_learn_nothing_is_not_ahead_of_spoilt_labels():
    ahead = []
    for case in map(independent_items, range(4)):
        measures = [by_clusters(case[0])]
        alone = right(*case, measures=measures)
        ahead += [alone - right(*case, measures=measures, control="labels", seed=seed) for seed in range(3)]
    assert abs(np.mean(ahead)) < 0.01


def test_what_is_the_same_in_all_rows_gets_no_weight():
    features = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    weights = softmax_weights(features, np.ones(3), np.array([0.0, 1.0, 0.0]), np.zeros(3, np.int64))
    assert weights[0] == 0
    assert weights[1] > 0


@settings(max_examples=60)
@given(st.integers(1, 12), st.sampled_from([0, 30, 60, 90]))
def test_the_chances_of_supports_are_those_of_the_density(n, at):
    chances = [naive.density(n, s, float(GRID[at])) for s in range(1, max(2, n))]
    if GRID[at] > 0.9:  # below, the density of the twin goes to infinity at 1, where its sum of rectangles is coarse
        assert np.exp(expected._log_chances(n)[at]) == pytest.approx(np.array(chances) / sum(chances), rel=0.02)


def test_terms_are_expected_in_about_as_many_records_as_they_have():
    rng = np.random.default_rng(3)
    share = rng.beta(0.3, 8, 400)
    clusters, truth = [], []
    for size in [20, 40] * 20:
        support = rng.binomial(size, share)
        rare = [i for i in range(400) if 1 <= support[i] < 3]
        often = [i for i in range(400) if 3 <= support[i] < size]
        truth += [(size, support[i]) for i in rare]
        chunks = [Chunk((f"i{i}",), ((f"i{i}",),) * int(support[i])) for i in often]
        clusters.append(Cluster(size, tuple(chunks), tuple(f"i{i}" for i in rare)))
    counts = term_counts(term_supports(Disassociated(tuple(clusters), k=3, m=2), 3))
    for size in (20, 40):
        assert counts[size] == pytest.approx(np.mean([s for n, s in truth if n == size]), abs=0.06)


def test_without_anything_published_more_than_once_a_term_is_in_one_record():
    release = Disassociated((Cluster(4, (), ("a", "b")),), k=3, m=2)
    assert term_counts(term_supports(release, 3))[4] == pytest.approx(1, abs=0.01)


@st.composite
def cases(draw):
    anchors = draw(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=4, unique_by=frozenset))
    of_row = sorted([*range(len(anchors)), *draw(st.lists(st.integers(0, len(anchors) - 1), max_size=3))])
    units, n = [], len(of_row)
    for chunk in draw(st.lists(st.sampled_from([1, 2, "T", "T"]), min_size=1, max_size=3)):
        taken = sum(unit.times for unit in units if unit.chunk == chunk and chunk != "T")
        if chunk == "T" or taken < n:
            units.append(Unit(chunk, (f"u{len(units)}",), draw(st.integers(1, n if chunk == "T" else n - taken))))
    units.sort(key=lambda unit: str(unit.chunk))
    case = ClusterCase(0, AnchoredRows(tuple(tuple(sorted(a)) for a in anchors), tuple(of_row)), units)
    value = st.floats(-1.5, 1.5)
    values = draw(
        st.lists(
            st.lists(value, min_size=len(anchors), max_size=len(anchors)), min_size=len(units), max_size=len(units)
        )
    )
    return case, np.array(values)


@pytest.mark.parametrize("lines", [1, 7, 8, 9, 16, 31, 127, 128, 129, 137, 300])
def test_lines_add_up_as_numpy_adds_the_numbers_of_one_line(lines):
    x = np.random.default_rng(1).random((40, lines))
    assert np.array_equal(add_lines(np.ascontiguousarray(x.T)), x.sum(axis=1))


@settings(max_examples=50)
@given(cases())
def test_shares_add_up_and_are_those_of_the_naive_scaling(drawn):
    case, values = drawn
    sizes = np.bincount(case.rows.of_row).tolist()
    chunks = [unit.chunk if unit.chunk != "T" else ("T", at) for at, unit in enumerate(case.units)]
    full = {chunk: sum(u.times for u, c in zip(case.units, chunks, strict=True) if c == chunk) for chunk in chunks}
    assume(all(total < len(case.rows.of_row) for total in full.values()))  # a full chunk is met in the limit only
    targets = np.array([unit.times for unit in case.units], float)
    p = expectation(ClusterBatch([case]), values, targets)
    assert p @ sizes == pytest.approx(targets, rel=1e-4)
    assert p == pytest.approx(np.array(naive.shares(values, sizes, targets, chunks)), abs=1e-4)


def test_a_full_chunk_leaves_no_row_without_it():
    case = ClusterCase(0, AnchoredRows((("a",), ("b",)), (0, 1)), [Unit(1, ("x",), 1), Unit(1, ("y",), 1)])
    p = expectation(ClusterBatch([case]), np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2))
    assert p.sum(axis=0) == pytest.approx([1, 1], abs=0.01)
    assert p[0, 0] > p[0, 1]


@settings(max_examples=60)
@given(cases())
def test_probabilities_are_near_the_exact_posterior_of_small_clusters(drawn):
    case, values = drawn
    rows = [case.rows.anchors[number] for number in case.rows.of_row]
    assume(math.prod(math.comb(len(rows), unit.times) for unit in case.units) <= 3000)
    chunks = [
        (unit.chunk if unit.chunk != "T" else ("T", at), unit.items, unit.times) for at, unit in enumerate(case.units)
    ]
    theta = values[:, list(case.rows.of_row)] / 3
    exact = naive.posterior(rows, chunks, theta)
    assume(exact is not None)
    p = expectation(
        ClusterBatch([case]),
        values / 3,
        np.array([unit.times for unit in case.units], float),
        {0: expected.CoverLimits(9)},
    )
    assert np.abs(p[:, list(case.rows.of_row)] - exact).mean() < 0.12


def test_a_row_that_shows_nothing_is_likelier_to_have_what_is_left():
    case = ClusterCase(0, AnchoredRows((("a",), ()), (0, 0, 0, 1)), [Unit("T", ("x",), 1), Unit("T", ("y",), 1)])
    targets = np.ones(2)
    plain = expectation(ClusterBatch([case]), np.zeros((2, 2)), targets)
    aware = expectation(ClusterBatch([case]), np.zeros((2, 2)), targets, {0: expected.CoverLimits(1)})
    assert plain == pytest.approx(np.full((2, 2), 0.25), abs=1e-4)
    assert aware[0, 1] == pytest.approx(4 / 7, abs=0.05)  # of the 7 ways with something on the last row, 4 have x there


def test_covered_items_are_in_fewer_than_k_records_together():
    case = ClusterCase(0, AnchoredRows((("a",), ("b",)), (0, 0, 0, 0, 1, 1)), [Unit(1, ("x",), 3)])
    p = expectation(
        ClusterBatch([case]), np.array([[3.0, -3.0]]), np.array([3.0]), {0: expected.CoverLimits(2, ((1, "x", "a"),))}
    )
    assert 4 * p[0, 0] <= 2 * 1.01


@settings(max_examples=60)
@given(releases(), scores())
def test_every_unit_is_given_to_the_rows_with_the_largest_probability(made, known):
    release = made[0]
    for part in attack(release, known, EXPECTATION):
        of_row = np.array(part.case.rows.of_row)
        for rows, p in zip(part.rows, part.values, strict=True):
            by_row = p[of_row]
            assert ((by_row >= 0) & (by_row <= 1 + 1e-6)).all()
            others = np.delete(by_row, list(rows))
            assert not len(others) or by_row[list(rows)].min() >= others.max() - 1e-9


def test_what_a_release_shows_in_some_clusters_is_used_in_others():
    together = Chunk(("a", "b", "x"), (("a", "x"),) * 3 + (("b",),) * 3)
    learned = Cluster(6, (together,), ())
    torn = Cluster(6, (Chunk(("a", "b"), (("a",),) * 3 + (("b",),) * 3),), ("x",))
    release = Disassociated((*[learned] * 4, torn, *[learned] * 4), k=3, m=2)
    (given_to,) = [one for one in reassociate(release, {}, EXPECTATION) if one.chunk == "T"]
    assert given_to.unit == ("x",)
    assert set(given_to.rows) <= {0, 1, 2}


def test_shared_chunks_go_to_the_clusters_that_may_have_them():
    left = Cluster(4, (Chunk(("a",), (("a",),) * 4),), ("s",))
    right = Cluster(4, (Chunk(("b",), (("b",),) * 4),), ("t",))
    shared = Chunk(("s", "t"), (("s",),) * 3 + (("t",),) * 3)
    release = Disassociated((left, right), (JointCluster((0, 1), (shared,)),), k=3, m=2)
    (joint,) = joint_cases(release)
    assert joint.barred == ((0, 0), (1, 1))  # s is left's own, t is right's
    given_to = [one for one in reassociate(release, {}, EXPECTATION) if one.chunk == "S0.0"]
    assert given_to == [Assignment(0, "S0.0", ("t",), (0, 1, 2)), Assignment(1, "S0.0", ("s",), (0, 1, 2))]


def test_shared_units_count_when_somebody_attacks_them():
    rng = np.random.default_rng(5)
    records = sorted(tuple(sorted({f"i{x}" for x in rng.geometric(0.12, 5)})) for _ in range(600))
    made = disassociate(records, k=3, m=2, max_cluster=10, refine=True)
    assert made.release.joints
    every = reassociate(made.release, {}, EXPECTATION)
    own = [one for one in every if not str(one.chunk).startswith("S")]
    both, alone = (accuracy(made.release, records, made.truth, given_to) for given_to in (every, own))
    assert len(own) < len(every)
    assert both.true > alone.true
    assert both.assigned <= both.true * 1.5
    assert both.accuracy is not None
    assert both.correct_row >= alone.correct_row


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"combine": "mean", "match": "expectation"}, "log odds"),
        ({"combine": "fitted", "match": "expectation", "units": ["term"]}, "log odds"),
        ({"combine": "fitted", "match": "best", "consistent": True}, "matches all parts together"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(choices, message):
    with pytest.raises(DecloakError, match=message):
        Reassociation.build(**choices)


def test_how_many_records_a_term_has_needs_k():
    release = Disassociated((Cluster(3, (Chunk(("a",), (("a",),) * 3),), ("t",)),))
    with pytest.raises(DecloakError, match="does not say its k"):
        reassociate(release, {}, EXPECTATION)


@settings(max_examples=30)
@given(releases(), scores())
def test_names_mean_nothing_but_their_order(made, known):
    release = made[0]
    name = dict(zip(ITEMS, (f"z{item}" for item in ITEMS), strict=True))

    def renamed(chunk):
        return Chunk(tuple(name[i] for i in chunk.items), tuple(tuple(name[i] for i in s) for s in chunk.subrecords))

    other = Disassociated(
        tuple(
            Cluster(one.size, tuple(map(renamed, one.record_chunks)), tuple(name[i] for i in one.term_chunk))
            for one in release.clusters
        ),
        k=release.k,
    )
    theirs = {(name[a], name[b]): score for (a, b), score in known.items()}
    expected_rows = [one.rows for one in reassociate(release, known, EXPECTATION)]
    assert [one.rows for one in reassociate(other, theirs, EXPECTATION)] == expected_rows


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([3, 4]))
def test_published_totals_fix_how_many_rows_have_a_term(seed, k):
    chance = np.random.default_rng(seed)
    records = [[item for item in "abcdefgh" if chance.random() < 0.35] or ["a"] for _ in range(40)]
    release = decloak.anonymise(records, "disassociation", k=k, m=2, max_cluster=12, totals=True)
    plain = replace(release, totals=())
    supports = term_supports(release, k)
    of_size = term_counts(supports)
    assert term_rows(plain, supports) == (of_size, {})
    known = term_rows(release, supports)
    shown = Counter(
        item for part in release.clusters for chunk in part.record_chunks for one in chunk.subrecords for item in one
    )
    for item, total in release.totals:
        homes = [n for n, cluster in enumerate(release.clusters) if item in cluster.term_chunk]
        rows = [known.of_term[n, item] for n in homes]
        assert all(1 <= row <= release.clusters[n].size for row, n in zip(rows, homes, strict=True))
        if homes:  # nothing was suppressed: what is not shown is hidden in terms
            assert sum(rows) == pytest.approx(total - shown[item])
            assert sum(item in record for record in records) == total
    for n, cluster in enumerate(release.clusters):
        units = [Unit(1, ("a",), 3), *(Unit("T", (term,), 1) for term in (*cluster.term_chunk, "none"))]
        batch = ClusterBatch([ClusterCase(n, AnchoredRows(((),), (0,) * cluster.size), units)])
        terms = [known.of_term[n, term] for term in cluster.term_chunk]
        assert known.expected(batch).tolist() == [3, *terms, of_size[cluster.size]]
