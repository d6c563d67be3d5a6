"""What every elimination promises: it is its naive twin, batches change nothing, names of rows mean nothing."""

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_eliminate as naive
from decloak.errors import DecloakError
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.eliminate.strategy import Strategy
from published_attacks import ATTACKS, BY_COUNTS, BY_STORED, TBA_ROW_MAJOR, cells, groups

UNSCORED = st.sampled_from([None, math.nan, math.inf, -1.0])
TIED = st.integers(0, 4).map(lambda x: x / 4)
FREE = st.floats(0, 5).map(lambda x: round(x, 4))
NUDGES = [0, 0, 0, 4e-10, 8e-10, 1.2e-9]


@st.composite
def tables(draw, cell=FREE, gaps=True, smallest=1, largest=7):
    """A list of rows of one length, with many ties or few, with unscored cells or without."""
    height, width = draw(st.integers(smallest, largest)), draw(st.integers(smallest, largest))
    with_gaps = gaps and draw(st.booleans())
    cell = draw(st.sampled_from([TIED, cell]))
    one = st.one_of(cell, cell, cell, UNSCORED) if with_gaps else cell
    row = st.lists(one, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=height, max_size=height))


def plain(rows):
    """A table as the naive twin wants it: None for whatever is unscored."""
    return [[None if x is None or not 0 <= x < math.inf else x for x in row] for row in rows]


def spread(w, d):
    return max(w) - fmean(w) if w else None


def nudged(seed):
    """Tables of few values, some of them a little more than they were."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(2, 6, (25, 2))
    return [
        (rng.integers(0, 4, shape) * (rng.random(shape) < 0.6) / 4 + rng.choice(NUDGES, shape)).tolist()
        for shape in shapes
    ]


def steep(w, d):
    return 9 * (max(w) - fmean(w)) if w else None


def by_distance(facts):
    return facts.d


def ratio_or_none(facts):
    return facts.d / (facts.row_left - 2) if facts.row_left != 2 else None


def mean_of_groups(factor):
    return lambda d, w, v: factor * naive.mean(v)


def eighth(d, w, v):
    return max(d, default=0) / 8


def strategy(**choices):
    return Strategy.build(eliminate="heaviest", **choices)


SPREAD = "max(w) - mean(w)"
IN_ROUNDS = {
    "wba": (ATTACKS["wba"], naive.WBA),
    "gba": (ATTACKS["gba"], naive.GBA),
    "rba": (ATTACKS["rba"], naive.RBA),
    "rows by spread": (
        strategy(groups=["row"], suspicion=SPREAD, threshold="1.2 * mean(suspicion)"),
        naive.Plan(by_distance, "r", spread, mean_of_groups(1.2)),
    ),
    "columns by spread, weights handed on": (
        strategy(
            groups=["col"], suspicion=SPREAD, threshold="mean(suspicion)", weigh=BY_STORED, redistribute="lower_cluster"
        ),
        naive.Plan(naive.by_stored, "c", spread, mean_of_groups(1), redistribute=True),
    ),
    "steep spread of rows and columns": (
        strategy(
            groups=["row", "col"],
            suspicion="9 * (max(w) - mean(w))",
            threshold="mean(suspicion)",
            weigh=BY_STORED,
            redistribute="lower_cluster",
        ),
        naive.Plan(naive.by_stored, "rc", steep, mean_of_groups(1), redistribute=True),
    ),
    "gaps of distances": (
        strategy(groups=["row", "col"], suspicion="largest_gap", threshold="mean(suspicion) / 4"),
        naive.Plan(by_distance, "rc", naive.largest_gap, mean_of_groups(0.25)),
    ),
    "gaps of weights that grow, no threshold": (
        strategy(groups=["row", "col"], suspicion="largest_gap", weigh="d / col_left", redistribute="all"),
        naive.Plan(lambda facts: facts.d / facts.col_left, "rc", naive.largest_gap),
    ),
    "largest of weights that read no distance": (
        strategy(groups=["row", "col"], suspicion="largest", weigh="1/row_left + 2/col_left", redistribute="all"),
        naive.Plan(lambda facts: 1 / facts.row_left + 2 / facts.col_left, "rc", naive.largest_of),
    ),
    "largest of rows and columns, no threshold": (
        strategy(groups=["row", "col"], suspicion="largest", weigh=BY_COUNTS, redistribute="all"),
        naive.Plan(naive.by_counts, "rc", naive.largest_of),
    ),
    "largest gap of the table": (
        strategy(
            groups=["table"], suspicion="largest_gap", threshold="max(d) / 8", weigh=BY_COUNTS, redistribute="all"
        ),
        naive.Plan(naive.by_counts, "t", naive.largest_gap, eighth),
    ),
    "spread of the table, weights handed on": (
        strategy(
            groups=["table"], suspicion=SPREAD, threshold="max(d) / 8", weigh=BY_STORED, redistribute="lower_cluster"
        ),
        naive.Plan(naive.by_stored, "t", spread, eighth, redistribute=True),
    ),
    "distances of the table, no threshold": (
        strategy(groups=["table"], suspicion="largest"),
        naive.Plan(by_distance, "t", naive.largest_of),
    ),
    "gaps of columns, weights that come and go": (
        strategy(groups=["row", "col"], suspicion="largest_gap", weigh="d / (row_left - 2)", redistribute="all"),
        naive.Plan(ratio_or_none, "rc", naive.largest_gap),
    ),
}


def same(done, rows, plan, threshold=None):
    """Whether the kernel eliminated what the twin eliminations, for the same reasons."""
    threshold, steps, table = naive.in_rounds(plain(rows), plan, threshold)
    assert done.threshold == (None if threshold is None else pytest.approx(threshold, abs=1e-9))
    assert cells(done) == [step.cell for step in steps]
    assert groups(done) == [step.group for step in steps]
    np.testing.assert_allclose(done.steps.suspicion, [step.suspicion for step in steps], rtol=0, atol=1e-9)
    np.testing.assert_allclose(done.steps.weight, [step.weight for step in steps], rtol=0, atol=1e-9)
    left = {at: done.weight[at] for at in zip(*np.nonzero(~np.isnan(done.weight)), strict=True)}
    assert left == pytest.approx(table.weights(), abs=1e-9)


@pytest.mark.parametrize("name", IN_ROUNDS)
@settings(max_examples=60)
@given(batch=st.lists(tables(), min_size=1, max_size=4))
def test_rounds_are_those_of_the_naive_twin(name, batch):
    attack, plan = IN_ROUNDS[name]
    for done, rows in zip(eliminate(batch, attack), batch, strict=True):
        same(done, rows, plan)


# A mean is not the same to the last digit however it is added up: with it, "nearly" would not be sharp.
@pytest.mark.parametrize("name", [name for name in IN_ROUNDS if "spread" not in name])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), threshold=st.sampled_from([0.05, 0.25]))
def test_rounds_take_nearly_equal_values_as_equal(name, seed, threshold):
    attack, plan = IN_ROUNDS[name]
    batch = nudged(seed)
    for done, rows in zip(eliminate(batch, attack, threshold=threshold), batch, strict=True):
        same(done, rows, plan, threshold)


def test_a_group_whose_heaviest_item_may_not_go_takes_part_again_when_another_grows_heavier():
    attack = strategy(groups=["row"], suspicion="largest", weigh="d / col_left", redistribute="all")
    rows = [[6.0, 15.0, 0.1], [30.0, 12.0, 0.1], [30.0, 0.1, 0.1]]
    (done,) = eliminate([rows], attack)
    assert cells(done) == [(1, 0), (2, 0), (1, 1), (0, 1)]
    same(done, rows, naive.Plan(lambda facts: facts.d / facts.col_left, "r", naive.largest_of))


def test_a_shut_group_does_not_end_the_attack_for_its_equal():
    attack = strategy(groups=["row"], suspicion="largest")
    rows = [[0.25 + 8e-10, 0.0, 0.0], [0.9, 0.25 + 1.2e-9, 0.0]]
    (done,) = eliminate([rows], attack, threshold=0.25)
    assert cells(done) == [(1, 0), (1, 1)]
    same(done, rows, naive.Plan(by_distance, "r", naive.largest_of), 0.25)


@settings(max_examples=100)
@given(batch=st.lists(tables(), min_size=1, max_size=4), seed=st.integers(0, 2**64 - 1))
def test_single_passes_are_those_of_the_naive_twin(batch, seed):
    seeds = [(seed + number) % 2**64 for number in range(len(batch))]
    expected = {
        "mda": [naive.mda(plain(rows)) for rows in batch],
        "tba": [naive.tba(plain(rows)) for rows in batch],
        "ra": [naive.ra(plain(rows), one) for rows, one in zip(batch, seeds, strict=True)],
    }
    for name, eliminated in expected.items():
        assert [cells(done) for done in eliminate(batch, ATTACKS[name], seeds=seeds)] == eliminated
    assert [cells(done) for done in eliminate(batch, TBA_ROW_MAJOR)] == [
        naive.tba(plain(rows), row_major=True) for rows in batch
    ]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_descending_order_takes_nearly_equal_distances_as_equal(seed):
    batch = nudged(seed)
    for done, rows in zip(eliminate(batch, ATTACKS["tba"], threshold=0.25), batch, strict=True):
        assert cells(done) == naive.tba(rows, 0.25)


@pytest.mark.parametrize("name", ATTACKS)
@settings(max_examples=25)
@given(batch=st.lists(tables(largest=9), min_size=2, max_size=8))
def test_a_batch_is_its_tables_one_by_one(name, batch):
    seeds = list(range(len(batch)))
    for number, together in enumerate(eliminate(batch, ATTACKS[name], seeds=seeds)):
        (alone,) = eliminate([batch[number]], ATTACKS[name], seeds=[number])
        assert (cells(together), groups(together)) == (cells(alone), groups(alone))
        np.testing.assert_allclose(together.steps.suspicion, alone.steps.suspicion, rtol=0, atol=1e-12)
        np.testing.assert_allclose(together.weight, alone.weight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ATTACKS)
@settings(max_examples=25)
@given(rows=tables())
def test_every_row_and_column_keeps_an_item(name, rows):
    done = eliminate([rows], ATTACKS[name], seeds=[1], **({} if name == "ra" else {"threshold": 0.0}))[0]
    height, width = done.kept.shape
    assert done.kept.any(axis=0).all()
    assert done.kept.any(axis=1).all()
    assert len(done.steps.round) <= height * width - max(height, width)
    assert done.steps.round.tolist() == list(range(1, len(cells(done)) + 1))
    assert set(cells(done)) == set(zip(*np.nonzero(~done.kept), strict=True))
    assert (done.kept | done.scored).all()


@pytest.mark.parametrize("name", ["mda", "tba", "wba", "gba", "rba"])
@settings(max_examples=40)
@given(shape=st.tuples(st.integers(2, 9), st.integers(2, 9)), seed=st.integers(0, 10**6), data=st.data())
def test_relabelling_rows_and_columns_relabels_the_result(name, shape, seed, data):
    """As long as no decision falls to the order of cells or groups.

    It would where, in some round, two values that compete are within 1e-9 of each other: the largest weights of the
    chosen group, the largest V of two groups with different heaviest cells, the largest gaps of a group that hands on
    weight. Distances drawn at random leave no such pair.
    """
    d = np.random.default_rng(seed).random(shape)
    by_row, by_col = (np.array(data.draw(st.permutations(range(side)))) for side in shape)
    done, relabelled = eliminate([d, d[by_row][:, by_col]], ATTACKS[name])
    assert [(by_row[i], by_col[j]) for i, j in cells(relabelled)] == cells(done)
    np.testing.assert_array_equal(relabelled.kept, done.kept[by_row][:, by_col])


@settings(max_examples=30)
@given(rows=tables(cell=TIED), factor=st.sampled_from([0.5, 2.0, 16.0]))
@pytest.mark.parametrize("name", ["mda", "tba", "wba", "gba", "rba"])
def test_scaling_every_distance_changes_nothing_but_the_values(name, rows, factor):
    once, scaled = eliminate([rows, [[x and x * factor for x in row] for row in rows]], ATTACKS[name])
    assert cells(scaled) == cells(once)
    np.testing.assert_allclose(scaled.steps.suspicion, once.steps.suspicion * factor, atol=1e-9)


def test_the_same_seed_gives_the_same_random_attack_and_others_differ():
    table = np.ones((12, 12))
    first, again, *others = eliminate([table] * 12, ATTACKS["ra"], seeds=[7, 7, *range(10)])
    assert cells(first) == cells(again)
    assert len({tuple(cells(one)) for one in others}) == 10


def test_a_seed_counts_by_its_lowest_64_bits():
    table = np.ones((8, 8))
    low, high, negative = eliminate([table] * 3, ATTACKS["ra"], seeds=[2**64 - 1, 2**65 - 1, -1])
    assert cells(low) == cells(high) == cells(negative)


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_table_without_cells_is_left_alone_beside_others(name, shape):
    empty, full = eliminate([np.empty(shape), np.eye(3)], ATTACKS[name], seeds=[1, 2])
    assert empty.kept.shape == empty.weight.shape == shape
    assert full.kept.shape == (3, 3)


def test_no_tables_give_no_results():
    assert eliminate([], ATTACKS["rba"]) == []


def test_sizes_of_very_different_tables_do_not_matter():
    rng = np.random.default_rng(1)
    batch = [rng.random(shape) for shape in [(1, 1), (300, 3), (3, 300), (2, 2), (17, 16), (64, 65)]]
    for done, d in zip(eliminate(batch, ATTACKS["gba"]), batch, strict=True):
        (alone,) = eliminate([d], ATTACKS["gba"])
        assert cells(done) == cells(alone)


def test_a_given_threshold_replaces_the_own_one_and_the_ratio_multiplies_it():
    d = np.random.default_rng(2).random((6, 6))
    (own,), (half,), (given) = (
        eliminate([d], ATTACKS["gba"]),
        eliminate([d], ATTACKS["gba"], ratio=0.5),
        eliminate([d], ATTACKS["gba"], threshold=0.3, ratio=0.5),
    )
    assert half.threshold == pytest.approx(own.threshold / 2)
    assert given[0].threshold == 0.3
    assert given[0].steps.threshold.tolist() == [0.3] * len(cells(given[0]))


@pytest.mark.parametrize("name", ["tba", "wba", "gba", "rba"])
@pytest.mark.parametrize("threshold", [-1e308, -1.0])
def test_a_threshold_below_everything_eliminates_whatever_may_go(name, threshold):
    d = np.random.default_rng(4).random((4, 5))
    (low,), (lower,) = (eliminate([d], ATTACKS[name], threshold=one) for one in (threshold, -1e9))
    assert low.threshold == threshold
    assert cells(low) == cells(lower)
    assert len(cells(low)) >= 5


@pytest.mark.parametrize("name", ATTACKS)
def test_huge_and_tiny_distances_are_no_trouble(name):
    (done,) = eliminate([[[1e308, 1e308, 5e-324], [1e308, 1e-300, 0.0], [1e307, 2.0, 1e308]]], ATTACKS[name], seeds=[3])
    assert done.scored.all()
    assert done.kept.any(axis=0).all()


def test_a_threshold_may_name_the_size_of_the_table():
    attack = Strategy.build(groups=["table"], suspicion="largest", eliminate="all", threshold="rows / cols")
    (done,) = eliminate([[[0.1, 0.6, 0.7], [0.8, 0.2, 0.66]]], attack)
    assert done.threshold == pytest.approx(2 / 3)
    assert cells(done) == [(1, 0), (0, 2)]


def test_weights_may_read_further_columns():
    attack = Strategy.build(groups=["table"], suspicion="largest", eliminate="once", weigh="d * rare", columns=["rare"])
    tables, rare = [[[1.0, 2.0], [3.0, 1.0]]] * 2, [[[9, 1], [1, 1]], [[1, 1], [None, 1]]]
    assert [cells(done) for done in eliminate(tables, attack, further={"rare": rare})] == [[(0, 0)], [(0, 1)]]


def test_aggregates_in_weights_pass_over_unscored_cells():
    attack = Strategy.build(
        groups=["table"], suspicion="largest", eliminate="all", weigh="d - mean(x)", threshold="0", columns=["x"]
    )
    (done,) = eliminate([[[1.0, None], [4.0, 2.0]]], attack, further={"x": [[[1, 99], [3, 2]]]})
    assert done.weight[0, 0] == -1
    assert cells(done) == [(1, 0)]


def test_aggregates_in_weights_are_those_of_the_first_round():
    attack = strategy(
        groups=["table"],
        suspicion="largest",
        weigh="d / max(d) * (1 - 1/row_left)",
        redistribute="all",
        threshold="0.5",
    )
    (done,) = eliminate([[[4.0, 3.9, 0.1], [1.0, 1.0, 1.0]]], attack)
    np.testing.assert_allclose(done.steps.weight, [2 / 3])
    assert done.weight[0, 1] == pytest.approx(3.9 / 4 / 2)


def test_rounds_limit_the_eliminations():
    d = np.random.default_rng(3).random((7, 7))
    for name in ATTACKS:
        (whole,), (few,) = (eliminate([d], ATTACKS[name], seeds=[5], rounds=rounds) for rounds in (None, 3))
        assert cells(few) == cells(whole)[:3]


FAULTS = {
    "ragged rows": ([[[1, 2], [3]]], {}, "table 0 is no rectangle of numbers"),
    "text": ([[["x"]]], {}, "table 0 is no rectangle of numbers"),
    "flat": ([[1, 2]], {}, "table 0 has 1 dimensions"),
    "a threshold that is no number": ([], {"threshold": math.nan}, "the threshold is nan"),
    "an infinite threshold": ([], {"threshold": math.inf}, "the threshold is inf"),
    "a negative ratio": ([], {"ratio": -1.0}, "the ratio is -1.0"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_bad_input_is_one_clear_line(name):
    batch, choices, message = FAULTS[name]
    with pytest.raises(DecloakError) as error:
        eliminate(batch, ATTACKS["rba"], **choices)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_random_attack_needs_a_seed_per_table():
    with pytest.raises(DecloakError, match="a random attack needs a seed per table: 1; give seeds"):
        eliminate([[[1.0]]], ATTACKS["ra"])


def test_a_further_column_must_be_given_and_fit():
    attack = Strategy.build(groups=["table"], suspicion="largest", eliminate="once", weigh="d * x", columns=["x"])
    with pytest.raises(DecloakError, match="weigh reads x, which is not given for each of 1 tables"):
        eliminate([[[1.0]]], attack)
    with pytest.raises(DecloakError, match="x of table 0 has the shape"):
        eliminate([[[1.0]]], attack, further={"x": [[[1.0, 2.0]]]})
