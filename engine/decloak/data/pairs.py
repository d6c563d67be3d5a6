"""Pairs of items as arrays, with a score each, and the distance tables of generalised items.

A dictionary of millions of pairs of names takes ten times the memory of arrays. A pair is a context item `a` and
another item `b`, by their positions in a vocabulary. Its key is a · n + b, for a vocabulary of n items.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.rows import Coding, by_appearance
from decloak.lazy import once

Pair = tuple[str, str]
"""Two items, of which the first is the context."""
Context = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AttackTable:
    """Distances of one generalised item. The rows of `d` belong to `transactions` and `contexts`, its columns to
    `columns`.
    """

    members: tuple[str, ...]
    transactions: Ints
    columns: tuple[str, ...]
    contexts: Sequence[Context]
    d: Floats


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """Distances of one generalised item: a row per record, a column per member, NaN where there is no score."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    d: Floats


AT_ONCE = 1 << 22
"""Keys among which repeated ones are dropped at once: bounds the memory."""


@dataclass(frozen=True, eq=False)
class Pairs(Sequence[Pair]):
    """Pairs of items without repetition: pair i has the items `items[a[i]]` and `items[b[i]]`.

    >>> pairs = Pairs.of([("flu", "cough"), ("flu", "knee"), ("flu", "cough")])
    >>> pairs.items, pairs.a.tolist(), pairs.b.tolist(), pairs[1]
    (('flu', 'cough', 'knee'), [0, 0], [1, 2], ('flu', 'knee'))
    """

    items: tuple[str, ...]
    a: Ints
    b: Ints

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Pairs":
        """Return `pairs` as arrays, each once and in their order. Arrays are returned unchanged."""
        if isinstance(pairs, Pairs):
            return pairs
        code, distinct = Coding[str](), list(dict.fromkeys(pairs))
        codes = np.fromiter(map(code.__getitem__, chain.from_iterable(distinct)), np.int32, 2 * len(distinct))
        return cls(tuple(code), codes[::2], codes[1::2])

    @classmethod
    def of_keys(cls, items: Sequence[str], keys: Ints) -> "Pairs":
        """Return the pairs of `items` with these distinct `keys`, in their order."""
        a, b = (part.astype(np.int32) for part in divmod(keys, max(1, len(items))))
        return cls(tuple(items), a, b)

    def __len__(self) -> int:
        return len(self.a)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | Sequence[Pair]:
        if isinstance(index, slice):
            return Pairs(self.items, self.a[index], self.b[index])
        return self.items[self.a[index]], self.items[self.b[index]]

    def __iter__(self) -> Iterator[Pair]:
        name = self.items.__getitem__
        return zip(map(name, self.a.tolist()), map(name, self.b.tolist()), strict=True)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Pairs) and self.items == other.items:
            return np.array_equal(self.a, other.a) and np.array_equal(self.b, other.b)
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(tuple.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    @once
    def item_codes(self) -> Ints:
        """Return the codes of all items of the pairs, in order of first appearance."""
        return by_appearance(np.stack([self.a, self.b], axis=1).ravel(), len(self.items))

    @property
    def terms(self) -> list[str]:
        """Return all items of the pairs, in order of first appearance."""
        return [self.items[code] for code in self.item_codes.tolist()]

    def by_code(self, values: Mapping[str, float | None]) -> Floats:
        """Return the value of each item of the vocabulary that a pair has, by code; NaN for none and for the others."""
        array = np.full(len(self.items), np.nan)
        array[self.item_codes] = [np.nan if x is None else float(x) for x in map(values.get, self.terms)]
        return array

    @once
    def keys(self) -> Ints:
        """Return the key of each pair."""
        # With 46,341 items or more, keys exceed four bytes.
        return self.a.astype(np.int64) * len(self.items) + self.b

    @once
    def ascending(self) -> tuple[Ints, Ints]:
        """Return the keys in ascending order, and the position of each among the pairs."""
        # Pairs of clusters in files ascend already: a sort of millions would only take memory.
        if (np.diff(self.keys) > 0).all():
            return self.keys, np.arange(len(self))
        order: Ints = np.argsort(self.keys)
        return self.keys[order], order

    @once
    def code(self) -> Mapping[str, int]:
        """Return the position of each item in the vocabulary."""
        return {item: number for number, item in enumerate(self.items)}

    def places(self, a: Ints, b: Ints) -> Ints:
        """Return the position of each pair of codes `a` and `b`, -1 for a pair that is not among these."""
        keys, order = self.ascending
        wanted = a * len(self.items) + b
        if not len(keys):
            return np.full(wanted.shape, -1)
        # A key beyond the last one is compared with the last, and differs from it.
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        # With a code of -1, the key may be that of another pair.
        return np.where((keys[place] == wanted) & (a >= 0) & (b >= 0), order[place], -1)

    def codes_of(self, names: Iterable[str]) -> Ints:
        """Return the code of each of `names`, -1 for an item of no pair."""
        return np.array([self.code.get(name, -1) for name in names], np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class ScoredPairs(Mapping[Pair, float | None]):
    """Scores of pairs, NaN in `numbers` where there is none: a mapping of names for those who look up a few.

    >>> scores = ScoredPairs.of({("flu", "cough"): 0.5, ("flu", "knee"): None})
    >>> scores["flu", "cough"], scores["flu", "knee"], scores.block(["flu"], ["knee", "cough"]).tolist()
    (0.5, None, [[nan, 0.5]])
    """

    pairs: Pairs
    numbers: Floats

    @classmethod
    def of(cls, scores: Mapping[Pair, object]) -> "ScoredPairs":
        """Return `scores` as arrays. Arrays are returned unchanged."""
        if isinstance(scores, ScoredPairs):
            return scores
        return cls(Pairs.of(scores), np.array([np.nan if x is None else x for x in scores.values()], np.float64))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __getitem__(self, pair: Pair) -> float | None:
        place = int(self.pairs.places(*(self.pairs.codes_of([name]) for name in pair))[0])
        if place < 0:
            raise KeyError(pair)
        score = float(self.numbers[place])
        return None if np.isnan(score) else score

    def __repr__(self) -> str:
        return repr(dict(self))

    def of_pairs(self, pairs: Pairs) -> Floats:
        """Return the score of each of `pairs`, NaN for none."""
        # The usual question is about these very pairs, which need no search.
        if pairs is self.pairs or pairs == self.pairs:
            return self.numbers
        code = self.pairs.codes_of(pairs.items)
        return self._scores_of_codes(code[pairs.a], code[pairs.b])

    def block(self, rows: Iterable[str], columns: Iterable[str]) -> Floats:
        """Return the scores of the context items `rows` with the items `columns`, NaN for none."""
        return self._scores_of_codes(self.pairs.codes_of(rows)[:, None], self.pairs.codes_of(columns))

    def _scores_of_codes(self, a: Ints, b: Ints) -> Floats:
        place = self.pairs.places(a, b)
        # Without scores no position exists, and `np.where` would look up -1.
        if not len(self.numbers):
            return np.full(place.shape, np.nan)
        return np.where(place >= 0, self.numbers[place], np.nan)


def first_occurrences(blocks: Iterable[Ints]) -> Ints:
    """Return every number of `blocks` once, in order of first appearance.

    >>> first_occurrences([np.array([5, 2, 5]), np.array([2, 7])]).tolist()
    [5, 2, 7]
    """
    seen, found = np.zeros(0, np.int64), [np.zeros(0, np.int64)]
    for block in _join_blocks(blocks):
        fresh, first = np.unique(block, return_index=True)
        place = np.minimum(np.searchsorted(seen, fresh), max(0, len(seen) - 1))
        new = seen[place] != fresh if len(seen) else np.ones(len(fresh), np.bool_)
        found.append(block[np.sort(first[new])])
        seen = np.sort(np.concatenate([seen, fresh[new]]), kind="stable")
    return np.concatenate(found)


def _join_blocks(blocks: Iterable[Ints]) -> Iterator[Ints]:
    """Yield the numbers of `blocks` in arrays of about AT_ONCE."""
    waiting: list[Ints] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= AT_ONCE:
            yield np.concatenate(waiting)
            waiting, size = [], 0
    if waiting:
        yield np.concatenate(waiting)
