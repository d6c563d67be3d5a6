"""The questions that every published form answers about itemsets.

K: an itemset of one to four items. An itemset is a column of item numbers, each number once; -1 is an item that the
release does not show anywhere. w(record, K): the share of the estimate of K that is due to one record.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from decloak.arrays import Floats, Ints, Mask

__all__ = ["BATCH", "Estimator", "Matrix", "batches", "best_guesses"]

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

    def extended(self, itemsets: Ints) -> Floats:
        """Estimate the supports of each of `itemsets` with one more item; return itemsets × items.

        The values of the known items themselves have no meaning.
        """


def batches(count: int, size: int = BATCH) -> Iterator[slice]:
    """Yield slices that cut `count` itemsets into batches of `size`."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def best_guesses(estimator: Estimator, itemsets: Ints, held: Mask | None = None) -> tuple[Floats, Floats]:
    """Return the probability of the best guess at one more item, and how often that guess is right.

    The guess is the item with the largest estimate of `estimator` in addition to the known `itemsets`. Items with equal
    estimates share the guess. `held` says which items each person has: people × items. An itemset that is absent from
    the release gives no guess.
    """
    supports = estimator.supports(itemsets)
    extended = estimator.extended(itemsets)
    known = np.where(itemsets >= 0, itemsets, estimator.items)
    extended = np.column_stack((extended, np.zeros(len(extended))))
    extended[np.arange(len(extended)), known] = 0
    extended = extended[:, :-1]
    best = extended.max(axis=1, initial=0.0)
    guessed = best > EQUAL * np.maximum(supports, 1e-300)
    p = np.where(guessed, best / np.where(guessed, supports, 1.0), 0.0)
    if held is None:
        return p, np.zeros(0)
    tied = (extended >= best[:, None] * (1 - EQUAL)) & guessed[:, None]
    right = (tied & held).sum(axis=1) / np.maximum(tied.sum(axis=1), 1)
    return np.minimum(p, 1.0), right
