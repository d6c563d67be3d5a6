"""Synthetic baskets with the shape of well-known data sets: similar lengths, similarly skewed supports.

Lengths are log-normal: with a spread of 0.8 they have the quartiles and the longest percentiles of BMS-POS. The item of
rank r is drawn with a weight of 1 / (r + 1), ranks in random order of the items. Items are independent of one another,
unless records have habits: then the items are in classes that follow one another, each record has a class of its own,
and draws from it with the given probability. Classes have the same long tail as the items of a class. So related items
have neighbouring names, and a hierarchy by names keeps them together.
"""

from __future__ import annotations

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, RowLabels
from decloak.lazy import sparse

SPREAD = 0.8
ROUNDS = 12
"""Number of times that duplicates in a record are redrawn, before the rest is completed together."""
BLOCK = 1 << 22
CLASSES = 20
"""Number of classes of items unless it is given."""


def baskets(
    transactions: int, items: int, length: float, seed: int, *, habit: float = 0.0, classes: int = CLASSES
) -> Dataset:
    """Return `transactions` random baskets of `items` numbered items, `length` on average, drawn with `seed`.

    `habit` is the probability that a record draws from its own class, one of `classes`.

    >>> baskets(2, 3, 2, seed=1).transactions
    (('2', '3'), ('1', '2', '3'))
    """
    records = shaped(transactions, items, length, habit=habit, classes=classes, seed=seed)
    rows = CodedRows(records.indptr, records.indices, [str(number) for number in range(1, items + 1)])
    return Dataset(rows, RowLabels(transactions), "baskets")


def shaped(
    records: int,
    items: int,
    length: float,
    longest: int | None = None,
    *,
    habit: float = 0.0,
    classes: int = CLASSES,
    seed: int = 1,
) -> sparse.csr_array:
    """Return a matrix of `records` × `items`, with this mean `length` and none longer than `longest`, or 25 times the
    mean. `habit` and `classes` are as in `baskets`; `seed` decides the draw.
    """
    rng = np.random.default_rng(seed)
    lengths = _lengths(records, length, min(longest or max(1, int(25 * length)), items), rng)
    weights, item = 1 / np.arange(1, items + 1), np.arange(items)
    if habit:
        bounds = np.linspace(0, items, classes + 1).astype(np.int64)
        popularity = rng.permutation(1 / np.arange(1, classes + 1))
        weights = np.concatenate([_class_weights(rng, *of) for of in zip(np.diff(bounds), popularity, strict=True)])
        own = rng.choice(classes, records, p=popularity / popularity.sum())
        ends = np.concatenate(([0.0], np.cumsum(weights)))[bounds]
    else:
        item = rng.permutation(items)
    entries: Ints = np.empty(0, np.int64)
    summed = np.cumsum(weights)
    for _ in range(ROUNDS):
        missing = lengths - np.bincount(entries // items, minlength=records)
        record = np.repeat(np.arange(records), missing)
        low, high = np.zeros(1), summed[-1:]
        if habit:
            by_habit = rng.random(len(record)) < habit
            low = np.where(by_habit, ends[own[record]], 0.0)
            high = np.where(by_habit, ends[own[record] + 1], summed[-1])
        rank = np.searchsorted(summed, low + rng.random(len(record)) * (high - low))
        entries = _united(entries, record * items + item[np.minimum(rank, items - 1)])
    # Weights are by rank, and `item` has the item of each rank: this sorts them by item.
    entries = _united(entries, _completed(entries, lengths, weights[np.argsort(item)], rng))
    start = np.concatenate(([0], np.cumsum(lengths)))
    return sparse.csr_array(
        (np.ones(len(entries), np.int8), (entries % items).astype(np.int32), start), (records, items)
    )


def _class_weights(rng: np.random.Generator, size: int, popularity: float) -> Floats:
    """Return the weights of the items of a class, in random order; their sum is its `popularity`."""
    weights = rng.permutation(1 / np.arange(1, size + 1))
    return np.asarray(weights / weights.sum() * popularity)


def _united(entries: Ints, more: Ints) -> Ints:
    """Return the sorted union. numpy's union uses a hash table, which takes ten times as long here."""
    both = np.sort(np.concatenate((entries, np.sort(more))), kind="stable")
    return both[np.diff(both, prepend=-1) > 0]


def _completed(entries: Ints, lengths: Ints, weights: Floats, rng: np.random.Generator) -> Ints:
    """Return the missing items of records that drew the same items repeatedly, distributed as if drawing went on.

    The largest of log(weight) + Gumbel noise are a weighted sample without replacement.
    """
    items, drawn = len(weights), [np.empty(0, np.int64)]
    count = np.bincount(entries // items, minlength=len(lengths))
    short = np.flatnonzero(count < lengths)
    start = np.searchsorted(entries, short * items)
    for block in np.array_split(np.arange(len(short)), max(1, len(short) * items // BLOCK)):
        key = np.log(weights) + rng.gumbel(size=(len(block), items))
        for row, index in enumerate(block.tolist()):
            record = int(short[index])
            key[row, entries[start[index] : start[index] + count[record]] % items] = -np.inf
            lacking = int(lengths[record] - count[record])
            drawn.append(record * items + np.argpartition(key[row], -lacking)[-lacking:])
    return np.concatenate(drawn)


def _lengths(records: int, mean: float, longest: int, rng: np.random.Generator) -> Ints:
    """Return integers from 1 to the longest. Rounding and truncation shift the mean of the log-normal slightly."""
    # A log-normal has the mean exp(mu + sigma² / 2), so this mu gives the wanted mean.
    drawn = rng.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, records)
    return np.clip(np.rint(drawn), 1, longest).astype(np.int64)
