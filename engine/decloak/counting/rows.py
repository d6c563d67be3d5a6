"""Rows of whole numbers told apart."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_numbers"]

Ints = NDArray[np.int64]


def row_numbers(rows: Ints) -> Ints:
    """A number for each row, the same for equal rows; much faster than numpy's unique rows.

    >>> row_numbers(np.array([[7, -1], [2, 5], [7, -1]])).tolist()
    [1, 0, 1]
    """
    number = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, value = np.unique(column, return_inverse=True)
        _, number = np.unique(number * len(values) + value, return_inverse=True)
    return number
