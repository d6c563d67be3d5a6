"""Elements of published rows by number: plain items, and labels that contain several items."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from decloak.arrays import Ints
from decloak.data.content import Element
from decloak.data.rows import Coding

__all__ = ["Elements"]


class Elements:
    """The items of each element, and the elements of each item, by number."""

    def __init__(self, names: Sequence[Element], further: Sequence[str]) -> None:
        self.number: Coding[str] = Coding()
        sets = [(name,) if isinstance(name, str) else tuple(name) for name in names]
        self.item = np.array([self.number[item] for items in sets for item in items], np.int64)
        self.further = np.array([self.number[item] for item in further], np.int64)
        self.size = np.array(list(map(len, sets)), np.int64)
        self.plain = self.size == 1  # a label with one member hides nothing
        self.start = np.cumsum(self.size) - self.size
        self.items = max(1, len(self.number))

    @cached_property
    def elements_of_item(self) -> list[Ints]:
        """Return the elements of each item."""
        element = np.repeat(np.arange(len(self.size)), self.size)
        order = np.argsort(self.item, kind="stable")
        return np.split(element[order], np.searchsorted(self.item[order], np.arange(1, self.items)))

    def members(self, elements: Ints) -> tuple[Ints, Ints]:
        """Return the items of `elements`, and for each item the index of its element."""
        size = self.size[elements]
        place = np.repeat(np.arange(len(elements)), size)
        within = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        return self.item[self.start[elements][place] + within], place
