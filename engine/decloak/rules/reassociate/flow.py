"""Giving units to anchors instead of rows: an integer programme, small however many rows a cluster has.

Rows of one anchor are interchangeable, so z[u, c] rows of anchor c get unit u, each unit as many as it was published.
A rule bounds the sum of z over some units and anchors; that no row takes two sub-records of a chunk is such a rule:
the sum over the chunk's units is at most the rows of c.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from decloak.arrays import Floats, Ints, Mask
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import Unit, classes

__all__ = ["RowLimit", "by_chunk", "capacities", "deal_rows", "finite", "flow"]


class RowLimit(NamedTuple):
    """The sum of z over these units and anchors lies between low and high."""

    units: Mask
    anchors: Mask
    low: int
    high: int

    def obeyed(self, z: Ints) -> bool:
        return bool(self.low <= z[np.ix_(self.units, self.anchors)].sum() <= self.high)


def by_chunk(units: Sequence[Unit]) -> Iterator[slice]:
    """The sub-records of each record chunk among the units of a cluster."""
    start = 0
    for chunk, members in groupby(units, key=lambda unit: unit.chunk):
        stop = start + len(list(members))
        if chunk != "T":
            yield slice(start, stop)
        start = stop


def capacities(case: ClusterCase, chunks: Sequence[slice]) -> Iterator[RowLimit]:
    """No row takes two sub-records of a chunk."""
    for chunk in chunks:
        units = np.zeros(len(case.units), dtype=np.bool_)
        units[chunk] = True
        for c, members in enumerate(classes(case.rows)):
            yield RowLimit(units, np.arange(len(case.rows.anchors)) == c, 0, len(members))


def finite(values: Floats, count: int) -> Floats:
    """Values with -inf so low that no sum over as many rows as are given would gain by one more of it."""
    finite_values = values[np.isfinite(values)]
    if len(finite_values) == values.size:
        return values
    low, high = (float(finite_values.min()), float(finite_values.max())) if len(finite_values) else (0.0, 0.0)
    return np.where(np.isfinite(values), values, low - (high - low + 1) * (count + 1))


def flow(case: ClusterCase, values: Floats, part: slice, rules: Sequence[RowLimit]) -> Ints | None:
    """The z of some units whose sum of values is largest under the rules, None where no z obeys them."""
    times = np.array([unit.times for unit in case.units[part]])
    sizes = np.array([len(members) for members in classes(case.rows)])
    most = np.minimum(times[:, None], sizes)
    per_unit = np.kron(np.eye(len(times)), np.ones(len(sizes)))
    bound = np.array([np.outer(rule.units[part], rule.anchors).ravel() for rule in rules], dtype=np.float64)
    low, high = (np.array(side, dtype=np.float64) for side in zip(*(rule[2:] for rule in rules), strict=True))
    solution = milp(
        -finite(values[part], int(times.sum())).ravel(),
        integrality=np.ones(most.size),
        bounds=Bounds(0, most.ravel()),
        constraints=[LinearConstraint(per_unit, times, times), LinearConstraint(bound, low, high)],
        options={"mip_rel_gap": 0},  # the solver's own gap would stop at what is nearly best
    )
    return None if solution.x is None else np.rint(solution.x).astype(np.int64).reshape(most.shape)


def deal_rows(case: ClusterCase, z: Ints, chunks: Sequence[slice]) -> list[tuple[int, ...]]:
    """The rows of every unit from how many of each anchor it gets: the lowest, but evenly where nothing is shown."""
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
