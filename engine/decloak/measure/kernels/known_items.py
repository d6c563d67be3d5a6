"""What somebody knows of people: some items of each, and more of the same the more is known.

Of each person the items are put in an order, and the first so many are known, or all but the last. A *moderate*
attacker knows any of them: a random order. A *strong* one knows those that tell most: the rarest first. A *weak* one
knows what is common: any of the items that COMMON of the records hold, in random order.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from decloak.arrays import Ints

__all__ = ["LEVELS", "KnownItems", "Model", "known_of", "orders"]

Model = Literal["strong", "moderate", "weak"]
Level = int | None

COMMON = 0.01
"""The share of the records that hold a common item, at least."""
LEVELS: dict[str, Level] = {"1": 1, "2": 2, "3": 3, "rest": None}
"""How many items are known, by name; None is all but one."""


class KnownItems(NamedTuple):
    """People of whom so much can be known, by their places, and the items known of each, a column each.

    Whose items are fewer than others' has the first of them again.
    """

    person: Ints
    items: Ints

    @property
    def of(self) -> int:
        """How many people there are."""
        return len(self.person)


def orders(people: Sequence[Ints], support: Ints, records: int, model: Model) -> list[Ints]:
    """The items of people that can be known, the first first; `support` is how many records have each item.

    >>> [items.tolist() for items in orders([np.array([0, 1, 2])], np.array([3, 1, 2]), 3, "strong")]
    [[1, 2, 0]]
    """
    rng = np.random.default_rng(len(people))
    least = max(1, math.ceil(COMMON * records)) if model == "weak" else 0
    ordered: list[Ints] = []
    for held in people:
        items = np.sort(held.astype(np.int64))
        items = rng.permutation(items[support[items] >= least])
        ordered.append(items[np.lexsort((items, support[items]))] if model == "strong" else items)
    return ordered


def known_of(ordered: Sequence[Ints], level: Level) -> KnownItems:
    """What is known of people of whom so many items can be known.

    >>> known_of([np.array([2, 0, 1]), np.array([1])], None)
    KnownItems(person=array([0]), items=array([[2],
           [0]]))
    """
    many = [len(items) - 1 if level is None else level for items in ordered]
    person = [place for place, items in enumerate(ordered) if 1 <= many[place] <= len(items)]
    longest = max((many[place] for place in person), default=1)
    known = np.zeros((longest, len(person)), np.int64)
    for column, place in enumerate(person):
        known[:, column] = ordered[place][0]
        known[: many[place], column] = ordered[place][: many[place]]
    return KnownItems(np.array(person, np.int64), known)
