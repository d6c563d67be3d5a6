"""Assignment of units to anchors instead of rows: an integer programme, small however many rows a cluster has.

Rows of one anchor are interchangeable, so z[u, c] rows of anchor c get unit u, each unit as often as it was published.
A rule bounds the sum of z over some units and anchors. For example a row gets at most one sub-record of a chunk: the
sum over the chunk's units is at most the rows of c.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import Unit, classes

__all__ = ["RowLimit", "by_chunk", "capacities", "deal_rows", "replace_infinities", "solve_flow"]


class RowLimit(NamedTuple):
    """A rule: the sum of z over these units and anchors is between low and high."""

    units: Mask
    anchors: Mask
    low: int
    high: int

    def is_obeyed(self, z: Ints) -> bool:
        """Return True if `z` meets the rule."""
        return bool(self.low <= z[np.ix_(self.units, self.anchors)].sum() <= self.high)


def by_chunk(units: Sequence[Unit]) -> Iterator[slice]:
    """Yield the sub-records of each record chunk among the `units` of a cluster."""
    start = 0
    for chunk, members in groupby(units, key=lambda unit: unit.chunk):
        stop = start + len(list(members))
        if chunk != "T":
            yield slice(start, stop)
        start = stop


def capacities(case: ClusterCase, chunks: Sequence[slice]) -> Iterator[RowLimit]:
    """Yield the rules that no row of `case` gets two sub-records of one of `chunks`."""
    for chunk in chunks:
        units = np.zeros(len(case.units), dtype=np.bool_)
        units[chunk] = True
        for c, members in enumerate(classes(case.rows)):
            yield RowLimit(units, np.arange(len(case.rows.anchors)) == c, 0, len(members))


def replace_infinities(values: Floats, count: int) -> Floats:
    """Return `values` with -inf so low that no sum over `count` rows would grow by one more of it."""
    finite_values = values[np.isfinite(values)]
    if len(finite_values) == values.size:
        return values
    low, high = (float(finite_values.min()), float(finite_values.max())) if len(finite_values) else (0.0, 0.0)
    return np.where(np.isfinite(values), values, low - (high - low + 1) * (count + 1))


def solve_flow(case: ClusterCase, values: Floats, part: slice, rules: Sequence[RowLimit]) -> Ints | None:
    """Return the z of the units `part` with the largest sum of `values` under the `rules`, None where no z meets them.

    `case` is the cluster.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # few clusters need it

    times = np.array([unit.times for unit in case.units[part]])
    sizes = np.array([len(members) for members in classes(case.rows)])
    most = np.minimum(times[:, None], sizes)
    # Each unit gets exactly its number of rows.
    per_unit = np.kron(np.eye(len(times)), np.ones(len(sizes)))
    bound = np.array([np.outer(rule.units[part], rule.anchors).ravel() for rule in rules], dtype=np.float64)
    low, high = (np.array(side, dtype=np.float64) for side in zip(*(rule[2:] for rule in rules), strict=True))
    solution = milp(
        -replace_infinities(values[part], int(times.sum())).ravel(),
        integrality=np.ones(most.size),
        bounds=Bounds(0, most.ravel()),
        constraints=[LinearConstraint(per_unit, times, times), LinearConstraint(bound, low, high)],
        options={"mip_rel_gap": 0},  # the solver's own gap would stop at what is nearly best
    )
    return None if solution.x is None else np.rint(solution.x).astype(np.int64).reshape(most.shape)


def deal_rows(case: ClusterCase, z: Ints, chunks: Sequence[slice]) -> list[tuple[int, ...]]:
    """Return the rows of every unit of `case` from `z`, the number of each anchor: the lowest, but evenly among empty
    ones.

    `chunks` are the units of each chunk.
    """
    rows: list[list[int]] = [[] for _ in case.units]
    alone = [slice(u, u + 1) for u in range(chunks[-1].stop if chunks else 0, len(rows))]
    for c, members in enumerate(classes(case.rows)):
        start = 0
        for together in [*chunks, *alone]:
            # Rows that show nothing are dealt on from where the last unit ended, so that none stays empty in vain.
            if case.rows.anchors[c]:
                start = 0
            for u in range(together.start, together.stop):
                rows[u] += [members[place % len(members)] for place in range(start, start + int(z[u, c]))]
                start += int(z[u, c])
    return [tuple(sorted(unit_rows)) for unit_rows in rows]
