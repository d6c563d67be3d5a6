"""Choice of the next cell: the most suspicious group of every table of a batch, and its heaviest cell.

Rows and columns are measured lazily. An elimination changes cells of one row and one column, so any other group has at
most one changed cell. Its largest weight and its largest gap grow at most by the change of that cell. So the measured
value plus those changes is an upper bound of V. Only groups whose bound reaches the threshold and the best known V are
measured again. A formula gives no such bound: a change makes it infinite.
"""

import copy
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.rules.eliminate.groups import heaviest, measure_of
from decloak.rules.eliminate.state import EPS, Batch
from decloak.rules.eliminate.strategy import Strategy

__all__ = ["LOWEST", "Choice", "LineChooser", "TableChooser"]

LOWEST = -1e307
"""V of a group that has none, and the threshold where there is none; finite, so that numbers can be added to it."""

_KNOWN, _STALE, _SHUT, _NONE = np.arange(4, dtype=np.int8)
"""V is exact; V is at most the bound; the heaviest cell may not go, until a cell of the group changes; no group."""


class Choice(NamedTuple):
    """The next eliminations: tables, their groups, the suspicion of these, and the cells; and the tables that go on.

    A table that goes on without an elimination had its best group shut, and searches again.
    """

    on: Mask
    tables: Ints
    groups: Ints
    suspicion: Floats
    cells: Ints


class TableChooser:
    """Chooser for one group, the table: its heaviest eligible cell."""

    def __init__(self, batch: Batch, strategy: Strategy) -> None:
        self._largest = strategy.suspicion == "largest"
        self._measure = measure_of(strategy)
        self._may_go = np.full_like(batch.w, LOWEST)
        self.suspicions = self._measure(batch, self._everything(batch))[:, None]
        self._refresh(batch, np.arange(len(batch.w)))

    def choose(self, batch: Batch, threshold: Floats) -> Choice:
        """Return the next cell of every table of `batch` whose suspicion exceeds its `threshold`."""
        # Cells that may not go have the lowest weight, so that one argmax finds the next cell of every table.
        w = self._may_go.reshape(batch.size, -1)
        # argmax gives the first of the cells equal to the largest, row by row. Every elimination breaks ties so.
        cells = (w >= w.max(axis=1, keepdims=True) - EPS).argmax(axis=1)
        heaviest_w = w[np.arange(batch.size), cells]
        suspicion = heaviest_w if self._largest else self._measure(batch, self._everything(batch))
        on = (heaviest_w > LOWEST) & (suspicion > threshold + EPS)
        (tables,) = on.nonzero()
        return Choice(on, tables, np.zeros_like(tables), suspicion[tables], cells[tables])

    def changed(self, batch: Batch, choice: Choice, cross: Ints, change: Floats) -> None:
        """Update the cells of the crosses after a `choice` in `batch`; `cross` has their entries, `change` is not
        needed.
        """
        self._refresh(batch, cross)

    def take(self, size: int, keep: Ints) -> "TableChooser":
        """Return the chooser for the tables `keep` of `size` tables."""
        taken = copy.copy(self)
        taken._may_go = self._may_go.reshape(size, -1)[keep].ravel()
        return taken

    def _refresh(self, batch: Batch, entries: Ints) -> None:
        self._may_go[entries] = np.where(batch.eligible(entries), batch.w[entries], LOWEST)

    def _everything(self, batch: Batch) -> Ints:
        return np.arange(len(batch.w)).reshape(batch.size, -1)


class LineChooser:
    """Chooser for a group per row, per column or both: the heaviest cell of the group with the largest V."""

    def __init__(self, batch: Batch, strategy: Strategy) -> None:
        self._formula = not isinstance(strategy.suspicion, str)
        self._measure = measure_of(strategy)
        rows, cols = np.arange(batch.height), np.arange(batch.width)
        present = np.hstack(
            [
                (rows < batch.rows[:, None]) & ("row" in strategy.groups),
                (cols < batch.cols[:, None]) & ("col" in strategy.groups),
            ]
        )
        self._bound = np.full(present.shape, LOWEST)
        self._state = np.where(present, _STALE, _NONE)
        self._remeasure(batch, present)
        self.suspicions = np.where(self._bound > LOWEST, self._bound, np.nan)

    def choose(self, batch: Batch, threshold: Floats) -> Choice:
        """Return the next cell of every table of `batch` with a V above its `threshold`, unless
        that cell may not go.
        """
        # Groups below the best known V cannot win: only those whose bound reaches it are measured.
        best = self._best()
        reach = np.maximum(best.max(axis=1), threshold)
        # Bounds are sums of changes and carry their rounding: a group a hair below may really be level.
        reach = reach * np.where(reach > 0, 1 - 1e-12, 1 + 1e-12) - 2 * EPS
        within = (self._state == _STALE) & (self._bound >= reach[:, None])
        if within.any():
            self._remeasure(batch, within)
            best = self._best()
        leaders = best.argmax(axis=1)
        top = best[np.arange(batch.size), leaders]
        on = (top > LOWEST) & (top > threshold + EPS)
        (tables,) = on.nonzero()
        groups = (best.take(tables, axis=0) >= top[tables, None] - EPS).argmax(axis=1)
        cells, may_go = self._open(batch, tables, groups, leaders[tables])
        suspicion = best[tables, groups]
        exceeds = suspicion > threshold[tables] + EPS
        on[tables[may_go & ~exceeds]] = False
        go = may_go & exceeds
        return Choice(on, tables[go], groups[go], suspicion[go], cells[go])

    def changed(self, batch: Batch, choice: Choice, cross: Ints, change: Floats) -> None:
        """Loosen the bound of every group by the `change` of its cell in the `cross`, after a `choice` in `batch`.

        The eliminated cell's own row and column lost a cell, which may merge two gaps into one of any size.
        """
        tables = choice.tables
        row, col = np.divmod(choice.cells, batch.width)
        if self._formula:
            change = np.where(change > 0, np.inf, 0.0)
        change[np.arange(len(tables)), row] = np.inf
        change[np.arange(len(tables)), batch.height + col] = np.inf
        self._bound[tables] += change
        # A shut group may open again, because one of its cells changed.
        state = self._state.take(tables, axis=0)
        state[(change > 0) & (state != _NONE)] = _STALE
        self._state[tables] = state

    def take(self, size: int, keep: Ints) -> "LineChooser":
        """Return the chooser for the tables `keep` of `size` tables."""
        taken = copy.copy(self)
        taken._bound, taken._state = self._bound[keep], self._state[keep]
        return taken

    def _best(self) -> Floats:
        """Return V where it is known and the group is not shut."""
        return np.where(self._state == _KNOWN, self._bound, LOWEST)

    def _remeasure(self, batch: Batch, which: Mask) -> None:
        tables, groups = np.nonzero(which)
        for selected, lines in batch.by_axis(tables, groups):
            v = self._measure(batch, lines)
            self._bound[tables[selected], groups[selected]] = np.where(np.isnan(v), LOWEST, v)
        self._state[tables, groups] = _KNOWN

    def _open(self, batch: Batch, tables: Ints, groups: Ints, leaders: Ints) -> tuple[Ints, Mask]:
        """Return the heaviest cell of each group, and whether that cell and the heaviest of the leader may go.

        The leader has the largest V, the group is the first of those equal to it: neither may be shut.
        """
        cells, may_go = self._heaviest(batch, tables, groups)
        (behind,) = (leaders != groups).nonzero()
        if behind.size:
            may_go[behind] &= self._heaviest(batch, tables[behind], leaders[behind])[1]
        return cells, may_go

    def _heaviest(self, batch: Batch, tables: Ints, groups: Ints) -> tuple[Ints, Mask]:
        """Return the heaviest cell of each group, and whether it may go; a group is shut if it may not."""
        entries = np.empty_like(tables)
        for selected, lines in batch.by_axis(tables, groups):
            entries[selected] = lines[np.arange(len(lines)), heaviest(batch.w[lines])]
        may_go = batch.eligible(entries)
        if not may_go.all():
            self._state[tables[~may_go], groups[~may_go]] = _SHUT
        return entries - tables * batch.stride, may_go
