"""The count tree of the papers, walked without being built, and direct (DA) and apriori-based anonymisation (AA).

An extended record is its items and the nodes above them, without the root and without dead nodes. Column c has the node
`nodes[c]`, and columns ascend in tree order. An itemset is an ascending tuple of columns, no two of them on one path;
its children in the count tree are itemsets of one more column. The occurrences of an itemset are the records with it
and, in each, the position of the columns after its last one. The children are counted from them when the walk arrives,
so that nothing is counted below a node that is dead by then.

DA and AA give k^m-anonymity by generalisation with one cut for all records. DA walks the count tree of all itemsets of
at most m nodes. AA walks one tree for each size 1..m, of the records extended under the current cut. Every itemset met
that fewer than k records hold is cured immediately by the cheapest choice of nodes (`cure`). One pass over a tree
suffices: what was passed has k records or a dead node for good.

A cut may also be raised for an attacker who knows labels that a record does not have. A pattern over a set of labels
says which of them a record has, and which it has not. The cut is raised until each pattern over at most m labels of the
cut is in no record or in at least k. A record without a label has none of its items, so raising a cut can make a
pattern rare that was not. Therefore the search is repeated until it raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from math import comb
from operator import and_
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.kernels.raised_cut import Raised, Walked, cure, ranks
from decloak.arrays import Ints, Mask
from decloak.checks import check_feasible, check_km, longest
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.lazy import sparse

Itemset = tuple[int, ...]
"""Nodes, in tree order."""


def extended(tree: Hierarchy, records: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix of `records` × nodes of `tree`: a record has its items and every node above them."""
    ends = np.cumsum(tree.leaves)
    position = np.arange(ends[-1]) - np.repeat(ends - tree.leaves - tree.first, tree.leaves)
    node = np.repeat(np.arange(len(tree.labels)), tree.leaves)
    above = sparse.csr_array((np.ones(len(node), np.int32), (position, node)), (len(tree.items), len(tree.labels)))
    return sparse.csr_array(records @ above)


def rows_with_node(tree: Hierarchy, records: sparse.csr_array) -> Callable[[int], int]:
    """Return a function that returns the records with a node of `tree`, as bits of one number. `records` are the
    data.
    """
    columns = sparse.csc_array(records)

    @cache
    def rows(node: int) -> int:
        first, stop = columns.indptr[[tree.first[node], tree.first[node] + tree.leaves[node]]]
        holds = np.zeros(records.shape[0], bool)
        holds[columns.indices[first:stop]] = True
        return int.from_bytes(np.packbits(holds, bitorder="little").tobytes(), "little")

    return rows


def supporting(tree: Hierarchy, records: sparse.csr_array) -> Callable[[Itemset], int]:
    """Return a function that counts the `records` with every one of some nodes of `tree`."""
    rows = rows_with_node(tree, records)
    return lambda itemset: reduce(and_, map(rows, itemset)).bit_count()


class _Occurrences(NamedTuple):
    record: Ints
    after: Ints


class CountTree:
    """The count tree of some records. Its nodes are found on a walk in preorder."""

    def __init__(self, tree: Hierarchy, holding: sparse.csr_array, nodes: Ints) -> None:
        """Prepare a walk; `holding` is records × nodes from `extended`, `nodes` are the nodes of the tree, in tree
        order.
        """
        columns = sparse.csr_array(holding[:, nodes])
        columns.sort_indices()
        self._nodes = nodes
        self._first = tree.first[nodes]
        self._end = self._first + tree.leaves[nodes]
        self._start = columns.indptr.astype(np.int64)
        self._columns = columns.indices
        self._everywhere = _Occurrences(np.arange(columns.shape[0]), self._start[:-1])
        self._all = np.ones(len(nodes), bool)
        self.nodes = 0  # of the tree, as far as the walk has come: what it would hold if it were built

    def breaches(self, raised: Raised, k: int, size: int) -> Iterator[Itemset]:
        """Yield the leaves in fewer than `k` records: itemsets of `size` nodes, or shorter ones that nothing can
        extend.

        The cut `raised` may be raised during the walk: itemsets with a node that is dead by then are skipped.
        """
        yield from self._breaches((), self._everywhere, self._all, raised, k, size)

    def _breaches(
        self, itemset: Itemset, occurrences: _Occurrences, free: Mask, raised: Raised, k: int, size: int
    ) -> Iterator[Itemset]:
        columns, grown = self._grown(occurrences, free)
        if not len(columns):
            if itemset and len(occurrences.record) < k:
                yield itemset
        elif len(itemset) + 1 == size:
            counts = np.bincount(columns, minlength=len(self._nodes))
            # As `Raised.dead`, for all nodes at once.
            alive = raised.cover[self._first] >= self._nodes
            self.nodes += int(np.count_nonzero((counts > 0) & alive))
            for column in np.flatnonzero((counts > 0) & (counts < k) & alive).tolist():
                child = (*itemset, int(self._nodes[column]))
                if not any(map(raised.dead, child)):
                    yield child
        else:
            for column, below in self._children(columns, grown):
                child = (*itemset, int(self._nodes[column]))
                if not any(map(raised.dead, child)):
                    self.nodes += 1
                    yield from self._breaches(child, below, self._unrelated(free, column), raised, k, size)

    def _grown(self, occurrences: _Occurrences, free: Mask) -> tuple[Ints, _Occurrences]:
        """Return every later column of every occurrence that may extend it, and the new occurrence."""
        tails = self._start[occurrences.record + 1] - occurrences.after
        ends = np.cumsum(tails)
        entries = np.arange(tails.sum()) + np.repeat(occurrences.after - (ends - tails), tails)
        columns = self._columns[entries]
        joins = free[columns]
        return columns[joins], _Occurrences(np.repeat(occurrences.record, tails)[joins], entries[joins] + 1)

    @staticmethod
    def _children(columns: Ints, occurrences: _Occurrences) -> Iterator[tuple[int, _Occurrences]]:
        """Yield the occurrences of each column separately."""
        order = np.argsort(columns, kind="stable")
        distinct, start = np.unique(columns[order], return_index=True)
        for column, group in zip(distinct.tolist(), np.split(order, start[1:]), strict=False):
            yield column, _Occurrences(occurrences.record[group], occurrences.after[group])

    def _unrelated(self, free: Mask, column: int) -> Mask:
        apart: Mask = (self._first >= self._end[column]) | (self._end <= self._first[column])
        return free & apart


def da(tree: Hierarchy, records: sparse.csr_array, k: int, m: int, *, built: bool = False) -> Walked:
    """Return the cut of direct anonymisation of `records` in `tree` for `k` and `m`, with the size of its count tree.

    If `built` is true, the size is that of the tree as the papers build it, before anything is cured.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in da(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2).cut]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    return _Search(tree, records, k).raised_by([longest(records, m)], built)


def aa(
    tree: Hierarchy, records: sparse.csr_array, k: int, m: int, start: Ints | None = None, built: bool = False
) -> Walked:
    """Return the cut of apriori-based anonymisation of `records` in `tree` for `k` and `m`, and its largest count tree.

    It starts from the leaves, or from the cut `start`. If `built` is true, the size is that of the tree of m items as
    the papers build it, under the cut that the smaller itemsets have left.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in aa(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2).cut]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    return _Search(tree, records, k, start).raised_by(range(1, longest(records, m) + 1), built)


class _Search:
    """A cut that walks over count trees of the same records raise, in one tree order."""

    def __init__(self, tree: Hierarchy, records: sparse.csr_array, k: int, start: Ints | None = None) -> None:
        self._tree, self._k = tree, k
        self._holding = extended(tree, records)
        self._rank = ranks(tree, np.bincount(self._holding.indices, minlength=len(tree.labels)))
        self._support = supporting(tree, records)
        counts = tree.occurrences(records)
        self._raised = Raised(tree, counts, None if start is None else tree.above(start))

    def raised_by(self, sizes: Sequence[int], built: bool) -> Walked:
        """Return the cut after a walk for each of `sizes`, with the largest tree walked, or the last one if `built`."""
        walked = [self._walk(size, self._k) for size in sizes[:-1]]
        # A walk that cures nothing meets the whole tree.
        whole = self._walk(sizes[-1], 0) if built and sizes else 0
        walked += [self._walk(size, self._k) for size in sizes[-1:]]
        return Walked(self._raised.cut, whole if built else max(walked, default=0))

    def _walk(self, size: int, k: int) -> int:
        """Cure the itemsets of at most `size` nodes that a walk meets in fewer than `k` records; return the number of
        nodes of its tree.
        """
        nodes = np.argsort(self._rank)
        dead = self._raised.cover[self._tree.first[nodes]] < nodes
        # The root is in every record, so it belongs to no rare itemset.
        usable = nodes[~dead & (nodes > 0)]
        counted = CountTree(self._tree, self._holding, usable)
        for itemset in counted.breaches(self._raised, k, size):
            for node in cure(self._raised, self._rank, itemset, k, self._support):
                self._raised.commit(node)
        return counted.nodes


MOST = 1 << 24
"""Largest number of sets of labels whose patterns are counted at once: some minutes."""


def raise_for_absent(tree: Hierarchy, records: sparse.csr_array, k: int, m: int, cut: Ints) -> Ints:
    """Return `cut` of `tree`, raised until each pattern over `m` labels is in none or in `k` or more of `records`.

    Sets with a rare pattern are cured as in `cure`: fewer labels first, then in the order of nodes. A set with a label
    that died meanwhile is left to the next round.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> records = tree.code([["a1", "b"], ["a1", "b"], ["a2", "b"]])
    >>> [tree.labels[node] for node in raise_for_absent(tree, records, 2, 1, tree.leaf)]
    ['A', 'b']
    """
    check_km(k, m)
    rows, every = rows_with_node(tree, records), (1 << records.shape[0]) - 1
    supports = np.array([rows(node).bit_count() for node in range(len(tree.labels))])
    cover = np.repeat(cut, tree.leaves[cut])
    raised, rank = Raised(tree, tree.occurrences(records), cover), ranks(tree, supports)

    def is_common(nodes: tuple[int, ...]) -> int:
        return min(part.bit_count() for part in _patterns([every], map(rows, nodes)))

    size = 1
    while size <= min(m, len(raised.cut)):
        if comb(len(raised.cut), size) > MOST:
            message = f"the patterns over {size} of {len(raised.cut)} labels are too many to count"
            raise DecloakError(message, hint=f"use m: {size - 1}, or a hierarchy with fewer items")
        before = raised.cut
        for itemset in _violating(raised.cut.tolist(), rows, [every], size, k):
            if any(map(raised.dead, itemset)):
                continue
            new = cure(raised, rank, itemset, k, is_common)
            if not new:
                empty = (every & ~rows(0)).bit_count()
                message = f"{empty} records without items differ from all others, and k is {k}"
                raise DecloakError(message, hint=f"leave them out, or use k: {empty}")
            for node in new:
                raised.commit(node)
        # A raised cut may have made a pattern of fewer labels rare: then all sizes are looked at again.
        size = size + 1 if np.array_equal(before, raised.cut) else 1
    return raised.cut


def _patterns(groups: Sequence[int], columns: Iterator[int]) -> list[int]:
    """Return the records of each pattern that occurs, as bits: `groups` divided by each of `columns`."""
    for rows in columns:
        groups = [part for group in groups for part in (group & rows, group & ~rows) if part]
    return list(groups)


def _violating(
    labels: Sequence[int], rows: Callable[[int], int], groups: Sequence[int], size: int, k: int
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of `size` labels that have a pattern in 1 to k - 1 records, in lexicographic order."""
    for place, label in enumerate(labels):
        parts = _patterns(groups, iter((rows(label),)))
        if size > 1:
            yield from ((label, *rest) for rest in _violating(labels[place + 1 :], rows, parts, size - 1, k))
        elif any(part.bit_count() < k for part in parts):
            yield (label,)
