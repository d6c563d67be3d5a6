"""HORPART and merging: records split into clusters of similar ones, by their most frequent items.

A record is an ascending tuple of item codes; codes ascend as names do, so the smallest code is the first name. A node
of the recursion is a chain. The records with its most frequent item leave as a new node. Then the records with the next
item of the rest leave, until few enough are left. A node counts its records once, and subtracts every record that
leaves, so that a record costs its length at each of its nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.compiled import try_import

Record = tuple[int, ...]


class _Node:
    """Records that all have the ignored items, and for every other item the records with it."""

    def __init__(self, records: Sequence[Record], ids: Iterable[int], ignored: frozenset[int]) -> None:
        self.records = records
        self.ignored = ignored
        self.remaining = dict.fromkeys(ids)
        self.holders: dict[int, list[int]] = {}
        for number in self.remaining:
            for item in records[number]:
                if item not in ignored:
                    self.holders.setdefault(item, []).append(number)
        self.support = {item: len(holders) for item, holders in self.holders.items()}
        self.queue = [(-support, item) for item, support in self.support.items()]
        heapify(self.queue)

    def most_frequent(self) -> int | None:
        """Return the most frequent item of the remaining records, the smallest of several. Supports in the queue may be
        outdated.
        """
        queue, support = self.queue, self.support
        while queue and -queue[0][0] != support[queue[0][1]]:
            item = queue[0][1]
            heapreplace(queue, (-support[item], item))
        return queue[0][1] if queue and queue[0][0] else None

    def ignore(self, item: int) -> None:
        """Ignore `item` from here on: all records of the node have it."""
        self.ignored |= {item}
        self.support[item] = 0

    def split(self, item: int) -> list[int]:
        """Remove the records with `item` and return them, ascending."""
        remaining, support = self.remaining, self.support
        taken = [number for number in self.holders[item] if number in remaining]
        for number in taken:
            del remaining[number]
            for held_item in self.records[number]:
                if held_item not in self.ignored:
                    # The queue stays as it is: a support that is too high there is corrected when it comes to the top.
                    support[held_item] -= 1
        return taken


def horizontal(records: Sequence[Record], max_cluster: int, strict: bool = False) -> Iterator[list[int]]:
    """Yield `records` in parts of at most `max_cluster`; `strict` also splits a part of exactly that size."""
    largest = max_cluster - strict
    stack = [_Node(records, range(len(records)), frozenset())]
    while stack:
        node = stack[-1]
        item = node.most_frequent()
        if len(node.remaining) <= largest or item is None:
            stack.pop()
            yield from _equal_parts(list(node.remaining), max_cluster)
        elif node.support[item] == len(node.remaining):
            # An item of all records separates none of them.
            node.ignore(item)
        else:
            part = node.split(item)
            if len(part) <= largest:
                yield part
            else:
                stack.append(_Node(records, part, node.ignored | {item}))


@try_import
def _compiled() -> Callable[..., tuple[Ints, Ints]]:
    """Return the compiled loops."""
    from decloak.anonymisers.kernels.horpart_numba import divide

    return divide


def divided(start: Ints, codes: NDArray[np.int32], items: int, max_cluster: int) -> tuple[Ints, Ints]:
    """Return records in the order of the parts of `horizontal` for `max_cluster`, and where each part ends.

    The records are `codes[start[record]:start[record + 1]]`, of so many `items`. Compiled loops divide them where numba
    is installed.
    """
    if (divide := _compiled()) is not None:
        return divide(start, codes, items, max_cluster)
    held = codes.tolist()
    parts = list(horizontal([tuple(held[begin:end]) for begin, end in pairwise(start.tolist())], max_cluster))
    return np.concatenate([np.array(part, np.int64) for part in parts]), np.cumsum(list(map(len, parts)))


def _equal_parts(ids: list[int], largest: int) -> Iterator[list[int]]:
    parts = -(-len(ids) // largest)
    for part in range(parts):
        yield ids[part * len(ids) // parts : (part + 1) * len(ids) // parts]


def pooled_parts(parts: Iterable[list[int]], k: int) -> list[list[int]]:
    """Return `parts`, with parts of fewer than `k` records merged until they have k; the rest joins the last cluster.

    >>> pooled_parts([[0], [1, 2], [3], [4]], k=2)
    [[1, 2], [0, 3, 4]]
    """
    clusters: list[list[int]] = []
    waiting: list[int] = []
    for part in parts:
        if len(part) >= k:
            clusters.append(part)
            continue
        waiting += part
        if len(waiting) >= k:
            clusters.append(waiting)
            waiting = []
    # Fewer than k are left: only a cluster that is large enough already can take them in.
    if waiting:
        clusters[-1] = clusters[-1] + waiting
    return clusters
