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
from scipy.optimize import linear_sum_assignment

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError
from decloak.rules.reassociate.flow import by_chunk, capacities, deal_rows, replace_infinities, solve_flow
from decloak.rules.reassociate.scores import EPSILON, ClusterCase, padded
from decloak.rules.reassociate.units import AnchoredRows

__all__ = ["assign_rows", "best_rows", "random_rows", "tied_rows"]

MANY = 1500
"""Rows of a cluster above which a programme over its anchors is faster than an assignment of its rows."""

MOST = 1000
"""Rows that share the last places of a unit, at most; of more, these are spread evenly."""

CHANCE = 1 << 40
"""Upper bound of random ranks: two rows of a unit hardly ever draw the same."""


def best_rows(
    batch: Sequence[ClusterCase], values: Floats, orders: Sequence[Ints] | None = None
) -> list[tuple[int, ...]]:
    """Return the best rows of every unit of `batch`; `values` has a column per anchor of the unit's cluster.

    `orders` has the order in which equal rows of each cluster are taken, ascending without it.
    """
    if orders is None:
        return _lowest(_row_levels(batch, values), _counts(batch))
    # Rows are renumbered by the given order, so that the lowest of equals is the first in that order.
    ordered = [_in_order(case, order) for case, order in zip(batch, orders, strict=True)]
    chosen = iter(_lowest(_row_levels(ordered, values), _counts(batch)))
    return [
        tuple(sorted(order[list(next(chosen))].tolist()))
        for case, order in zip(batch, orders, strict=True)
        for _ in case.units
    ]


def tied_rows(batch: Sequence[ClusterCase], values: Floats) -> list[tuple[int, ...]]:
    """Return the rows of `batch` that share the last places of every unit: equal `values` of several anchors, more than
    left.

    Rows of one anchor share their places anyway, because nothing distinguishes them.
    """
    level = _row_levels(batch, values)
    of_row = _anchors_of_rows(batch, values.shape[1])
    last = np.take_along_axis(np.sort(level, axis=1), np.maximum(_counts(batch), 1)[:, None] - 1, axis=1)
    equal = (level == last) & (of_row < values.shape[1])
    several = equal.sum(axis=1) > _counts(batch) - (level < last).sum(axis=1)
    unlike = np.where(equal, of_row, -1).max(axis=1) > np.where(equal, of_row, values.shape[1]).min(axis=1)
    return [
        tuple(_thin_out(np.flatnonzero(mask)).tolist()) if share else ()
        for mask, share in zip(equal, several & unlike & (_counts(batch) > 0), strict=True)
    ]


def _thin_out(rows: Ints) -> Ints:
    """Return at most MOST of the rows, evenly spread."""
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def _in_order(case: ClusterCase, order: Ints) -> ClusterCase:
    of_row = tuple(np.array(case.rows.of_row)[order].tolist())
    return case._replace(rows=AnchoredRows(case.rows.anchors, of_row))


def _row_levels(batch: Sequence[ClusterCase], values: Floats) -> Ints:
    """Return the rank of every row for every unit of the batch, 0 for the best; equal ones share one."""
    level = _levels(values)
    beyond = np.full((len(level), 1), values.shape[1], dtype=np.int64)
    return np.take_along_axis(np.hstack((level, beyond)), _anchors_of_rows(batch, values.shape[1]), axis=1)


def _anchors_of_rows(batch: Sequence[ClusterCase], beyond: int) -> Ints:
    """Return the anchor of every row for every unit of the batch; `beyond` where a cluster has no such row."""
    of_row = padded([case.rows.of_row for case in batch], np.int64(beyond))
    return np.asarray(of_row[np.repeat(np.arange(len(batch)), [len(case.units) for case in batch])])


def random_rows(batch: Sequence[ClusterCase], seed: int) -> list[tuple[int, ...]]:
    """Return rows drawn at random for every unit of `batch`; they depend on the number of the
    cluster and `seed` only.
    """
    if seed < 0:
        raise DecloakError(f"the seed is {seed}", hint="a seed is a whole number of at least 0")
    rows = []
    for case in batch:
        rng = np.random.default_rng((seed, case.number))
        ranks = rng.integers(CHANCE, size=(len(case.units), len(case.rows.of_row)))
        rows += _lowest(ranks, _counts([case]))
    return rows


def _counts(batch: Sequence[ClusterCase]) -> Ints:
    return np.array([unit.times for case in batch for unit in case.units], dtype=np.int64)


def _levels(values: Floats) -> Ints:
    """Return the rank of every value in its row, 0 for the largest; equal values share one."""
    order = np.argsort(-values, axis=1)
    descending = np.take_along_axis(values, order, axis=1)
    with np.errstate(invalid="ignore"):
        steps = descending[:, :-1] - descending[:, 1:] > EPSILON
    level = np.zeros(values.shape, dtype=np.int64)
    np.put_along_axis(level, order[:, 1:], np.cumsum(steps, axis=1), axis=1)
    return level


def _lowest(ranks: Ints, counts: Ints) -> list[tuple[int, ...]]:
    """Return the columns of the `counts` lowest ranks of each row, among equals the first; in ascending order."""
    if not len(counts):
        return []
    width, most = ranks.shape[1], int(counts.max())
    # Rank and column in one number: one sort orders by rank, and equals by column.
    chosen = np.sort(ranks * width + np.arange(width), axis=1)[:, :most] % width
    within = np.arange(most) < counts[:, None]
    ascending = np.sort(np.where(within, chosen, width), axis=1)[within].tolist()
    ends = np.cumsum(counts).tolist()
    return [tuple(ascending[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]


def assign_rows(batch: Sequence[ClusterCase], values: Floats) -> list[tuple[int, ...]]:
    """Return the rows of every unit of `batch` when all sub-records of a chunk are assigned together, by `values`."""
    rows = best_rows(batch, values)
    first = 0
    for case in batch:
        case_values = values[first : first + len(case.units), : len(case.rows.anchors)]
        for chunk in by_chunk(case.units):
            if chunk.stop - chunk.start > 1:
                assign_chunk = _by_anchor if len(case.rows.of_row) > MANY else _by_row
                rows[first + chunk.start : first + chunk.stop] = assign_chunk(case, case_values, chunk)
        first += len(case.units)
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
