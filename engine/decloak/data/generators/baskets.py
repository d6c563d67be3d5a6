"""Synthetic baskets with the shape of well-known data sets: similar lengths, similarly skewed supports.

Lengths are log-normal: with a spread of 0.8 they have the quartiles and the longest percentiles of BMS-POS. The item of
rank r is drawn with a weight of 1 / (r + 1), ranks in random order of the items. Nothing else resembles real data:
items are independent of one another.
"""

from __future__ import annotations

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, RowLabels
from decloak.lazy import sparse

__all__ = ["baskets", "shaped"]

SPREAD = 0.8
ROUNDS = 12
"""Number of times that duplicates in a record are redrawn, before the rest is completed together."""
BLOCK = 1 << 22


def baskets(transactions: int, items: int, length: float, seed: int) -> Dataset:
    """Return `transactions` random baskets of `items` numbered items, `length` on average, drawn with `seed`.

    >>> baskets(2, 3, 2, seed=1).transactions
    (('2', '3'), ('1', '2', '3'))
    """
    records = shaped(transactions, items, length, seed=seed)
    rows = CodedRows(records.indptr, records.indices, [str(number) for number in range(1, items + 1)])
    return Dataset(rows, RowLabels(transactions), "baskets")


def shaped(records: int, items: int, length: float, longest: int | None = None, *, seed: int = 1) -> sparse.csr_array:
    """Return a matrix of `records` × `items`, with this mean `length` and none longer than `longest`, or 25 times the
    mean. `seed` decides the draw.
    """
    rng = np.random.default_rng(seed)
    lengths = _lengths(records, length, min(longest or max(1, int(25 * length)), items), rng)
    weights = 1 / np.arange(1, items + 1)
    item = rng.permutation(items)
    entries: Ints = np.empty(0, np.int64)
    summed = np.cumsum(weights)
    for _ in range(ROUNDS):
        missing = lengths - np.bincount(entries // items, minlength=records)
        rank = np.searchsorted(summed, rng.random(missing.sum()) * summed[-1])
        entries = _united(entries, np.repeat(np.arange(records), missing) * items + item[rank])
    entries = _united(entries, _completed(entries, lengths, weights[np.argsort(item)], rng))
    start = np.concatenate(([0], np.cumsum(lengths)))
    return sparse.csr_array(
        (np.ones(len(entries), np.int8), (entries % items).astype(np.int32), start), (records, items)
    )


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
    drawn = rng.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, records)
    return np.clip(np.rint(drawn), 1, longest).astype(np.int64)
