"""Frequent itemsets of every size, by products of sparse matrices.

X are the distinct records by the items that are frequent themselves; `weights` are the multiplicities. G has a row for
every frequent itemset so far, 1 where a record contains it. Weighted G times X counts, for each itemset and each item,
the records that contain both. The rows of frequent extensions are the products of the rows of G and of the transpose of
X, entry by entry. Only items after the last one of an itemset extend it, so that each is found once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.counting.itemsets import cost_runs
from decloak.lazy import sparse

PIECE = 1 << 21
"""Number of matrix entries in one step. A single itemset may have more."""

if TYPE_CHECKING:
    Matrix = sparse.csr_array


class _Block(NamedTuple):
    """Frequent itemsets of one size as ascending columns of X, and their rows of G."""

    itemsets: Ints
    holding: Matrix


def frequent(records: Matrix, low: int) -> Iterator[Ints]:
    """Yield all itemsets in at least `low` of the `records`, in blocks of one size, a row of columns each.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    >>> [block.tolist() for block in frequent(records, 2)]
    [[[0], [1], [2]], [[0, 1]]]
    """
    counts = np.bincount(records.indices, minlength=records.shape[1])
    items = np.flatnonzero(counts >= low)
    if not len(items):
        return
    matrix, weights = _distinct_records(sparse.csr_array(records[:, items]))
    columns = sparse.csr_array(matrix.T)
    # The last first: depth before breadth keeps few rows of G at a time.
    waiting = [_Block(np.arange(len(items))[:, None], columns)]
    yield items[:, None]
    while waiting:
        for grown in _parts(waiting.pop(), np.diff(matrix.indptr)):
            among = (weights[grown.holding.indices], grown.holding.indices, grown.holding.indptr)
            counted = sparse.csr_array(among, grown.holding.shape) @ matrix
            row = np.repeat(np.arange(counted.shape[0]), np.diff(counted.indptr))
            # Only later items extend an itemset, so that each is found once.
            keep = (counted.data >= low) & (counted.indices > grown.itemsets[row, -1])
            row, column = row[keep], counted.indices[keep]
            if len(row):
                itemsets = np.column_stack((grown.itemsets[row], column))
                yield items[itemsets]
                waiting += _grow(itemsets, grown.holding, row, columns, column)


def _distinct_records(records: Matrix) -> tuple[Matrix, Ints]:
    """Return the distinct records and their multiplicities."""
    records.sort_indices()
    content, width = records.indices.tobytes(), records.indices.itemsize
    numbers: dict[bytes, int] = {}
    number = [
        # Equal rows have equal bytes, because their indices are sorted.
        numbers.setdefault(content[start * width : end * width], len(numbers))
        for start, end in pairwise(records.indptr.tolist())
    ]
    _, first, weights = np.unique(number, return_index=True, return_counts=True)
    once = records[first]
    return sparse.csr_array((np.ones(once.nnz, np.int8), once.indices, once.indptr), once.shape), weights


def _parts(block: _Block, lengths: Ints) -> Iterator[_Block]:
    """Yield runs of itemsets whose records have PIECE items together, or single itemsets with more."""
    for run in cost_runs(block.holding.astype(np.int64) @ lengths, PIECE):
        yield _Block(block.itemsets[run], block.holding[run])


def _grow(itemsets: Ints, holding: Matrix, row: Ints, columns: Matrix, column: Ints) -> Iterator[_Block]:
    """Yield extended itemsets with their rows of G, from the rows of the old itemset and of the new item."""
    for run in cost_runs(np.diff(holding.indptr)[row] + np.diff(columns.indptr)[column], PIECE):
        yield _Block(itemsets[run], sparse.csr_array(holding[row[run]].multiply(columns[column[run]])))


def row_numbers(rows: Ints) -> Ints:
    """Return a number for each of `rows`, equal for equal rows; much faster than numpy's unique rows.

    >>> row_numbers(np.array([[7, -1], [2, 5], [7, -1]])).tolist()
    [1, 0, 1]
    """
    number = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, value = np.unique(column, return_inverse=True)
        _, number = np.unique(number * len(values) + value, return_inverse=True)
    return number
