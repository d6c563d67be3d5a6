"""Itemsets of every size that many records hold, by products of sparse matrices.

X are the records, alike ones once, by the items that are frequent at all; `weights` says how many each stands for. G
has a row for every frequent itemset so far, 1 where a record holds it. G weighted times X counts, for each of them and
each item, the records that hold both; the rows of those that are frequent are the products of the rows of G and of the
transpose of X, entry by entry. Only items after the last one of an itemset join it, so that each is met once.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["frequent"]

PIECE = 1 << 21
"""Entries that are worked on at once; one itemset alone may have more."""

Ints = NDArray[np.int64]
Matrix = sparse.csr_array[Any]


class _Found(NamedTuple):
    """Frequent itemsets of one size as ascending columns of X, and their rows of G."""

    itemsets: Ints
    holding: Matrix


def frequent(records: Matrix, low: int, *, piece: int = PIECE) -> Iterator[Ints]:
    """Yield all itemsets that `low` records or more hold, those of a block of one size, a row of columns each.

    `piece` bounds the memory taken.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    >>> [block.tolist() for block in frequent(records, 2)]
    [[[0], [1], [2]], [[0, 1]]]
    """
    counts = np.bincount(records.indices, minlength=records.shape[1])
    items = np.flatnonzero(counts >= low)
    if not len(items):
        return
    matrix, weights = _alike(sparse.csr_array(records[:, items]))
    columns = sparse.csr_array(matrix.T)
    waiting = [_Found(np.arange(len(items))[:, None], columns)]
    yield items[:, None]
    while waiting:
        for found in _parts(waiting.pop(), np.diff(matrix.indptr), piece):
            among = (weights[found.holding.indices], found.holding.indices, found.holding.indptr)
            counted = sparse.csr_array(among, found.holding.shape) @ matrix
            row = np.repeat(np.arange(counted.shape[0]), np.diff(counted.indptr))
            keep = (counted.data >= low) & (counted.indices > found.itemsets[row, -1])
            row, column = row[keep], counted.indices[keep]
            if len(row):
                itemsets = np.column_stack((found.itemsets[row], column))
                yield items[itemsets]
                waiting += _grown(itemsets, found.holding, row, columns, column, piece)


def _alike(records: Matrix) -> tuple[Matrix, Ints]:
    """Records that are alike once, and how many they were."""
    records.sort_indices()
    held, width = records.indices.tobytes(), records.indices.itemsize
    numbers: dict[bytes, int] = {}
    number = [
        numbers.setdefault(held[start * width : end * width], len(numbers))
        for start, end in pairwise(records.indptr.tolist())
    ]
    _, first, weights = np.unique(number, return_index=True, return_counts=True)
    once = records[first]
    return sparse.csr_array((np.ones(once.nnz, np.int8), once.indices, once.indptr), once.shape), weights


def _parts(found: _Found, lengths: Ints, piece: int) -> Iterator[_Found]:
    """Runs of itemsets whose records hold `piece` items together, or of one itemset with more."""
    for run in _runs(found.holding.astype(np.int64) @ lengths, piece):
        yield _Found(found.itemsets[run], found.holding[run])


def _grown(itemsets: Ints, holding: Matrix, row: Ints, columns: Matrix, column: Ints, piece: int) -> Iterator[_Found]:
    """Itemsets with their rows of G, from that of what each grew from and that of the item added."""
    for run in _runs(np.diff(holding.indptr)[row] + np.diff(columns.indptr)[column], piece):
        yield _Found(itemsets[run], sparse.csr_array(holding[row[run]].multiply(columns[column[run]])))


def _runs(costs: Ints, piece: int) -> Iterator[slice]:
    """Cut into runs that cost `piece` at most, or are one that costs more."""
    total = np.concatenate(([0], np.cumsum(costs)))
    begin = 0
    while begin < len(costs):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + piece, side="right")) - 1)
        yield slice(begin, end)
        begin = end
