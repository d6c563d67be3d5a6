"""AA in parts: of the records (LRA, each with its own cut) or of the items (VPA, one cut for all).

LRA sorts the records as Gray codes: the signature of a record has a bit for every leaf, the first leaf the highest.
With p1 < p2 < ... the positions of its items and n leaves, that is the order of (-p1, p2, -p3, ...) with n at the end,
negative after an even number of items. A border is the last position of a part in that order; positions are weighted by
the itemsets of m items of their records. VPA splits the classes of one level into runs of about the same number of
leaves. The part of the records in a run is anonymised as if it were all. A run decides which itemsets are checked, and
a rule may be wider than the run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import comb

import numpy as np

from decloak.anonymisers.kernels.count_tree import aa
from decloak.anonymisers.kernels.frequent_sets import select_entries
from decloak.anonymisers.kernels.raised_cut import Local, Walked
from decloak.arrays import Ints
from decloak.checks import check_feasible, check_km, check_whole
from decloak.data.hierarchy import Hierarchy
from decloak.lazy import sparse
from decloak.parallel import map_tasks


def vpa(
    tree: Hierarchy,
    records: sparse.csr_array,
    k: int,
    m: int,
    *,
    parts: int = 3,
    level: int = 1,
    processes: int = 1,
    built: bool = False,
) -> Walked:
    """Return the cut of vertical partitioning of `records` in `tree` for `k` and `m`, with the size of the largest
    count tree, of all and of the parts alone.

    AA runs on each of the `parts` of the items, of one `level`, in several `processes`; then on all from the results of
    the parts. `built` is passed to it.
    """
    check_km(k, m)
    check_whole(1, parts=parts, processes=processes)
    check_whole(0, level=level)
    check_feasible(records, k)
    shares = [
        select_entries(records, (records.indices >= first) & (records.indices < end))
        for first, end in runs_of_classes(tree, parts, level)
    ]
    # What fewer than k records hold anything of, no rule cures: it is left to the walk over all items.
    tasks = [(tree, share, k, m, None, built) for share in shares if np.count_nonzero(np.diff(share.indptr)) >= k]
    walks = map_tasks(aa, tasks, processes)
    covers = [tree.above(walk.cut) for walk in walks]
    # Nodes come after the nodes above them: of those above a leaf, the least is the widest.
    last = aa(tree, records, k, m, np.unique(np.min([tree.leaf, *covers], axis=0)), built)
    return Walked(last.cut, largest_tree([*walks, last]), largest_tree(walks))


def runs_of_classes(tree: Hierarchy, parts: int, level: int) -> list[tuple[int, int]]:
    """Return the leaf positions, first and end, of each of `parts` parts of the items of `tree` at `level`; fewer parts
    if classes are too large.

    >>> runs_of_classes(Hierarchy.balanced("abcdefgh", 2), 3, 1)
    [(0, 4), (4, 6), (6, 8)]
    """
    low = tree.level <= level
    low[1:] &= tree.level[tree.parent[1:]] > level
    classes = np.flatnonzero(low)
    ends = (tree.first[classes] + tree.leaves[classes]).tolist()
    # No part without an item.
    parts = min(parts, ends[-1])
    stops = [0, *sorted({ends[bisect_left(ends, -(-part * ends[-1] // parts))] for part in range(1, parts + 1)})]
    return list(pairwise(stops))


def lra(
    tree: Hierarchy,
    records: sparse.csr_array,
    k: int,
    m: int,
    *,
    parts: int = 3,
    flexibility: int = 10,
    processes: int = 1,
    built: bool = False,
) -> Local:
    """Return a cut for each part of the `records`, neighbours in Gray code order, found by AA (`tree`, `k`, `m`) on the
    part alone.

    A border between `parts` may move by `flexibility` records to where two neighbours differ most. `processes` work in
    parallel. `built` is passed to AA.
    """
    check_km(k, m)
    check_whole(1, parts=parts, processes=processes)
    check_whole(0, flexibility=flexibility)
    check_feasible(records, k)
    order = gray_order(records)
    ends = [last + 1 for last in _borders(records[order], m, parts, flexibility)]
    chunks = _filled(np.split(order, ends), records, k)
    part = np.empty(records.shape[0], np.int64)
    for number, chunk in enumerate(chunks):
        part[chunk] = number
    tasks = [(tree, records[chunk], k, m, None, built) for chunk in chunks]
    walks = map_tasks(aa, tasks, processes)
    return Local(part, tuple(walk.cut for walk in walks), largest_tree(walks))


def largest_tree(walks: Sequence[Walked]) -> int:
    """Return the size of the largest count tree of `walks`: no two of them exist at a time."""
    return max((walk.tree_nodes or 0 for walk in walks), default=0)


def gray_order(records: sparse.csr_array) -> Ints:
    """Return the indices of `records` in the order of their signatures as Gray codes; equal ones in order.

    >>> gray_order(sparse.csr_array([[1, 0], [1, 1], [0, 1], [0, 0]])).tolist()
    [3, 2, 1, 0]
    """
    indices, keys = records.indices.tolist(), []
    for start, end in pairwise(records.indptr.tolist()):
        key = [*indices[start:end], records.shape[1]]
        # Each item turns the rest of a Gray code round, so every second position counts backwards.
        key[::2] = [-position for position in key[::2]]
        keys.append(key)
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _borders(records: sparse.csr_array, m: int, parts: int, flexibility: int) -> Iterator[int]:
    """Yield the last position of every part but the last one, of records in Gray code order."""
    weights = [comb(length, m) for length in np.diff(records.indptr).tolist()]
    reached = list(accumulate(weights if any(weights) else [1] * len(weights)))
    # How many parts, of equal weights, would end before each place and at the last one.
    ended = [0, *(min(parts - 1, weight * parts // reached[-1]) for weight in reached)]
    # The number of items in which each record differs from the next.
    both = records[:-1].multiply(records[1:]).sum(axis=1)
    lengths = np.diff(records.indptr)
    apart = [int(items) for items in lengths[:-1] + lengths[1:] - 2 * both]
    last = -1
    for equal, (before, after) in enumerate(pairwise(ended)):
        for _ in range(before, after):
            around = range(max(equal - flexibility, last + 1), min(equal + max(flexibility, 1), len(apart)))
            if not around:
                break
            last = min((-apart[place], abs(place - equal), place) for place in around)[-1]
            yield last


def _filled(chunks: Sequence[Ints], records: sparse.csr_array, k: int) -> list[Ints]:
    """Return the chunks, merged until each has no record with items or at least k: a small one joins the next, the last
    the one before.

    Empty records come first in Gray code order, so that a chunk before the last cannot consist of them.
    """
    filled: list[Ints] = []
    waiting: list[Ints] = []
    for chunk in chunks:
        waiting.append(chunk)
        together = np.concatenate(waiting)
        if not 0 < np.count_nonzero(np.diff(records[together].indptr)) < k:
            filled.append(together)
            waiting = []
    if waiting:
        filled[-1:] = [np.concatenate([*filled[-1:], *waiting])]
    return filled
