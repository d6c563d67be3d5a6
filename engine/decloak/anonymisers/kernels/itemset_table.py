"""Supports of itemsets whose cells single out no group of fewer than k records.

A cell of an itemset has the records with some of its items and without the others. Inclusion and exclusion of the
supports of all subsets give its size. An itemset is published if all its proper subsets are, its support is at least k,
and each of its cells has 0 records or at least k. So no difference of published supports is from 1 to k - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np

from decloak.anonymisers.kernels.frequent_sets import Grown, grown_sets, set_keys
from decloak.arrays import Ints, Mask
from decloak.checks import check_km, longest
from decloak.lazy import sparse

__all__ = ["publishable_sets"]


def publishable_sets(records: sparse.csr_array, k: int, m: int, *, zeros: bool) -> list[Grown]:
    """Return for each size up to `m` the itemsets of `records` to publish, with their supports, for `k`.

    With `zeros`, a cell may be empty. Without, every cell has at least `k` records.

    >>> records = sparse.csr_array([[1, 1], [1, 0], [1, 1]])
    >>> [one.itemsets.tolist() for one in publishable_sets(records, 2, 2, zeros=True)]
    [[[0]], []]
    """
    check_km(k, m)
    table = _Table(records.shape[0], records.shape[1], k, zeros)
    return list(table.published(grown_sets(records, k, longest(records, m), table.chosen)))


class _Table:
    """The supports of published itemsets by size, as numbers in ascending order."""

    def __init__(self, records: int, items: int, k: int, zeros: bool) -> None:
        self._items, self._k, self._zeros = items, k, zeros
        self._chosen: dict[int, Mask] = {}
        self._keys: list[Ints] = [np.zeros(1, np.int64)]
        self._supports: list[Ints] = [np.array([records])]

    def published(self, sizes: Iterator[Grown]) -> Iterator[Grown]:
        """Yield the published itemsets among those of each size."""
        for grown in sizes:
            chosen = self.chosen(grown)
            yield Grown(grown.itemsets[chosen], grown.supports[chosen])

    def chosen(self, grown: Grown) -> Mask:
        """Return a mask of the itemsets to publish among those of one size, whose proper subsets are published."""
        size = grown.itemsets.shape[1]
        if size not in self._chosen:
            self._chosen[size] = self._choose(grown, size)
        return self._chosen[size]

    def _choose(self, grown: Grown, size: int) -> Mask:
        supports = {tuple(range(size)): grown.supports}
        for places in chain.from_iterable(combinations(range(size), less) for less in range(size)):
            keys = set_keys(grown.itemsets[:, list(places)], self._items)
            at = np.searchsorted(self._keys[len(places)], keys)
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
