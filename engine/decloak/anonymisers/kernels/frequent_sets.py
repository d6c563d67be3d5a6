"""Itemsets whose proper subsets are all in k records, by size, with the supports that may be published.

An itemset of one item more is a frequent itemset and a later item. Its support is an entry of a product: the records
that have the frequent itemset, times the matrix of the records.

Published supports single out no group of fewer than k records. A cell of an itemset has the records with some of its
items and without the others. Inclusion and exclusion of the supports of all subsets give its size. An itemset is
published if all its proper subsets are, its support is at least k, and each of its cells has 0 records or at least k.
So no difference of published supports is from 1 to k - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.checks import check_km, longest
from decloak.lazy import sparse

PIECE = 1 << 21
"""Number of occurrences, and of entries of a product, in one step."""


class Grown(NamedTuple):
    """Itemsets of one size that some record has, as ascending rows of columns in lexicographic order."""

    itemsets: Ints
    supports: Ints


def grown_sets(
    records: sparse.csr_array, k: int, m: int, chosen: Callable[[Grown], Mask] | None = None
) -> Iterator[tuple[Grown, Mask]]:
    """Yield for each size up to `m` the itemsets whose proper subsets are all in at least `k` of the `records`.

    With each size comes a mask of those that grow further: by `chosen`, which may select from those in at least `k`
    records, or all of these.

    >>> [grown.itemsets.tolist() for grown, _ in grown_sets(sparse.csr_array([[1, 1, 0], [1, 1, 1]]), 2, 2)]
    [[[0], [1], [2]], [[0, 1]]]
    """
    select = chosen or (lambda grown: grown.supports >= k)
    matrix = sparse.csr_array((np.ones(records.nnz, np.int32), records.indices, records.indptr), records.shape)
    columns = sparse.csr_array(matrix.T)
    support = np.diff(columns.indptr)
    used = np.flatnonzero(support)
    grown = Grown(used[:, None], support[used].astype(np.int64))
    kept = select(grown)
    yield grown, kept
    frequent = support >= k
    # A rare item is in no larger set, so that its occurrences only take time.
    matrix = select_entries(matrix, frequent[matrix.indices])
    for size in range(2, m + 1):
        base = grown.itemsets[kept]
        keys = set_keys(base, records.shape[1])
        parts = [_extended(matrix, columns, part, keys) for part in _pieces(base, support, records.shape[1])]
        itemsets = np.concatenate([np.zeros((0, size), np.int64), *(part.itemsets for part in parts)])
        grown = Grown(itemsets, np.concatenate([np.zeros(0, np.int64), *(part.supports for part in parts)]))
        kept = select(grown)
        yield grown, kept


def set_keys(itemsets: Ints, items: int) -> Ints:
    """Return a number for each of `itemsets` of `items` items, in lexicographic order.

    >>> set_keys(np.array([[0, 1], [0, 2]]), 3).tolist()
    [1, 2]
    """
    keys: Ints = itemsets @ (items ** np.arange(itemsets.shape[1], dtype=np.int64)[::-1])
    return keys


def select_entries(matrix: sparse.csr_array, kept: Mask) -> sparse.csr_array:
    """Return `matrix` with the entries of the mask `kept` alone."""
    start = np.append(0, np.cumsum(kept))[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], start), matrix.shape)


def _pieces(base: Ints, support: Ints, items: int) -> Iterator[Ints]:
    """Yield runs of itemsets with a bounded number of records and of products."""
    if not len(base):
        return
    cost = np.cumsum(np.maximum(support[base[:, 0]], items))
    yield from np.split(base, np.flatnonzero(np.diff(cost // PIECE)) + 1)


def _extended(matrix: sparse.csr_array, columns: sparse.csr_array, base: Ints, keys: Ints) -> Grown:
    """Count the itemsets of one item more than those of `base`; `keys` are the numbers of all frequent itemsets."""
    items = matrix.shape[1]
    holding = columns[base[:, 0]]
    for column in base.T[1:]:
        holding = sparse.csr_array(holding.multiply(columns[column]))
    counted = sparse.csr_array(holding @ matrix)
    counted.sort_indices()
    lengths = np.diff(counted.indptr)
    row, last = np.repeat(np.arange(len(base)), lengths), np.repeat(base[:, -1], lengths)
    later = np.flatnonzero(counted.indices > last)
    itemsets = np.column_stack((base[row[later]], counted.indices[later]))
    there = np.ones(len(itemsets), np.bool_)
    for place in range(base.shape[1]):
        key = set_keys(np.delete(itemsets, place, axis=1), items)
        # A number beyond the last is compared with the last, which it does not equal.
        there &= keys[np.minimum(np.searchsorted(keys, key), len(keys) - 1)] == key
    return Grown(itemsets[there], counted.data[later][there].astype(np.int64))


def publishable_sets(records: sparse.csr_array, k: int, m: int, *, zeros: bool) -> list[Grown]:
    """Return for each size up to `m` the itemsets of `records` to publish, with their supports, for `k`.

    With `zeros`, a cell may be empty. Without, every cell has at least `k` records.

    >>> records = sparse.csr_array([[1, 1], [1, 0], [1, 1]])
    >>> [one.itemsets.tolist() for one in publishable_sets(records, 2, 2, zeros=True)]
    [[[0]], []]
    """
    check_km(k, m)
    table = _Table(records.shape[0], records.shape[1], k, zeros)
    sizes = grown_sets(records, k, longest(records, m), table.chosen)
    return [Grown(grown.itemsets[kept], grown.supports[kept]) for grown, kept in sizes]


class _Table:
    """The supports of published itemsets by size, as numbers in ascending order."""

    def __init__(self, records: int, items: int, k: int, zeros: bool) -> None:
        self._items, self._k, self._zeros = items, k, zeros
        # The empty itemset comes first: all records have it.
        self._keys: list[Ints] = [np.zeros(1, np.int64)]
        self._supports: list[Ints] = [np.array([records])]

    def chosen(self, grown: Grown) -> Mask:
        """Return a mask of the itemsets to publish in `grown`, those of the next size with published subsets alone."""
        size = grown.itemsets.shape[1]
        supports = {tuple(range(size)): grown.supports}
        for places in chain.from_iterable(combinations(range(size), less) for less in range(size)):
            keys = set_keys(grown.itemsets[:, list(places)], self._items)
            at = np.searchsorted(self._keys[len(places)], keys)
            # Without itemsets there is nothing to look up, and no size to look in.
            supports[places] = self._supports[len(places)][at] if len(keys) else grown.supports
        fine = grown.supports >= self._k
        for there in supports:
            cell = np.zeros(len(grown.supports), np.int64)
            for places, support in supports.items():
                if set(there) <= set(places):
                    cell += (-1) ** (len(places) - len(there)) * support
            fine &= (cell >= self._k) | (self._zeros & (cell == 0))
        self._keys.append(set_keys(grown.itemsets[fine], self._items))
        self._supports.append(grown.supports[fine])
        return fine
