"""A cut that is raised step by step, and the cheapest cure of an itemset that too few records hold.

C_p is the number of records that hold item p before recoding. The price of a node is Σ C_p · |leaves| over the items
below it, 0 for a node with one leaf: NCP(D, cut) = Σ price / (n · Σ C_p). Prices are whole numbers, so no comparison
rests on rounding. A node is dead when a proper ancestor of it is in the cut.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.data.hierarchy import Hierarchy

__all__ = ["Raised", "Walked", "cure", "maximal", "ncp", "prices", "ranks"]


class Walked(NamedTuple):
    """A cut as ascending nodes, and the most nodes one of the count trees had that were walked for it, None of none."""

    cut: Ints
    tree_nodes: int | None = None


Support = Callable[[tuple[int, ...]], int]
"""How many records hold every one of some nodes; a record holds a node when it holds an item below it."""


def prices(tree: Hierarchy, counts: Ints) -> Ints:
    """The price of every node, from C_p of every leaf position."""
    total = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    below = total[tree.first + tree.leaves] - total[tree.first]
    return np.where(tree.leaves > 1, below * tree.leaves, 0)


def ncp(tree: Hierarchy, counts: Ints, cut: Ints) -> Fraction:
    """The information loss of a cut, exactly; 0 when no record holds anything."""
    whole = int(counts.sum()) * len(tree.items)
    return Fraction(int(prices(tree, counts)[cut].sum()), whole) if whole else Fraction(0)


def ranks(tree: Hierarchy, supports: Ints) -> Ints:
    """Tree order: by support in the data, the largest first, then higher levels, then node order."""
    order = np.lexsort((np.arange(len(tree.labels)), -tree.level, -supports))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def maximal(tree: Hierarchy, nodes: Iterable[int]) -> tuple[int, ...]:
    """The nodes with no other one above them, in node order."""
    kept: list[int] = []
    end = -1
    for node in sorted(set(nodes)):
        if tree.first[node] >= end:
            kept.append(node)
            end = int(tree.first[node] + tree.leaves[node])
    return tuple(kept)


class Raised:
    """The cut as it is now: `cover[p]` is its node above leaf position p."""

    def __init__(self, tree: Hierarchy, counts: Ints, cover: Ints | None = None) -> None:
        self.tree = tree
        self.price = prices(tree, counts)
        self._counts = counts
        self.cover = tree.leaf.copy() if cover is None else cover.copy()
        sizes = tree.leaves[self.cover]
        # A leaf that is published as itself costs nothing.
        self._paid = np.where(sizes > 1, counts * sizes, 0)

    @property
    def cut(self) -> Ints:
        return np.unique(self.cover)

    def dead(self, node: int) -> bool:
        """Whether a proper ancestor of a node is in the cut."""
        return bool(self.cover[self.tree.first[node]] < node)

    def commit(self, node: int) -> None:
        """Put a node in place of all below it."""
        start, size = int(self.tree.first[node]), int(self.tree.leaves[node])
        below = slice(start, start + size)
        self.cover[below] = node
        self._paid[below] = self._counts[below] * size if size > 1 else 0

    def extra(self, node: int) -> int:
        """How much dearer the cut gets by a node that is not dead."""
        start = int(self.tree.first[node])
        return int(self.price[node] - self._paid[start : start + int(self.tree.leaves[node])].sum())


def cure(raised: Raised, rank: Ints, itemset: Sequence[int], k: int, support: Support) -> tuple[int, ...]:
    """The nodes to commit so that k records hold what an itemset of fewer is then published as.

    Every member may stay or be replaced by any node above it, the root included, not all staying. Of the choices
    that k records hold, the one with the least key is taken: the price of the whole cut, the leaves of the new nodes,
    their ranks in tree order. Nothing is cured when not even the root has k records: the empty tuple.
    """
    for alike in _cheapest_first(raised, itemset):
        for _, new, result in sorted((sorted(rank[list(new)].tolist()), new, result) for new, result in alike):
            if new and support(result) >= k:
                return new
    return ()


def _cheapest_first(raised: Raised, itemset: Sequence[int]) -> Iterator[set[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """What choices commit and make of the itemset, those of the same price and leaves together, the cheapest first.

    A choice is how many steps up each member is replaced. One step more is never cheaper, and has no fewer leaves; so
    of all there are only those are looked at that are cheaper than the cure, and what is one step above them.
    """
    tree = raised.tree
    paths = [(node, *_wider(tree, node)) for node in itemset]
    waiting = [(0, 0, (0,) * len(itemset))]
    seen = {waiting[0][2]}
    while waiting:
        price, leaves, _ = waiting[0]
        alike = set()
        while waiting and waiting[0][:2] == (price, leaves):
            *_, steps = heappop(waiting)
            choice = [path[step] for path, step in zip(paths, steps, strict=True)]
            alike.add((_new(tree, itemset, choice), maximal(tree, choice)))
            for member, path in enumerate(paths):
                more = (*steps[:member], steps[member] + 1, *steps[member + 1 :])
                if more[member] < len(path) and more not in seen:
                    seen.add(more)
                    heappush(waiting, (*_cost(raised, itemset, paths, more), more))
        yield alike


def _wider(tree: Hierarchy, node: int) -> Iterator[int]:
    """The nodes above a node with more leaves than what is below; of a chain with the same leaves the top.

    The others in a chain are held by the same records and cost the same, and the top comes before them in tree order.
    """
    path = [node, *tree.ancestors(node)]
    for step, above in enumerate(path[1:], 1):
        if tree.leaves[above] > tree.leaves[node] and (
            step + 1 == len(path) or tree.leaves[path[step + 1]] > tree.leaves[above]
        ):
            yield above


def _new(tree: Hierarchy, itemset: Sequence[int], choice: Sequence[int]) -> tuple[int, ...]:
    return maximal(tree, (to for node, to in zip(itemset, choice, strict=True) if to != node))


def _cost(
    raised: Raised, itemset: Sequence[int], paths: Sequence[Sequence[int]], steps: Sequence[int]
) -> tuple[int, int]:
    """How much dearer the cut gets, and how many leaves the new nodes have."""
    new = _new(raised.tree, itemset, [path[step] for path, step in zip(paths, steps, strict=True)])
    return sum(map(raised.extra, new)), int(raised.tree.leaves[list(new)].sum())
