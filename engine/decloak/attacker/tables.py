"""Distance tables: the distance of each member of a generalised item to the contexts in which it is published.

There is one table per generalised item, whatever the order of its members, with a row per transaction that has the item
and a column per member. A cell is the mean score of the member with the context items that have a score with it. Rows
and columns without any score are left out, and so is a table with nothing left. The context is the plain items near the
generalised item; every element counts as one position.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.content import Element
from decloak.data.published import Published
from decloak.data.tables import AttackTable, Context, Pair

__all__ = ["context", "mean_scores", "needed_pairs", "tables"]


def context(transaction: Sequence[Element], position: int, n: int | None) -> tuple[str, ...]:
    """Return the `n` plain items of `transaction` nearest to `position`, the left of two at equal distance first.

    With None all plain items are returned, in the order of the transaction. There may be fewer than n, or none.

    >>> context(["i1", ("i2", "i3"), "i4", "i5"], 1, 2)
    ('i1', 'i4')
    """
    plain = [place for place, element in enumerate(transaction) if isinstance(element, str)]
    if n is not None:
        plain = sorted(plain, key=lambda place: abs(place - position))[:n]
    return tuple(str(transaction[place]) for place in plain)


class _Occurrences(NamedTuple):
    """Transactions in which a generalised item is published, and its contexts there."""

    members: tuple[str, ...]
    transactions: list[int]
    contexts: list[Context]


def _occurrences(published: Published, n: int | None) -> list[_Occurrences]:
    occurrences: dict[frozenset[str], _Occurrences] = {}
    for number, transaction in enumerate(published.transactions):
        for position, element in enumerate(transaction):
            if not isinstance(element, str):
                occurrence = occurrences.setdefault(frozenset(element), _Occurrences(element, [], []))
                occurrence.transactions.append(number)
                occurrence.contexts.append(context(transaction, position, n))
    return list(occurrences.values())


def needed_pairs(published: Published, n: int | None) -> list[Pair]:
    """Return every pair (context item, member) of `published` whose score a table needs, once, in the order of the
    tables.

    `n` is the number of items in a context, None for all.
    """
    return list(dict.fromkeys(chain.from_iterable(map(_pairs, _occurrences(published, n)))))


def _pairs(occurrence: _Occurrences) -> Iterator[Pair]:
    near = dict.fromkeys(chain.from_iterable(occurrence.contexts))
    return ((item, member) for item in near for member in occurrence.members)


def tables(published: Published, score: Mapping[Pair, float | None], n: int | None) -> list[AttackTable]:
    """Return the distance table of each generalised item of `published` that has one, in order of first appearance.

    `score` has the scores of pairs, and `n` is the number of items in a context, None for all.
    """
    return [table for occurrence in _occurrences(published, n) if (table := _table(occurrence, score)) is not None]


def _table(occurrence: _Occurrences, score: Mapping[Pair, float | None]) -> AttackTable | None:
    d = mean_scores(occurrence.contexts, occurrence.members, score)
    scored = ~np.isnan(d)
    # Rows and columns without any score are left out: no attack could decide about them.
    rows, columns = np.flatnonzero(scored.any(axis=1)), np.flatnonzero(scored.any(axis=0))
    if not rows.size:
        return None
    return AttackTable(
        occurrence.members,
        np.array(occurrence.transactions, dtype=np.intp)[rows],
        tuple(occurrence.members[column] for column in columns),
        tuple(occurrence.contexts[row] for row in rows),
        d[np.ix_(rows, columns)],
    )


def mean_scores(contexts: Sequence[Context], members: Sequence[str], score: Mapping[Pair, float | None]) -> Floats:
    """Return the mean `score` of each of `members` (columns) with the items of each of `contexts` (rows).

    A cell is NaN where no context item has a score. Negative, infinite and NaN scores count as none.
    """
    number = {item: place for place, item in enumerate(dict.fromkeys(chain.from_iterable(contexts)))}
    scores = np.array([[score.get((item, member)) for member in members] for item in number], dtype=float)
    d = np.full((len(contexts), len(members)), np.nan)
    filled = [row for row, items in enumerate(contexts) if items]
    if not filled:
        return d
    scored = (scores >= 0) & (scores < np.inf)
    # reduceat cannot sum over empty runs, so that rows with an empty context are left out first.
    picked = np.array([number[item] for row in filled for item in contexts[row]])
    starts = np.cumsum([0, *(len(contexts[row]) for row in filled[:-1])])
    with np.errstate(over="ignore"):  # a sum of scores too large for a float is no score either
        totals = np.add.reduceat(np.where(scored, scores, 0.0)[picked], starts, axis=0)
    counts = np.add.reduceat(scored[picked].astype(float), starts, axis=0)
    d[filled] = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=(counts > 0) & (totals < np.inf))
    return d
