"""k^m-anonymity by generalisation with one cut for all records: direct (DA) and apriori-based anonymisation (AA).

DA walks the count tree of all itemsets of at most m nodes, AA one tree for each size 1..m, of the records extended
under the cut as it is by then. Every itemset met that fewer than k records hold is cured at once by the cheapest
choice of nodes (`cure`). One pass over a tree suffices: what was passed has k records or a dead node for good.
A walk confined to some leaf positions raises no node that has leaves outside them, and leaves what cannot be cured so.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from decloak.anonymisers.kernels.count_tree import CountTree, extended, supporting
from decloak.anonymisers.kernels.raised_cut import Raised, cure, maximal, ranks
from decloak.checks import check_feasible, check_km, longest
from decloak.data.hierarchy import Hierarchy, Ints

__all__ = ["aa", "confined", "da"]


def da(tree: Hierarchy, records: sparse.csr_array[Any], k: int, m: int) -> Ints:
    """The cut that direct anonymisation finds, as ascending nodes.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in da(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2)]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    return _Search(tree, records, k).raised_by([longest(records, m)]).cut


def aa(tree: Hierarchy, records: sparse.csr_array[Any], k: int, m: int, start: Ints | None = None) -> Ints:
    """The cut that apriori-based anonymisation finds, from the leaves or from the cut `start`.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in aa(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2)]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    return _Search(tree, records, k, start).raised_by(range(1, longest(records, m) + 1)).cut


def confined(tree: Hierarchy, records: sparse.csr_array[Any], k: int, m: int, first: int, end: int) -> Ints:
    """The nodes above leaf positions first..end-1 that AA finds for records of these items only, confined to them."""
    raised = _Search(tree, records, k, within=(first, end)).raised_by(range(1, longest(records, m) + 1))
    return np.unique(raised.cover[first:end])


class _Search:
    """A cut that is raised by walks over count trees of the same records, in one tree order."""

    def __init__(
        self,
        tree: Hierarchy,
        records: sparse.csr_array[Any],
        k: int,
        start: Ints | None = None,
        within: tuple[int, int] | None = None,
    ) -> None:
        self._tree, self._k = tree, k
        self._holding = extended(tree, records)
        self._rank = ranks(tree, np.bincount(self._holding.indices, minlength=len(tree.labels)))
        self._support = supporting(tree, records)
        first, end = within or (0, len(tree.items))
        self._inside = (tree.first >= first) & (tree.first + tree.leaves <= end)
        self._widest = _widest(tree, self._inside)
        counts = tree.occurrences(records)
        self._raised = Raised(tree, counts, None if start is None else tree.above(start))

    def raised_by(self, sizes: Iterable[int]) -> Raised:
        """The cut after a walk for each size."""
        for size in sizes:
            self._walk(size)
        return self._raised

    def _walk(self, size: int) -> None:
        """Cure what a walk over the itemsets of at most `size` nodes meets."""
        nodes = np.argsort(self._rank)
        dead = self._raised.cover[self._tree.first[nodes]] < nodes
        usable = nodes[self._inside[nodes] & ~dead & (nodes > 0)]
        for itemset in CountTree(self._tree, self._holding, usable).breaches(self._raised, self._k, size):
            if self._curable(itemset):
                for node in cure(self._raised, self._rank, itemset, self._k, self._support_inside):
                    self._raised.commit(node)

    def _support_inside(self, itemset: tuple[int, ...]) -> int:
        return self._support(itemset) if self._inside[list(itemset)].all() else 0

    def _curable(self, itemset: tuple[int, ...]) -> bool:
        """Whether k records hold what the widest nodes inside make of an itemset; no choice is held by more.

        They hold the root, which a walk that is not confined can always take.
        """
        widest = maximal(self._tree, self._widest[list(itemset)].tolist())
        return widest == (0,) or self._support(widest) >= self._k


def _widest(tree: Hierarchy, inside: NDArray[np.bool_]) -> Ints:
    """The topmost node inside on the way up from each node inside."""
    widest = np.arange(len(tree.labels))
    for node in np.flatnonzero(inside).tolist():  # parents come before children
        if node and inside[tree.parent[node]]:
            widest[node] = widest[tree.parent[node]]
    return widest
