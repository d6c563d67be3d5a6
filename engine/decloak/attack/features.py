"""What a cell of a distance table shows of whether its member is meant, beside one distance.

A table has a row per transaction, with its context, and a column per member. Of each measure: the mean and the least
of the distances between the member and the items of the context. Of each of these, and of the number of context items
that share a word with the member: the value, less the mean of its row, less that of its column, less both, and its rank
in the row from 0 to 1. And the logs of how many rows and columns the table has. A distance nobody knows is the mean
of its table, or that of the measure in all tables.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.tables import Context, Pair

__all__ = ["Occurrences", "features", "pairs_of", "words_of"]

_WORD = re.compile(r"[^\W_]+")

Scores = Mapping[Pair, float | None]


class Occurrences(NamedTuple):
    """The columns of a table and the contexts of its rows; no context is empty."""

    members: tuple[str, ...]
    contexts: tuple[Context, ...]


def pairs_of(tables: Sequence[Occurrences]) -> list[Pair]:
    """Every pair of a context item and a member that the features need, once."""
    return list(
        dict.fromkeys(
            (item, member)
            for table in tables
            for item in dict.fromkeys(chain.from_iterable(table.contexts))
            for member in table.members
        )
    )


def words_of(items: Iterable[str]) -> dict[str, frozenset[str]]:
    return {item: frozenset(_WORD.findall(item.lower())) for item in items}


def features(
    tables: Sequence[Occurrences],
    measures: Sequence[Scores],
    own: Sequence[Sequence[Scores]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """The features of every cell, table after table and row after row; without spelling nothing shares a word.

    `own` has of further measures the scores of each table.
    """
    usual = [_usual(scores) for scores in measures] + [0.0] * len(own)
    items = {item for table in tables for item in chain(table.members, *table.contexts)}
    words = words_of(items) if spelling else dict.fromkeys(items, frozenset[str]())
    by_table = list(zip(*own, strict=True)) if own else [()] * len(tables)
    cells = (
        _of_table(table, [*measures, *further], usual, words) for table, further in zip(tables, by_table, strict=True)
    )
    return np.concatenate([np.zeros((0, 10 * len(usual) + 7)), *cells])


def _usual(scores: Scores) -> float:
    finite = np.array([score for score in scores.values() if score is not None], float)
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if len(finite) else 0.0


def _of_table(
    table: Occurrences, measures: Sequence[Scores], usual: Sequence[float], words: Mapping[str, frozenset[str]]
) -> Floats:
    items = list(dict.fromkeys(chain.from_iterable(table.contexts)))
    place = {item: at for at, item in enumerate(items)}
    picked = np.array([place[item] for context in table.contexts for item in context])
    starts = np.cumsum([0, *map(len, table.contexts[:-1])])
    columns = []
    for scores, mean in zip(measures, usual, strict=True):
        d = np.array([[scores.get((item, member)) for member in table.members] for item in items], float)
        d = np.where(np.isfinite(d), d, np.nan)
        columns += [part for kind in _distances(d, picked, starts, mean) for part in _centred(kind)]
    shares = np.array([[bool(words[item] & words[member]) for member in table.members] for item in items], float)
    columns += _centred(np.add.reduceat(shares[picked], starts, axis=0))
    shape = len(table.contexts), len(table.members)
    columns += [np.full(shape, np.log(side)) for side in shape]
    return np.stack(columns, axis=-1).reshape(-1, len(columns))


def _distances(d: Floats, picked: Ints, starts: Ints, usual: float) -> tuple[Floats, Floats]:
    """The mean and the least distance of every cell."""
    there = np.isfinite(d)
    counts = np.add.reduceat(there[picked].astype(float), starts, axis=0)
    totals = np.add.reduceat(np.where(there, d, 0.0)[picked], starts, axis=0)
    least = np.minimum.reduceat(np.where(there, d, np.inf)[picked], starts, axis=0)
    mean = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    return _filled(mean, usual), _filled(np.where(np.isfinite(least), least, np.nan), usual)


def _filled(d: Floats, usual: float) -> Floats:
    seen = np.isfinite(d)
    return np.where(seen, d, d[seen].mean() if seen.any() else usual)


def _centred(d: Floats) -> list[Floats]:
    by_row = d - d.mean(axis=1, keepdims=True)
    by_column = d - d.mean(axis=0, keepdims=True)
    rank = np.argsort(np.argsort(d, axis=1, kind="stable"), axis=1) / max(1, d.shape[1] - 1)
    return [d, by_row, by_column, by_row - by_row.mean(axis=0, keepdims=True), rank]
