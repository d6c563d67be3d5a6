"""A cut that is raised step by step, the cheapest cure of a rare itemset, and the release by one or several cuts.

C_p is the number of records with item p before recoding. The price of a node is Σ C_p · |leaves| over the items below
it, 0 for a node with one leaf: NCP(D, cut) = Σ price / (n · Σ C_p). Prices are integers, so no comparison depends on
rounding. A node is dead if a proper ancestor of it is in the cut. In a release every item becomes the label of the node
above it in its record's cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple, Self

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.rows import CodedRows
from decloak.lazy import sparse


class Walked(NamedTuple):
    """A cut as ascending nodes, the size of the largest count tree that was walked for it, None if none was, and that
    of the largest tree of a part, if the cut was made of the cuts of parts.
    """

    cut: Ints
    tree_nodes: int | None = None
    part_nodes: int | None = None


class Local(NamedTuple):
    """The part of every record, and the cut of every part as ascending nodes. One part is a global recoding."""

    part: Ints
    cuts: tuple[Ints, ...]
    tree_nodes: int | None = None
    """The size of the largest count tree that was walked, if any."""

    @classmethod
    def with_one_cut(cls, cut: Ints, records: int, tree_nodes: int | None = None) -> Self:
        """Return the recoding of all `records` by one `cut`; `tree_nodes` is the size of its count tree."""
        return cls(np.zeros(records, np.int64), (cut,), tree_nodes)


Support = Callable[[tuple[int, ...]], int]
"""A function that counts the records with every one of some nodes. A record has a node if it has an item below it."""


def prices(tree: Hierarchy, counts: Ints) -> Ints:
    """Return the price of every node of `tree`, from `counts`, the C_p of every leaf position."""
    total = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    below = total[tree.first + tree.leaves] - total[tree.first]
    return np.where(tree.leaves > 1, below * tree.leaves, 0)


def ncp(tree: Hierarchy, counts: Ints, cut: Ints) -> Fraction:
    """Return the exact information loss of `cut` of `tree` with C_p in `counts`; 0 if all records are empty."""
    whole = int(counts.sum()) * len(tree.items)
    return Fraction(int(prices(tree, counts)[cut].sum()), whole) if whole else Fraction(0)


def ranks(tree: Hierarchy, supports: Ints) -> Ints:
    """Return the tree order of the nodes of `tree`: by `supports`, the largest first, then higher levels, then node
    order.
    """
    order = np.lexsort((np.arange(len(tree.labels)), -tree.level, -supports))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def maximal(tree: Hierarchy, nodes: Iterable[int]) -> tuple[int, ...]:
    """Return the highest of `nodes` of `tree`, in node order."""
    kept: list[int] = []
    end = -1
    for node in sorted(set(nodes)):
        if tree.first[node] >= end:
            kept.append(node)
            end = int(tree.first[node] + tree.leaves[node])
    return tuple(kept)


class Raised:
    """The current cut: `cover[p]` is its node above leaf position p."""

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
        """The nodes of the cut."""
        return np.unique(self.cover)

    def dead(self, node: int) -> bool:
        """Return True if a proper ancestor of `node` is in the cut."""
        return bool(self.cover[self.tree.first[node]] < node)

    def commit(self, node: int) -> None:
        """Replace all nodes below `node` by it."""
        start, size = int(self.tree.first[node]), int(self.tree.leaves[node])
        below = slice(start, start + size)
        self.cover[below] = node
        self._paid[below] = self._counts[below] * size if size > 1 else 0

    def extra(self, node: int) -> int:
        """Return the increase of the price of the cut by `node`, which is not dead."""
        start = int(self.tree.first[node])
        return int(self.price[node] - self._paid[start : start + int(self.tree.leaves[node])].sum())


def cure(raised: Raised, rank: Ints, itemset: Sequence[int], k: int, support: Support) -> tuple[int, ...]:
    """Return the nodes to commit in `raised` so that the published form of the rare `itemset` has a `support` of at
    least `k`.

    Every member may stay or be replaced by any node above it, including the root, but not all may stay. Of the choices
    in k records, the one with the least key is taken: the price of the whole cut, the leaves of the new nodes, their
    order in `rank`. If not even the root has k records, the result is empty.
    """
    for equal_price in _cheapest_first(raised, itemset):
        # Choices of one price are tried in tree order, whatever the order of the set.
        for _, new, result in sorted((sorted(rank[list(new)].tolist()), new, result) for new, result in equal_price):
            if new and support(result) >= k:
                return new
    return ()


def _cheapest_first(raised: Raised, itemset: Sequence[int]) -> Iterator[set[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Yield the commits and results of choices, the cheapest first; choices of equal price and leaves together.

    A choice is the number of steps up for each member. One more step is never cheaper, and has no fewer leaves. So only
    choices that are cheaper than the cure are visited, and those one step above them.
    """
    tree = raised.tree
    paths = [(node, *_wider(tree, node)) for node in itemset]
    waiting = [(0, 0, (0,) * len(itemset))]
    seen = {waiting[0][2]}
    while waiting:
        price, leaves, _ = waiting[0]
        equal_price = set()
        while waiting and waiting[0][:2] == (price, leaves):
            *_, steps = heappop(waiting)
            choice = [path[step] for path, step in zip(paths, steps, strict=True)]
            equal_price.add((_new(tree, itemset, choice), maximal(tree, choice)))
            for member, path in enumerate(paths):
                more = (*steps[:member], steps[member] + 1, *steps[member + 1 :])
                if more[member] < len(path) and more not in seen:
                    seen.add(more)
                    heappush(waiting, (*_cost(raised, itemset, paths, more), more))
        yield equal_price


def _wider(tree: Hierarchy, node: int) -> Iterator[int]:
    """Yield the ancestors with more leaves than the node below; of a chain with equal leaves the top.

    The others in a chain have the same records and the same cost, and the top precedes them in tree order.
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
    """Return the increase of the price of the cut, and the number of leaves of the new nodes."""
    new = _new(raised.tree, itemset, [path[step] for path, step in zip(paths, steps, strict=True)])
    return sum(map(raised.extra, new)), int(raised.tree.leaves[list(new)].sum())


def _loss(tree: Hierarchy, nodes: Ints) -> Fraction:
    """Return the exact information loss over occurrences, given their nodes."""
    leaves = np.where(tree.leaves > 1, tree.leaves, 0)
    total = int(np.bincount(nodes, minlength=len(leaves)) @ leaves)
    return Fraction(total, len(nodes) * len(tree.items)) if len(nodes) else Fraction(0)


def _nodes(tree: Hierarchy, records: sparse.csr_array, recoding: Local) -> Ints:
    """Return the node by which every occurrence of an item is published."""
    if len(recoding.cuts) == 1:
        return tree.above(recoding.cuts[0]).astype(np.int32)[records.indices]
    part = np.repeat(recoding.part, np.diff(records.indptr))
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(recoding.cuts) + 1))
    nodes = np.empty(records.nnz, np.int64)
    for cut, start, end in zip(recoding.cuts, ends, ends[1:], strict=False):
        entries = order[start:end]
        # The nodes of a cut follow one another: the last that begins at or before a leaf is above it.
        nodes[entries] = cut[np.searchsorted(tree.first[cut], records.indices[entries], side="right") - 1]
    return nodes


def _rows(tree: Hierarchy, records: sparse.csr_array, nodes: Ints) -> CodedRows[str]:
    """Return the labels of every record in alphabetical order."""
    # Sorted, so that nothing of the order of a record's items shows.
    present = np.flatnonzero(np.bincount(nodes, minlength=len(tree.labels))).tolist()
    by_name = sorted(present, key=tree.labels.__getitem__)
    place = np.zeros(len(tree.labels), np.int32)
    place[by_name] = np.arange(len(by_name))
    shape = (records.shape[0], len(by_name))
    # Summing duplicates writes into both index arrays: that of the records is theirs.
    start = records.indptr.copy()
    published = sparse.csr_array((np.ones(len(nodes), np.int8), place[nodes], start), shape)
    published.sum_duplicates()
    return CodedRows(published.indptr, published.indices, [tree.labels[node] for node in by_name])


def generalised(
    data: Dataset,
    tree: Hierarchy,
    records: sparse.csr_array,
    recoding: Local,
    *,
    method: str,
    k: int | None,
    m: int | None,
) -> Generalised:
    """Return the release of `data` by the cuts in `recoding` of `tree`.

    `records` are the coded data; `method`, `k` and `m` are recorded in the release.
    """
    nodes = _nodes(tree, records, recoding)
    rows = _rows(tree, records, nodes)
    # Sorted, because the order of the leaves may come from the records, whose supports are hidden.
    used = np.unique(np.concatenate(recoding.cuts)).tolist()
    members = {
        tree.labels[node]: tuple(sorted(tree.members(node))) for node in sorted(used, key=tree.labels.__getitem__)
    }
    return Generalised(
        rows,
        members,
        data.labels,
        method,
        k,
        m,
        ExactRatio(_loss(tree, nodes)),
        data.origin,
        tree_nodes=recoding.tree_nodes,
    )
