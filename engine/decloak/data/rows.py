"""Transactions as arrays: what stands in them by number, and one vocabulary that says what the numbers mean.

Half a million transactions take 4 bytes an occurrence here, and a hundred times that as tuples of strings. Who reads
them row by row gets tuples, made for the occasion; kernels take the arrays.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["BLOCK", "CodedRows", "Coding", "Numbers", "lean_labels", "narrow", "picked_labels"]

T_co = TypeVar("T_co", bound=Hashable, covariant=True)
U = TypeVar("U", bound=Hashable)
Codes = NDArray[np.int32]

BLOCK = 1 << 16
"""Rows that are tuples at the same time when all are gone through."""


class Coding(dict[U, int]):
    """Names numbered as they come, from 0."""

    def __missing__(self, name: U) -> int:
        number = self[name] = len(self)
        return number


def narrow(start: Ints) -> Ints:
    """A copy of starts in four bytes each where they fit: scipy makes all places in a matrix as large as these."""
    return start.astype(np.int32 if start[-1] < 1 << 31 else np.int64)


class CodedRows(Sequence[tuple[T_co, ...]], Generic[T_co]):
    """Rows of names; what `codes` has from `start[row]` to `start[row + 1]` are numbers of names.

    It is a sequence of tuples, and equal to a tuple of tuples that holds the same.

    >>> rows = CodedRows.of([("milk", "bread"), (), ("milk",)])
    >>> rows.codes.tolist(), rows.start.tolist(), rows.names, rows[0]
    ([0, 1, 0], [0, 2, 2, 3], ('milk', 'bread'), ('milk', 'bread'))
    """

    def __init__(self, start: Ints, codes: Ints, names: Sequence[T_co]) -> None:
        self.start: Ints = np.asarray(start, np.int64)
        self.codes: Codes = np.asarray(codes, np.int32)
        self.names = tuple(names)
        self.settled: dict[int, int] = {}
        """What was counted: all sets of so many names that a row has, so many rows have."""

    @classmethod
    def of(cls, rows: "Iterable[Iterable[T_co]]") -> "CodedRows[T_co]":
        """Rows however they come, names numbered in order of first appearance; such rows as they are."""
        if isinstance(rows, CodedRows):
            return rows
        coding: Coding[T_co] = Coding()
        codes, number = _Growing(), coding.__getitem__
        lengths = np.fromiter((codes.extend(list(map(number, row))) for row in rows), np.int64)
        return cls(np.concatenate(([0], np.cumsum(lengths))), codes.array, tuple(coding))

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, place: int) -> tuple[T_co, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> "CodedRows[T_co]": ...
    def __getitem__(self, place: int | slice) -> "tuple[T_co, ...] | CodedRows[T_co]":
        if isinstance(place, slice):
            first, stop, step = place.indices(len(self))
            return self._run(first, max(first, stop)) if step == 1 else self.take(np.arange(first, stop, step))
        row = range(len(self))[place]
        return tuple(self.names[code] for code in self.codes[self.start[row] : self.start[row + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[T_co, ...]]:
        names = np.fromiter(self.names, object, len(self.names))
        for block in self.blocks():
            held = names[block.codes].tolist()
            for begin, end in pairwise(block.start.tolist()):
                yield tuple(held[begin:end])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CodedRows) and self.names == other.names:
            return np.array_equal(self.start, other.start) and np.array_equal(self.codes, other.codes)
        if not isinstance(other, CodedRows | tuple) or len(self) != len(other):
            return False if isinstance(other, CodedRows | tuple) else NotImplemented
        return all(row == another for row, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @property
    def lengths(self) -> Ints:
        """How many names each row has."""
        return np.diff(self.start)

    @property
    def row(self) -> Ints:
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def compact(self) -> "CodedRows[T_co]":
        """The same with names that a row has and no others, in order of first appearance."""
        order = self._appearing
        if np.array_equal(order, np.arange(len(self.names))):
            return self
        place = np.zeros(len(self.names), np.int32)
        place[order] = np.arange(len(order))
        compact = CodedRows(self.start, place[self.codes], [self.names[code] for code in order.tolist()])
        compact.settled = self.settled
        return compact

    @property
    def used(self) -> tuple[T_co, ...]:
        """Every name that a row has, once, in order of first appearance."""
        return tuple(self.names[code] for code in self._appearing.tolist())

    @cached_property
    def _appearing(self) -> Ints:
        """The numbers of the names that a row has, in order of first appearance."""
        first = np.full(len(self.names), len(self.codes), np.int64)
        for stop in range(len(self.codes), 0, -BLOCK):  # from behind: of several values the last assigned stays
            begin = max(0, stop - BLOCK)
            first[self.codes[begin:stop][::-1]] = np.arange(begin, stop)[::-1]
        order: Ints = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(self.codes))]
        return order

    def _run(self, first: int, stop: int) -> "CodedRows[T_co]":
        """Neighbouring rows: their codes are not copied."""
        start = self.start[first : stop + 1]
        return CodedRows(start - start[0], self.codes[start[0] : start[-1]], self.names)

    def blocks(self) -> "Iterator[CodedRows[T_co]]":
        """All rows, so many at a time."""
        return (self._run(first, min(first + BLOCK, len(self))) for first in range(0, len(self), BLOCK))

    def take(self, rows: Ints) -> "CodedRows[T_co]":
        """Some of the rows, in the order that is given."""
        lengths = self.lengths[rows]
        start = np.concatenate(([0], np.cumsum(lengths)))
        codes, away = np.empty(start[-1], np.int32), self.start[:-1][rows] - start[:-1]
        for first in range(0, len(rows), BLOCK):  # the places of all codes at once would take six times their memory
            block = slice(first, first + BLOCK)
            begin, end = start[first], start[min(first + BLOCK, len(rows))]
            codes[begin:end] = self.codes[np.repeat(away[block], lengths[block]) + np.arange(begin, end)]
        return CodedRows(start, codes, self.names)

    def named(self, name: "Callable[[T_co], U]") -> "CodedRows[U]":
        """The same rows with other names; names that become the same stay apart in number."""
        held = self.compact
        rows = CodedRows(held.start, held.codes, tuple(map(name, held.names)))
        if len(set(held.names)) == len(set(rows.names)) == len(held.names):
            rows.settled = held.settled
        return rows

    def ascending(self) -> Self:
        """The same with the names of each row in ascending order, and numbers of names in that order as well."""
        names = sorted(set(self.names))  # type: ignore[type-var]
        place = {name: number for number, name in enumerate(names)}
        number = np.array([place[name] for name in self.names], np.int64)
        codes, begin = np.empty(len(self.codes), np.int32), 0
        for block in self.blocks():
            key = block.row * len(names) + number[block.codes]
            key.sort()  # rows stay where they are: only their names move
            codes[begin : begin + len(key)] = key % max(1, len(names))
            begin += len(key)
        return type(self)(self.start, codes, names)

    def matrix(self, column: Ints, columns: int) -> "sparse.csr_array[Any]":
        """Rows × columns, 1 where a row has a name of that column; `column` says which each name has."""
        from scipy import sparse

        indices = np.asarray(column, np.int32)[self.codes]
        shape = (len(self), columns)
        records = sparse.csr_array((np.ones(len(indices), np.int8), indices, narrow(self.start)), shape)
        records.sum_duplicates()
        records.data[:] = 1
        return records

    def supports(self) -> "dict[T_co, int]":
        """How many rows have each name that one has."""
        counts = np.bincount(self.matrix(np.arange(len(self.names)), len(self.names)).indices, minlength=1).tolist()
        supports: dict[T_co, int] = {}
        for name, count in zip(self.names, counts, strict=False):
            if count:
                supports[name] = supports.get(name, 0) + count
        return supports


class _Growing:
    """Numbers that are collected, four bytes each."""

    def __init__(self) -> None:
        self._parts: list[Codes] = []
        self._last: list[int] = []

    def extend(self, numbers: list[int]) -> int:
        """Add numbers; return how many."""
        self._last += numbers
        if len(self._last) > BLOCK:
            self._parts.append(np.array(self._last, np.int32))
            self._last = []
        return len(numbers)

    @property
    def array(self) -> Codes:
        return np.concatenate([*self._parts, np.array(self._last, np.int32)])


class Numbers(Sequence[str]):
    """The labels "1", "2" and so on: what transactions are called that nobody named. In another order they are numbers
    that are given.

    >>> Numbers(3), "4" in Numbers(3), Numbers(3).taken(np.array([2, 0]))
    (('1', '2', '3'), False, ('3', '1'))
    """

    def __init__(self, count: int, numbers: Ints | None = None) -> None:
        self._numbers: range | Ints
        self._numbers = range(1, count + 1) if numbers is None else numbers

    def taken(self, places: Ints) -> "Numbers":
        """Some of the labels, in the order that is given."""
        return Numbers(len(places), np.asarray(self._numbers)[places])

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(map(str, self._numbers[place]))
        return str(self._numbers[place])

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), BLOCK):
            yield from map(str, self._numbers[first : first + BLOCK])

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and label.isascii() and label.isdigit() and label[0] != "0" and len(label) < 19 \
            and int(label) in self._numbers  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            alike = isinstance(self._numbers, range) and isinstance(other._numbers, range)
            return len(self) == len(other) and (alike or np.array_equal(self._numbers, other._numbers))
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def picked_labels(labels: Sequence[str], places: Ints) -> Sequence[str]:
    return labels.taken(places) if isinstance(labels, Numbers) else tuple(labels[place] for place in places.tolist())


def lean_labels(labels: Sequence[str]) -> Sequence[str]:
    """The same labels, as `Numbers` where they are numbers from 1."""
    numbers = Numbers(len(labels))
    return numbers if isinstance(labels, Numbers) or numbers == tuple(labels) else tuple(labels)
