"""Utility of a disassociated release: frequent itemsets, pairs, and remaining items.

"Chunks" in a name means that the records are compared with the sub-records of record and shared chunks, each as a row
of its own. s and s' are the supports of an itemset in the records and in these rows.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

import numpy as np
from scipy import sparse

from decloak.counting.itemsets import coded_items, itemset_supports, sizes
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError

__all__ = ["Records", "re_chunks", "tkd", "tkd_chunks", "tlost"]

Records = Sequence[Collection[str]]
Itemset = tuple[str, ...]
Ranked = tuple[int, int, Itemset]

LARGEST = 3
"""Items of the itemsets that tKd ranks, at most."""


def chunk_rows(release: Disassociated) -> list[tuple[str, ...]]:
    """Return every sub-record of a record or shared chunk of `release`."""
    record_chunks = chain.from_iterable(cluster.record_chunks for cluster in release.clusters)
    shared_chunks = chain.from_iterable(joint.shared_chunks for joint in release.joints)
    return [subrecord for chunk in chain(record_chunks, shared_chunks) for subrecord in chunk.subrecords]


def tkd_chunks(release: Disassociated, records: Records, top: int) -> float | None:
    """Return tKd of `release`: the share of the `top` itemsets of `records` that its sub-records lose."""
    return tkd(chunk_rows(release), records, top)


def tkd(rows: Records, records: Records, top: int) -> float | None:
    """Return the share of the `top` most frequent itemsets of `records` that the published `rows` lose.

    Itemsets of 1 to 3 items are ranked by support, then the smaller, then by name; there may be fewer than `top`.
    Return None without records.
    """
    if top < 1:
        raise DecloakError(f"the top {top} itemsets", hint="ask for at least 1")
    kept = _most_frequent(records, top)
    published = _most_frequent(rows, top)
    return 1 - len(kept & published) / len(kept) if kept else None


def _most_frequent(rows: Records, top: int) -> set[Itemset]:
    matrix, items = coded_items(rows)
    best: list[Ranked] = []
    for size in sizes(matrix, LARGEST):
        # What has less support than the last of the best cannot get in, of any size: it need not be counted.
        # Larger itemsets have lower supports: the last of the best is a bound for all that follow.
        low = -best[-1][0] if len(best) == top else 1
        best = sorted(chain(best, _ranked(matrix, items, size, low)))[:top]
    return {itemset for _, _, itemset in best}


def _ranked(matrix: sparse.csr_array, items: Sequence[str], size: int, low: int) -> Iterator[Ranked]:
    for block in itemset_supports(matrix, size, low=low):
        for codes, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True):
            yield -support, size, tuple(items[code] for code in codes)


def re_chunks(release: Disassociated, records: Records) -> float | None:
    """Return the mean of |s - s'| / ((s + s') / 2) over pairs of items in `release` or `records`, or None."""
    rows = chunk_rows(release)
    matrix, _ = coded_items([*records, *rows])
    kept, published = (_pairs(part) for part in (matrix[: len(records)], matrix[len(records) :]))
    total, apart = kept + published, abs(kept - published)
    if not total.nnz:
        return None
    return float((apart.multiply(total.power(-1.0)) * 2).sum() / total.nnz)


def _pairs(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(sparse.triu(matrix.T @ matrix, k=1), dtype=np.float64)


def tlost(release: Disassociated, records: Records, k: int) -> float | None:
    """Return the share of the items with a support of `k` or more in `records` that no chunk of `release` shows.

    Return None without such items.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> release = Disassociated((Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",)),))
    >>> tlost(release, [["a", "b"], ["a", "b"]], k=2)
    0.5
    """
    matrix, items = coded_items(records)
    frequent = {items[code] for code in np.flatnonzero(matrix.sum(axis=0) >= k).tolist()}
    lost = frequent.difference(*chunk_rows(release))
    return len(lost) / len(frequent) if frequent else None
