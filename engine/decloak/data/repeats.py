"""Detection of data that were written more than once, by evidence in the records themselves.

Equal records alone are no evidence: two customers may buy the same. The evidence is that the records repeat as a whole.
In one order: a block of records that would not recur at random (20 bits or more) follows itself, as in a file that was
appended to itself. In any order: at least 20 different records, of which every one occurs a multiple of 2, 3 or more
times.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.data.rows import CodedRows, Coding
from decloak.errors import DecloakError

BITS = 20
"""Least information in a block of records. A random recurrence in the same order has a probability below one in a
million.
"""
KINDS = 20
"""Least number of different records that all occur a multiple of n times: the probability is below one in a million."""
WRITTEN = "the data seem to be written"
"""The beginning of the evidence, in warnings and notes."""
WARNING = "WARNING: "
"""The prefix of a note about a risk."""
REPEATS_REMEDY = "repeats: true (--repeats) says that the repeats are meant"
"""The remedy if the records do repeat."""

Marks = NDArray[np.uint64]


class RepeatedRecords(DecloakError):
    """An error for records that occur more than once, as ids or as a whole: a guarantee over them means nothing."""


class Copies(NamedTuple):
    """The number of times that a data set was written. A block of `block` records repeats in one order, 0 in any
    order.
    """

    times: int
    block: int
    records: int

    def __str__(self) -> str:
        why = f"every different record occurs a multiple of {self.times} times"
        if self.block:
            again = f"records {self.records - self.block * (self.times - 1) + 1:,} to {self.records:,}"
            why = f"{again} repeat records 1 to {self.block:,}"
        return f"{WRITTEN} {self.times} times: {why}"

    @property
    def without_copies(self) -> str:
        """A description of the records without their copies."""
        return f"the first {self.block:,} records alone" if self.block else f"one of every {self.times} equal records"

    @property
    def remedy(self) -> str:
        """The remedy: remove the copies, or declare them."""
        return f"keep {self.without_copies}; {REPEATS_REMEDY}"


def check_written_once(rows: CodedRows[object], place: str, *, ordered: bool = False) -> None:
    """Raise an error at `place` if `rows` seem to be written more than once; `ordered` tests only their order."""
    copies = find_copies(rows, ordered=ordered)
    if copies is not None:
        raise RepeatedRecords(str(copies), place, copies.remedy)


def find_copies(rows: CodedRows[object], *, ordered: bool = False) -> Copies | None:
    """Return how often `rows` were written, None for once; `ordered` tests only their order.

    >>> rows = [(str(at % 7), str(at)) for at in range(9)]
    >>> print(find_copies(CodedRows.of(rows * 2)), find_copies(CodedRows.of([("a", "b")] * 40)))
    the data seem to be written 2 times: records 10 to 18 repeat records 1 to 9 None
    """
    marks = _marks(rows)
    return _in_order(marks) or (None if ordered else _in_any_order(marks))


def _marks(rows: CodedRows[Hashable]) -> Marks:
    """Return a hash for each record, equal for records of equal names: the sum of a mixed number for each name."""
    coding: Coding[Hashable] = Coding()
    number = np.fromiter((coding[name] for name in rows.names), np.uint64, len(rows.names))
    # The finaliser of SplitMix64: sums of its results practically never collide.
    # From 1, because the finaliser makes 0 of 0, which adds nothing to a sum.
    mixed = (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    marks = [np.zeros(0, np.uint64)]
    for block in rows.blocks():
        # Sums overflow, and their differences are right all the same.
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed[block.codes], dtype=np.uint64)))
        marks.append(sums[block.start[1:]] - sums[block.start[:-1]])
    return np.concatenate(marks)


def _in_order(marks: Marks) -> Copies | None:
    """Return the shortest block that the records are copies of. A header line may separate two copies."""
    records = len(marks)
    # An odd number of lines may be two copies with a header between them.
    half = records // 2
    if records % 2 and half and np.array_equal(marks[:half], marks[half + 1 :]):
        return Copies(2, half, records) if _bits(marks[:half]) >= BITS else None
    block = records
    # A block length divides the number of records; every prime factor is removed while the blocks still match.
    for prime in _primes(records):
        while block % prime == 0 and np.array_equal(marks[: block - block // prime], marks[block // prime : block]):
            block //= prime
    return Copies(records // block, block, records) if block < records and _bits(marks[:block]) >= BITS else None


def _primes(number: int) -> list[int]:
    primes, factor = [], 2
    while factor * factor <= number:
        if number % factor == 0:
            primes.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return [*primes, number] if number > 1 else primes


def _bits(marks: Marks) -> float:
    """Return the information of a block: the improbability that random draws repeat all of its records in order."""
    _, counts = np.unique(marks, return_counts=True)
    return float((counts * np.log2(len(marks) / counts)).sum())


def _in_any_order(marks: Marks) -> Copies | None:
    _, counts = np.unique(marks, return_counts=True)
    # If every record occurs a multiple of n times, n divides all counts.
    times = int(np.gcd.reduce(counts)) if len(counts) >= KINDS else 1
    return Copies(times, 0, len(marks)) if times > 1 else None
