"""Precision, recall, F, density, chance and ranking of one table and of many."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.measure.recovery import Recovery, mean_density, pool, recovery

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "set-generalisation.json").read_text())
ATTACKS = ("mda", "tba", "tba_rowmajor", "wba", "gba", "rba")


def grid(shape, places, value=True):
    found = np.zeros(shape, bool)
    for place in places:
        found[tuple(place)] = value
    return found


def ordered(shape, places):
    order = np.full(shape, -1)
    for when, place in enumerate(places):
        order[tuple(place)] = when
    return order


@pytest.mark.parametrize("case", GOLDEN["unit"]["measures"])
def test_precision_recall_and_f_of_the_reference(case):
    found = Recovery(cells=case["added"], eliminated=case["eliminated"], correct=case["correct"])
    expected = [value if value is None else pytest.approx(value) for value in case["precision_recall_f"]]
    assert [found.precision, found.recall, found.f] == expected


@pytest.mark.parametrize("attack", ["mda", "tba_mean", "tba_threshold_1.60", "wba", "gba", "rba"])
def test_the_worked_example(attack):
    example = GOLDEN["example"]
    result = example[attack]
    found = recovery(ordered((4, 4), result["order"]), grid((4, 4), example["originals"]), np.ones((4, 4), bool))
    assert found.density == example["density"]
    measures = [found.precision, found.recall, found.f]
    assert measures == [pytest.approx(result[name]) for name in ("precision", "recall", "f")]


@pytest.mark.parametrize("table", [one for one in GOLDEN["tables"] if "originals" in one], ids=lambda t: t["id"])
def test_counts_of_the_structured_tables(table):
    shape = (table["rows"], table["cols"])
    for attack in ATTACKS:
        places = [divmod(cell, table["cols"]) for cell in table[attack]["order"]]
        found = recovery(ordered(shape, places), grid(shape, table["originals"]), np.ones(shape, bool))
        assert [found.correct, found.eliminated, found.added] == table[attack]["counts"]


@st.composite
def tables(draw):
    rows, cols = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    cell = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.1, 0.2, 1.5]))
    cells = draw(st.lists(cell, min_size=rows * cols, max_size=rows * cols))
    original, scored, wished, weight = np.array(cells, float).reshape(-1, 4).T.reshape(4, rows, cols)
    order = np.full((rows, cols), -1)
    eliminated = np.flatnonzero((wished > 0) & (scored > 0))
    order.flat[eliminated] = draw(st.permutations(range(len(eliminated))))
    weight[scored == 0] = np.nan
    return order, original > 0, scored > 0, weight


def more_suspicious(a, b):
    """1, 0 or -1: the earlier eliminated, then the heavier left."""
    (order_a, weight_a), (order_b, weight_b) = a, b
    if order_a >= 0 and order_b >= 0:
        return int(order_a < order_b) - int(order_a > order_b)
    if order_a >= 0 or order_b >= 0:
        return 1 if order_a >= 0 else -1
    return int(weight_a > weight_b) - int(weight_a < weight_b)


def by_hand(order, original, scored, weight):
    """The naive twin: cell by cell, pair by pair, and chance by trying every way to eliminate as many cells."""
    places = list(np.ndindex(order.shape))
    eliminated = [place for place in places if order[place] >= 0]
    candidates = [place for place in places if scored[place]]
    added = [place for place in candidates if not original[place]]
    real = [place for place in candidates if original[place]]
    signs = [more_suspicious((order[a], weight[a]), (order[b], weight[b])) for a in added for b in real]
    return Recovery(
        cells=len(places),
        scored=len(candidates),
        originals=sum(bool(original[place]) for place in places),
        eliminated=len(eliminated),
        correct=sum(not original[place] for place in eliminated),
        scored_added=len(added),
        expected=_mean_correct(candidates, original, len(eliminated)),
        pairs=len(signs),
        concordance=sum(sign + 1 for sign in signs),
    )


def _mean_correct(candidates, original, eliminations):
    if len(candidates) > 8:  # every cell is eliminated as often as any other
        return eliminations * sum(not original[place] for place in candidates) / len(candidates)
    ways = [sum(not original[place] for place in way) for way in combinations(candidates, eliminations)]
    return sum(ways) / len(ways)


@settings(max_examples=150)
@given(tables())
def test_counts_equal_counting_by_hand(table):
    found, expected = recovery(*table), by_hand(*table)
    assert found.expected == pytest.approx(expected.expected)
    assert found == replace(expected, expected=found.expected)


@settings(max_examples=50)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(table, random):
    rows, cols = (random.sample(range(n), n) for n in table[0].shape)
    moved, still = recovery(*(part[np.ix_(rows, cols)] for part in table)), recovery(*table)
    assert moved == still


@settings(max_examples=50)
@given(st.lists(tables(), max_size=4))
def test_pooling_sums_counts_and_density_is_a_mean_over_tables(parts):
    found = [recovery(*part) for part in parts]
    total = pool(found)
    for name in ("cells", "scored", "originals", "eliminated", "correct", "scored_added", "pairs", "concordance"):
        assert getattr(total, name) == sum(getattr(one, name) for one in found)
    assert total.expected == pytest.approx(sum(one.expected for one in found))
    known = [one.originals / one.cells for one in found if one.cells]
    assert mean_density(found) == (pytest.approx(sum(known) / len(known)) if known else None)


def test_chance_draws_as_many_cells_from_each_table():
    shape, scored = (1, 4), np.ones((1, 4), bool)
    sparse = recovery(ordered(shape, [(0, 0), (0, 1)]), grid(shape, [(0, 3)]), scored)
    dense = recovery(ordered(shape, [(0, 0)]), grid(shape, [(0, 1), (0, 2), (0, 3)]), scored)
    both = pool([sparse, dense])
    assert (sparse.chance_precision, dense.chance_precision) == (0.75, 0.25)
    assert both.chance_precision == pytest.approx((2 * 0.75 + 0.25) / 3)


def test_pairs_of_different_tables_are_never_compared():
    hidden_heavier = recovery(
        np.array([[-1, -1]]), np.array([[True, False]]), np.ones((1, 2), bool), np.array([[8.0, 9.0]])
    )
    lighter = recovery(np.array([[-1, -1]]), np.array([[True, False]]), np.ones((1, 2), bool), np.array([[1.0, 2.0]]))
    assert pool([hidden_heavier, lighter]).auc == 1.0


def test_weights_within_a_billionth_tie():
    weight = np.array([[0.3, 0.1 + 0.2, 0.3 + 1e-8]])
    original = np.array([[True, False, False]])
    found = recovery(np.full((1, 3), -1), original, np.ones((1, 3), bool), weight)
    assert (found.pairs, found.concordance) == (2, 3)


def test_without_weights_the_cells_left_tie():
    found = recovery(np.array([[-1, -1, 0]]), np.array([[True, False, False]]), np.ones((1, 3), bool))
    assert found.auc == 0.75


def test_what_has_no_divisor_is_none():
    nothing = pool([])
    assert nothing == Recovery()
    measures = ("precision", "recall", "f", "density", "chance_precision")
    assert {getattr(nothing, name) for name in (*measures, "auc")} == {None}
    assert mean_density([Recovery()]) is None


@pytest.mark.parametrize(
    ("original", "scored"),
    [(np.ones((1, 2), bool), np.ones((2, 2), bool)), (np.ones((2, 2), bool), np.zeros((2, 2), bool))],
)
def test_arrays_that_contradict_each_other_are_refused(original, scored):
    with pytest.raises(ValueError, match="differ in shape, or an unscored cell was eliminated"):
        recovery(np.zeros((2, 2), int), original, scored)
