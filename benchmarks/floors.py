"""The least work that a task needs: short programs with scipy and numba, which decloak is compared with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["count_rare_triples", "ngd_of_all_pairs"]


def ngd_of_all_pairs(records: "sparse.csr_array[Any]") -> np.ndarray:
    """Return the normalised Google distance of all pairs of items that some record has."""
    counts = sparse.triu(records.T.tocsr().astype(np.int32) @ records.astype(np.int32), 1).tocoo()
    logs = np.log(np.asarray(records.sum(axis=0)).ravel())
    low, high = (side(logs[counts.row], logs[counts.col]) for side in (np.minimum, np.maximum))
    return (high - np.log(counts.data)) / (np.log(records.shape[0]) - low)


def count_rare_triples(records: "sparse.csr_array[Any]", k: int) -> Callable[[], int] | None:
    """Return a function that counts the triples of items in 1 to k - 1 records, compiled; None without numba."""
    try:
        from numba import njit
    except ImportError:
        return None
    order = np.argsort(np.bincount(records.indices, minlength=records.shape[1]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    renamed = sparse.csr_array((records.data, place[records.indices].astype(np.int32), records.indptr), records.shape)
    renamed.sort_indices()
    entries = np.arange(renamed.nnz, dtype=np.int32)
    columns = sparse.csr_array((entries, renamed.indices, renamed.indptr), renamed.shape).tocsc()
    count = njit(_count)
    arrays = renamed.indptr, renamed.indices, columns.indptr, columns.indices, columns.data
    count(*(array[:2] * 0 for array in arrays), 0, k)  # compiles
    return lambda: int(count(*arrays, records.shape[1], k))


def _count(start, item, first, record, entry, items, k):  # type: ignore[no-untyped-def]
    found, support, seen = 0, np.zeros(items, np.int32), np.empty(items, np.int32)
    begin, second = np.zeros(items + 1, np.int64), np.empty(items, np.int32)
    held, place = np.empty(len(item), np.int32), np.empty(len(item), np.int32)
    for x in range(items):
        many = 0
        for at in range(first[x], first[x + 1]):
            for e in range(entry[at] + 1, start[record[at] + 1]):
                if begin[item[e]] == 0:
                    second[many] = item[e]
                    many += 1
                begin[item[e]] += 1
        total = 0
        for number in range(many):
            y = second[number]
            begin[y], total = total, total + begin[y]
        for at in range(first[x], first[x + 1]):
            for e in range(entry[at] + 1, start[record[at] + 1]):
                held[begin[item[e]]], place[begin[item[e]]] = record[at], e
                begin[item[e]] += 1
        low = 0
        for number in range(many):
            y, touched = second[number], 0
            for at in range(low, begin[y]):
                for e in range(place[at] + 1, start[held[at] + 1]):
                    if support[item[e]] == 0:
                        seen[touched] = item[e]
                        touched += 1
                    support[item[e]] += 1
            for number_seen in range(touched):
                found += support[seen[number_seen]] < k
                support[seen[number_seen]] = 0
            low, begin[y] = begin[y], 0
    return found
