"""Matching of rows and units by the values of the rows: the best rows of each unit, or an assignment of a whole chunk.

Rows with neighbouring values within EPSILON are equal, and of equal rows the lowest comes first. A match by probability
takes equal rows in an order that does not depend on names (`structure`), and returns the rows that share a place
(`tied_rows`). An assignment gives every sub-record of a chunk exactly its number of rows, and a row at most one
sub-record of a chunk, with the largest sum of values. This is a transportation problem from sub-records to rows of
capacity 1, solved as the assignment of each sub-record as often as it was published. Rows without a value (-inf) are as
few as possible. Of several such assignments it takes one with the lowest rows; a sub-record alone in its chunk gets its
best rows. Terms share nothing that could be exhausted (a record may have all of them): for each the assignment is its
best rows. In clusters of more than MANY rows the solver assigns units to anchors (`flow`), and chooses among equal
assignments.
"""

from collections.abc import Sequence

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.assignment import RowLists
from decloak.errors import DecloakError
from decloak.rules.reassociate.flow import by_chunk, capacities, deal_rows, replace_infinities, solve_flow
from decloak.rules.reassociate.scores import EPSILON, ClusterBatch, ClusterCase, padded

__all__ = ["ascending", "assign_rows", "best_rows", "random_rows", "tied_rows"]

MANY = 1500
"""Rows of a cluster above which a programme over its anchors is faster than an assignment of its rows."""

MOST = 1000
"""Rows that share the last places of a unit, at most; of more, these are spread evenly."""

CHANCE = 1 << 40
"""Upper bound of random ranks: two rows of a unit hardly ever draw the same."""


def best_rows(batch: ClusterBatch, values: Floats, times: Ints, orders: Sequence[Ints] | None = None) -> RowLists:
    """Return the best rows of every unit of `batch`, as many as `times` says.

    `values` has a column per anchor of the unit's cluster. `orders` has the order in which equal rows of each cluster
    are taken, ascending without it.
    """
    if orders is None:
        return _lowest(_row_levels(values, batch.of_row[batch.owner]), times)
    # Rows are renumbered by the given order, so that the lowest of equals is the first in that order.
    order = padded([order.tolist() for order in orders], np.int64(0))
    within = np.arange(order.shape[1]) < batch.records[:, None]
    ordered = np.where(within, np.take_along_axis(batch.of_row, order, axis=1), values.shape[1])
    chosen = _lowest(_row_levels(values, ordered[batch.owner]), times)
    return ascending(chosen._replace(rows=order[batch.owner[chosen.list_of_row], chosen.rows]))


def tied_rows(batch: ClusterBatch, values: Floats, times: Ints) -> RowLists:
    """Return the rows of `batch` that share the last of the `times` places of every unit: equal `values` of several
    anchors, more than left.

    Rows of one anchor share their places anyway, because nothing distinguishes them.
    """
    of_row = batch.of_row[batch.owner]
    level = _row_levels(values, of_row)
    last = np.take_along_axis(np.sort(level, axis=1), np.maximum(times, 1)[:, None] - 1, axis=1)
    equal = (level == last) & (of_row < values.shape[1])
    several = equal.sum(axis=1) > times - (level < last).sum(axis=1)
    unlike = np.where(equal, of_row, -1).max(axis=1) > np.where(equal, of_row, values.shape[1]).min(axis=1)
    equal &= (several & unlike & (times > 0))[:, None]
    for unit in np.flatnonzero(equal.sum(axis=1) > MOST).tolist():
        spread = _thin_out(np.flatnonzero(equal[unit]))
        equal[unit] = False
        equal[unit, spread] = True
    return RowLists(np.append(0, np.cumsum(equal.sum(axis=1))), np.nonzero(equal)[1])


def _thin_out(rows: Ints) -> Ints:
    """Return at most MOST of the rows, evenly spread."""
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def ascending(lists: RowLists) -> RowLists:
    """Return `lists` with the rows of each in ascending order."""
    return lists._replace(rows=lists.rows[np.lexsort((lists.rows, lists.list_of_row))])


def _row_levels(values: Floats, of_row: Ints) -> Ints:
    """Return the rank of every row for every unit of the batch, 0 for the best; equal ones share one."""
    level = _levels(values)
    beyond = np.full((len(level), 1), values.shape[1], dtype=np.int64)
    return np.take_along_axis(np.hstack((level, beyond)), of_row, axis=1)


def random_rows(batch: ClusterBatch, times: Ints, seed: int) -> RowLists:
    """Return `times` rows drawn at random for every unit of `batch`; they depend on the number of
    the cluster and `seed` only.
    """
    if seed < 0:
        raise DecloakError(f"the seed is {seed}", hint="a seed is a whole number of at least 0")
    ranks = np.full((len(batch.owner), batch.of_row.shape[1]), CHANCE)
    for case, units in batch.by_case():
        rows = len(case.rows.of_row)
        ranks[units, :rows] = np.random.default_rng((seed, case.number)).integers(CHANCE, size=(len(case.units), rows))
    return _lowest(ranks, times)


def _levels(values: Floats) -> Ints:
    """Return the rank of every value in its row, 0 for the largest; equal values share one."""
    order = np.argsort(-values, axis=1)
    descending = np.take_along_axis(values, order, axis=1)
    with np.errstate(invalid="ignore"):
        steps = descending[:, :-1] - descending[:, 1:] > EPSILON
    level = np.zeros(values.shape, dtype=np.int64)
    np.put_along_axis(level, order[:, 1:], np.cumsum(steps, axis=1), axis=1)
    return level


def _lowest(ranks: Ints, counts: Ints) -> RowLists:
    """Return the columns of the `counts` lowest ranks of each row, among equals the first; in ascending order."""
    width, most = ranks.shape[1], int(counts.max(initial=0))
    # Rank and column in one number: one sort orders by rank, and equals by column.
    chosen = np.sort(ranks * width + np.arange(width), axis=1)[:, :most] % width
    within = np.arange(most) < counts[:, None]
    return RowLists(np.append(0, np.cumsum(counts)), np.sort(np.where(within, chosen, width), axis=1)[within])


def assign_rows(batch: ClusterBatch, values: Floats, times: Ints) -> list[tuple[int, ...]]:
    """Return the `times` rows of every unit of `batch` when all sub-records of a chunk are assigned together, by
    `values`.
    """
    rows = best_rows(batch, values, times).tuples()
    for case, units in batch.by_case():
        case_values = values[units, : len(case.rows.anchors)]
        for chunk in by_chunk(case.units):
            if chunk.stop - chunk.start > 1:
                assign_chunk = _by_anchor if len(case.rows.of_row) > MANY else _by_row
                place = slice(units.start + chunk.start, units.start + chunk.stop)
                rows[place] = assign_chunk(case, case_values, chunk)
    return rows


def _by_anchor(case: ClusterCase, values: Floats, chunk: slice) -> list[tuple[int, ...]]:
    """Return the rows of each sub-record of a chunk."""
    z = np.zeros(values.shape, dtype=np.int64)
    assigned = solve_flow(case, values, chunk, list(capacities(case, [chunk])))
    if assigned is None:
        raise RuntimeError(f"no assignment of {len(case.units[chunk])} sub-records to {len(case.rows.of_row)} rows")
    z[chunk] = assigned
    return deal_rows(case, z, [chunk])[chunk]


def _by_row(case: ClusterCase, values: Floats, chunk: slice) -> list[tuple[int, ...]]:
    """Return the rows of each sub-record of a chunk, the lowest possible."""
    from scipy.optimize import linear_sum_assignment  # most rules match each unit alone

    times = [unit.times for unit in case.units[chunk]]
    of_row = values[chunk][:, np.array(case.rows.of_row)]
    copies = np.repeat(np.arange(len(times)), times)
    _, rows = linear_sum_assignment(_costs(replace_infinities(of_row, len(copies)), len(copies))[copies])
    unit_rows: list[list[int]] = [[] for _ in times]
    for u, row in zip(copies.tolist(), rows.tolist(), strict=True):
        unit_rows[u].append(row)
    return [tuple(sorted(numbers)) for numbers in unit_rows]


def _costs(values: Floats, count: int) -> Floats:
    """Return whole numbers to minimise, without float noise: first by value, then by row.

    The unit is EPSILON, or what keeps the costs of a large cluster exact.
    """
    below = float(values.max()) - values
    rows = count * values.shape[1]
    grain = max(EPSILON, float(below.max()) * (rows + 1) / 2**50)
    costs: Floats = np.rint(below / grain) * (rows + 1) + np.arange(values.shape[1])
    return costs
