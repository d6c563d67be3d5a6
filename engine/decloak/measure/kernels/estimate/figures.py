"""Shares of people that estimates expose: records found, further items guessed, membership."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import distinct
from decloak.lazy import sparse
from decloak.measure.kernels.estimate.estimator import (
    Estimator,
    Matrix,
    batches,
    best_guesses,
    distinct_itemsets,
    estimates_of,
)
from decloak.measure.kernels.targets import MOST_ITEMS

__all__ = ["FOUND", "Shares", "guess_items", "membership_scores", "reidentified"]

FOUND = 1 / 11
"""The probability above which a record counts as found: 0.09 in EMA's Policy 0070 and at Health Canada, 1 of 11."""


def reidentified(estimator: Estimator, itemsets: Ints, records: Ints) -> Mask:
    """Return for which people w(own record, K) / estimate(K) is above 1/11.

    `estimator` answers for the release, `itemsets` are the known items and `records` the own records of the people.
    """
    weights = (estimator.weights(itemsets[:, batch], records[batch]) for batch in batches(itemsets.shape[1]))
    # A probability of exactly 1/11 is not above it, however the floats were rounded.
    found: Mask = np.concatenate([np.zeros(0), *weights]) > estimates_of(estimator, itemsets) * FOUND * (1 + 1e-9)
    return found


def guess_items(estimator: Estimator, itemsets: Ints, held: Matrix) -> tuple[Floats, Floats]:
    """Return the probability of the guess at a further item of each person, and how often it is right.

    `estimator` answers for the release, `itemsets` are the known items, and `held` is people × items: what each person
    has.
    """
    known, place = distinct_itemsets(itemsets)
    p, guesses, right = np.zeros(known.shape[1]), np.ones(known.shape[1]), np.zeros(held.shape[0])
    person = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    of_person = np.argsort(place[person], kind="stable")
    bounds = np.searchsorted(place[person], np.arange(known.shape[1] + 1), sorter=of_person)
    for batch in batches(known.shape[1]):
        p[batch], tied = best_guesses(estimator, known[:, batch])
        guesses[batch] = np.maximum(tied.sum(axis=1), 1)
        entry = of_person[bounds[batch.start] : bounds[batch.stop]]
        hits = tied[place[person[entry]] - batch.start, held.indices[entry]]
        right += np.bincount(person[entry[hits]], minlength=len(right))
    return p[place], right / guesses[place]


class Shares(NamedTuple):
    """A set of records as an estimator, the number that it has for each item, and the number of its records."""

    estimator: Estimator
    number: Ints
    records: float

    def of(self, itemsets: Ints) -> Floats:
        """Return the share of the records that have each of `itemsets`, with half a record added to both outcomes."""
        return (estimates_of(self.estimator, self.number[itemsets]) + 0.5) / (self.records + 1)


def membership_scores(published: Shares, reference: Shares, held: Matrix) -> Floats:
    """Return the logarithm of a likelihood ratio for each person: in the data to only in the population.

    The ratio of `published` shares to shares in the `reference` is multiplied over the items and pairs of a person.
    `held` is people × items. A person with very many items is represented by the rarest.
    """
    held, count = _fewest(held, published), held.shape[1]
    person = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    bounds = zip(held.indptr[:-1].tolist(), held.indptr[1:].tolist(), strict=True)
    pairs = [pair for begin, end in bounds for pair in combinations(held.indices[begin:end].tolist(), 2)]
    lengths = np.diff(held.indptr).astype(np.int64)
    of_pair = np.repeat(np.arange(len(lengths)), lengths * (lengths - 1) // 2)
    low, high = np.sort(np.array(pairs, np.int64).reshape(-1, 2)).T
    scores = np.zeros(held.shape[0])
    for owner, keys in ((person, held.indices.astype(np.int64)), (of_pair, (low + 1) * count + high)):
        which = distinct(keys)
        itemsets = which[None] if owner is person else np.stack((which // count - 1, which % count))
        ratio = np.log(published.of(itemsets) / reference.of(itemsets))
        scores += np.bincount(owner, ratio[np.searchsorted(which, keys)], len(scores))
    return np.round(scores, 9)  # equal scores stay equal whatever the order of the sums


def _fewest(held: Matrix, published: Shares) -> Matrix:
    """Keep of each person the items with the smallest published shares, at most MOST_ITEMS."""
    person = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    shares = published.of(np.arange(held.shape[1])[None])
    order = np.lexsort((held.indices, shares[held.indices], person))
    kept = order[np.arange(len(order)) - held.indptr[person] < MOST_ITEMS]
    return sparse.csr_array((np.ones(len(kept)), (person[kept], held.indices[kept])), held.shape)
