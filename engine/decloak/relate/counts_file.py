"""Files with document counts, or finished scores, of terms.

A counts file is CSV with the header a,b,count. The row x,,f gives f(x), the row x,y,f gives f(x,y), in either order,
and ,,N gives N, the number of documents. A counts file named .json is JSON: {"n": 50000, "terms": {"flu": 120},
"pairs": [["flu", "cough", 7]]}, where null or a number below 0 means unknown. A scores file has the header
a,b,<measure> and a score per pair.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple, Self, TypeVar

from decloak.data.document_counter import unordered_pair
from decloak.data.formats.delimited import cells, read_number, split
from decloak.data.formats.lines import FilePath, Line, json_value, location, read_lines
from decloak.data.pairs import Pair
from decloak.errors import DecloakError, at_location, quote, suggest

COUNTS = ["a", "b", "count"]
"""Header of a counts file, which is the name of no measure."""

_JSON_SHAPE = 'write {"n": 50000, "terms": {"flu": 120}, "pairs": [["flu", "cough", 7]]}'
_JSON_KEYS = ("n", "terms", "pairs")
_JSON_LARGEST = 10**18
_JSON_LONGEST = 1_000_000_000


DIGITS = 18
Value = TypeVar("Value")


@dataclass(frozen=True)
class CountsFile:
    """Document counts that were read from a file."""

    n: float
    single: dict[str, int | None]
    both: dict[Pair, int | None]

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read the counts file at `path`; return its counts."""
        if os.fspath(path).endswith(".json"):
            # Most programs write JSON as one long line, so a line may be as long as a whole file.
            text = "\n".join(line.text for line in read_lines(path, longest=_JSON_LONGEST))
            value = json_value(Line(os.fspath(path), 1, text), _JSON_SHAPE)
            with at_location(location(path)):
                return cls(*_json_counts(value))
        lines = read_lines(path)
        if split(lines[0]) != COUNTS:
            hint = "write x,,7 for a term and ,,900 for all pages, or use `source: scores` (--scores)"
            raise lines[0].error("expected the header a,b,count", hint)
        read = _unique(_rows(lines), _count)
        n = read.pop(("", ""), None)
        if n is None or n < 1:
            raise DecloakError("N, the number of pages, is missing or below 1", location(path), "add a line ,,50000")
        # Pairs are in order, where the blank comes first: a single term is the second.
        single = {x: count for (blank, x), count in read.items() if not blank}
        return cls(n, single, {pair: count for pair, count in read.items() if pair[0]})

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        return {term: self.single.get(term) for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        return {pair: self.both.get(unordered_pair(*pair)) for pair in pairs}


@dataclass(frozen=True)
class ScoresFile:
    """Scores that were read from a file, with the name of their measure."""

    measure: str
    scores: dict[Pair, float | None]

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read the scores file at `path` and return it; an empty value is no score."""
        lines = read_lines(path)
        if lines[0].text.startswith("{"):
            raise lines[0].error("the file contains counts in JSON, not scores", "write `source: counts` (--counts)")
        header = split(lines[0])
        if header == COUNTS:
            hint = "write `source: counts` (--counts), or name the third column after the measure"
            raise lines[0].error("the header belongs to a file of counts", hint)
        if len(header) != 3 or header[:2] != COUNTS[:2] or not header[2]:
            hint = "name the measure in the third column, or use `source: counts` (--counts)"
            raise lines[0].error("expected a header such as a,b,ngd", hint)
        return cls(header[2], _unique(_rows(lines), _score))

    def distances(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        """Return the score of each of `pairs`, None where the file has none."""
        return {pair: self.scores.get(unordered_pair(*pair)) for pair in pairs}


class _Row(NamedTuple):
    line: Line
    a: str
    b: str
    value: str

    def error(self, message: str, hint: str) -> DecloakError:
        return self.line.error(message, hint, cells(self.line)[2].column)


def _rows(lines: Sequence[Line]) -> Iterator[_Row]:
    for line in lines[1:]:
        values = split(line)
        if len(values) != 3:
            raise line.error(f"{len(values)} values where the header has 3", "put names with commas in quotes")
        yield _Row(line, *values)


def _unique(rows: Iterable[_Row], read: Callable[[_Row], Value]) -> dict[Pair, Value]:
    """Return values by unordered pair; a pair may occur again, in either order, with the same value."""
    values: dict[Pair, Value] = {}
    lines: dict[Pair, int] = {}
    for row in rows:
        pair, value = unordered_pair(row.a, row.b), read(row)
        if values.setdefault(pair, value) != value:
            raise row.error(f"line {lines[pair]} has another value for the same", "keep one of them")
        lines.setdefault(pair, row.line.number)
    return values


def _count(row: _Row) -> int | None:
    if row.b and not row.a:
        raise row.line.error("a second name without a first", "write the only name first: x,,7")
    if not row.value:
        return None
    digits = row.value.removeprefix("-")  # some sources have -1 for unknown counts: it is no score, not 0
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= DIGITS):
        raise row.error(f"{quote(row.value)} is not a count", "write a whole number, or leave the cell empty")
    return int(row.value)


def _score(row: _Row) -> float | None:
    if not (row.a and row.b):
        raise row.line.error("a score needs two names", "write x,y,0.5")
    try:
        score = read_number(row.value or "nan")
    except ValueError:
        raise row.error(f"{quote(row.value)} is not a number", "write 0.5, or leave the cell empty") from None
    return None if isnan(score) else score


Counts = tuple[int, dict[str, int | None], dict[tuple[str, str], int | None]]
"""N, f(x) by term and f(x,y) by unordered pair."""


def _json_counts(value: object) -> Counts:
    if not isinstance(value, dict):
        raise DecloakError("expected one object", hint=_JSON_SHAPE)
    for key in value:
        if key not in _JSON_KEYS:
            hint = suggest(key, _JSON_KEYS) or f"the keys are {', '.join(_JSON_KEYS)}"
            raise DecloakError(f"unknown key {quote(key)}", hint=hint)
    n = _json_count(value.get("n"), "n")
    if n is None or n < 1:
        raise DecloakError("N, the number of pages, is missing or below 1", hint='add "n": 50000')
    return n, _json_single(value.get("terms", {})), _json_pairs(value.get("pairs", []))


def _json_single(terms: object) -> dict[str, int | None]:
    if not isinstance(terms, dict):
        raise DecloakError("terms is not an object", hint=_JSON_SHAPE)
    return {_json_name(term, "terms"): _json_count(count, f"terms, {quote(term)}") for term, count in terms.items()}


def _json_pairs(pairs: object) -> dict[tuple[str, str], int | None]:
    if not isinstance(pairs, list):
        raise DecloakError("pairs is not a list", hint=_JSON_SHAPE)
    counts: dict[tuple[str, str], int | None] = {}
    for number, entry in enumerate(pairs, 1):
        where = f"pair {number}"
        if not isinstance(entry, list) or len(entry) != 3:
            raise DecloakError(f"{where} is not two names and a count", hint='write ["flu", "cough", 7]')
        pair, count = (
            unordered_pair(_json_name(entry[0], where), _json_name(entry[1], where)),
            _json_count(entry[2], where),
        )
        if counts.setdefault(pair, count) != count:
            raise DecloakError(f"{where} has another value for the same two", hint="keep one of them")
    return counts


def _json_name(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DecloakError(f"{where}: {quote(value)} is not a name", hint='write it in quotes: "flu"')
    return value


def _json_count(value: object, where: str) -> int | None:
    if value is not None and not (type(value) is int and abs(value) < _JSON_LARGEST):
        raise DecloakError(f"{where}: {quote(value)} is not a count", hint="write a whole number, or null when unknown")
    return value
