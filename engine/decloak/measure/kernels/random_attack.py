"""Random baselines: the results of random attacks with the same number of findings on this release.

The first is the probability that a random attack does equally well.

Vocabulary:
    table   a distance table: N cells that the attack could eliminate, of which A were added; it eliminates s of them
    block   a chunk of one cluster: what the attack assigned to the n rows of the cluster
    c[i,j]  what row i was assigned, if record j were behind it: the expected number of right units, where identical
            anchors are indistinguishable
    p       the probability of at least this number of right findings

A random attack eliminates s cells of each table, drawn without replacement. The number of right ones has a
hypergeometric distribution, and the total of all tables has its convolution. A random attack on a cluster assigns the
same sub-records in random order: c[i, pi(i)] is summed over the rows for a random permutation pi of each block.

A random elimination attack eliminates as many scored cells of every table as the attack. Each row keeps one member, as
an attack leaves one. The draws depend only on the tables and on these numbers.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.lazy import sparse

MOST_EXACT = 20_000
"""Eliminations up to which the distribution is convolved; beyond, the normal one with the same mean and variance is
used.
"""
MOST_PERMUTED = 500
"""The most rows of blocks for which permutations are drawn. Larger blocks use the gamma distribution with the exact
moments, whose upper tail is heavier.
"""
PERMUTATIONS = 9_999
ROUNDING = 1e-9


class Table(NamedTuple):
    """Cells of a table that an attack could eliminate, the added ones among them, and the eliminated ones."""

    cells: int
    added: int
    eliminated: int

    @property
    def mean(self) -> float:
        return self.eliminated * self.added / self.cells if self.cells else 0.0

    @property
    def variance(self) -> float:
        if self.cells < 2:
            return 0.0
        share = self.added / self.cells
        return self.eliminated * share * (1 - share) * (self.cells - self.eliminated) / (self.cells - 1)


def eliminations_p(tables: Iterable[Table], right: int) -> float | None:
    """Return the probability that a random attack eliminates at least `right` added cells of `tables`.

    Return None if the attack eliminates nothing.

    >>> round(eliminations_p([Table(4, 1, 2)], 1), 6)
    0.5
    """
    eliminated = [table for table in tables if table.eliminated]
    if not eliminated:
        return None
    if sum(table.eliminated for table in eliminated) > MOST_EXACT:
        return _normal_tail(right, math.fsum(t.mean for t in eliminated), math.fsum(t.variance for t in eliminated))
    least, share = _right_of_tables(eliminated)
    return min(1.0, math.fsum(share[max(0, right - least) :].tolist()))


def _right_of_tables(tables: Iterable[Table]) -> tuple[int, Floats]:
    """Return the smallest number of right eliminations, and the probability of each number from there on."""
    least, share = 0, np.ones(1)
    # Small distributions are convolved first, which keeps the intermediate ones short.
    for table in sorted(tables, key=lambda table: table.eliminated):
        low, own = _hypergeometric(table)
        least, share = least + low, np.convolve(share, own)
    return least, share


def _hypergeometric(table: Table) -> tuple[int, Floats]:
    """Return the distribution of one table, computed by the ratio of each probability to the one before."""
    cells, added, eliminated = table
    low, high = max(0, eliminated + added - cells), min(eliminated, added)
    k = np.arange(low, high)
    ratio = np.log((added - k) * (eliminated - k)) - np.log((k + 1) * (cells - added - eliminated + k + 1.0))
    logs = np.append(0.0, np.cumsum(ratio))
    weight = np.exp(logs - logs.max())
    return low, weight / weight.sum()


def _normal_tail(right: float, mean: float, variance: float) -> float:
    """Return the probability of at least this number, corrected for counting in whole numbers."""
    if variance <= 0:
        return 1.0 if right <= mean + ROUNDING else 0.0
    return math.erfc((right - 0.5 - mean) / math.sqrt(2 * variance)) / 2


class BlockAssignments(NamedTuple):
    """Assignments of an attack: block, row and sub-record of each (-1: absent from every record).

    `shares` is a matrix of units and classes of records: the share of the class that truly has the unit. `behind` is
    the class of every row, `sizes` the number of rows of every class, `home` its cluster; `cluster` is the cluster of
    every block.
    """

    block: Ints
    row: Ints
    unit: Ints
    shares: "sparse.csr_array"
    behind: Ints
    sizes: Ints
    home: Ints
    cluster: Ints

    @property
    def rows(self) -> Ints:
        """Return the number of rows of every block."""
        of_cluster = np.bincount(self.home, self.sizes, self.cluster.max(initial=-1) + 1)
        return of_cluster[self.cluster].astype(np.int64)

    def matrix(self) -> tuple["sparse.csr_array", Ints, Ints]:
        """Return c of all blocks, by rows of blocks and by classes; and the row and the block of each line."""
        # One line for each row of each block that got anything.
        key, line = np.unique(self.block * len(self.behind) + self.row, return_inverse=True)
        known = self.unit >= 0
        entries = (np.ones(known.sum()), (line[known], self.unit[known]))
        gifts = sparse.csr_array(entries, (len(key), self.shares.shape[0]))
        return gifts @ self.shares, key % len(self.behind), key // len(self.behind)


class Moments(NamedTuple):
    """The number of right units; its mean and its variance over all permutations."""

    right: float
    mean: float
    variance: float


def moments_of(gifts: BlockAssignments) -> Moments:
    """Return the exact moments over all blocks of `gifts`: Hoeffding's, of a linear statistic of permutations."""
    c, row, block = gifts.matrix()
    n, sizes = gifts.rows.astype(float), gifts.sizes
    into = sparse.csr_array((np.ones(len(block)), (block, np.arange(len(block)))), (len(n), len(block)))
    by_row, columns = c @ sizes, into @ c
    total, squares = into @ by_row, into @ (c.multiply(c) @ sizes)
    apart = squares - (into @ by_row**2 + columns.multiply(columns) @ sizes) / n + total**2 / n**2
    variance = np.where(n > 1, apart / np.maximum(1.0, n - 1), 0.0)
    return Moments(_sum_right(c, row, gifts.behind), math.fsum(total / n), max(0.0, math.fsum(variance)))


def _sum_right(c: "sparse.csr_array", row: Ints, behind: Ints) -> float:
    entries = c.tocoo()
    return math.fsum(entries.data[entries.col == behind[row][entries.row]])


def reassociation_p(gifts: BlockAssignments) -> float | None:
    """Return the probability that `gifts` to random rows are right equally often, or None without assignments."""
    if not len(gifts.row):
        return None
    # Permutations of many rows would take long, and the gamma distribution is close for them.
    if int(gifts.rows.sum()) > MOST_PERMUTED:
        return gamma_tail(moments_of(gifts))
    c, row, block = gifts.matrix()
    chance, sums = np.random.default_rng(0), np.zeros(PERMUTATIONS)
    for number, cluster in enumerate(gifts.cluster.tolist()):
        lines, classes = np.flatnonzero(block == number), np.flatnonzero(gifts.home == cluster)
        own = c[lines][:, classes].toarray()
        columns = np.repeat(np.arange(len(classes)), gifts.sizes[classes])
        drawn = chance.permuted(np.tile(columns, (PERMUTATIONS, 1)), axis=1)[:, : len(lines)]
        sums += own[np.arange(len(lines)), drawn].sum(axis=1)
    as_many = np.count_nonzero(sums >= _sum_right(c, row, gifts.behind) - ROUNDING)
    # The attack itself counts as one permutation, so that p is never 0.
    return float(1 + as_many) / (PERMUTATIONS + 1)


def gamma_tail(moments: Moments) -> float:
    """Return the upper tail of the gamma distribution with the same mean and variance."""
    right, mean, variance = moments
    if variance <= ROUNDING or mean <= 0:
        return 1.0 if right <= mean + ROUNDING else 0.0
    from scipy.special import gammaincc

    return float(gammaincc(mean * mean / variance, max(0.0, right) * mean / variance))


def expected_known(person: Ints, items: Ints, right: Floats, people: int) -> float:
    """Return the number of `people` expected to have an item known or guessed correctly.

    Group i has `items[i]` items of `person[i]`; a guess at any of these is right with the probability `right[i]`.

    >>> expected_known(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([1.0, 0.5, 0.25]), 3)
    0.875
    """
    held = np.bincount(person, items, people)
    total = np.bincount(person, items * right, people)
    return float((total / np.maximum(held, 1)).sum())


DRAWN, MOST_DRAWS = 1000, 10
"""People that draws of the control are of in all, where that is not too many draws."""


def draws_for(people: int) -> int:
    """Return the number of draws of the baseline for `people`; few people need many draws.

    >>> draws_for(24), draws_for(300), draws_for(50_000)
    (10, 3, 1)
    """
    return min(MOST_DRAWS, max(1, DRAWN // max(1, people)))


def random_eliminations(scored: Sequence[Mask], eliminated: Sequence[int], people: int) -> Iterator[list[Mask]]:
    """Yield for each draw the eliminated cells of every table.

    `scored` has the cells that can be eliminated, and `eliminated` the number of cells to eliminate. `people`, the
    number of people, decides the number of draws.

    >>> [[table.sum().item() for table in draw] for draw in random_eliminations([np.ones((3, 4), bool)], [5], 500)]
    [[5], [5]]
    """
    # The seed depends on the shape of the task alone, so that figures do not change from run to run.
    seeds = [*(size for table in scored for size in table.shape), *eliminated]
    rng = np.random.default_rng(seeds or 0)
    for _ in range(draws_for(people)):
        yield [_eliminated(table, count, rng) for table, count in zip(scored, eliminated, strict=True)]


def _eliminated(scored: Mask, count: int, rng: "np.random.Generator") -> Mask:
    open_cells = scored.copy()
    if scored.shape[1]:
        # One random cell per row stays, as an attack leaves at least one member.
        open_cells[np.arange(len(scored)), rng.integers(0, scored.shape[1], len(scored))] = False
    cells = np.flatnonzero(open_cells)
    mask = np.zeros(scored.shape, np.bool_)
    mask.flat[rng.permutation(cells)[:count]] = True
    return mask
