"""Direct (DA) and apriori-based anonymisation (AA): k^m-anonymity by generalisation with one cut for all records.

DA walks the count tree of all itemsets of at most m nodes. AA walks one tree for each size 1..m, of the records
extended under the current cut. Every itemset met that fewer than k records hold is cured immediately by the cheapest
choice of nodes (`cure`). One pass over a tree suffices: what was passed has k records or a dead node for good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decloak.anonymisers.kernels.count_tree import CountTree, extended, supporting
from decloak.anonymisers.kernels.raised_cut import Raised, Walked, cure, ranks
from decloak.arrays import Ints
from decloak.checks import check_feasible, check_km, longest
from decloak.data.hierarchy import Hierarchy
from decloak.lazy import sparse

__all__ = ["aa", "da"]


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
        usable = nodes[~dead & (nodes > 0)]
        counted = CountTree(self._tree, self._holding, usable)
        for itemset in counted.breaches(self._raised, k, size):
            for node in cure(self._raised, self._rank, itemset, k, self._support):
                self._raised.commit(node)
        return counted.nodes
