"""Constraints of the disassociation algorithm on an assignment.

Two of its rules bind the assignments to the rows of one cluster (the third, that a term is in fewer than k rows, is
true of every attack). *Cover*: an item x of a later chunk and an item y, where every anchor with y has all items of the
first chunk at least as frequent as x. Then x and y are together in at most k-1 rows; otherwise the algorithm would have
put x into the first chunk. *No empty record*: an empty row gets at least one unit.

Both are linear in z, the rows of each anchor that get each unit. The sum over the units with x and the anchors with y
is at most k-1. The sum over all units of the empty rows is at least their number (which is enough, because units can be
spread evenly over them). An assignment that breaks no rule stays as it is; any other becomes the best one under the
rules. If no z meets a rule (in a release of another algorithm), the rule is dropped: the covers of a chunk, or empty
records.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.attacker.cover import cover_problems
from decloak.data.assignment import ChunkNumber
from decloak.data.disassociated import Disassociated
from decloak.rules.reassociate.flow import RowLimit, by_chunk, capacities, deal_rows, solve_flow
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import classes

__all__ = ["CoverLimits", "cover_limits", "cover_rules", "make_consistent"]

UNBOUNDED = np.iinfo(np.int64).max


class CoverLimits(NamedTuple):
    """At most `most` rows join x of a later chunk to y of the first, for these (chunk, x, y)."""

    most: int
    covered: tuple[tuple[ChunkNumber, str, str], ...] = ()


def cover_limits(release: Disassociated, k: int) -> dict[int, CoverLimits]:
    """Return the cover rules of every cluster of `release` by its number; `k` is as in the algorithm."""
    covered: dict[int, list[tuple[ChunkNumber, str, str]]] = {number: [] for number in range(len(release.clusters))}
    # Only covers by the first chunk bind an assignment: rows are known by their anchors there.
    for problem in cover_problems(release):
        if problem.earlier == 0:
            covered[problem.cluster] += [(problem.chunk, problem.item, y) for y in problem.covered]
    return {number: CoverLimits(k - 1, tuple(joins)) for number, joins in covered.items()}


def make_consistent(
    case: ClusterCase, values: Floats, rows: Sequence[tuple[int, ...]], ruled_out: CoverLimits
) -> list[tuple[int, ...]]:
    """Return the rows of every unit of a cluster, with as little loss of value as the rules allow.

    `case` is the cluster, `values` has the value of each unit and anchor, `rows` is the assignment, and `ruled_out` has
    the cover rules.
    """
    anchors = values.shape[1]
    of_row = np.array(case.rows.of_row)
    z = np.array([np.bincount(of_row[list(unit_rows)], minlength=anchors) for unit_rows in rows], dtype=np.int64)
    covers, empty, chunks = list(cover_rules(case, ruled_out)), list(_no_empty_record(case)), list(by_chunk(case.units))
    # Most assignments break nothing, and a programme is costly: only the chunks of broken rules are solved anew.
    broken = [rule for rule in covers if not rule.is_obeyed(z)]
    for chunk in chunks:
        if any(rule.units[chunk].any() for rule in broken):
            _solve_again(case, values, z, chunk, [*capacities(case, [chunk]), *covers])
    if not all(rule.is_obeyed(z) for rule in empty):
        _solve_again(case, values, z, slice(0, len(z)), [*capacities(case, chunks), *covers, *empty])
    elif not broken and not _has_empty_row(case, rows):
        return list(rows)
    return deal_rows(case, z, chunks)


def _solve_again(case: ClusterCase, values: Floats, z: Ints, units: slice, rules: Sequence[RowLimit]) -> None:
    replaced = solve_flow(case, values, units, rules)
    if replaced is not None:
        z[units] = replaced


def cover_rules(case: ClusterCase, ruled_out: CoverLimits) -> Iterator[RowLimit]:
    """Yield the limit of rows of the cluster `case` that join units with an item to anchors it
    covers, for `ruled_out`.
    """
    if not ruled_out.covered:
        return
    holding: dict[tuple[ChunkNumber, str], Mask] = {}
    showing: dict[str, Mask] = {}
    for at, unit in enumerate(case.units):
        for item in unit.items:
            holding.setdefault((unit.chunk, item), np.zeros(len(case.units), np.bool_))[at] = True
    for at, anchor in enumerate(case.rows.anchors):
        for item in anchor:
            showing.setdefault(item, np.zeros(len(case.rows.anchors), np.bool_))[at] = True
    for chunk, x, y in ruled_out.covered:
        yield RowLimit(holding[chunk, x], showing[y], 0, ruled_out.most)


def _no_empty_record(case: ClusterCase) -> Iterator[RowLimit]:
    everything = np.ones(len(case.units), dtype=np.bool_)
    for c, (anchor, members) in enumerate(zip(case.rows.anchors, classes(case.rows), strict=True)):
        if not anchor:
            yield RowLimit(everything, np.arange(len(case.rows.anchors)) == c, len(members), UNBOUNDED)


def _has_empty_row(case: ClusterCase, rows: Sequence[tuple[int, ...]]) -> bool:
    """Return True if a row that shows nothing got nothing."""
    filled = {row for unit_rows in rows for row in unit_rows}
    return any(not case.rows.anchors[anchor] and row not in filled for row, anchor in enumerate(case.rows.of_row))
