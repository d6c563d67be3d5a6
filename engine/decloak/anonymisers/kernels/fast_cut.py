"""The fast form of k^m-anonymity by generalisation, and the minimisation of a cut.

`cut` finds, for every size i = 1..m, the sets of i labels of the current cut that 1..k - 1 records have. It cures each
immediately (`cure`). A label is verified at size i when all such sets with it are cured. A walk takes the sets in
lexicographic order of labels, unverified ones first, then the rarer. It skips a set with a label that died meanwhile,
and takes only sets with an unverified label. Walks are repeated until one commits nothing. Sets of fewer labels stay
cured, for raising a cut never makes a set rare.

Node numbers say what lies below what: all below node v are the numbers v..end[v] - 1. Everything rests on how many
records hold what, so the order of the records does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, reduce
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.anonymisers.kernels.counting import RareItemsets, counter, ends, node_supports
from decloak.anonymisers.kernels.raised_cut import Raised, Support, cure, prices, ranks
from decloak.anonymisers.kernels.records import Records, coded_records, holding, matrix_of, merged, recoded, renamed
from decloak.arrays import Ints, Mask, PairTable
from decloak.checks import check_feasible, check_km
from decloak.data.hierarchy import Hierarchy
from decloak.lazy import sparse

BITS = 1 << 26
"""Bytes of bitmaps that are kept together, one bitmap for every node that a cure uses."""
CHUNK = 1 << 12
"""Number of itemsets that are checked again after every cure."""


def cut(tree: Hierarchy, records: sparse.csr_array, k: int, m: int, *, accelerated: bool | None = None) -> Ints:
    """Return the cut of `tree` that is raised from the items until every set of at most `m` labels is in no record or
    in at least `k`.

    `records` are as in `Hierarchy.code`; the cut is its nodes in ascending order. `accelerated` uses compiled loops,
    which need numba; None uses them if they are installed and faster. The result is the same.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in cut(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2)]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    supports = node_supports(tree, records)
    raised = Raised(tree, tree.occurrences(records))
    if k == 1:
        return raised.cut
    walker = _Walker(raised, supports, ranks(tree, supports), ends(tree), k, counter(accelerated, records.nnz))
    walker.cure_labels()
    walker.cure_sets(coded_records(tree, records), m)
    return raised.cut


def cut_by_pairs(tree: Hierarchy, table: PairTable, supports: Ints, k: int) -> Ints:
    """Return the cut of `tree` that `cut` returns for `k` and m = 2, from the `supports` of nodes and of pairs.

    `table` has those of the pairs a <= b, or any number from `k` on for one from `k` on.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> table = np.triu([[2, 2, 1, 1, 2], [2, 2, 1, 1, 2], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1], [2, 2, 1, 1, 2]])
    >>> [tree.labels[node] for node in cut_by_pairs(tree, table, np.diagonal(table), 2)]
    ['A', 'b']
    """
    raised = Raised(tree, supports[tree.leaf])
    walker = _Walker(raised, supports, ranks(tree, supports), ends(tree), k, counter(False, 0))
    walker.cure_labels()
    verified = np.empty(0, np.int64)
    while len(fresh := np.setdiff1d(walker.labels(), verified)):
        old = np.intersect1d(walker.labels(), verified)
        verified = np.concatenate((walker.rarest_first(fresh), walker.rarest_first(old)))
        walker.cure_rare(
            _rare_pairs(table, verified, len(fresh), k), verified, lambda nodes: int(table[min(nodes), max(nodes)])
        )
    return raised.cut


PAIRS = 1 << 22
"""Cells of a table of pairs that are compared at the same time."""


def _rare_pairs(table: PairTable, labels: Ints, firsts: int, k: int) -> Iterator[Ints]:
    """Yield the places in `labels` of pairs in 1 to k - 1 records, the first below `firsts`, in order."""
    step = max(1, PAIRS // len(labels))
    for begin in range(0, firsts, step):
        row = labels[begin : min(begin + step, firsts), None]
        counts = table[np.minimum(row, labels), np.maximum(row, labels)]
        pairs = np.argwhere((counts > 0) & (counts < k)) + np.array([begin, 0])
        yield pairs[pairs[:, 0] < pairs[:, 1]]


class _Walker(NamedTuple):
    """The shared state of walks: the cut, the support of each node, tree order, and the search for rare sets."""

    raised: Raised
    supports: Ints
    rank: Ints
    end: Ints
    k: int
    rare: RareItemsets

    def cure_labels(self) -> None:
        """Cure sets of size 1: one walk is enough, because the support of every node is known."""
        for label in self.rarest_first(self.labels()).tolist():
            if self.supports[label] < self.k and not self.raised.dead(label):
                for node in cure(self.raised, self.rank, (label,), self.k, lambda nodes: int(self.supports[nodes[0]])):
                    self.raised.commit(node)

    def cure_sets(self, data: Records, m: int) -> None:
        """Cure sets of sizes 2 to `m` in `data`, each size until nothing is left to verify."""
        for size in range(2, m + 1):
            # No record holds as many labels, now or after any cure: raising a cut only makes records shorter.
            if np.diff(data.start).max(initial=0) < size:
                return
            verified = np.empty(0, np.int64)
            while len(fresh := np.setdiff1d(self.labels(), verified)):
                data = merged(recoded(data, self.raised.cover[self.raised.tree.first]))
                old = np.intersect1d(self.labels(), verified)
                verified = np.concatenate((self.rarest_first(fresh), self.rarest_first(old)))
                self.walk(data, size, verified, len(fresh))

    def labels(self) -> Ints:
        """Return the living labels."""
        cut = self.raised.cut
        return cut[self.supports[cut] > 0]

    def rarest_first(self, labels: Ints) -> Ints:
        """Return `labels` by support, the rarest first."""
        return labels[np.argsort(-self.rank[labels])]

    def walk(self, data: Records, size: int, labels: Ints, fresh: int) -> None:
        """Cure the rare sets of `size` living `labels` of `data` in order, those with one of the first `fresh`
        labels.
        """
        place = np.full(len(self.end), -1)
        place[labels] = np.arange(len(labels))
        alive = np.ones(len(labels), bool)
        found = self.rare(renamed(data, place, len(labels)), size, fresh, self.k, alive)
        self.cure_rare(found, labels, _support(data, self.end, self.k), alive)

    def cure_rare(self, found: Iterable[Ints], labels: Ints, support: Support, alive: Mask | None = None) -> None:
        """Cure the itemsets in `found`, blocks of places in `labels`, by a `support`; `alive` loses the labels that
        die.
        """
        place = np.full(len(self.end), -1)
        place[labels] = np.arange(len(labels))
        alive = np.ones(len(labels), bool) if alive is None else alive
        for block in found:
            for itemset in _living(block, alive):
                for node in cure(self.raised, self.rank, labels[itemset].tolist(), self.k, support):
                    self.raised.commit(node)
                    below = place[node : self.end[node]]
                    alive[below[below >= 0]] = False


def _living(itemsets: Ints, alive: Mask) -> Iterator[Ints]:
    """Yield the itemsets whose labels are all alive when they are reached."""
    for begin in range(0, len(itemsets), CHUNK):
        part = itemsets[begin : begin + CHUNK]
        while len(part := part[alive[part].all(axis=1)]):
            yield part[0]
            part = part[1:]


def _support(records: Records, end: Ints, k: int) -> Support:
    """Return the number of records with every one of some nodes; if k or more, any number from k up to it."""
    words = -(-len(records.weight) // 64)

    @lru_cache(1)
    def columns() -> sparse.csc_array:
        return matrix_of(records, len(end)).tocsc()

    @lru_cache(max(16, BITS // (8 * words)))
    def bits(node: int) -> NDArray[np.uint64]:
        has_node, (start, stop) = np.zeros(64 * words, bool), columns().indptr[[node, end[node]]]
        has_node[columns().indices[start:stop]] = True
        return np.packbits(has_node).view(np.uint64)

    def support(nodes: tuple[int, ...]) -> int:
        common = reduce(np.bitwise_and, map(bits, nodes))
        nonzero = np.flatnonzero(common)
        # Each of these words has at least one record: no need to count its bits.
        if len(nonzero) >= k:
            return len(nonzero)
        bit = np.flatnonzero(np.unpackbits(common[nonzero].view(np.uint8)))
        return int(records.weight[64 * nonzero[bit // 64] + bit % 64].sum())

    return support


def refine(
    tree: Hierarchy, records: sparse.csr_array, k: int, m: int, cut: Ints, *, accelerated: bool | None = None
) -> Ints:
    """Return an anonymous `cut` of `tree`, lowered until no inner node can be replaced by its children, the most
    expensive first.

    `records`, `k`, `m` and `accelerated` are as in `cut`. A node that cannot be replaced now never can be: whatever is
    below a cut that is not anonymous is not anonymous either.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in refine(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2, np.array([0]))]
    ['A', 'b']
    """
    check_km(k, m)
    supports, end, rare = node_supports(tree, records), ends(tree), counter(accelerated, records.nnz)
    price = prices(tree, tree.occurrences(records))
    data = coded_records(tree, records)
    waiting = [(-int(price[node]), node) for node in cut.tolist() if tree.children[node]]
    heapify(waiting)
    lowered = frozenset[int]()
    while waiting:
        _, node = heappop(waiting)
        children = tree.children[node]
        # A child that is rare alone needs no walk.
        if any(0 < supports[child] < k for child in children):
            continue
        # The records show the children of one cut; they are made anew only for a node that came up since.
        if node not in lowered:
            lowered = frozenset(cut.tolist())
            below = [child for other in cut.tolist() for child in tree.children[other] or (other,)]
            near = merged(recoded(data, tree.above(np.array(below))[tree.first]))
            columns = matrix_of(near, len(end)).tocsc()
        lower = np.union1d(np.setdiff1d(cut, node), children)
        if _anonymous(tree, holding(near, columns, node, int(end[node])), lower, children, k, m, rare):
            cut = lower
            for child in children:
                if tree.children[child]:
                    heappush(waiting, (-int(price[child]), child))
    return cut


def _anonymous(
    tree: Hierarchy, records: Records, cut: Ints, fresh: tuple[int, ...], k: int, m: int, rare: RareItemsets
) -> bool:
    """Return True if no set of 2 to m labels with a fresh one is rare; the records are those with a fresh label."""
    records = merged(recoded(records, tree.above(cut)[tree.first]))
    order = np.concatenate((fresh, np.setdiff1d(records.codes, fresh)))
    place = np.full(len(tree.labels), -1)
    place[order] = np.arange(len(order))
    named, alive = renamed(records, place, len(order)), np.ones(len(order), bool)
    longest = int(np.diff(named.start).max(initial=0))
    return not any(
        len(block) for size in range(2, min(m, longest) + 1) for block in rare(named, size, len(fresh), k, alive)
    )
