"""Transactions as arrays: a number for every name, and one vocabulary that lists the names.

Half a million records take 4 bytes per occurrence, and a hundred times that as tuples of strings. Iteration
creates tuples on demand; kernels use the arrays.
"""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints

if TYPE_CHECKING:
    from scipy import sparse

T_co = TypeVar("T_co", bound=Hashable, covariant=True)
U = TypeVar("U", bound=Hashable)
Codes = NDArray[np.int32]

BLOCK = 1 << 16
"""Number of rows that exist as tuples at the same time during iteration."""


class Coding(dict[U, int]):
    """Numbers for names in order of first appearance, from 0."""

    def __missing__(self, name: U) -> int:
        number = self[name] = len(self)
        return number


def narrow(start: Ints) -> Ints:
    """Return a copy of `start` in four bytes each if they fit: scipy makes all indices of a matrix as wide as these."""
    return start.astype(np.int32 if start[-1] < 1 << 31 else np.int64)


def runs(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of each run from `begin` to `end`, and for each number the index of its run.

    >>> [part.tolist() for part in runs(np.array([5, 0]), np.array([7, 1]))]
    [[5, 6, 0], [0, 0, 1]]
    """
    lengths = np.maximum(end - begin, 0)
    place = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(place)) + (begin - np.cumsum(lengths) + lengths)[place], place


class Sets(NamedTuple):
    """Sets of codes: set s has `indices[indptr[s]:indptr[s + 1]]`, ascending. `shape` is the number of sets and codes.

    The names are those of a sparse matrix, which takes a tenth of a second to import.
    """

    indptr: Ints
    indices: Codes
    shape: tuple[int, int]

    def matrix(self) -> "sparse.csr_array":
        """Return a matrix of sets × codes, 1 where a set has the code."""
        from scipy import sparse

        # One byte per entry: scipy would use eight for a matrix of default type.
        return sparse.csr_array((np.ones(len(self.indices), np.int8), self.indices, self.indptr), self.shape)

    def select(self, rows: Ints) -> "Sets":
        """Return the sets with the numbers `rows`, in that order."""
        start, codes = select_runs(self.indptr, self.indices, rows)
        return Sets(narrow(start), codes, (len(rows), self.shape[1]))


def select_runs(start: Ints, codes: Codes, rows: Ints) -> tuple[Ints, Codes]:
    """Return the start and the codes of the runs with the numbers `rows`, in that order."""
    lengths = np.diff(start)[rows]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    chosen, away = np.empty(ends[-1], np.int32), start[:-1][rows] - ends[:-1]
    for first in range(0, len(rows), BLOCK):  # the places of all codes at once would take six times their memory
        block = slice(first, first + BLOCK)
        begin, end = ends[first], ends[min(first + BLOCK, len(rows))]
        chosen[begin:end] = codes[np.repeat(away[block], lengths[block]) + np.arange(begin, end)]
    return ends, chosen


def by_appearance(codes: NDArray[np.integer], names: int) -> Ints:
    """Return the different `codes` in order of first appearance; all are below `names`.

    >>> by_appearance(np.array([2, 0, 2]), 4).tolist()
    [2, 0]
    """
    first = np.full(names, len(codes), np.int64)
    for stop in range(len(codes), 0, -BLOCK):  # from behind: of several values the last assigned stays
        begin = max(0, stop - BLOCK)
        first[codes[begin:stop][::-1]] = np.arange(begin, stop)[::-1]
    order: Ints = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    return order


class CodedRows(Sequence[tuple[T_co, ...]], Generic[T_co]):
    """Rows of names. `codes[start[row]:start[row + 1]]` are the numbers of the names of a row.

    It is a sequence of tuples, and equal to a tuple of tuples with the same names.

    >>> rows = CodedRows.of([("milk", "bread"), (), ("milk",)])
    >>> rows.codes.tolist(), rows.start.tolist(), rows.names, rows[0]
    ([0, 1, 0], [0, 2, 2, 3], ('milk', 'bread'), ('milk', 'bread'))
    """

    def __init__(self, start: Ints, codes: Ints, names: Sequence[T_co]) -> None:
        # Four bytes suffice for codes, because a vocabulary is far smaller than its number of occurrences.
        self.start: Ints = np.asarray(start, np.int64)
        self.codes: Codes = np.asarray(codes, np.int32)
        self.names = tuple(names)
        self.verified_supports: dict[int, int] = {}
        """Results of counting: `verified_supports[m] = k` if every set of m names that occurs in a row occurs in at
        least k rows.
        """

    @classmethod
    def of(cls, rows: "Iterable[Iterable[T_co]]") -> "CodedRows[T_co]":
        """Return `rows` as arrays, names numbered in order of first appearance. Coded rows are returned unchanged."""
        if isinstance(rows, CodedRows):
            return rows
        coding: Coding[T_co] = Coding()
        # A list of Python integers would take nine times the memory of the array.
        codes, number = array("i"), coding.__getitem__

        def ends() -> Iterator[int]:
            yield 0
            for row in rows:
                codes.fromlist(list(map(number, row)))
                yield len(codes)

        start = np.fromiter(ends(), np.int64)
        return cls(start, np.array(codes, np.int32), tuple(coding))

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, index: int) -> tuple[T_co, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> "CodedRows[T_co]": ...
    def __getitem__(self, index: int | slice) -> "tuple[T_co, ...] | CodedRows[T_co]":
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            return self._slice(first, max(first, stop)) if step == 1 else self.select(np.arange(first, stop, step))
        row = range(len(self))[index]
        return tuple(self.names[code] for code in self.codes[self.start[row] : self.start[row + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[T_co, ...]]:
        names = np.fromiter(self.names, object, len(self.names))
        for block in self.blocks():
            compact = names[block.codes].tolist()
            for begin, end in pairwise(block.start.tolist()):
                yield tuple(compact[begin:end])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CodedRows) and self.names == other.names:
            return np.array_equal(self.start, other.start) and np.array_equal(self.codes, other.codes)
        if not isinstance(other, CodedRows | tuple) or len(self) != len(other):
            return False if isinstance(other, CodedRows | tuple) else NotImplemented
        return all(row == another for row, another in zip(self, other, strict=True))

    # Slow, but equal to the hash of a tuple of tuples, which such rows equal.
    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @property
    def lengths(self) -> Ints:
        """The number of names in each row."""
        return np.diff(self.start)

    @property
    def row_of_code(self) -> Ints:
        """The row of each entry of `codes`."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def with_used_names(self) -> "CodedRows[T_co]":
        """Rows without unused names, numbered in order of first appearance."""
        order = self._used_codes
        if np.array_equal(order, np.arange(len(self.names))):
            return self
        index = np.zeros(len(self.names), np.int32)
        index[order] = np.arange(len(order))
        compact = CodedRows(self.start, index[self.codes], [self.names[code] for code in order.tolist()])
        # The same dictionary: what is counted for one of the two is known for both.
        compact.verified_supports = self.verified_supports
        return compact

    @property
    def used_names(self) -> tuple[T_co, ...]:
        """Every name that a row has, once, in order of first appearance."""
        return tuple(self.names[code] for code in self._used_codes.tolist())

    @cached_property
    def _used_codes(self) -> Ints:
        """The numbers of used names, in order of first appearance."""
        return by_appearance(self.codes, len(self.names))

    def _slice(self, first: int, stop: int) -> "CodedRows[T_co]":
        """Return consecutive rows. Their codes are not copied."""
        start = self.start[first : stop + 1]
        return CodedRows(start - start[0], self.codes[start[0] : start[-1]], self.names)

    def blocks(self) -> "Iterator[CodedRows[T_co]]":
        """Yield all rows, BLOCK rows at a time."""
        return (self._slice(first, min(first + BLOCK, len(self))) for first in range(0, len(self), BLOCK))

    def select(self, rows: Ints) -> "CodedRows[T_co]":
        """Return the rows with the indices `rows`, in that order."""
        return CodedRows(*select_runs(self.start, self.codes, rows), self.names)

    def with_names(self, name: "Callable[[T_co], U]") -> "CodedRows[U]":
        """Return the same rows with every name replaced by `name(old)`. Equal new names keep different numbers."""
        compact = self.with_used_names
        rows = CodedRows(compact.start, compact.codes, tuple(map(name, compact.names)))
        # Supports stay true only if no two names become one.
        if len(set(compact.names)) == len(set(rows.names)) == len(compact.names):
            rows.verified_supports = compact.verified_supports
        return rows

    def with_sorted_names(self) -> Self:
        """Return the same rows with the names of each row in ascending order, and names numbered in that order."""
        names = sorted(set(self.names))  # type: ignore[type-var]
        index = {name: number for number, name in enumerate(names)}
        number = np.array([index[name] for name in self.names], np.int64)
        codes, begin = np.empty(len(self.codes), np.int32), 0
        for block in self.blocks():
            # One sort of combined keys replaces a sort per row.
            key = block.row_of_code * len(names) + number[block.codes]
            key.sort()  # rows stay where they are: only their names move
            codes[begin : begin + len(key)] = key % max(1, len(names))
            begin += len(key)
        return type(self)(self.start, codes, names)

    def matrix(self, column: Ints, columns: int) -> "sparse.csr_array":
        """Return a matrix of rows × `columns`, 1 where a row has a name of that column; `column` is the column of each
        name.
        """
        return self.sets(column, columns).matrix()

    def sets(self, column: Ints, columns: int) -> Sets:
        """Return the columns of each row, as `matrix` has them. Several names of one column count once."""
        codes, start, begin = np.empty(len(self.codes), np.int32), np.zeros(len(self) + 1, np.int64), 0
        number = np.asarray(column, np.int64)
        for first, block in enumerate(self.blocks()):
            # One sort of rows and columns together replaces a sort per row.
            key = block.row_of_code << 32 | number[block.codes]
            key.sort()
            key = key[np.append(True, key[1:] != key[:-1])[: len(key)]]
            codes[begin : begin + len(key)] = key & 0xFFFFFFFF
            ends = start[first * BLOCK + 1 :][: len(block)]
            ends += begin + np.cumsum(np.bincount(key >> 32, minlength=len(block)))
            begin += len(key)
        return Sets(narrow(start), codes[:begin], (len(self), columns))

    def supports(self) -> "dict[T_co, int]":
        """Return the number of rows with each used name."""
        counts = np.bincount(self.sets(np.arange(len(self.names)), len(self.names)).indices, minlength=1).tolist()
        supports: dict[T_co, int] = {}
        # Unused names at the end have no count, and renamed rows may have one name twice.
        for name, count in zip(self.names, counts, strict=False):
            if count:
                supports[name] = supports.get(name, 0) + count
        return supports


class RowLabels(Sequence[str]):
    """The labels "1", "2" and so on, of records without ids; after a selection, the selected numbers.

    >>> RowLabels(3), "4" in RowLabels(3), RowLabels(3).select(np.array([2, 0]))
    (('1', '2', '3'), False, ('3', '1'))
    """

    def __init__(self, count: int, numbers: Ints | None = None) -> None:
        self._numbers: range | Ints
        self._numbers = range(1, count + 1) if numbers is None else numbers

    def select(self, indices: Ints) -> "RowLabels":
        """Return the labels at `indices`, in that order."""
        return RowLabels(len(indices), np.asarray(self._numbers)[indices])

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(map(str, self._numbers[index]))
        return str(self._numbers[index])

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), BLOCK):
            # Block by block, so that millions of labels never exist at the same time.
            yield from map(str, self._numbers[first : first + BLOCK])

    def __contains__(self, label: object) -> bool:
        # 18 digits at most: a longer number fits no array, and Python may refuse to read it.
        return isinstance(label, str) and label.isascii() and label.isdigit() and label[0] != "0" and len(label) < 19 \
            and int(label) in self._numbers  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RowLabels):
            # Every range begins at 1, so those of one length are equal.
            both_ranges = isinstance(self._numbers, range) and isinstance(other._numbers, range)
            return len(self) == len(other) and (both_ranges or np.array_equal(self._numbers, other._numbers))
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def select_labels(labels: Sequence[str], indices: Ints) -> Sequence[str]:
    """Return the `labels` at `indices`, in that order."""
    return (
        labels.select(indices) if isinstance(labels, RowLabels) else tuple(labels[index] for index in indices.tolist())
    )


def compact_labels(labels: Sequence[str]) -> Sequence[str]:
    """Return `labels`, as `RowLabels` if they are numbers from 1."""
    numbers = RowLabels(len(labels))
    return numbers if isinstance(labels, RowLabels) or numbers == tuple(labels) else tuple(labels)
