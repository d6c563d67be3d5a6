"""Target people of an attacker, and the itemsets of one, two and three items that the attacker may know of each.

Very many people are represented by a sample: the largest that WORK allows, drawn with a seed that depends only on the
number of records. All releases of the same data have the same people. If a person has more than MOST_ITEMS items, an
attacker knows the items with the lowest support.

An item of a person is the number `person * items + item`; people are numbered in the order of the sample.
"""

from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.figures import MOST_KNOWN

__all__ = ["Itemsets", "Targets", "keep_rarest_items", "sample_rows", "sample_targets"]

MOST_ITEMS = 24
"""Items of a person from which the known items are taken."""
WORK = 200_000_000
"""Bytes of bit sets that a search would read if no window ended it early."""
FEWEST = 1_000
"""People in a sample, at least: this number gives a share to within three points."""


class Itemsets(NamedTuple):
    """Distinct itemsets of one size, a column each; `person` knows the itemset at index `itemset`."""

    distinct: Ints
    person: Ints
    itemset: Ints


class Targets:
    """Target people: the row index of each one's own record, and their items."""

    def __init__(self, rows: Ints, items: int, known: Ints) -> None:
        self.rows = rows
        self.items = max(1, items)
        self.known = known

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def itemsets(self) -> list[Itemsets]:
        """Return the itemsets that may be known of the people, by size from 1."""
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
        # Common itemsets are searched once for all people who have them.
        distinct, itemset = np.unique(np.concatenate(keys), return_inverse=True)
        columns = []
        for _ in range(size):
            distinct, column = np.divmod(distinct, self.items)
            columns.append(column)
        return Itemsets(np.stack(columns[::-1]), np.concatenate(owners), itemset)


def sample_targets(lengths: Ints, records: int) -> Ints:
    """Choose the people to attack: all of them, or a sample where a search for all would take more than WORK bytes.

    `lengths` are the numbers of items of the people, and `records` is the number of records to search. Return the row
    indices of the chosen people, ascending.
    """
    people = len(lengths)
    if not people:
        return np.zeros(0, np.int64)
    counts = np.bincount(np.minimum(lengths, MOST_ITEMS))
    sets = [sum(comb(n, size) for size in range(1, MOST_KNOWN + 1)) + n for n in range(len(counts))]
    # The work of a search is the number of itemsets of a person times the bytes of one bit set.
    each = float(counts @ np.array(sets)) / people
    most = max(FEWEST, int(WORK / max(1.0, each * (records / 8))))
    if people <= most:
        return np.arange(people)
    return np.sort(np.random.default_rng(people).choice(people, most, replace=False))


def sample_rows(lengths: Ints, places: Ints) -> Ints:
    """Choose people by their original records, so that all releases of the same data are measured on the same people.

    `lengths` are the numbers of items of the original records, and `places` has the original record behind each row of
    a release. Return the row indices of the chosen people, ascending.
    """
    chosen = np.zeros(len(lengths), np.bool_)
    chosen[sample_targets(lengths, len(places))] = True
    return np.flatnonzero(chosen[places])


def keep_rarest_items(known: Ints, items: int, support: Ints) -> Ints:
    """Return the `known` items of people, at most MOST_ITEMS of each: those with the lowest `support`, in their order.

    `items` is the number of different items.
    """
    person, item = np.divmod(known, max(1, items))
    order = np.lexsort((item, support[item], person))
    lengths = np.bincount(person)
    rank = np.arange(len(known)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return known if len(known) == 0 or lengths.max() <= MOST_ITEMS else np.sort(known[order[rank < MOST_ITEMS]])
