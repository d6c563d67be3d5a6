"""Exact posterior of a small cluster: every way to put its parts on its rows that agrees with the algorithm.

z(u, a) is the value of unit u with anchor a, in log odds. A placement puts the sub-records of the later record chunks
on rows, and every term on s rows, with a probability proportional to

    exp(sum of z(u, a) over the sub-records) * product over the terms t of pi(s_t) exp(z of t's rows) / e_s(t)

among the placements that the algorithm could have published (`decloak.attacker.reconstruction`): a term is in 1 to k-1
rows, and no row stays empty. pi(s) is the probability of a term to be in s rows (`expected`). e_s(t) is the sum of
exp(z of the rows) over all sets of s rows, so that pi is the distribution of the support before anything else is known.
Given z and pi, p(u, a) is the best possible attack: the share of the placements in which a row with anchor a has u. So
it is the upper bound for other ways to reach the same sums.

Tables of interchangeable rows are enumerated. Terms are independent of each other except for the rows without any
sub-record, all of which have the anchor (); g of these are left to fill. Term by term

    M_t(g, g - i) = C(g, i) x^i * sum over s of pi(s) / e_s(t) * h_{s-i}(t, g),    x = exp z(t, ())

h_j(t, g) is e_j over all rows but those g, and p follows from the products of M before and after t.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attacker.reconstruction import Pieces, TooManyTables, consistent_tables, pieces
from decloak.data.content import Cluster
from decloak.rules.reassociate.scores import ClusterCase

__all__ = ["TABLES", "exact_posterior"]

TABLES = 2_000
"""Tables of interchangeable rows that are enumerated for a cluster, at most."""


class _PlacedUnits(NamedTuple):
    """Sub-records on rows, over all tables: the number of rows of an anchor with a unit in a
    table; -inf is no table.
    """

    table: Ints
    unit: Ints
    anchor: Ints
    rows: Ints
    weight: Floats  # of each table, the largest 1
    empty: Ints  # the rows of each table without any sub-record


class _Terms(NamedTuple):
    """Result of placing the terms: the probability that all is filled by the number of rows to fill, and p of each
    term.
    """

    filled: Floats
    p: Floats


def exact_posterior(
    case: ClusterCase,
    cluster: Cluster,
    values: Floats,
    supports: Floats,
    *,
    k: int,
    m: int,
    empty_rows: bool,
    cured: bool = False,
) -> Floats | None:
    """Return p of every unit and anchor of a cluster; None where enumeration takes too long, or nothing agrees.

    `case` and `cluster` are the cluster, and `values` are z. `supports` are the probabilities of a term to be in 1, 2,
    ... rows; `k` and `m` are as in the algorithm; `empty_rows` allows empty rows. The algorithm's rules do not hold for
    a cluster that is `cured` of cover problems.
    """
    try:
        placed = _place_units(case, cluster, values, pieces(cluster, k, m, cured=cured), empty_rows)
    except TooManyTables:
        return None
    if placed is None:
        return None
    sizes = np.bincount(case.rows.of_row, minlength=len(case.rows.anchors))
    blank = case.rows.anchors.index(()) if () in case.rows.anchors else None
    terms = [number for number, unit in enumerate(case.units) if unit.chunk == "T"]
    start = np.bincount(placed.empty, placed.weight).astype(float)
    laid = _terms(values[terms], sizes, blank, supports, start)
    # A table counts by the ways to fill its empty rows with terms.
    weight = placed.weight * laid.filled[placed.empty]
    if not weight.sum() > 0:
        return None
    cells = placed.unit * len(sizes) + placed.anchor
    counts = np.bincount(cells, placed.rows * weight[placed.table], values.size).reshape(values.shape)
    p = counts / weight.sum() / sizes
    p[terms] = laid.p
    return np.asarray(np.clip(p, 0.0, 1.0))


def _place_units(
    case: ClusterCase, cluster: Cluster, values: Floats, apart: Pieces, empty_rows: bool
) -> _PlacedUnits | None:
    tables = list(consistent_tables(apart, TABLES))
    if not tables:
        return None
    classes = np.array([kind for _, table in tables for kind in table], np.int64).reshape(-1, len(apart.distinct))
    rows = np.array([count for _, table in tables for count in table.values()], np.int64)
    table = np.repeat(np.arange(len(tables)), [len(table) for _, table in tables])
    anchor = _numbers(apart.distinct[0], [frozenset(one) for one in case.rows.anchors])[classes[:, 0]]
    unit = [
        _numbers(kinds, [frozenset(one.items) if one.chunk == j else None for one in case.units])[classes[:, j]]
        for j, kinds in enumerate(apart.distinct[1:], 1)
    ]
    units = np.array(unit, np.int64).reshape(len(unit), len(rows))
    column, entry = np.nonzero(units >= 0)
    laid = units[column, entry], anchor[entry], rows[entry]
    logs = np.array([math.log(ways) for ways, _ in tables])
    logs += np.bincount(table[entry], laid[2] * values[laid[0], laid[1]], len(tables))
    bare = (classes < 0).all(axis=1) & (not empty_rows)
    empty = np.bincount(table[bare], rows[bare], len(tables)).astype(np.int64)
    return _PlacedUnits(table[entry], *laid, np.exp(logs - logs.max()), empty)


def _numbers(kinds: Sequence[frozenset[str]], names: Sequence[frozenset[str] | None]) -> Ints:
    """Return the index of each distinct sub-record among the names, and last the index of the empty one, or -1."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([*(place[kind] for kind in kinds), place.get(frozenset(), -1)], np.int64)


def _terms(values: Floats, sizes: Ints, blank: int | None, supports: Floats, start: Floats) -> _Terms:
    """Place the terms one after the other; `start` weighs the number of rows to fill."""
    # A constant factor per unit cancels, and keeps the exponentials finite.
    x = np.exp(values - values.max(axis=1, keepdims=True, initial=-np.inf)) if len(values) else values
    steps = [_TermStep(row, sizes, blank, supports, len(start)) for row in x]
    after = [np.eye(len(start))[0]]
    for step in reversed(steps):
        after.append(step.matrix @ after[-1])
    after.reverse()
    before, p = start, np.zeros(x.shape)
    total = float(start @ after[0])
    for number, step in enumerate(steps):
        if total > 0:
            p[number] = step.expected(before, after[number + 1]) / total
        before = before @ step.matrix
    return _Terms(after[0], p)


class _TermStep:
    """Placement of one term: x is exp z by anchor, at most `most` - 1 rows are left to fill."""

    def __init__(self, x: Floats, sizes: Ints, blank: int | None, supports: Floats, most: int) -> None:
        self.x, self.sizes, self.blank = x, sizes, blank
        self.unfilled = np.arange(most)
        self.empty = 0.0 if blank is None else float(x[blank])
        degree = len(supports)
        others = np.array([1.0])
        for anchor, count in enumerate(sizes.tolist()):
            if anchor != blank:
                others = np.convolve(others, _binomial_coefficients(float(x[anchor]), count, degree))[: degree + 1]
        rows = 0 if blank is None else int(sizes[blank])
        sums = [
            np.convolve(others, _binomial_coefficients(self.empty, rows - g, degree))[: degree + 1] for g in range(most)
        ]
        self.sums = np.array([np.pad(one, (0, degree + 1 - len(one))) for one in sums])
        whole = self.sums[0, 1:]
        self.chances = np.divide(supports, whole, out=np.zeros(degree), where=whole > 0)
        self.matrix = np.zeros((most, most))
        for i, ways in self._fillings():
            self.matrix[i:, : most - i][np.diag_indices(most - i)] = ways[i:] * (
                self.sums[i:] @ self._taken_chances(i, 1.0)
            )

    def _fillings(self) -> Iterator[tuple[int, Floats]]:
        """Yield the numbers of rows that are filled, and the weight of each by the number of rows left."""
        for i in range(min(len(self.chances), len(self.unfilled) - 1) + 1):
            binomial = np.array([math.comb(g, i) for g in self.unfilled.tolist()], float)
            yield i, binomial * self.empty**i

    def _taken_chances(self, i: int, weight: Floats | float) -> Floats:
        """Return the probability by the number of other rows with the term, in addition to i; 0 where no row has it."""
        taken = np.zeros(len(self.chances) + 1)
        first = max(i, 1)
        taken[first - i : len(self.chances) + 1 - i] = (self.chances * weight)[first - 1 :]
        return taken

    def expected(self, before: Floats, after: Floats) -> Floats:
        """Return the weight with which one row of each anchor has the term, from the weights
        `before` and `after` it.
        """
        most, degree = len(self.unfilled), len(self.chances)
        p, count = np.zeros(len(self.x)), 0.0
        without = self._leave_one_out()
        for i, ways in self._fillings():
            mass = before[i:] * ways[i:] * after[: most - i]
            # One row has it, and so many of the rest beside the i.
            p += self.x * np.einsum("g,gaj,j->a", mass, without[i:], self._taken_chances(i, 1.0)[1:])
            count += float(mass @ self.sums[i:] @ self._taken_chances(i, np.arange(1.0, degree + 1)))
        if self.blank is not None:
            held = p * self.sizes
            p[self.blank] = (count - held.sum() + held[self.blank]) / self.sizes[self.blank]
        return p

    def _leave_one_out(self) -> Floats:
        """Return e_j over the rows but those left, and but one row of each anchor: by rows left, anchor, and j below
        k-1.
        """
        degree = len(self.chances)
        quotient = np.zeros((len(self.unfilled), len(self.x), degree))
        quotient[:, :, 0] = 1.0
        for j in range(1, degree):
            quotient[:, :, j] = np.maximum(self.sums[:, j, None] - self.x * quotient[:, :, j - 1], 0.0)
        return quotient


def _binomial_coefficients(x: float, rows: int, degree: int) -> Floats:
    """Return the coefficients of (1 + x y)^rows up to y^degree."""
    return np.array([math.comb(rows, j) * x**j for j in range(min(rows, degree) + 1)])
