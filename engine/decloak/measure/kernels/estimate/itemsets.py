"""Estimates from an itemset table.

s(K) is the published support of K, N the number of records. A table has itemsets of up to m items with supports of at
least k. An unpublished pair or triple counts as one of fewer records, if the table has itemsets of that size:

    pair      min(k - 1, s(a) s(b) / N)
    triple    min(k - 1, N s(ab) s(ac) s(bc) / (s(a) s(b) s(c)))

A table without small cells also leaves out some of k or more records, and they are underestimated. The supports of
pairs are estimates where they are unpublished. Larger itemsets are estimated by naive Bayes: the last
item is taken for independent of the others but pair by pair. No record belongs to a person, so every weight is 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.itemset_table import ItemsetTable
from decloak.data.rows import runs

__all__ = ["TableEstimates"]


@dataclass(frozen=True, eq=False)
class TableEstimates:
    """A table as arrays.

    `single` has the supports of items, `caps` the largest support of an unpublished pair and triple. `pairs` and
    `triples` have sorted keys of published itemsets without one item, that item, and the support.
    """

    records: int
    single: Floats
    caps: tuple[float, float]
    pairs: tuple[Ints, Ints, Floats]
    triples: tuple[Ints, Ints, Floats]

    @classmethod
    def of(cls, table: ItemsetTable, number: Mapping[str, int]) -> "TableEstimates":
        """Return `table` as an estimator; `number` numbers all of its items."""
        single = np.zeros(len(number))
        by_size: dict[int, list[tuple[tuple[int, ...], int]]] = {2: [], 3: []}
        for items, support in zip(table.itemsets, table.supports, strict=True):
            codes = tuple(sorted(number[item] for item in items))
            if len(codes) == 1:
                single[codes[0]] = support
            else:
                by_size[len(codes)].append((codes, support))
        least = table.k if table.k is not None else min(table.supports, default=1)
        largest = table.m if table.m is not None else max((len(items) for items in table.itemsets), default=1)
        caps = tuple(least - 1.0 if largest >= size else np.inf for size in (2, 3))
        pairs, triples = (_split(by_size[size], size, len(number)) for size in (2, 3))
        return cls(table.records, single, (caps[0], caps[1]), pairs, triples)

    @property
    def items(self) -> int:
        """The number of items; item numbers are smaller."""
        return len(self.single)

    def supports(self, itemsets: Ints) -> Floats:
        """Estimate how many people have each of `itemsets`; return the numbers."""
        there = (itemsets >= 0).all(axis=0)
        found = np.zeros(itemsets.shape[1])
        if len(itemsets) == 1:
            found[there] = self.single[itemsets[0, there]]
        elif there.any():
            known = itemsets[:-1, there]
            found[there] = self._extended(known)[np.arange(known.shape[1]), itemsets[-1, there]]
        return found

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        """Return 0 for each of `itemsets`: none of the `records` is published."""
        return np.zeros(itemsets.shape[1])

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        """Estimate the supports of `itemsets`, and of each with one more item: itemsets × items."""
        return self.supports(itemsets), self._extended(itemsets)

    def _extended(self, itemsets: Ints) -> Floats:
        there = (itemsets >= 0).all(axis=0)
        extended = np.zeros((itemsets.shape[1], self.items))
        known = itemsets[:, there]
        pairs = [self._pairs(items) for items in known]
        if len(known) == 1:
            extended[there] = pairs[0]
        elif len(known) == 2:
            extended[there] = self._triples(known, pairs[0], pairs[1])
        else:
            extended[there] = self._larger(known, pairs)
        return extended

    def _pairs(self, items: Ints) -> Floats:
        """Return the estimates of pairs of each of `items` with every item."""
        estimates = np.minimum(self.caps[0], np.outer(self.single[items], self.single) / self.records)
        return _filled(estimates, items, self.pairs)

    def _triples(self, known: Ints, first: Floats, second: Floats) -> Floats:
        both = first[np.arange(known.shape[1]), known[1]]
        singles = np.outer(self.single[known[0]] * self.single[known[1]], self.single)
        estimates = np.minimum(self.caps[1], self.records * both[:, None] * first * second / singles)
        return _filled(estimates, np.min(known, axis=0) * self.items + np.max(known, axis=0), self.triples)

    def _larger(self, known: Ints, pairs: list[Floats]) -> Floats:
        """Return estimates by naive Bayes, at most those of any part of the itemset."""
        most = self.supports(known)
        estimates = np.outer(most, self.single) / self.records
        for items, estimated in zip(known, pairs, strict=True):
            estimates *= self.records * estimated / np.outer(self.single[items], self.single)
        for estimated in pairs:
            estimates = np.minimum(estimates, estimated)
        return np.minimum(estimates, most[:, None])


def _split(itemsets: list[tuple[tuple[int, ...], int]], size: int, items: int) -> tuple[Ints, Ints, Floats]:
    """Return each itemset once without each of its items: sorted keys of the rest, the item, the support."""
    codes = np.array([codes for codes, _ in itemsets], np.int64).reshape(-1, size)
    supports = np.array([support for _, support in itemsets], np.float64)
    powers = items ** np.arange(size - 1, dtype=np.int64)[::-1]
    keys = np.concatenate([np.delete(codes, place, axis=1) @ powers for place in range(size)])
    order = np.argsort(keys, kind="stable")
    return keys[order], codes.T.ravel()[order], np.tile(supports, size)[order]


def _filled(estimates: Floats, keys: Ints, published: tuple[Ints, Ints, Floats]) -> Floats:
    """Put the published supports into `estimates`, which have a row for each of `keys`."""
    sorted_keys, item, support = published
    entry, row = runs(np.searchsorted(sorted_keys, keys), np.searchsorted(sorted_keys, keys, side="right"))
    estimates[row, item[entry]] = support[entry]
    return estimates
