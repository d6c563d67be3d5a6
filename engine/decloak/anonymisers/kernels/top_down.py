"""k-anonymity of whole records by top-down local recoding (Partition, after He and Naughton).

A partition is a set of k records or more with the same published nodes. Each of its records has an item below every one
of these nodes, and no other item. All records begin in one partition, at the root. Expanding a node replaces it by its
children, in each record by the children that the record has. Records with the same children are a group, and a group of
k records or more becomes a partition. Smaller groups stay together, published by the node itself. If they have fewer
than k records, the largest groups give records; if this is too few, a whole group stays. The node whose expansion gains
most is expanded first. An occurrence is an item in a record. Its `node` publishes it, and `below` is the child of the
node above the item. `gain` is the fall of n · NCP when the child replaces the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from decloak.anonymisers.kernels.raised_cut import Local
from decloak.arrays import Ints
from decloak.checks import check_feasible, check_whole
from decloak.data.hierarchy import Hierarchy
from decloak.lazy import sparse

BITS = 62
"""Number of children of a node that fit in one number."""


def partition(tree: Hierarchy, records: sparse.csr_array, k: int) -> Local:
    """Return a cut of `tree` for each part of the `records` such that every non-empty record is published like at least
    k - 1 (`k`) others.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> part, cuts, _ = partition(tree, tree.code([["a1", "b"], ["a2", "b"], ["b"], ["b"]]), 2)
    >>> part.tolist(), [[tree.labels[node] for node in cut] for cut in cuts]
    ([0, 0, 1, 1], [['A', 'b'], ['a1', 'a2', 'b']])
    """
    check_whole(1, k=k)
    check_feasible(records, k)
    if k == 1:
        return Local.with_one_cut(tree.leaf, records.shape[0])
    search = _Search(tree, records, k)
    cuts: dict[tuple[int, ...], int] = {}

    @cache
    def number(nodes: tuple[int, ...]) -> int:
        return cuts.setdefault(_completed(tree, nodes), len(cuts))

    part = np.zeros(records.shape[0], np.int64)
    for nodes, members in search.partitions():
        # Where nothing but leaves are held nothing is hidden: all such partitions share the cut of the leaves.
        part[members] = number(nodes if any(tree.children[node] for node in nodes) else ())
    return Local(part, tuple(np.array(cut, np.int64) for cut in cuts) or (tree.leaf,))


def _completed(tree: Hierarchy, nodes: Sequence[int]) -> tuple[int, ...]:
    """Return the cut of some nodes and of the highest nodes that are not above them; without nodes, the cut of the
    leaves.
    """
    if not nodes:
        return tuple(tree.leaf.tolist())
    above = {node for below in nodes for node in tree.ancestors(below)}
    return tuple(sorted({child for node in above for child in tree.children[node]}.difference(above).union(nodes)))


class _Search:
    """Occurrences by their number in the matrix of records. A partition has the numbers of its records, ascending."""

    def __init__(self, tree: Hierarchy, records: sparse.csr_array, k: int) -> None:
        self._tree, self._k = tree, k
        self._record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
        self._item = records.indices.astype(np.int64)
        self._weight = np.where(tree.leaves > 1, tree.leaves, 0)
        # In order of parent and first leaf, so that one search finds the child above an item.
        self._child = np.lexsort((tree.first[1:], tree.parent[1:])) + 1
        self._begin = tree.parent[self._child] * len(tree.items) + tree.first[self._child]
        self._node, self._below, self._gain = (np.zeros(len(self._item), np.int64) for _ in range(3))
        self._look_below(np.arange(len(self._item)))

    def _look_below(self, occurrences: Ints) -> None:
        """Find the child below the node of each occurrence; a leaf is its own."""
        node = self._node[occurrences]
        index = np.searchsorted(self._begin, node * len(self._tree.items) + self._item[occurrences], side="right") - 1
        self._below[occurrences] = np.where(self._tree.leaf[self._item[occurrences]] == node, node, self._child[index])
        self._gain[occurrences] = self._weight[node] - self._weight[self._below[occurrences]]

    def partitions(self) -> Iterator[tuple[tuple[int, ...], Ints]]:
        """Yield the nodes and the records of every partition in which no node can be expanded."""
        waiting: list[Ints] = [np.arange(len(self._item))] if len(self._item) else []
        while waiting:
            occurrences = waiting.pop()
            if self._all_equal(occurrences):
                self._node[occurrences] = self._tree.leaf[self._item[occurrences]]
                parts = []
            else:
                parts = self._expanded(occurrences)
            waiting += parts
            if not parts:
                yield tuple(np.unique(self._node[occurrences]).tolist()), np.unique(self._record[occurrences])

    def _all_equal(self, occurrences: Ints) -> bool:
        """Return True if all records of a partition have the same items, so that every expansion keeps them
        together.
        """
        number = int(_runs(self._record[occurrences])[-1]) + 1
        items = self._item[occurrences]
        return len(items) % number == 0 and bool((items.reshape(number, -1) == items[: len(items) // number]).all())

    def _expanded(self, occurrences: Ints) -> list[Ints]:
        """Return the partitions after expanding the best possible node; none if there is no such node."""
        for node in self._by_gain(occurrences):
            below = occurrences[self._node[occurrences] == node]
            group = self._groups(below)
            if (group >= 0).any():
                into = group[_runs(self._record[occurrences])]
                self._expand(below[group[_runs(self._record[below])] >= 0])
                # Stable, because each partition has its records in ascending order.
                order = np.argsort(into, kind="stable")
                return np.split(occurrences[order], np.flatnonzero(np.diff(into[order])) + 1)
        return []

    def _by_gain(self, occurrences: Ints) -> list[int]:
        """Return the inner nodes of a partition by the gain of expanding them over all records."""
        occurrences = occurrences[self._below[occurrences] != self._node[occurrences]]
        nodes, which = np.unique(self._node[occurrences], return_inverse=True)
        gains = np.bincount(which, self._gain[occurrences])
        return nodes[np.argsort(-gains, kind="stable")].tolist()  # type: ignore[no-any-return]

    def _expand(self, occurrences: Ints) -> None:
        self._node[occurrences] = self._below[occurrences]
        self._look_below(occurrences)

    def _groups(self, below: Ints) -> Ints:
        """Return the group of each record of a partition, -1 for records that stay; `below` are the occurrences below a
        node.
        """
        run = _runs(self._record[below])
        start = np.flatnonzero(np.diff(run, prepend=-1))
        group = _group_by_children(self._below[below], start)
        gains = np.add.reduceat(self._gain[below], start)
        size = np.bincount(group)
        group[size[group] < self._k] = -1
        lacking = self._k - int(np.count_nonzero(group < 0))
        if 0 < lacking < self._k:
            spare = np.maximum(size - self._k, 0)
            if spare.sum() >= lacking:
                group[_choose_staying(group, spare, gains, lacking)] = -1
            # No group can spare records enough: the one that loses least stays as a whole.
            elif (group >= 0).any():
                least = np.bincount(group[group >= 0], gains[group >= 0], len(size))
                group[group == np.where(size < self._k, np.inf, least).argmin()] = -1
        return group


def _runs(values: Ints) -> Ints:
    return np.cumsum(np.diff(values, prepend=values[:1]) != 0)


def _group_by_children(children: Ints, start: Ints) -> Ints:
    """Return a number for each record, equal for equal sets of children; the children of a record begin at `start`."""
    kinds, child = np.unique(children, return_inverse=True)
    group = np.zeros(len(start), np.int64)
    for first in range(0, len(kinds), BITS):
        inside = (child >= first) & (child < first + BITS)
        bits = np.where(inside, 1 << np.where(inside, child - first, 0), 0)
        _, word = np.unique(np.bitwise_or.reduceat(bits, start), return_inverse=True)
        group = np.unique(group * (word.max() + 1) + word, return_inverse=True)[1] if first else word
    return group


def _choose_staying(group: Ints, spare: Ints, gains: Ints, lacking: int) -> Ints:
    """Return the records that also stay: one by one from the largest group, in each group the record with the least
    loss.
    """
    remaining = spare.copy()
    for _ in range(lacking):
        remaining[remaining.argmax()] -= 1
    chosen = []
    for number in np.flatnonzero(remaining < spare).tolist():
        records = np.flatnonzero(group == number)
        order = np.argsort(gains[records], kind="stable")
        chosen.append(records[order[: spare[number] - remaining[number]]])
    return np.concatenate(chosen)
