"""The people that somebody looks for, and what can be known of them: sets of one, two and three of their items.

Where there are very many, some people stand for all: as many as WORK allows, drawn by the number of records and nothing
else. Of a person with more than MOST_ITEMS items those are known that the fewest records have.

An item of a person is the number `person * items + item`; people are numbered as they are asked for.
"""

from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints

__all__ = ["MOST_KNOWN", "Crowd", "Itemsets", "asked", "rarest"]

MOST_KNOWN = 3
"""Items that somebody knows of a person, at most."""
MOST_ITEMS = 24
"""Items of a person among which they are."""
WORK = 200_000_000
"""Bytes of bits that would be gone through if no window ended a search early."""
FEWEST = 1_000
"""People that stand for all at least: of so many a share is known to three points."""


class Itemsets(NamedTuple):
    """Itemsets of one size, each once, a column each; and those of people: `person` knows that of number `itemset`."""

    distinct: Ints
    person: Ints
    itemset: Ints


class Crowd:
    """People, each with the place of the own record, and their items."""

    def __init__(self, rows: Ints, items: int, known: Ints) -> None:
        self.rows = rows
        self.items = max(1, items)
        self.known = known

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def itemsets(self) -> list[Itemsets]:
        """What can be known of them, by size from 1."""
        return [self._itemsets(size) for size in range(1, MOST_KNOWN + 1)]

    def _itemsets(self, size: int) -> Itemsets:
        person, item = np.divmod(self.known, self.items)
        lengths = np.bincount(person, minlength=len(self))
        start = np.cumsum(lengths) - lengths
        keys, owners = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for length in np.unique(lengths[lengths >= size]).tolist():
            group = np.flatnonzero(lengths == length)
            places = np.array(list(combinations(range(length), size)))
            key = np.zeros((len(group), len(places)), np.int64)
            for column in places.T:
                key = key * self.items + item[start[group][:, None] + column]
            keys.append(key.ravel())
            owners.append(np.repeat(group, len(places)))
        distinct, itemset = np.unique(np.concatenate(keys), return_inverse=True)
        columns = []
        for _ in range(size):
            distinct, column = np.divmod(distinct, self.items)
            columns.append(column)
        return Itemsets(np.stack(columns[::-1]), np.concatenate(owners), itemset)


def asked(lengths: Ints, records: int) -> Ints:
    """The people that are gone through, by their places: all of them where that is little work."""
    people = len(lengths)
    if not people:
        return np.zeros(0, np.int64)
    counts = np.bincount(np.minimum(lengths, MOST_ITEMS))
    sets = [sum(comb(n, size) for size in range(1, MOST_KNOWN + 1)) + n for n in range(len(counts))]
    each = float(counts @ np.array(sets)) / people
    most = max(FEWEST, int(WORK / max(1.0, each * (records / 8))))
    if people <= most:
        return np.arange(people)
    return np.sort(np.random.default_rng(people).choice(people, most, replace=False))


def rarest(known: Ints, items: int, support: Ints) -> Ints:
    """What is known of people, of each at most MOST_ITEMS: those with the least support, in the order of items."""
    person, item = np.divmod(known, max(1, items))
    order = np.lexsort((item, support[item], person))
    lengths = np.bincount(person)
    rank = np.arange(len(known)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return known if len(known) == 0 or lengths.max() <= MOST_ITEMS else np.sort(known[order[rank < MOST_ITEMS]])
