"""In how many documents two terms occur together, for many pairs at once.

A: terms × documents, 1 where the document holds the term. f(x,y) of all pairs is A Aᵀ. Where few terms are in a
document the product is sparse; where many are, slabs of documents are multiplied densely, which is then faster.
"""

from typing import Any

import numpy as np

from decloak.arrays import Ints
from decloak.lazy import sparse

__all__ = ["joint_counts"]


DENSE = 0.1
"""The share of ones from which the dense product is the faster one, measured for 300 and for 2,000 terms."""

SLAB = 4096
CELLS = 8_000_000
"""Cells of a product that are held at once."""


def joint_counts(holds: "sparse.csr_array[np.int32]", first: Ints, second: Ints) -> Ints:
    """f(x,y) of the pairs (first[i], second[i]) of rows of `holds`.

    >>> holds = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.int32))
    >>> joint_counts(holds, np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 2]
    """
    counts = np.zeros(len(first), dtype=np.int64)
    if not holds.nnz:
        return counts
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    dense = holds.nnz > DENSE * holds.shape[0] * holds.shape[1]
    # Only terms that some pair asks for are multiplied, the first ones step by step: the product of all would not fit.
    right = holds[columns].T.tocsr()
    step = max(1, CELLS // len(columns))
    order = np.argsort(row, kind="stable")
    for low in range(0, len(rows), step):
        begin, end = np.searchsorted(row[order], (low, low + step))
        here = order[begin:end]
        block = holds[rows[low : low + step]]
        product = _dense(block, right) if dense else (block @ right).toarray()
        counts[here] = product[row[here] - low, column[here]]
    return counts


def _dense(rows: Any, columns: Any) -> Ints:
    """Slabs are multiplied in single precision, which is exact up to 2²⁴ and so for a slab."""
    product = np.zeros((rows.shape[0], columns.shape[1]), dtype=np.int64)
    turned = rows.T.tocsr()
    for low in range(0, columns.shape[0], SLAB):
        a, b = (factor[low : low + SLAB].astype(np.float32).toarray() for factor in (turned, columns))
        product += (a.T @ b).astype(np.int64)
    return product
