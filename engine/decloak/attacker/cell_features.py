"""Features of a cell of a distance table, from which a classifier predicts whether the member is original.

A table has a row per transaction, with its context, and a column per member. For each measure there is the mean and the
smallest of the distances between the member and the items of the context. For each of these, and for the number of
context items that share a word with the member, there are five features. They are the value, the value minus the mean
of its row, minus the mean of its column, minus both, and its rank in the row from 0 to 1. Two more features are the
logarithms of the number of rows and columns. An unknown distance is replaced by the mean of its table, or by the mean
of the measure in all tables.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import ScoredPairs
from decloak.data.tables import Context, Pair

__all__ = ["Occurrences", "cell_features", "pairs_of", "words_of"]

_WORD = re.compile(r"[^\W_]+")

Scores = Mapping[Pair, float | None]


class Occurrences(NamedTuple):
    """Members (columns) of a table and the contexts of its rows; no context is empty."""

    members: tuple[str, ...]
    contexts: Sequence[Context]


def pairs_of(tables: Sequence[Occurrences]) -> list[Pair]:
    """Return every pair of a context item and a member that the features of `tables` need, once."""
    of_table = (product(_context_items(table), table.members) for table in tables)
    return list(dict.fromkeys(chain.from_iterable(of_table)))


def _context_items(table: Occurrences) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(table.contexts)))


def words_of(items: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the set of lower-case words in the name of each of `items`."""
    return {item: frozenset(_WORD.findall(item.lower())) for item in items}


def cell_features(
    tables: Sequence[Occurrences],
    measures: Sequence[Scores],
    own: Sequence[Sequence[Scores]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """Return the features of every cell of `tables`, table after table and row after row.

    `measures` are the scores by each measure, and `own` the scores of further measures, for each table. Without
    `spelling` the count of shared words is 0.
    """
    measures = [ScoredPairs.of(scores) for scores in measures]
    usual = [_mean_score(scores) for scores in measures] + [0.0] * len(own)
    items = {item for table in tables for item in chain(table.members, *table.contexts)}
    words = words_of(items) if spelling else dict.fromkeys(items, frozenset[str]())
    by_table = list(zip(*own, strict=True)) if own else [()] * len(tables)
    cells = (
        _table_features(table, [*measures, *further], usual, words)
        for table, further in zip(tables, by_table, strict=True)
    )
    # The empty array gives concatenate its shape where there are no tables.
    return np.concatenate([np.zeros((0, 10 * len(usual) + 7)), *cells])


def _mean_score(scores: Scores) -> float:
    finite = ScoredPairs.of(scores).numbers
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if len(finite) else 0.0


def _table_features(
    table: Occurrences, measures: Sequence[Scores], usual: Sequence[float], words: Mapping[str, frozenset[str]]
) -> Floats:
    items = _context_items(table)
    place = {item: at for at, item in enumerate(items)}
    # All contexts are concatenated, and `starts` marks where each begins: reduceat then sums over each context at once.
    picked = np.array([place[item] for context in table.contexts for item in context])
    starts = np.cumsum([0, *map(len, table.contexts[:-1])])
    d = np.array([ScoredPairs.of(scores).block(items, table.members) for scores in measures])
    d = d.reshape(len(measures), len(items), len(table.members))
    shares = np.array([[bool(words[item] & words[member]) for member in table.members] for item in items], float)
    kinds = [*_distances(d, picked, starts, np.repeat(usual, 2)), np.add.reduceat(shares[picked], starts, axis=0)]
    cells = _with_deviations(np.array(kinds)).reshape(len(table.contexts) * len(table.members), -1)
    logs = np.log([len(table.contexts), len(table.members)])
    return np.column_stack([cells, np.broadcast_to(logs, (len(cells), 2))])


def _distances(d: Floats, picked: Ints, starts: Ints, usual: Floats) -> Floats:
    """Return the mean and the smallest distance of every cell, one measure after the other."""
    there = np.isfinite(d)
    counts = np.add.reduceat(there[:, picked].astype(float), starts, axis=1)
    totals = np.add.reduceat(np.where(there, d, 0.0)[:, picked], starts, axis=1)
    least = np.minimum.reduceat(np.where(there, d, np.inf)[:, picked], starts, axis=1)
    mean = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    # A cell without any score takes the mean of its table, so that a missing score says nothing.
    both = np.stack([mean, least], axis=1).reshape(-1, *mean.shape[1:])
    seen = np.isfinite(both)
    counts, totals = seen.sum(axis=(1, 2)), np.where(seen, both, 0.0).sum(axis=(1, 2))
    of_table = np.divide(totals, counts, out=np.array(usual, float), where=counts > 0)
    return np.where(seen, both, of_table[:, None, None])


def _with_deviations(kinds: Floats) -> Floats:
    """Return each value with its deviations from the means of its row, its column and both, and its rank in the row."""
    by_row = kinds - kinds.mean(axis=2, keepdims=True)
    by_column = kinds - kinds.mean(axis=1, keepdims=True)
    by_both = by_row - by_row.mean(axis=1, keepdims=True)
    rank = np.argsort(np.argsort(kinds, axis=2, kind="stable"), axis=2) / max(1, kinds.shape[2] - 1)
    return np.stack([kinds, by_row, by_column, by_both, rank], axis=-1).transpose(1, 2, 0, 3)
