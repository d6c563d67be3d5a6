"""The questions that every published form answers about itemsets.

K: an itemset of one to four items. An itemset is a column of item numbers, each number once; -1 is an item that the
release does not show anywhere. w(record, K): the share of the estimate of K that is due to one record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from decloak.arrays import Floats, Ints, Mask

__all__ = [
    "BATCH",
    "Estimator",
    "ExclusiveEstimates",
    "Matrix",
    "batches",
    "best_guesses",
    "distinct_itemsets",
    "estimates_of",
]

Matrix = Any
"""A scipy.sparse.csr_array; its own types cannot be followed through products and slices."""

BATCH = 256
"""Itemsets that are answered at the same time."""
EQUAL = 1e-9
"""The relative difference below which two probabilities are equal."""


class Estimator(Protocol):
    """A release that answers many itemsets in one call. A further form needs these three methods."""

    @property
    def items(self) -> int:
        """The number of items; item numbers are smaller."""

    def supports(self, itemsets: Ints) -> Floats:
        """Estimate how many people have each of `itemsets`; return the numbers."""

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        """Return w(record, K) for one of `records` for each of `itemsets`; 0 for the record -1."""

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        """Estimate the supports of `itemsets`, and of each with one more item: itemsets × items.

        The values of the known items themselves have no meaning.
        """


def batches(count: int, size: int = BATCH) -> Iterator[slice]:
    """Yield slices that cut `count` itemsets into batches of `size`."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def distinct_itemsets(itemsets: Ints) -> tuple[Ints, Ints]:
    """Return each of `itemsets` once, ascending, and the place of each one: many people share a few items."""
    order = np.lexsort(itemsets[::-1])
    ordered, place = itemsets[:, order], np.zeros(len(order), np.int64)
    new = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))[: len(order)]
    place[order] = np.cumsum(new) - 1
    return ordered[:, new], place


def estimates_of(estimator: Estimator, itemsets: Ints) -> Floats:
    """Estimate how many people have each of `itemsets`, so many at a time and each of them once."""
    known, place = distinct_itemsets(itemsets)
    parts = (estimator.supports(known[:, batch]) for batch in batches(known.shape[1]))
    return np.concatenate([np.zeros(0), *parts])[place]


def best_guesses(estimator: Estimator, itemsets: Ints) -> tuple[Floats, Mask]:
    """Return the probability of the best guess at one more item, and the items that share the guess.

    The guess is the item with the largest estimate of `estimator` in addition to the known `itemsets`. Items with equal
    estimates share it: itemsets × items. An itemset that is absent from the release gives no guess.
    """
    supports, extended = estimator.extended(itemsets)
    known, at = np.nonzero(itemsets >= 0)
    extended[at, itemsets[known, at]] = 0
    best = extended.max(axis=1, initial=0.0)
    guessed = best > EQUAL * np.maximum(supports, 1e-300)
    p = np.where(guessed, best / np.where(guessed, supports, 1.0), 0.0)
    return np.minimum(p, 1.0), (extended >= best[:, None] * (1 - EQUAL)) & guessed[:, None]


@dataclass(frozen=True)
class ExclusiveEstimates:
    """An estimator that knows groups of exclusive items: `group` has the number of the group of each item, or -1."""

    estimator: Estimator
    group: Ints

    @property
    def items(self) -> int:
        return self.estimator.items

    def supports(self, itemsets: Ints) -> Floats:
        found: Floats = np.where(self._exclusive_itemsets(itemsets), 0.0, self.estimator.supports(itemsets))
        return found

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        found: Floats = np.where(self._exclusive_itemsets(itemsets), 0.0, self.estimator.weights(itemsets, records))
        return found

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        supports, found = self.estimator.extended(itemsets)
        groups = self._groups(itemsets)
        for known in groups:
            found = np.where((known[:, None] >= 0) & (known[:, None] == self.group[None, :]), 0.0, found)
        impossible = self._exclusive_itemsets(itemsets)
        return np.where(impossible, 0.0, supports), np.where(impossible[:, None], 0.0, found)

    def _groups(self, itemsets: Ints) -> Ints:
        groups: Ints = np.where(itemsets >= 0, np.append(self.group, -1)[itemsets], -1)
        return groups

    def _exclusive_itemsets(self, itemsets: Ints) -> Mask:
        groups = np.sort(self._groups(itemsets), axis=0)
        twice: Mask = ((groups[1:] == groups[:-1]) & (groups[1:] >= 0)).any(axis=0)
        return twice
