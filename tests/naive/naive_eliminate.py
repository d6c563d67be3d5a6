"""The elimination attacks as the papers tell them: every weight and every gap anew in every round, in plain Python.

The twin of the kernel: slow, and written to be read beside the definitions. A table is a list of rows, None where
a cell is unscored. Formulas are Python functions; None is no score.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

EPS = 1e-9


class Facts(NamedTuple):
    """What the weight of a cell may depend on."""

    d: float
    row_left: int
    col_left: int
    row_weight: float
    col_weight: float


class Plan(NamedTuple):
    """A strategy in Python: `groups` some of "r", "c" or "t"; `suspicion` sees lists of w and d of a group's cells."""

    weigh: Callable
    groups: str
    suspicion: Callable
    threshold: Callable | None = None
    redistribute: bool = False


class Step(NamedTuple):
    cell: tuple[int, int]
    group: str
    suspicion: float
    weight: float


class Table:
    """A table under attack."""

    def __init__(self, rows, plan=None):
        self.height, self.width = len(rows), len(rows[0]) if rows else 0
        self.plan = plan
        self.left = {
            (i, j): x for i, row in enumerate(rows) for j, x in enumerate(row) if x is not None and 0 <= x < math.inf
        }
        self.row_left, self.col_left = [self.width] * self.height, [self.height] * self.width
        self.row_weight = dict.fromkeys(self.left, 1 / self.width)
        self.col_weight = dict.fromkeys(self.left, 1 / self.height)

    def eligible(self, cell):
        return self.row_left[cell[0]] >= 2 and self.col_left[cell[1]] >= 2

    def eliminate(self, cell):
        del self.left[cell]
        self.row_left[cell[0]] -= 1
        self.col_left[cell[1]] -= 1

    def weights(self):
        weigh, found = self.plan.weigh, {}
        for cell, d in self.left.items():
            i, j = cell
            w = weigh(Facts(d, self.row_left[i], self.col_left[j], self.row_weight[cell], self.col_weight[cell]))
            if w is not None:
                found[cell] = w
        return found

    def groups(self, w):
        """The cells of every group, row-major: rows, then columns, or the whole table."""
        rows = {f"r{i}": [] for i in range(self.height) if "r" in self.plan.groups}
        cols = {f"c{j}": [] for j in range(self.width) if "c" in self.plan.groups}
        table = {"t0": list(w)} if "t" in self.plan.groups else {}
        for cell in w:
            if rows:
                rows[f"r{cell[0]}"].append(cell)
            if cols:
                cols[f"c{cell[1]}"].append(cell)
        return rows | cols | table

    def suspicions(self, w):
        """V of every group that has one."""
        found = {
            name: self.plan.suspicion([w[cell] for cell in cells], [self.left[cell] for cell in cells])
            for name, cells in self.groups(w).items()
        }
        return {name: v for name, v in found.items() if v is not None}

    def hand_on(self, cell, w):
        """Redistribute the weights of a cell about to go."""
        for axis, weight in enumerate((self.row_weight, self.col_weight)):
            group = {other: x for other, x in w.items() if other[axis] == cell[axis]}
            heirs = [heir for heir in lower_cluster(group) if heir != cell]
            if not heirs:
                heirs = lower_cluster({other: x for other, x in group.items() if other != cell})
            for heir in heirs:
                weight[heir] += weight[cell] / len(heirs)


def largest_gap(w, d=None):
    ascending = sorted(w)
    return max([b - a for a, b in pairwise(ascending)], default=0.0)


def largest_of(w, d=None):
    return max(w, default=None)


def lower_cluster(w):
    """Cells below the first largest gap, all cells when there is no gap."""
    ascending = sorted(w, key=lambda cell: (w[cell], cell))
    gaps = [w[b] - w[a] for a, b in pairwise(ascending)]
    top = max(gaps, default=0.0)
    if top <= EPS:
        return ascending
    return ascending[: next(n for n, gap in enumerate(gaps) if gap >= top - EPS) + 1]


def first_largest(cells, value):
    """The first of the cells that holds the largest value."""
    top = max(value[cell] for cell in cells)
    return next(cell for cell in cells if value[cell] >= top - EPS)


def mean(values):
    return fmean(values) if values else 0.0


def by_counts(facts):
    return facts.d * max(0, 1 - 1 / facts.row_left) * max(0, 1 - 1 / facts.col_left)


def by_stored(facts):
    return facts.d * max(0, 1 - facts.row_weight) * max(0, 1 - facts.col_weight)


WBA = Plan(by_counts, "t", largest_of, lambda d, w, v: mean(w))
GBA = Plan(by_counts, "rc", largest_gap, lambda d, w, v: mean(v))
RBA = Plan(by_stored, "rc", largest_gap, lambda d, w, v: mean(v), redistribute=True)


def in_rounds(rows, plan, threshold=None, ratio=1.0, most=math.inf):
    """Eliminate the heaviest cell of the most suspicious group again and again; the threshold, the steps, the table."""
    table, steps = Table(rows, plan), []
    w = table.weights()
    if threshold is None and plan.threshold is not None:
        v = list(table.suspicions(w).values())
        threshold = ratio * plan.threshold(list(table.left.values()), list(w.values()), v)
    while len(steps) < most:
        step = _next(table, w)
        if step is None or (threshold is not None and step.suspicion <= threshold + EPS):
            break
        steps.append(step)
        if plan.redistribute:
            table.hand_on(step.cell, w)
        table.eliminate(step.cell)
        w = table.weights()
    return threshold, steps, table


def _next(table, w):
    """The most suspicious group whose largest cell is eligible; in the whole table the largest eligible cell."""
    v, found = table.suspicions(w), {}
    for name, cells in table.groups(w).items():
        if name == "t0":
            cells = [cell for cell in cells if table.eligible(cell)]
        if name in v and cells and table.eligible(cell := first_largest(cells, w)):
            largest = name == "t0" and table.plan.suspicion is largest_of
            found[name] = Step(cell, name, w[cell] if largest else v[name], w[cell])
    if not found:
        return None
    return found[first_largest(list(found), {name: step.suspicion for name, step in found.items()})]


def mda(rows):
    """The largest distance, if eligible."""
    table = Table(rows)
    if not table.left:
        return []
    cell = first_largest(list(table.left), table.left)
    return [cell] if table.eligible(cell) else []


def tba(rows, threshold=None, row_major=False):
    """Distances above the threshold, in descending order or row by row."""
    table = Table(rows)
    threshold = mean(list(table.left.values())) if threshold is None else threshold
    waiting = [cell for cell, d in table.left.items() if d > threshold + EPS]
    d, eliminated = dict(table.left), []
    while waiting:
        cell = waiting[0] if row_major else first_largest(waiting, d)
        waiting.remove(cell)
        if table.eligible(cell):
            table.eliminate(cell)
            eliminated.append(cell)
    return eliminated


def splitmix64(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


def ra(rows, seed):
    """An untried cell at random, a fair coin, as often as chance has it."""
    table, draws, eliminated = Table(rows), splitmix64(seed), []
    cells = list(table.left)
    for t in range(next(draws) % (len(cells) + 1)):
        other = t + next(draws) % (len(cells) - t)
        cells[t], cells[other] = cells[other], cells[t]
        heads = next(draws) >> 63
        if heads and table.eligible(cells[t]):
            table.eliminate(cells[t])
            eliminated.append(cells[t])
    return eliminated
