"""Index of the records that may have, or certainly have, some items: the candidates for known items.

A record *may have* an item that it shows, or that one of its labels contains. Candidates for several items are the
records that may have all of them. The elements of a record are items, or labels that contain several items.

Records are processed in windows, small ones first. An itemset with two candidates in the first few thousand records
needs no further search, and most itemsets have them. In a window each item that is still searched is a row of words of
64 records. So memory does not grow with the number of records or items. If all words of all items are few they are made
once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints, Mask
from decloak.counting.itemsets import distinct

__all__ = ["CandidateIndex"]

Words = NDArray[np.uint64]

FIRST, WIDER = 64, 8
"""Words of the first window, and the factor by which each further one grows."""
MOST_WORDS = 1 << 22
"""Words of all items in a window, unless the first has more."""
FEW_WORDS = 1 << 24
"""Words of all items in all records up to which they are made once."""
BLOCK = 1 << 13
"""Records whose bits are set together, so that the arrays of a block fit into the cache of a processor."""
_PIECE = 1 << 17
_ONE = np.uint64(1)


def _no_ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class CandidateIndex:
    """Elements of records: those from `start[record]` to `start[record + 1]`, numbers below `kinds`.

    A record may have an item if it has any element from `begin[item]` to `begin[item + 1]` of `source`, unless the item
    was eliminated there. `eliminated` are the eliminated items, of the records at the same index of the ascending
    `eliminated_of`.
    """

    start: Ints
    elements: Ints
    kinds: int
    begin: Ints
    source: Ints
    eliminated: Ints = field(default_factory=_no_ints)
    eliminated_of: Ints = field(default_factory=_no_ints)

    @classmethod
    def of(cls, records: int, items: int, entries: Ints) -> "CandidateIndex":
        """Return an index of `records` records and `items` items, in which `entries` has `row * items + item` for each
        item of a row.

        >>> index = CandidateIndex.of(3, 2, np.array([0, 5, 2]))
        >>> [[part.tolist() for part in pair] for pair in index.find_candidates(np.array([[0, 1]]))]
        [[[0, 0, 1], [0, 1, 2]]]
        """
        entries = distinct(entries)
        start = np.searchsorted(entries, np.arange(records + 1) * max(1, items))
        entries %= max(1, items)
        return cls(start, entries, items, np.arange(items + 1), np.arange(items))

    @classmethod
    def from_elements(cls, start: Ints, elements: Ints, kinds: int, source: Sequence[Ints]) -> "CandidateIndex":
        """Return an index of records with `elements` from `start`, numbers below `kinds`; `source` lists the elements
        of each item.
        """
        begin = np.cumsum([0, *map(len, source)], dtype=np.int64)
        return cls(start, elements, kinds, begin, np.concatenate([_no_ints(), *source]))

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.start) - 1

    def excluding(self, items: Ints, rows: Ints) -> "CandidateIndex":
        """Return the index without the elimination of each of `items` in the record at the same index of `rows`."""
        of = np.concatenate((self.eliminated_of, rows))
        order = np.argsort(of, kind="stable")  # which takes no time where they are ascending
        return replace(self, eliminated=np.concatenate((self.eliminated, items))[order], eliminated_of=of[order])

    def find_candidates(self, itemsets: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield the places of some `itemsets` and a candidate for each: those of an itemset ascend."""
        for window in self._windows(itemsets, np.ones(itemsets.shape[1], np.bool_)):
            for some in window.pieces():
                words = window.candidates(some)
                row, word = np.nonzero(words != 0)
                bits = np.unpackbits(words[row, word].view(np.uint8), bitorder="little")
                at, bit = np.divmod(np.flatnonzero(bits.view(np.bool_)), 64)
                yield some[row[at]], (window.first + word[at]) * 64 + bit

    def candidates_of_any(self, itemsets: Ints) -> Ints:
        """Return the records that are candidates for any of `itemsets`, ascending.

        >>> CandidateIndex.of(3, 2, np.array([0, 5, 2])).candidates_of_any(np.array([[0, 1]])).tolist()
        [0, 1, 2]
        """
        found = np.zeros(-(-self.records // 64), "<u8")
        for window in self._windows(itemsets, np.ones(itemsets.shape[1], np.bool_)):
            for some in window.pieces():
                found[window.first : window.last] |= np.bitwise_or.reduce(window.candidates(some), axis=0)
        return np.flatnonzero(np.unpackbits(found.view(np.uint8), bitorder="little"))

    def unique_candidate(self, itemsets: Ints) -> Ints:
        """Return the only candidate for each of `itemsets`, a column each; -1 where there is none, or several."""
        count, place = np.zeros(itemsets.shape[1], np.int64), np.full(itemsets.shape[1], -1, np.int64)
        going = np.ones(len(count), np.bool_)
        for window in self._windows(itemsets, going):
            for some in window.pieces():
                candidates = window.candidates(some)
                # One bit in the union of all words means one candidate, or the same bit of several words: the count
                # decides.
                word = np.bitwise_or.reduce(candidates, axis=1)
                of_bit = np.flatnonzero((word != 0) & (word & (word - _ONE) == 0))  # one record, or one bit of several
                there = candidates[of_bit] != 0
                alone = np.count_nonzero(there, axis=1) == 1
                number = np.where(word == 0, 0, 2)
                number[of_bit[alone]] = 1
                count[some] += number
                bit = np.log2(word[of_bit[alone]]).astype(np.int64)
                place[some[of_bit[alone]]] = (window.first + there[alone].argmax(axis=1)) * 64 + bit
                # An itemset with two candidates is finished: most itemsets are after the first window.
                going[some] = count[some] < 2
        return np.where(count == 1, place, -1)

    def implies(self, shows: "CandidateIndex", itemsets: Ints, thirds: Ints) -> Mask:
        """Return for each of `itemsets` whether it has candidates and all of them certainly have the item in `thirds`.

        `shows` is the index of the items that records certainly have.
        """
        alike, any_there = np.ones(len(thirds), np.bool_), np.zeros(len(thirds), np.bool_)
        for window in self._windows(itemsets, alike):
            shown = shows._part(thirds[None], window.left, window.first, window.last)
            for some in window.pieces():
                candidates = window.candidates(some)
                any_there[some] |= (candidates != 0).any(axis=1)
                alike[some] = ~(candidates & ~shown.candidates(some)).any(axis=1)
        return alike & any_there

    @cached_property
    def _whole(self) -> "_Window | None":
        """Return all windows as one, if that has few words."""
        items, words = len(self.begin) - 1, -(-self.records // 64)
        return self._window(np.arange(items)[None], np.arange(items), 0, words) if items * words <= FEW_WORDS else None

    def _windows(self, itemsets: Ints, going: Mask) -> "Iterator[_Window]":
        """Yield the windows in turn, each for the itemsets that are still searched."""
        first, width, end = 0, FIRST, -(-self.records // 64)
        while first < end and going.any():
            left = np.flatnonzero(going)
            items = min(itemsets[:, left].size, len(self.begin) - 1)
            last = min(first + min(width, max(FIRST, MOST_WORDS // max(1, items))), end)
            yield self._part(itemsets, left, first, last)
            first, width = last, width * WIDER

    def _part(self, itemsets: Ints, left: Ints, first: int, last: int) -> "_Window":
        if self._whole is None:
            return self._window(itemsets, left, first, last)
        return _Window(first, last, self._whole.words[:, first:last], self._whole.place, itemsets, left)

    def _window(self, itemsets: Ints, left: Ints, first: int, last: int) -> "_Window":
        items = distinct(itemsets[:, left].ravel())
        sizes = self.begin[items + 1] - self.begin[items]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        source = self.source[np.repeat(self.begin[items], sizes) + within]
        from_elements, of_element = self._element_words(distinct(source), first, last)
        place = np.full(len(self.begin) - 1, -1, np.int64)
        if (sizes == 1).all() and not len(self.eliminated):
            place[items] = of_element[source]
            return _Window(first, last, from_elements, place, itemsets, left)
        place[items] = np.arange(len(items))
        words = np.zeros((len(items), last - first), "<u8")
        for into, elements in zip(words, np.split(of_element[source], np.cumsum(sizes)[:-1]), strict=True):
            np.bitwise_or.reduce(from_elements[elements], axis=0, out=into)
        self._eliminate(words, place, first)
        return _Window(first, last, words, place, itemsets, left)

    def _element_words(self, elements: Ints, first: int, last: int) -> tuple[Words, Ints]:
        """Return the words of some elements, and the row of each."""
        place = np.full(self.kinds, -1, np.int64)
        place[elements] = np.arange(len(elements))
        end = min(last * 64, self.records)
        # To add bits takes a fifth of the time, and is right where no record repeats an element.
        for combine in (np.add, np.bitwise_or):
            words, entries = np.zeros((len(elements), last - first), "<u8"), 0
            for begin in range(first * 64, end, BLOCK):
                start = self.start[begin : min(begin + BLOCK, end) + 1]
                at = place[self.elements[start[0] : start[-1]]]
                record = np.repeat(np.arange(begin - first * 64, begin - first * 64 + len(start) - 1), np.diff(start))
                there = at >= 0
                _set(words, at[there], record[there], combine)
                entries += int(np.count_nonzero(there))
            if np.bitwise_count(words).sum(dtype=np.int64) == entries:
                break
        return words, place

    def _eliminate(self, words: Words, place: Ints, first: int) -> None:
        part = slice(*np.searchsorted(self.eliminated_of, np.array([first, first + words.shape[1]]) * 64))
        at, record = place[self.eliminated[part]], self.eliminated_of[part] - first * 64
        gone = np.zeros_like(words)
        _set(gone, at[at >= 0], record[at >= 0], np.bitwise_or)
        words &= ~gone


class _Window(NamedTuple):
    """The words from `first` to `last` of items, the row of each by `place`, for the itemsets that are `left`."""

    first: int
    last: int
    words: Words
    place: Ints
    itemsets: Ints
    left: Ints

    def pieces(self) -> Iterator[Ints]:
        """Yield some itemsets at a time, so that their words fit into the cache of a processor."""
        size = max(1, _PIECE // (self.last - self.first))
        return (self.left[first : first + size] for first in range(0, len(self.left), size))

    def candidates(self, some: Ints) -> Words:
        """Return the words of the records that may have all items of `some` itemsets."""
        rows = self.place[self.itemsets[:, some]]
        candidates: Words = self.words[rows[0]]
        for row in rows[1:]:
            candidates &= self.words[row]
        return candidates


def _set(words: Words, row: Ints, record: Ints, combine: np.ufunc) -> None:
    """Set the bits of records, one in a row of words each, by `combine`."""
    bit = np.left_shift(_ONE, (record & 63).astype(np.uint64))
    combine.at(words.reshape(-1), row * words.shape[1] + (record >> 6), bit)
