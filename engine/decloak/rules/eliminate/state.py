"""Working arrays of an elimination for many distance tables side by side, changed in place.

Tables of a batch are padded to `height` x `width` cells, `stride` in all, numbered row-major. Cell c of table t is
entry t * stride + c of every flat array. Groups are numbered rows first: group g < height is row g, the others are
columns. The *cross* of a cell is its column and its row. The cells of a cross are listed in the order of the groups
they belong to, so that cell g of the cross is in group g too.

    d           distance; NaN when unscored, eliminated or padding: a cell with a distance is left
    w           weighted distance, d * (1 - R) * (1 - C) in the published attacks
    row_left    L of a cell: items of its row not eliminated, unscored ones among them; col_left is M
    row_weight  R of a cell, where weights are passed on; col_weight is C
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.formula import Call
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.expression import Expression

__all__ = ["EPS", "Batch", "EliminationLog", "Remainder", "TableColumns", "make_batch"]

EPS = 1e-9
"""Difference up to which values are equal."""


@dataclass(frozen=True)
class TableColumns:
    """Distances of one generalised item, NaN where unscored, and the further columns of its cells."""

    d: Floats
    further: Mapping[str, Floats]


class EliminationLog(NamedTuple):
    """Eliminations, an entry each: the table, the cell, and the group whose heaviest cell it was."""

    table: Ints
    cell: Ints
    group: Ints
    suspicion: Floats
    weight: Floats


class Remainder(NamedTuple):
    """w, R and C of the cells left of one table; R and C are None where nothing is redistributed."""

    weight: Floats
    row_weight: Floats | None
    col_weight: Floats | None


@dataclass
class Batch:
    """The working arrays; `columns` are flat, by name, and have everything that `weigh` reads."""

    number: Ints
    rows: Ints
    cols: Ints
    height: int
    width: int
    weigh: Expression
    columns: dict[str, Floats]
    aggregates: dict[Call, Floats]
    w: Floats

    @property
    def size(self) -> int:
        return len(self.number)

    @property
    def stride(self) -> int:
        return self.height * self.width

    def cells(self, name: str) -> Floats:
        return self.columns[name].reshape(self.size, -1)

    @cached_property
    def _across(self) -> Ints:
        return np.arange(self.width)

    @cached_property
    def _down(self) -> Ints:
        return np.arange(self.height) * self.width

    def row(self, tables: Ints, rows: Ints) -> Ints:
        return (tables * self.stride + rows * self.width)[:, None] + self._across

    def column(self, tables: Ints, cols: Ints) -> Ints:
        return (tables * self.stride + cols)[:, None] + self._down

    def by_axis(self, tables: Ints, groups: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield the entries of `groups` of some `tables`: the indices of rows among them and their entries, then the
        columns.
        """
        is_row = groups < self.height
        (rows,), (cols,) = is_row.nonzero(), (~is_row).nonzero()
        if rows.size:
            yield rows, self.row(tables[rows], groups[rows])
        if cols.size:
            yield cols, self.column(tables[cols], groups[cols] - self.height)

    def eligible(self, entries: Ints) -> Mask:
        """Return which cells at `entries` may go: they have a weight, and another item of their
        row and column is left.
        """
        neighboured = (self.columns["row_left"][entries] >= 2) & (self.columns["col_left"][entries] >= 2)
        may_go: Mask = neighboured & ~np.isnan(self.w[entries])
        return may_go

    def weigh_again(self, tables: Ints, entries: Ints) -> Floats:
        """Weigh the cells at `entries` (a row of them for each of `tables`); return the change of each.

        A weight that appears or disappears has an infinite change.
        """
        aggregates = {call: value[tables] for call, value in self.aggregates.items()}
        # Aggregates of a weight keep their first value: only what changes in a cross is weighed again.
        old, remaining = self.w[entries], ~np.isnan(self.columns["d"][entries])
        new = self.weigh.numpy({name: self.columns[name][entries] for name in self.weigh.names}, aggregates)
        new = np.where(remaining, new, np.nan)
        self.w[entries] = new
        appeared = np.isnan(old) != np.isnan(new)
        return np.where(appeared, np.inf, np.fmax(np.abs(new - old), 0.0))

    def take(self, keep: Ints) -> "Batch":
        def select_tables(flat: Floats) -> Floats:
            return flat.reshape(self.size, -1)[keep].ravel()

        return Batch(
            self.number[keep], self.rows[keep], self.cols[keep], self.height, self.width, self.weigh,
            {name: select_tables(column) for name, column in self.columns.items()},
            {call: value[keep] for call, value in self.aggregates.items()},
            select_tables(self.w),
        )  # fmt: skip

    def remainder(self, index: int, redistribute: str) -> Remainder:
        gone = np.isnan(self.table(index, self.columns["d"]))

        def column(name: str) -> Floats:
            return np.where(gone, np.nan, self.table(index, self.columns[name]))

        weight = np.where(gone, np.nan, self.table(index, self.w))
        if redistribute == "all":
            return Remainder(weight, 1 / column("row_left"), 1 / column("col_left"))
        if redistribute == "lower_cluster":
            return Remainder(weight, column("row_weight"), column("col_weight"))
        return Remainder(weight, None, None)

    def table(self, index: int, flat: Floats) -> Floats:
        return flat.reshape(self.size, self.height, self.width)[index, : self.rows[index], : self.cols[index]]


def make_batch(tables: Sequence[TableColumns], number: Ints, strategy: Strategy) -> Batch:
    """Put `tables`, with these `number`s, side by side and weigh their cells with `strategy`; return the batch."""
    weigh = strategy.weigh
    rows = np.array([table.d.shape[0] for table in tables], dtype=np.intp)
    cols = np.array([table.d.shape[1] for table in tables], dtype=np.intp)
    height, width = max(1, int(rows.max())), max(1, int(cols.max()))
    d = _padded([table.d for table in tables], height, width)
    columns = {name: _padded([table.further[name] for table in tables], height, width) for name in tables[0].further}
    per_table = {
        "rows": rows, "cols": cols, "row_left": cols, "col_left": rows,
        "row_weight": 1 / np.maximum(cols, 1), "col_weight": 1 / np.maximum(rows, 1),
    }  # fmt: skip
    needed = {"row_left", "col_left"} | weigh.names
    if strategy.redistribute == "lower_cluster":
        needed |= {"row_weight", "col_weight"}
    columns |= {name: np.repeat(x[:, None], d.shape[1], 1) for name, x in per_table.items() if name in needed}
    # Padding is NaN everywhere, so that no aggregate sees it.
    columns = {"d": d} | {name: np.where(np.isnan(d), np.nan, column) for name, column in columns.items()}
    aggregates = weigh.aggregates(columns)
    w = np.where(np.isnan(d), np.nan, weigh.numpy(columns, aggregates))
    flat = {name: column.ravel() for name, column in columns.items()}
    return Batch(number, rows, cols, height, width, weigh, flat, aggregates, w.ravel())


def _padded(tables: Sequence[Floats], height: int, width: int) -> Floats:
    padded = np.full((len(tables), height, width), np.nan)
    for table, block in zip(tables, padded, strict=True):
        block[: table.shape[0], : table.shape[1]] = table
    return padded.reshape(len(tables), -1)
