"""Files of counts and of finished scores of terms.

A counts file is CSV with the header a,b,count: x,,f gives f(x); x,y,f gives f(x,y), in either order;
,,N gives N, the number of pages. Named .json it is JSON (counts_json). A scores file has the header
a,b,<measure> and a score a pair.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple, Self, TypeVar

from decloak.data.formats.delimited import cells, read_number, split
from decloak.data.formats.lines import FilePath, Line, place, read_lines
from decloak.data.query import both
from decloak.data.tables import Pair
from decloak.errors import DecloakError, shown
from decloak.relate.counts_json import read_counts_json

__all__ = ["CountsFile", "ScoresFile"]

COUNTS = ["a", "b", "count"]
"""The header of counts, which is no measure's."""

DIGITS = 18
Value = TypeVar("Value")


@dataclass(frozen=True)
class CountsFile:
    """Counts read from a file."""

    n: float
    single: dict[str, int | None]
    both: dict[Pair, int | None]

    @classmethod
    def read(cls, path: FilePath) -> Self:
        if os.fspath(path).endswith(".json"):
            return cls(*read_counts_json(path))
        lines = read_lines(path)
        if split(lines[0]) != COUNTS:
            hint = "then x,,7 counts x and ,,900 all pages; finished scores are of source: scores (--scores)"
            raise lines[0].wrong("expected the header a,b,count", hint)
        read = _unique(_rows(lines), _count)
        n = read.pop(("", ""), None)
        if n is None or n < 1:
            raise DecloakError("N, the number of pages, is missing or below 1", place(path), "add a line ,,50000")
        single = {x: count for (blank, x), count in read.items() if not blank}
        return cls(n, single, {pair: count for pair, count in read.items() if pair[0]})

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        return {term: self.single.get(term) for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        return {pair: self.both.get(both(*pair)) for pair in pairs}


@dataclass(frozen=True)
class ScoresFile:
    """Scores read from a file, with the name of their measure."""

    measure: str
    scores: dict[Pair, float | None]

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read a scores file; no value is no score."""
        lines = read_lines(path)
        if lines[0].text.startswith("{"):
            raise lines[0].wrong("these are counts in JSON, not scores", "write source: counts (--counts)")
        header = split(lines[0])
        if header == COUNTS:
            hint = "write source: counts (--counts), or name the third column after the measure"
            raise lines[0].wrong("this is the header of counts, not of scores", hint)
        if len(header) != 3 or header[:2] != COUNTS[:2] or not header[2]:
            hint = "the third column names the measure; counts are of source: counts (--counts)"
            raise lines[0].wrong("expected a header such as a,b,ngd", hint)
        return cls(header[2], _unique(_rows(lines), _score))

    def distances(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        """The score of every pair, None where the file has none."""
        return {pair: self.scores.get(both(*pair)) for pair in pairs}


class _Row(NamedTuple):
    line: Line
    a: str
    b: str
    value: str

    def wrong(self, message: str, hint: str) -> DecloakError:
        return self.line.wrong(message, hint, cells(self.line)[2].column)


def _rows(lines: Sequence[Line]) -> Iterator[_Row]:
    for line in lines[1:]:
        values = split(line)
        if len(values) != 3:
            raise line.wrong(f"{len(values)} values where the header has 3", "put names with commas in quotes")
        yield _Row(line, *values)


def _unique(rows: Iterable[_Row], read: Callable[[_Row], Value]) -> dict[Pair, Value]:
    """Values by unordered pair; a pair may come again, in either order, when the value is the same."""
    values: dict[Pair, Value] = {}
    lines: dict[Pair, int] = {}
    for row in rows:
        pair, value = both(row.a, row.b), read(row)
        if values.setdefault(pair, value) != value:
            raise row.wrong(f"line {lines[pair]} has another value for the same", "keep one of them")
        lines.setdefault(pair, row.line.number)
    return values


def _count(row: _Row) -> int | None:
    if row.b and not row.a:
        raise row.line.wrong("a second name without a first", "write the only name first: x,,7")
    if not row.value:
        return None
    digits = row.value.removeprefix("-")  # some sources say -1 for what they cannot tell: it is no score, not 0
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= DIGITS):
        raise row.wrong(f"{shown(row.value)} is not a count", "write a whole number, or nothing when unknown")
    return int(row.value)


def _score(row: _Row) -> float | None:
    if not (row.a and row.b):
        raise row.line.wrong("a score needs two names", "write x,y,0.5")
    try:
        score = read_number(row.value or "nan")
    except ValueError:
        raise row.wrong(f"{shown(row.value)} is not a number", "write 0.5, or nothing for no score") from None
    return None if isnan(score) else score
