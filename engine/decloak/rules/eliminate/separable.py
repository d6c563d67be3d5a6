"""Large tables whose weights have separate factors for row and column, in the form that compiled loops use.

w = d f g: f depends only on the rest of the row, or on the weight that the row passed on to the cell. g depends in the
same way on the column. So an elimination changes f in one row and g in one column, and no other cell has to be updated
for it.

The eliminations are as in `rounds`, ties included. Only differences of 1e-9 (EPS) up to the last digit may be decided
differently: the loops multiply gaps where rounds multiply distances.

Why loops with blocks: a plain loop passes over a whole column in each elimination. For 60,000 rows that alone takes
twice as long as all of these loops.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.formula import Name, parse
from decloak.rules.eliminate.state import Batch, EliminationLog, Remainder
from decloak.rules.eliminate.strategy import Redistribute, Strategy
from decloak.rules.expression import Expression

__all__ = ["eliminate_large", "pays_off"]

LARGE, SMALL = 5e6, 1e5
"""Numbers of cells, each counted with the size of its row and column. Above LARGE, all tables together are worth the
import of compiled loops. Below SMALL, tables are equally fast without them.
"""
MOST = 1e6
"""A distance above which rounding comes near to what counts as equal."""
HANDED = [parse(f"max(0, 1 - {side}_weight)") for side in ("row", "col")]


class Factors(NamedTuple):
    """The factors of rows and of columns by the number of items left, None where they are 1; or of the weights passed
    on.
    """

    row: Expression | None = None
    col: Expression | None = None
    handing: bool = False


def factors_of(strategy: Strategy) -> Factors | None:
    """Return the factors of the weight of `strategy`, None where the loops do not support it."""
    table = strategy.groups == ("table",) and strategy.suspicion == "largest"
    lines = {*strategy.groups} == {"row", "col"} and strategy.suspicion == "largest_gap"
    d, *factors = strategy.weigh.factors
    if strategy.eliminate != "heaviest" or not (table or lines) or d.tree != Name("d"):
        return None
    if strategy.redistribute == "lower_cluster":
        handing = lines and [factor.tree for factor in factors] == HANDED
        return Factors(handing=True) if handing else None
    row, col = (_factor_reading(factors, {f"{side}_left", "rows", "cols"}) for side in ("row", "col"))
    # One after the other, and in this order: the same weights to the last digit.
    if [factor for factor in (row, col) if factor is not None] != factors or (lines and len(factors) < 2):
        return None
    return Factors(row, col)


def _factor_reading(factors: Sequence[Expression], names: set[str]) -> Expression | None:
    """Return the factor that reads some of these names and no others."""
    return next((factor for factor in factors if factor.names <= names and factor.names), None)


def pays_off(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Return True if compiled loops are worth their import for tables of these `shapes`."""
    return sum(math.prod(shape) * sum(shape) for shape in shapes) >= LARGE


def eliminate_large(
    batch: Batch, strategy: Strategy, threshold: Floats, rounds: int | None, required: bool
) -> tuple[list[EliminationLog], dict[int, Remainder]] | None:
    """Eliminate cells of the tables of `batch` by compiled loops; return the log and the remainder of each table.

    Return None where the loops do not support the `strategy`, do not pay off or do not exist. With `required` they are
    used whatever the cost, and numba must be installed. `threshold` has a value per table, and `rounds` limits the
    eliminations.
    """
    factors = factors_of(strategy)
    cost = (batch.rows * batch.cols * (batch.rows + batch.cols)).mean()
    if factors is None or not (required or cost >= SMALL):
        return None
    tables = [_LargeTable.of(batch.table(index, batch.columns["d"]), factors) for index in range(batch.size)]
    by_lines = strategy.groups != ("table",)
    if not all(table.is_supported(by_lines) for table in tables) or (loops := _loops(required)) is None:
        return None
    log, remaining = [], {}
    for number, table, limit in zip(batch.number.tolist(), tables, threshold.tolist(), strict=True):
        most = table.d.size - max(table.d.shape)
        eliminated = table.eliminate(loops, by_lines, limit, most if rounds is None else min(rounds, most))
        log.append(table.logged(number, batch, eliminated))
        remaining[number] = table.remainder(strategy.redistribute)
    return log, remaining


def _loops(required: bool) -> object:
    """Return the module of compiled loops, None where it cannot be imported."""
    try:
        from decloak.rules.eliminate import loops
    except Exception as error:  # not only ImportError: a numba that does not fit numpy fails in ways of its own
        if required:
            hint = f"{install('fast')}, or eliminate without it"
            raise DecloakError(f"numba cannot be used: {quote(error)}", hint=hint) from None
        return None
    return loops


@dataclass
class _LargeTable:
    """A table by bars, the groups of its shorter kind, and lines, the groups of the longer kind."""

    d: Floats
    wide: bool  # whether bars are columns
    handing: bool
    of_bar: Floats  # the factor of a bar by how many of its items are left
    of_line: Floats  # that of a line
    left: Ints  # items left of each bar
    remaining: Ints  # items left of each line
    by_bar: Floats  # the weights that bars handed on to cells
    by_line: Floats  # those that lines handed on

    @classmethod
    def of(cls, d: Floats, factors: Factors) -> "_LargeTable":
        # Bars are the shorter groups: a pass over all of them is cheap, and lines have blocks.
        wide = d.shape[1] > d.shape[0]
        of_row, of_col = (
            _factor_values(factors.row, "row_left", d.shape[1], d),
            _factor_values(factors.col, "col_left", len(d), d),
        )
        of_bar, of_line = (of_col, of_row) if wide else (of_row, of_col)
        d = np.array(d.T if wide else d, order="C")
        bars, lines = d.shape
        left, remaining = np.full(bars, lines, np.int64), np.full(lines, bars, np.int64)
        by_bar, by_line = (np.full(d.shape if factors.handing else (0, 0), 1 / max(1, n)) for n in (lines, bars))
        return cls(d, wide, factors.handing, of_bar, of_line, left, remaining, by_bar, by_line)

    def is_supported(self, by_lines: bool) -> bool:
        """Return True if the weights meet the assumptions of the loops: they grow with what is left, the last of a
        group has 0.

        `by_lines` says whether groups are rows and columns.
        """
        factors = (self.of_bar[1:], self.of_line[1:])
        grow = all(np.isfinite(f).all() and (f >= 0).all() and (np.diff(f) >= 0).all() for f in factors)
        last = self.handing or not by_lines or not any(f[:1].any() for f in factors)
        return self.d.size > 0 and bool(grow and last and np.nanmax(self.d, initial=0.0) <= MOST)

    def eliminate(self, loops: Any, by_lines: bool, threshold: float, most: int, **sizes: int) -> Any:
        """Eliminate at most `most` cells with `loops`, above the `threshold`; return the eliminations.

        `by_lines` says whether groups are rows and columns, `sizes` are as in `loops.lines`.
        """
        bars, lines = self.d.shape
        scale = np.ones(lines) if self.handing else np.full(lines, self.of_line[bars])
        table = loops.Large(self.d, self.by_bar, scale, self.of_bar, self.of_line, self.left, self.remaining, self.wide)
        eliminated = loops.EliminationColumns(*np.empty((3, most), np.int64), *np.empty((2, most)))
        leaves = 2 * (1 << (bars - 1).bit_length())
        if by_lines:
            ordered = self._ordered_lines(loops, **sizes)
            alike = loops.patterns(self.d, not self.handing)
            keys = loops.keys_of(bars, lines, alike)
            count = loops.eliminate_lines(table, ordered, keys, eliminated, threshold, most)
            if self.handing:
                line = np.arange(lines)
                tag = ordered.tag[line, ordered.place[line, np.maximum(ordered.block, 0)]]
                self.by_line = np.where(ordered.block >= 0, ordered.weight + tag, ordered.weight)
        else:
            count = loops.eliminate_table(table, np.full((leaves, lines), -np.inf), eliminated, threshold, most)
        return loops.EliminationColumns(*(column[:count] for column in eliminated))

    def _ordered_lines(self, loops: Any, **sizes: int) -> Any:
        a = self.d * (np.maximum(0.0, 1 - self.by_bar) if self.handing else self.of_bar[-1])
        # The stable sort takes equal cells by bar, as rounds do.
        ordered = loops.lines(a, np.array(self.by_line) if self.handing else np.zeros(a.shape), **sizes)
        loops.pack_all(ordered, np.argsort(a, axis=0, kind="stable"), np.count_nonzero(~np.isnan(a), axis=0))
        return ordered

    def logged(self, number: int, batch: Batch, eliminated: Any) -> EliminationLog:
        """Return the log of `eliminated`, with the cells and groups of `batch`, for the table with `number`."""
        bar, line, group = (column.astype(np.intp) for column in eliminated[:3])
        row, col = (line, bar) if self.wide else (bar, line)
        first_bar, first_line = (batch.height, 0) if self.wide else (0, batch.height)
        groups = np.where(group >= 0, group + first_bar, -1 - group + first_line)
        return EliminationLog(np.full_like(bar, number), row * batch.width + col, groups, *eliminated[3:])

    def remainder(self, redistribute: Redistribute) -> Remainder:
        """Return the remaining weights by rows and columns; `redistribute` says whether weights were passed on."""
        if self.handing:
            by_bar, by_line = self.by_bar, self.by_line
            of_bar, of_line = np.maximum(0.0, 1 - by_bar), np.maximum(0.0, 1 - by_line)
        else:
            by_bar, by_line = (1 / np.maximum(left, 1) for left in (self.left[:, None], self.remaining[None, :]))
            of_bar, of_line = self.of_bar[self.left][:, None], self.of_line[self.remaining]
        w = self.d * of_line * of_bar if self.wide else self.d * of_bar * of_line
        shares = [np.where(np.isnan(w), np.nan, share) for share in (by_bar, by_line)]
        if self.wide:
            w, shares = w.T, [shares[1].T, shares[0].T]
        return Remainder(w, None, None) if redistribute == "none" else Remainder(w, *shares)


def _factor_values(factor: Expression | None, left: str, most: int, d: Floats) -> Floats:
    """Return a factor by the number of items left, from 0, which never occurs."""
    if factor is None:
        return np.ones(most + 1)
    columns = {left: np.arange(1.0, most + 1), "rows": np.array(float(len(d))), "cols": np.array(float(d.shape[1]))}
    return np.append(0.0, np.broadcast_to(factor.numpy({name: columns[name] for name in factor.names}), most))
