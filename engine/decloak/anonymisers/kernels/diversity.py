"""l^m-diversity: whoever knows m items of a person is no surer than 1/l of any sensitive item.

Records are the items that are generalised, in the tree, and beside them what is hidden: sensitive items, which are
published as they are. A set c of 1..m nodes of the cut violates when of the records that hold all of c more than one
in l have a sensitive item s: sup(c + s) · l > sup(c). Raising the cut may make a set violate that did not before, so
one pass is not enough: the first violation (fewer nodes first, then by their labels) is cured by the cheapest choice
of nodes above it, or one of its nodes is raised a step, until there are none. Supports of nodes do not change with
the cut; so only sets with a node that is new in the cut have to be looked at again.
"""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from heapq import heappop, heappush
from typing import Any

import numpy as np
from scipy import sparse

from decloak.anonymisers.kernels.count_tree import extended
from decloak.anonymisers.kernels.raising import Raised, cure, ranks
from decloak.checks import check_whole, longest
from decloak.counting.itemsets import Block, coded, supports
from decloak.counting.rows import row_numbers
from decloak.data.hierarchy import Hierarchy, Ints
from decloak.errors import DecloakError

__all__ = ["diversity"]

Records = sparse.csr_array[Any]


def diversity(
    tree: Hierarchy,
    records: Records,
    hidden: Sequence[Sequence[str]],
    l: int,  # noqa: E741 (the word of the paper)
    m: int,
) -> Ints:
    """A cut in which no m nodes tell a sensitive item with more certainty than one in l, as ascending nodes.

    `hidden` are the sensitive items of every record. The search is a heuristic: where it finds nothing but the root
    to violate, there may still be a lower cut that is diverse.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> found = diversity(tree, tree.code([["a1"], ["a2"], ["b"], ["b"]]), [["s"], [], [], []], 2, 1)
    >>> [tree.labels[node] for node in found]
    ['A', 'b']
    """
    check_whole(1, l=l, m=m)
    search = _Search(tree, records, coded(hidden).records, l)
    for size in range(1, longest(records, m) + 1):
        search.cure_all(size)
    return search.raised.cut


class _Search:
    """The cut as it is raised, and the violations found so far, the first ones first."""

    def __init__(self, tree: Hierarchy, records: Records, hidden: Records, l: int) -> None:  # noqa: E741
        self._tree, self._hidden, self._l = tree, hidden, l
        self._holding = extended(tree, records)
        self._columns = sparse.csc_array(self._holding)
        self._rank = ranks(tree, np.diff(self._columns.indptr))
        self._by_label = np.argsort(np.array(tree.labels, dtype=object), kind="stable")
        self._place = np.argsort(self._by_label)
        self._waiting: list[tuple[int, tuple[int, ...]]] = []
        self.raised = Raised(tree, tree.occurrences(records))

    def cure_all(self, size: int) -> None:
        """Raise the cut until no set of 1 to `size` nodes violates, when none of fewer does."""
        self._wait(_violating(self._holding, self._hidden, self.raised.cut, size, self._l))
        while self._waiting:
            _, places = heappop(self._waiting)
            itemset = self._by_label[list(places)].tolist()
            if any(map(self.raised.dead, itemset)):
                continue
            new = cure(self.raised, self._rank, itemset, 1, self._is_diverse) or (self._step(itemset),)
            for node in new:
                self.raised.commit(node)
            for node in new:
                self._look_at(node, size)

    def _look_at(self, node: int, most: int) -> None:
        """Find the violations that a node is part of."""
        cut, rows = self.raised.cut, self._rows(node)
        holding, hidden = self._holding[rows], self._hidden[rows]
        for size in range(most):
            others = _violating(holding, hidden, cut[cut != node], size, self._l)
            self._wait(np.column_stack((np.full(len(others), node), others)))

    def _wait(self, itemsets: Ints) -> None:
        for places in np.sort(self._place[itemsets]).tolist():
            heappush(self._waiting, (len(places), tuple(places)))

    def _rows(self, node: int) -> Ints:
        start, end = self._columns.indptr[[node, node + 1]]
        return self._columns.indices[start:end].astype(np.int64)

    def _is_diverse(self, itemset: tuple[int, ...]) -> int:
        rows = reduce(partial(np.intersect1d, assume_unique=True), map(self._rows, itemset))
        return int(self._most_certain(rows) * self._l <= len(rows))

    def _most_certain(self, rows: Ints) -> int:
        """How many of some records have the sensitive item that most of them have."""
        chosen = np.zeros(self._hidden.shape[0], np.int64)
        chosen[rows] = 1
        return int((chosen @ self._hidden).max(initial=0))

    def _step(self, itemset: Sequence[int]) -> int:
        """The node above one of some nodes that is the cheapest to commit."""
        tree, raised = self._tree, self.raised
        above = [int(tree.parent[node]) for node in itemset if node]
        if not above:
            rows = self._rows(0)
            most = f"{self._most_certain(rows)} of {len(rows)} records have the same sensitive item"
            hint = "lower l, or leave some of them out; a lower cut may exist: the search is heuristic"
            raise DecloakError(f"infeasible: {most}, l is {self._l}", hint=hint)
        return min(above, key=lambda node: (raised.extra(node), tree.leaves[node], self._rank[node]))


def _violating(holding: Records, hidden: Records, nodes: Ints, size: int, l: int) -> Ints:  # noqa: E741
    """The sets of `size` nodes, a row each, of whose records more than one in l have the same sensitive item."""
    l = min(l, hidden.shape[0] + 1)  # noqa: E741 (no different; the products of a larger one would not fit)
    if size == 0:
        return np.empty((int(hidden.sum(axis=0).max(initial=0) * l > hidden.shape[0]), 0), np.int64)
    sensitive, some = hidden.shape[1], np.diff(hidden.indptr) > 0
    columns = holding[:, nodes]
    beside = sparse.csr_array(sparse.hstack((hidden[some], columns[some])))
    whole, having = _all(supports(columns, size), size), _all(supports(beside, size + 1, leading=sensitive), size + 1)
    plain = having.itemsets[:, 1] >= sensitive
    certain = having.itemsets[plain, 1:] - sensitive
    key = row_numbers(np.concatenate((whole.itemsets, certain)))
    support = np.zeros(len(key), np.int64)
    support[key[: len(whole.itemsets)]] = whole.supports
    broken = having.supports[plain] * l > support[key[len(whole.itemsets) :]]
    return nodes[np.unique(certain[broken], axis=0)]


def _all(blocks: Iterable[Block], size: int) -> Block:
    found = list(blocks) or [Block(np.empty((0, size), np.int64), np.empty(0, np.int64))]
    return Block(*map(np.concatenate, zip(*found, strict=True)))
