"""What stands in rows of a release, by number: plain items, and elements that stand for several."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from decloak.arrays import Ints
from decloak.data.rows import Coding

__all__ = ["Elements"]


class Elements:
    """What stands in rows by number: the items of each element, and the elements of each item."""

    def __init__(self, names: Sequence[Any], further: Sequence[str]) -> None:
        self.number: Coding[str] = Coding()
        sets = [(name,) if isinstance(name, str) else tuple(name) for name in names]
        self.item = np.array([self.number[item] for items in sets for item in items], np.int64)
        self.further = np.array([self.number[item] for item in further], np.int64)
        self.size = np.array(list(map(len, sets)), np.int64)
        self.plain = self.size == 1  # a label with one member hides nothing
        self.start = np.cumsum(self.size) - self.size
        self.items = max(1, len(self.number))

    @cached_property
    def having(self) -> list[Ints]:
        """The elements of each item."""
        element = np.repeat(np.arange(len(self.size)), self.size)
        order = np.argsort(self.item, kind="stable")
        return np.split(element[order], np.searchsorted(self.item[order], np.arange(1, self.items)))

    def members(self, elements: Ints) -> tuple[Ints, Ints]:
        """The items of some elements, and the place of the element among those."""
        size = self.size[elements]
        place = np.repeat(np.arange(len(elements)), size)
        within = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        return self.item[self.start[elements][place] + within], place
