"""Which records may hold, or show, which items, as bits: who is a candidate for some known items.

A record *may hold* an item that it shows, or that something stands for which it shows; candidates for several items are
the records that may hold them all. An item is a row of words of 64 records. Records are gone through in windows, small
ones first: an itemset that two of the first few thousand may hold needs no further look, and most are such.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Holders"]

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

FIRST, WIDER = 64, 8
"""Words of the first window, and how many times as many each further one has."""
_PIECE, _BLOCK = 1 << 19, 1 << 25
_ONE = np.uint64(1)


class Holders(NamedTuple):
    """A row of words for each item, for so many records."""

    words: Words
    records: int

    @classmethod
    def of(cls, records: int, items: int, item: Ints, row: Ints) -> "Holders":
        """By the items that records hold, a record each.

        >>> Holders.of(3, 2, np.array([0, 1, 0]), np.array([0, 2, 1])).words.tolist()
        [[3], [4]]
        """
        words = np.zeros((items, -(-records // 64)), "<u8")
        size = max(1, _BLOCK // max(1, records))
        if items > size:
            order = np.argsort(item, kind="stable")
            item, row = item[order], row[order]
        for first in range(0, items, size):
            part = slice(*np.searchsorted(item, (first, first + size))) if items > size else slice(None)
            block = words[first : first + size]
            held = np.zeros((len(block), words.shape[1] * 64), np.bool_)
            held[item[part] - first, row[part]] = True
            block[:] = np.packbits(held, axis=1, bitorder="little").view("<u8")
        return cls(words, records)

    def any_of(self, groups: Sequence[Ints]) -> "Holders":
        """Which records hold any of the items of each group."""
        words = np.zeros((len(groups), self.words.shape[1]), "<u8")
        for into, group in zip(words, groups, strict=True):  # one by one: a copy of all would be larger than the result
            np.bitwise_or.reduce(self.words[group], axis=0, out=into)
        return Holders(words, self.records)

    def without(self, items: Ints, rows: Ints) -> "Holders":
        """The same without some records, a record of an item each."""
        changed, item = np.unique(items, return_inverse=True)
        words = self.words.copy()
        words[changed] &= ~Holders.of(self.records, len(changed), item, rows).words
        return Holders(words, self.records)

    def only(self, itemsets: Ints) -> Ints:
        """The one candidate for each itemset, -1 where there is none, or several; a column is an itemset."""
        count, place = np.zeros(itemsets.shape[1], np.int64), np.full(itemsets.shape[1], -1, np.int64)
        going = np.arange(itemsets.shape[1])
        for first, last in self._windows():
            for some in _pieces(going, last - first):
                candidates = self._candidates(itemsets[:, some], first, last)
                there = candidates != 0
                holding = np.count_nonzero(there, axis=1)
                word = candidates.sum(axis=1, dtype=np.uint64)  # of words of which one is not 0 it is the sum
                alone = np.flatnonzero((holding == 1) & (word & (word - _ONE) == 0))
                count[some] += np.minimum(2 * holding, 2)
                count[some[alone]] -= 1
                bit = np.log2(word[alone]).astype(np.int64)
                place[some[alone]] = (first + there[alone].argmax(axis=1)) * 64 + bit
            going = going[count[going] < 2]
        return np.where(count == 1, place, -1)

    def imply(self, shows: "Holders", itemsets: Ints, thirds: Ints) -> NDArray[np.bool_]:
        """Whether there are candidates for each itemset, and all of them show a further item."""
        alike, any_there = np.ones(len(thirds), np.bool_), np.zeros(len(thirds), np.bool_)
        going = np.arange(len(thirds))
        for first, last in self._windows():
            for some in _pieces(going, last - first):
                candidates = self._candidates(itemsets[:, some], first, last)
                any_there[some] |= (candidates != 0).any(axis=1)
                alike[some] = ~(candidates & ~shows.words[thirds[some], first:last]).any(axis=1)
            going = going[alike[going]]
        return alike & any_there

    def _candidates(self, itemsets: Ints, first: int, last: int) -> Words:
        candidates: Words = self.words[itemsets[0], first:last]
        for items in itemsets[1:]:
            candidates &= self.words[items, first:last]
        return candidates

    def _windows(self) -> Iterator[tuple[int, int]]:
        first, width, end = 0, FIRST, self.words.shape[1]
        while first < end:
            yield first, min(first + width, end)
            first, width = first + width, width * WIDER


def _pieces(places: Ints, width: int) -> Iterator[Ints]:
    """Some places at a time, so that what is looked at of them stays in a processor's cache."""
    size = max(1, _PIECE // max(1, width))
    return (places[first : first + size] for first in range(0, len(places), size))
