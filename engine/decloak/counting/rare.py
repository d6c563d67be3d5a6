"""Search for itemsets with a small support, mostly without counting in all records.

The support in a sample bounds the full support from below. Items are sorted by support, the rarest first. If from some
item on all itemsets have support k in the sample, only itemsets that begin before it need larger samples. For most
releases that meet their guarantee, nothing is left to count.
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
"""Sampling steps: every 16th record first, then every 4th of the rest."""

Records: TypeAlias = "sparse.csr_array[Any]"


def rare_itemsets(
    records: Records, size: int, k: int, *, weights: Ints | None = None, parts: Sequence[int] = PARTS
) -> Iterator[ItemsetBlock]:
    """Yield every itemset of `size` items in `records` with a support from 1 to k - 1 (`k`), and that support, in any
    order.

    `weights` are as in `itemset_supports`. `parts` are the sampling steps; they only affect the time.

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
    """Return the records with items renumbered in this order."""
    place = np.empty(len(order), records.indices.dtype)
    place[order] = np.arange(len(order))
    return sparse.csr_array((records.data, place[records.indices], records.indptr), records.shape)


def _narrowed(records: Records, weights: Ints, size: int, k: int, parts: Sequence[int]) -> tuple[Records, Ints, int]:
    """Return the remaining records, their weights, and `leading`: each record has an item before it."""
    leading = records.shape[1] if k > 1 else 0
    for step in parts:
        leading = _first_frequent_prefix(records[::step], weights[::step], size, k, leading)
        holding = _rows_with_leading_item(records, leading)
        records, weights = records[holding], weights[holding]
    return records, weights, leading


def _first_frequent_prefix(part: Records, weights: Ints, size: int, k: int, leading: int) -> int:
    """Return the smallest item from which on every itemset has support k in the sample. `leading`: an item for which
    this is known.
    """
    settled = np.zeros(leading, np.int64)
    for block in itemset_supports(part, size, weights=weights, leading=leading, low=k):
        settled += np.bincount(block.itemsets[:, 0], minlength=leading)
    later = range(part.shape[1] - 1, -1, -1)
    return max((item + 1 for item in range(leading) if settled[item] < comb(later[item], size - 1)), default=0)


def _rows_with_leading_item(records: Records, leading: int) -> Ints:
    (filled,) = np.diff(records.indptr).nonzero()
    return filled[np.logical_or.reduceat(records.indices < leading, records.indptr[filled])] if filled.size else filled
