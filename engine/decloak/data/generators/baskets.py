"""Made-up baskets of the shape of well-known data sets: as long, and as unevenly common.

Lengths are log-normal: with a spread of 0.8 they have the quartiles and the longest percentiles of BMS-POS. The item
of rank r is drawn with a weight of 1 / (r + 1), ranks in random order of the items. Nothing else is like real data:
items are independent of one another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, Numbers
from decloak.lazy import sparse

__all__ = ["baskets", "shaped"]

SPREAD = 0.8
ROUNDS = 12
"""How often what a record drew twice is drawn anew, before the rest is completed at once."""
BLOCK = 1 << 22


def baskets(transactions: int, items: int, length: float, seed: int) -> Dataset:
    """Baskets of items named by numbers.

    >>> baskets(2, 3, 2, seed=1).transactions
    (('2', '3'), ('1', '2', '3'))
    """
    records = shaped(transactions, items, length, seed=seed)
    rows = CodedRows(records.indptr, records.indices, [str(number) for number in range(1, items + 1)])
    return Dataset(rows, Numbers(transactions), "baskets")


def shaped(
    records: int, items: int, length: float, longest: int | None = None, *, seed: int = 1
) -> sparse.csr_array[Any]:
    """Records × items, with records of this mean length and none longer than `longest`, or 25 times the mean."""
    rng = np.random.default_rng(seed)
    lengths = _lengths(records, length, min(longest or max(1, int(25 * length)), items), rng)
    weights = 1 / np.arange(1, items + 1)
    item = rng.permutation(items)
    held: Ints = np.empty(0, np.int64)
    summed = np.cumsum(weights)
    for _ in range(ROUNDS):
        missing = lengths - np.bincount(held // items, minlength=records)
        rank = np.searchsorted(summed, rng.random(missing.sum()) * summed[-1])
        held = _united(held, np.repeat(np.arange(records), missing) * items + item[rank])
    held = _united(held, _completed(held, lengths, weights[np.argsort(item)], rng))
    start = np.concatenate(([0], np.cumsum(lengths)))
    return sparse.csr_array((np.ones(len(held), np.int8), (held % items).astype(np.int32), start), (records, items))


def _united(held: Ints, more: Ints) -> Ints:
    """Ascending, each once: numpy's union hashes them, which takes ten times as long here."""
    both = np.sort(np.concatenate((held, np.sort(more))), kind="stable")
    return both[np.diff(both, prepend=-1) > 0]


def _completed(held: Ints, lengths: Ints, weights: Floats, rng: np.random.Generator) -> Ints:
    """What records still lack that drew the same items again and again; the same as drawing on would give.

    The largest of log(weight) + Gumbel noise are a weighted sample without replacement.
    """
    items, drawn = len(weights), [np.empty(0, np.int64)]
    count = np.bincount(held // items, minlength=len(lengths))
    short = np.flatnonzero(count < lengths)
    start = np.searchsorted(held, short * items)
    for block in np.array_split(np.arange(len(short)), max(1, len(short) * items // BLOCK)):
        key = np.log(weights) + rng.gumbel(size=(len(block), items))
        for row, index in enumerate(block.tolist()):
            record = int(short[index])
            key[row, held[start[index] : start[index] + count[record]] % items] = -np.inf
            lacking = int(lengths[record] - count[record])
            drawn.append(record * items + np.argpartition(key[row], -lacking)[-lacking:])
    return np.concatenate(drawn)


def _lengths(records: int, mean: float, longest: int, rng: np.random.Generator) -> Ints:
    """Whole numbers 1..longest; the mean of the log-normal is what rounding and cutting off leave of it."""
    drawn = rng.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, records)
    return np.clip(np.rint(drawn), 1, longest).astype(np.int64)
