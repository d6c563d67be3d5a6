"""Graph algorithms over published relations, whose results rules read as relations."""

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.lazy import sparse

__all__ = ["component_of_rows", "core_numbers", "least_matching"]


def component_of_rows(start: Ints, codes: Ints, labels: int) -> Ints:
    """Return the connected component of each row, numbered from 1 by its first row.

    `codes[start[row]:start[row + 1]]` are the numbers, below `labels`, of the labels of a row. Rows with a common label
    are connected.

    >>> component_of_rows(np.array([0, 1, 2, 3]), np.array([0, 1, 0]), 2).tolist()
    [1, 2, 1]
    """
    rows = len(start) - 1
    from scipy.sparse.csgraph import connected_components  # most rules read no component

    # Labels are nodes after the rows, and have no edges of their own.
    ends = np.pad(start, (0, labels), mode="edge")
    edges = sparse.csr_array((np.ones(len(codes), np.int8), codes + rows, ends), shape=(rows + labels, rows + labels))
    _, component = connected_components(edges, directed=False)
    _, first, place = np.unique(component[:rows], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place] + 1, np.int64)


def core_numbers(start: Ints, codes: Ints, labels: int) -> Ints:
    """Return the core number of each label in the graph of labels that share a row.

    A label is in the k-core if it shares rows with k other labels of the k-core. The core number is the largest k.
    `start`, `codes` and `labels` are as in `component_of_rows`.

    >>> core_numbers(np.array([0, 3, 5]), np.array([0, 1, 2, 2, 3]), 4).tolist()
    [2, 2, 2, 1]
    """
    held = sparse.csr_array((np.ones(len(codes), np.int32), codes, start), shape=(len(start) - 1, labels))
    pairs = (held.T @ held).tocoo()
    apart = pairs.row != pairs.col
    shared = sparse.csr_array(
        (np.ones(int(apart.sum()), np.int64), (pairs.row[apart], pairs.col[apart])), shape=(labels, labels)
    )
    degree = np.asarray(shared.sum(axis=1), np.int64).ravel()
    core, left, k = np.zeros(labels, np.int64), np.ones(labels, np.bool_), 0
    while left.any():
        k = max(k, int(degree[left].min()))
        gone = left & (degree <= k)
        core[gone], left = k, left & ~gone
        degree -= np.asarray(shared @ gone.astype(np.int64), np.int64)
    return core


def least_matching(d: Floats) -> list[tuple[int, int]]:
    """Return the rows and columns of a largest matching in the distance table `d`, one of least total distance.

    A cell without a score, which is NaN, matches nothing.

    >>> least_matching(np.array([[0.1, 0.2], [0.1, np.nan]]))
    [(0, 1), (1, 0)]
    """
    from scipy.optimize import linear_sum_assignment

    scored = np.isfinite(d)
    # More than any sum of distances, so that the matching is as large as it can be.
    missing = 1.0 + float(np.abs(d[scored]).max(initial=0.0)) * (2 * min(d.shape) + 1)
    rows, cols = linear_sum_assignment(np.where(scored, d, missing))
    return [(row, col) for row, col in zip(rows.tolist(), cols.tolist(), strict=True) if scored[row, col]]
