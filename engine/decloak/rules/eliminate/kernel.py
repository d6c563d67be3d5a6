"""The elimination attack: remove from distance tables the cells that fit their context least, many tables together.

A cell of a table d is scored, unscored (NaN) or eliminated. It may go while at least one other item of its row and one
of its column is left; unscored items are left. The strategy decides which cells are eliminated, and in which order:
*heaviest* goes in rounds (`rounds`), the other words go once over the table (`one_pass`).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Ints, Mask
from decloak.errors import DecloakError
from decloak.rules.eliminate.choice import LOWEST, LineChooser, TableChooser
from decloak.rules.eliminate.one_pass import eliminate_in_one_pass
from decloak.rules.eliminate.rounds import eliminate_in_rounds
from decloak.rules.eliminate.separable import eliminate_large, pays_off
from decloak.rules.eliminate.state import Batch, EliminationLog, Remainder, TableColumns, make_batch
from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy
from decloak.rules.expression import scores

__all__ = ["Elimination", "Steps", "eliminate"]

CELLS_AT_ONCE = 1 << 18
"""Cells of a batch, padding included: bounds the memory, and keeps the arrays in the processor's cache."""

_TABLE, _ROW, _COL = map(GROUP_KINDS.index, ("table", "row", "col"))


class Steps(NamedTuple):
    """The eliminations of one table in order: an array per column, an entry per elimination.

    `round` counts from 1. `kind` is the kind of the cell's group by its number in GROUP_KINDS, `group` the group's row
    or column, 0 for the table. `suspicion` is the value that was compared with the threshold: V of the group, or w of
    the cell if the largest of the table is suspicious. It is NaN for a random rule. `weight` is w of the cell.
    """

    round: Ints
    row: Ints
    col: Ints
    kind: Ints
    group: Ints
    suspicion: Floats
    weight: Floats
    threshold: Floats


@dataclass(frozen=True, eq=False)
class Elimination:
    """Result of an attack on one table.

    Unscored cells are kept. `weight` is w of the scored cells left, NaN elsewhere: the attack's own ranking of the next
    eliminations. `row_weight` and `col_weight` are their R and C, None when nothing is redistributed.
    """

    kept: Mask
    scored: Mask
    threshold: float | None
    steps: Steps
    weight: Floats
    row_weight: Floats | None
    col_weight: Floats | None


def eliminate(
    tables: Sequence[ArrayLike],
    strategy: Strategy,
    *,
    threshold: float | None = None,
    ratio: float = 1.0,
    seeds: Sequence[int] | None = None,
    further: Mapping[str, Sequence[ArrayLike]] | None = None,
    rounds: int | None = None,
    accelerated: bool | None = None,
) -> list[Elimination]:
    """Eliminate cells of every table according to `strategy`; return the result for each of `tables`.

    Entries that are None, NaN, infinite or negative are unscored. `threshold` replaces the strategy's own, which is
    multiplied by `ratio` otherwise; a random rule has none. `seeds`, one per table, are for a random rule. `further`
    gives the other columns that `weigh` reads, each an array per table of the shape of that table. A table is left as
    it is after `rounds` eliminations. `accelerated` uses compiled loops for large tables, where weights allow; None: if
    numba is installed and it pays off.

    >>> mda = Strategy.build(groups=["table"], suspicion="largest", eliminate="once")
    >>> done, = eliminate([[[0.5, 2.0], [1.0, 0.7]]], mda)
    >>> done.kept.tolist()
    [[True, False], [True, True]]
    """
    _check(strategy, threshold, ratio, seeds, len(tables))
    # Tables are checked before any work, so that a fault in the last one costs nothing.
    read = _read(tables, strategy, further or {})
    done: dict[int, Elimination] = {}
    whole = strategy.groups == ("table",)
    large = pays_off([table.d.shape for table in read]) if accelerated is None else accelerated
    # Tables of similar shapes are processed together: many small tables cost one call of numpy each step.
    for numbers in _slices([table.d.shape for table in read]):
        batch = make_batch([read[number] for number in numbers], np.array(numbers), strategy)
        chooser = (TableChooser if whole else LineChooser)(batch, strategy)
        limit = _thresholds(batch, strategy, chooser.suspicions, threshold, ratio)
        if strategy.eliminate != "heaviest":
            log, remaining = eliminate_in_one_pass(batch, strategy.eliminate, limit, seeds, rounds)
        else:
            eliminated = eliminate_large(batch, strategy, limit, rounds, bool(accelerated)) if large else None
            log, remaining = eliminated or eliminate_in_rounds(batch, chooser, strategy.redistribute, limit, rounds)
        for number, delta, eliminations in zip(numbers, limit.tolist(), _by_table(log, numbers), strict=True):
            applied = None if delta == LOWEST else delta
            done[number] = _elimination(
                read[number].d, applied, _steps(eliminations, batch, whole, applied), remaining[number]
            )
    return [done[number] for number in range(len(read))]


def _check(strategy: Strategy, threshold: float | None, ratio: float, seeds: Sequence[int] | None, tables: int) -> None:
    if threshold is not None and not math.isfinite(threshold):
        raise DecloakError(f"the threshold is {threshold}", hint="give a number")
    if not (math.isfinite(ratio) and ratio >= 0):
        raise DecloakError(f"the ratio is {ratio}", hint="give a number of at least 0")
    if strategy.eliminate == "random" and (seeds is None or len(seeds) != tables):
        raise DecloakError(f"a random attack needs a seed per table: {tables}", hint="give seeds")


def _read(
    tables: Sequence[ArrayLike], strategy: Strategy, further: Mapping[str, Sequence[ArrayLike]]
) -> list[TableColumns]:
    for name in strategy.further_columns:
        if len(further.get(name, ())) != len(tables):
            raise DecloakError(f"weigh reads {name}, which is not given for each of {len(tables)} tables")
    read = []
    for number, table in enumerate(tables):
        d = _grid(table, f"table {number}")
        d[d < 0] = np.nan
        columns = {name: _grid(further[name][number], f"{name} of table {number}") for name in strategy.further_columns}
        for name, column in columns.items():
            if column.shape != d.shape:
                raise DecloakError(f"{name} of table {number} has the shape {column.shape}, the table {d.shape}")
        read.append(TableColumns(d, columns))
    return read


def _grid(values: ArrayLike, what: str) -> Floats:
    try:
        grid = scores(values)
    except (TypeError, ValueError, OverflowError):
        raise DecloakError(f"{what} is no rectangle of numbers", hint="None or NaN is unscored") from None
    if grid.size == 0:
        return grid.reshape(grid.shape if grid.ndim == 2 else (0, 0))
    if grid.ndim != 2:
        raise DecloakError(f"{what} has {grid.ndim} dimensions", hint="give rows of cells")
    return grid


def _slices(shapes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield tables to process together: their sides are within a factor of two, so that padding at most quadruples the
    cells.
    """
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, shape in enumerate(shapes):
        alike[tuple(side.bit_length() for side in shape)].append(number)
    for numbers in alike.values():
        padded = math.prod(max(shapes[number][axis] for number in numbers) for axis in (0, 1))
        most = max(1, CELLS_AT_ONCE // max(1, padded))
        yield from (numbers[first : first + most] for first in range(0, len(numbers), most))


def _thresholds(batch: Batch, strategy: Strategy, suspicions: Floats, threshold: float | None, ratio: float) -> Floats:
    """Return the threshold of each table: the given one, or the strategy's own, 0 where that has no value."""
    if strategy.eliminate == "random" or (threshold is None and strategy.threshold is None):
        return np.full(batch.size, LOWEST)
    if threshold is not None or strategy.threshold is None:
        return np.full(batch.size, threshold, dtype=np.float64)
    columns = {
        "d": batch.cells("d"),
        "w": batch.w.reshape(batch.size, -1),
        "suspicion": suspicions,
        "rows": batch.rows[:, None].astype(np.float64),
        "cols": batch.cols[:, None].astype(np.float64),
    }
    computed = np.broadcast_to(strategy.threshold.numpy(columns), (batch.size, 1))[:, 0]
    return ratio * np.where(np.isnan(computed), 0.0, computed)


def _by_table(log: Sequence[EliminationLog], number: Sequence[int]) -> Iterator[EliminationLog]:
    """Yield the eliminations of each table, in the order of the log."""
    # An empty entry gives concatenate its types where no cell was eliminated.
    none = EliminationLog(*(np.empty(0, dtype=np.intp),) * 3, *(np.empty(0),) * 2)
    columns = [np.concatenate(parts) for parts in zip(none, *log, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    ordered = [column[order] for column in columns]
    first, last = (np.searchsorted(ordered[0], number, side) for side in ("left", "right"))
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        yield EliminationLog(*(column[low:high] for column in ordered))


def _steps(eliminations: EliminationLog, batch: Batch, whole: bool, threshold: float | None) -> Steps:
    """Return the eliminations of a table, with groups and cells by row and column."""
    count = len(eliminations.cell)
    row, col = np.divmod(eliminations.cell, batch.width)
    in_col = eliminations.group >= batch.height
    kind = np.full(count, _TABLE) if whole else np.where(in_col, _COL, _ROW)
    group = eliminations.group - np.where(in_col, batch.height, 0)
    limit = np.full(count, np.nan if threshold is None else threshold)
    return Steps(np.arange(1, count + 1), row, col, kind, group, eliminations.suspicion, eliminations.weight, limit)


def _elimination(d: Floats, threshold: float | None, steps: Steps, remaining: Remainder) -> Elimination:
    kept = np.ones(d.shape, dtype=np.bool_)
    kept[steps.row, steps.col] = False
    return Elimination(kept, ~np.isnan(d), threshold, steps, *remaining)
