"""Shares of people that estimates expose: records found, further items guessed, membership.

The advantage of guesses compares people in the data with people who are not in it.

a, c: the shares of right guesses in the data and in the control. Advantage = (a - c) / (1 - c) = 1 - (1 - a) / (1 - c):
of the guesses that are wrong in the control, the share that is right in the data. Its interval comes from Wilson's
intervals of both shares by the method of Donner and Zou (2012) for a ratio.
"""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import distinct
from decloak.lazy import sparse
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.estimator import (
    EQUAL,
    Estimator,
    Matrix,
    batches,
    best_guesses,
    distinct_itemsets,
    estimates_of,
)
from decloak.measure.kernels.singling_out import MOST_ITEMS

__all__ = [
    "FOUND",
    "RightGuesses",
    "Shares",
    "Z",
    "auc",
    "guess_advantage",
    "guess_items",
    "membership_scores",
    "reidentified",
    "surest",
    "true_positives",
]

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


Z = 1.959963984540054
"""Quantile of 95% intervals."""


class RightGuesses(NamedTuple):
    """The expected number of right guesses, and the number of guesses."""

    right: float
    guesses: int

    @property
    def share(self) -> float:
        return self.right / self.guesses


class GuessAdvantage(NamedTuple):
    """An advantage, and its 95% interval."""

    value: float
    low: float
    high: float


def guess_advantage(data: RightGuesses, control: RightGuesses) -> GuessAdvantage | None:
    """Return the advantage of `data` over `control`; None without guesses, or if all are right in the control.

    >>> [round(x, 2) for x in guess_advantage(RightGuesses(60, 100), RightGuesses(20, 100))]
    [0.5, 0.36, 0.62]
    """
    if not data.guesses or not control.guesses or control.share >= 1 - EQUAL:
        return None
    above, below = _wrong_share(data), _wrong_share(control)
    ratio = above[0] / below[0]
    return GuessAdvantage(1 - ratio, 1 - _ratio_limit(above, below, 1), 1 - _ratio_limit(above, below, -1))


def _wrong_share(right: RightGuesses) -> tuple[float, float, float]:
    """Return the share of wrong guesses with Wilson's interval."""
    low, high = wilson(1 - right.share, Z * Z / right.guesses)
    return 1 - right.share, max(0.0, low), min(1.0, high)


def _ratio_limit(above: tuple[float, float, float], below: tuple[float, float, float], side: int) -> float:
    """Return the upper (side 1) or lower (side -1) limit of a ratio of two shares."""
    x, x_far = above[0], above[2] if side > 0 else above[1]
    y, y_far = below[0], below[1] if side > 0 else below[2]
    bottom = y_far * (2 * y - y_far)
    root = math.sqrt(max(0.0, (x * y) ** 2 - x_far * (2 * x - x_far) * bottom))
    if bottom <= 0:
        return math.inf if side > 0 else 0.0
    return (x * y + side * root) / bottom


def surest(p: Floats, right: Floats, share: float) -> RightGuesses:
    """Return the right guesses among the surest `share`, by probability `p`; guesses of equal probability share the
    last places.

    `right` is whether each guess is right.

    >>> surest(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), 0.5)
    RightGuesses(right=1.5, guesses=2)
    """
    most = math.ceil(share * len(p) - EQUAL)
    order = np.argsort(-p, kind="stable")
    p, right = p[order], right[order]
    group = np.cumsum(np.append(False, p[1:] < p[:-1] * (1 - EQUAL)))
    sizes, sums = np.bincount(group), np.bincount(group, right)
    # Guesses of equal probability share the last places, so that their order does not matter.
    taken = np.clip(most - (np.cumsum(sizes) - sizes), 0, sizes)
    return RightGuesses(float((sums * taken / sizes).sum()), most)


def auc(members: Floats, others: Floats) -> float:
    """Return how often one of `members` has a larger score than one of `others`; equal scores count half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    ascending = np.sort(others)
    below, not_above = (np.searchsorted(ascending, members, side=side) for side in ("left", "right"))
    return float((below + not_above).mean() / (2 * len(others)))


def true_positives(members: Floats, others: Floats, false_positives: float) -> float:
    """Return the share of `members` found at a share of `false_positives` among `others`; equal scores are accepted at
    random.

    >>> true_positives(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    values = np.unique(np.concatenate((members, others)))[::-1]
    found, wrong = (
        np.append(0.0, 1 - np.searchsorted(np.sort(scores), values) / len(scores)) for scores in (members, others)
    )
    return float(np.interp(false_positives, wrong, found))
