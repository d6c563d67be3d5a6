"""Which itemsets too few records hold, mostly told without counting in all records.

What k records of a part hold, k of all hold. Items are taken the rarest first. Where from some item on all itemsets
there can be are found in k records of a part, only those that begin before it are counted in more records; that is
all that is left of most releases which keep their promise.
"""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Any, TypeAlias

import numpy as np

from decloak.arrays import Ints
from decloak.counting.itemsets import ItemsetBlock, itemset_supports
from decloak.lazy import sparse

__all__ = ["rare_itemsets"]

PARTS = (16, 4)
"""Every 16th record is looked at first, then every 4th of what is left."""

Records: TypeAlias = "sparse.csr_array[Any]"


def rare_itemsets(
    records: Records, size: int, k: int, *, weights: Ints | None = None, parts: Sequence[int] = PARTS
) -> Iterator[ItemsetBlock]:
    """Yield every itemset of `size` items that occurs, but with a support below k, with it; in any order.

    `weights` are those of `itemset_supports`; `parts` says of how many records one is looked at: only the time depends
    on it.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1]])
    >>> [(block.itemsets.tolist(), block.supports.tolist()) for block in rare_itemsets(records, 2, 2)]
    [([[0, 2], [1, 2]], [1, 1])]
    """
    weights = np.ones(records.shape[0], np.int64) if weights is None else weights
    k = min(k, int(weights.sum()) + 1)  # no support is larger, and a huge k would not fit into an array
    rarest = np.argsort(np.bincount(records.indices, minlength=records.shape[1]), kind="stable")
    # Nothing keeps the renamed records while what is left of them is counted.
    remaining, weights, leading = _narrowed(_renamed(records, rarest), weights, size, k, parts)
    blocks = itemset_supports(remaining, size, weights=weights, leading=leading, high=k - 1)
    del remaining
    for block in blocks:
        yield ItemsetBlock(np.sort(rarest[block.itemsets], axis=1), block.supports)


def _renamed(records: Records, order: Ints) -> Records:
    """The same with items numbered in this order."""
    place = np.empty(len(order), records.indices.dtype)
    place[order] = np.arange(len(order))
    return sparse.csr_array((records.data, place[records.indices], records.indptr), records.shape)


def _narrowed(records: Records, weights: Ints, size: int, k: int, parts: Sequence[int]) -> tuple[Records, Ints, int]:
    """What is left to count: records with their weights, and `leading`, before which each of them holds an item."""
    leading = records.shape[1] if k > 1 else 0
    for step in parts:
        leading = _unsettled(records[::step], weights[::step], size, k, leading)
        holding = _holding(records, leading)
        records, weights = records[holding], weights[holding]
    return records, weights, leading


def _unsettled(part: Records, weights: Ints, size: int, k: int, leading: int) -> int:
    """The item from which on k records of a part hold all itemsets there can be; from `leading` on they do."""
    settled = np.zeros(leading, np.int64)
    for block in itemset_supports(part, size, weights=weights, leading=leading, low=k):
        settled += np.bincount(block.itemsets[:, 0], minlength=leading)
    later = range(part.shape[1] - 1, -1, -1)
    return max((item + 1 for item in range(leading) if settled[item] < comb(later[item], size - 1)), default=0)


def _holding(records: Records, leading: int) -> Ints:
    (filled,) = np.diff(records.indptr).nonzero()
    return filled[np.logical_or.reduceat(records.indices < leading, records.indptr[filled])] if filled.size else filled
