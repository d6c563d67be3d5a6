"""Tests for a header, a column of ids and a separator: the criteria of `decloak look` and of the checks of readers.

Each uses whole files, not single lines, and says nothing about a few lines, because readers treat its result as an
error of the user.

The first part of a file for `decloak look`: unpacked, decoded as well as possible, split into lines.
"""

import codecs
import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from decloak.data.formats.delimited import records
from decloak.data.formats.lines import SQLITE, FilePath, Line, ReadFile, location
from decloak.data.formats.unpacked import start_of
from decloak.errors import DecloakError

Rows = Sequence[Sequence[str]]

SEPARATORS = ("\t", ";", "|", ",")
"""Separators that names rarely contain, the least likely first. A blank is tried only if none of them occurs."""
INNER = ("|", ";", ",", " ")
"""Characters that may separate the names inside a value."""
LINES = 20_000
"""Number of lines that are analysed."""
NEARLY = 0.9
"""Least share of lines that counts as nearly all."""
HEADED = 3
"""Least number of lines, including the first, to recognise a header."""
FEWEST = 5
"""Least number of lines to recognise a column of ids: a1, a2, a3 may well be items."""
LONGEST_TITLE = 100
"""Largest number of characters of a column name: matching patterns is slow with a million."""
MANY = 10
"""Least number of lines where unique names before repeated names may be ids."""

ID_WORDS = re.compile(
    r"(?:\w*[ _.-])?(?:id|ids|tid|key|nr|no|number|transaction|trans|order|basket|customer|user|person|patient|visit|"
    r"invoice|invoiceno|case|record|session|member|visitor|client|subject|household|anonid|who|index)"
    r"|(?:\w*(?:id|_?no|_?nr|number))|#|",
    re.IGNORECASE,
)
"""Names of columns of ids; in one-hot tables also nothing."""
ITEM_WORDS = re.compile(
    r"(?:\w*[ _.-])?(?:item|product|article|diag|diagnos[ei]s?|dx|icd|atc|medication|procedure|code|drug|tag|"
    r"description|name|term|sku|stockcode|category|what|value|symptom|keyword|ingredient|good|movie|page|url|event|list|basket|purchase|word)(?:e?s)?"
    r"(?:[ _.-]?(?:id|code|name|no|list))?[ _.-]?\d*",
    re.IGNORECASE,
)
"""Names of columns of items."""
_COLUMN = re.compile(
    r"(?:item|product|article|diagnos[ei]s|code|drug|tag|symptom|keyword|ingredient|basket|transaction|purchase|itemset|"
    r"list)(?:e?s)?",
    re.IGNORECASE,
)
"""Names above a single column of lists. Other words may as well be items."""
_HEX = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){2,6}[0-9a-f]{0,12}", re.IGNORECASE)
_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


class Ids(NamedTuple):
    """The first column has ids (`there`), and that is certain (`sure`)."""

    there: bool
    sure: bool


def matches(pattern: re.Pattern[str], name: str) -> bool:
    """Return True if the column `name` matches `pattern`."""
    return len(name) <= LONGEST_TITLE and bool(name.strip()) and pattern.fullmatch(name.strip()) is not None


def is_whole(text: str) -> bool:
    """Return True if `text` is a non-negative integer."""
    return text.isascii() and text.isdecimal()


def rows_by(lines: Sequence[Line], separator: str) -> list[list[str]] | None:
    """Return the values of each of `lines`, split by `separator`; None if a quote is misplaced."""
    try:
        return [row for line, row in records(lines, separator) if line.text.strip()]
    except DecloakError:
        return None


def split_share(rows: Rows) -> float:
    """Return the share of `rows` with several values."""
    return sum(len(row) > 1 for row in rows) / len(rows) if rows else 0.0


def header_of_rows(rows: Rows) -> bool:
    """Return True if the first of `rows` is a header: it differs from all others.

    None of its values occurs below. Its words are names of columns, or it has letters where all others have numbers,
    perhaps only in the first column. A single name must be one for lists.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    if len(rest) < HEADED - 1:
        return False
    below = {cell for row in rest for cell in row}
    if any(cell in below for cell in first if cell):
        return False
    numbers = all(is_whole(cell) for row in rest for cell in row)
    lettered = not any(char.isdigit() for cell in first for char in cell)
    if len(first) == 1:
        return split_share(rest) > 0 and (matches(_COLUMN, first[0]) or (numbers and lettered))
    if matches(ID_WORDS, first[0]):
        worded = any(matches(ITEM_WORDS, cell) for cell in first[1:])
        return worded or _shape([row[0] for row in rest if row]) is not None
    if not is_whole(first[0]) and first[0] and len(rest) >= FEWEST and all(row and is_whole(row[0]) for row in rest):
        return True
    if all(matches(ITEM_WORDS, cell) for cell in first) and len(set(first)) == len(first):
        return len({re.sub(r"\d+", "", cell) for cell in first}) == 1
    return numbers and lettered


def may_be_header(rows: Rows) -> bool:
    """Return True if the first of `rows` may be a header, in unknown words.

    None of its values occurs below, where nearly all values repeat; or the first has no digit and the ids below have;
    or it is alone.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    counts = Counter(cell for row in rest for cell in row)
    if len(rest) < HEADED - 1 or not counts.keys().isdisjoint(first):
        return False
    again = sum(count for count in counts.values() if count > 1)
    if split_share(rest) > 0 and again >= NEARLY * sum(counts.values()):
        return True
    if any(map(str.isdigit, first[0])):
        return False
    ids = [row[0] for row in rest if row]
    numbered = sum(any(map(str.isdigit, cell)) for cell in ids) >= NEARLY * len(ids)
    return split_share(rest) > 0 if len(first) == 1 else numbered and len(set(ids)) == len(ids)


def ids_of_rows(rows: Rows) -> Ids:
    """Return the evidence that the first value of each of `rows` is an id: it is unique, and has another form than the
    rest.

    Ids of a file that was written twice, or a few ids that repeat, are still ids. A few lines prove nothing, except
    that a repeated value is no id.
    """
    filled = [row for row in rows if row]
    first = [row[0] for row in filled]
    # Repeated ids are removed first: a file that was written twice still has ids.
    one_each: dict[str, Sequence[str]] = {}
    for row in filled:
        one_each.setdefault(row[0], row)
    if len(one_each) == len(filled):
        there, sure = _ids(filled)
        return Ids(there, sure and len(rows) >= FEWEST)
    shaped = 2 * len(one_each) >= len(filled) and _are_shaped(list(one_each), filled)
    if len(one_each) < FEWEST or not (shaped or nearly_unique(first)):
        return Ids(False, True)
    there, sure = _ids(list(one_each.values()))
    return Ids(there, sure or not there)


def ids_of_pairs(rows: Rows) -> Ids | None:
    """Return the evidence that the first of the two columns of `rows` has ids.

    None is returned unless values of that column repeat, and only in neighbours.
    """
    one_each = list({row[0]: row for row in rows}.values())
    follows = sum(row[0] == after[0] for row, after in pairwise(rows))
    # Every repeated id has to follow itself: rows of a record are neighbours.
    return ids_of_rows(one_each) if 0 < len(rows) - len(one_each) <= follows else None


def nearly_unique(values: Sequence[str]) -> bool:
    """Return True if `values` behave like ids: nearly all differ, or all occur equally often, as in a file written
    twice.
    """
    counts = Counter(values)
    often = Counter(counts.values()).most_common(1)
    return len(counts) >= NEARLY * len(values) or (bool(often) and often[0][0] > 1 and often[0][1] >= len(counts) - 1)


def _are_shaped(ids: Sequence[str], rows: Rows) -> bool:
    """Return True if ids share a pattern that other values rarely have."""
    shape, others = _shape(ids), [cell for row in rows for cell in row[1:]]
    return shape is not None and sum(_shape_of(cell) == shape for cell in others) <= (1 - NEARLY) * len(others)


def _ids(rows: Rows) -> Ids:
    first = [row[0] for row in rows]
    others = [cell for row in rows for cell in row[1:]]
    if not others:
        return Ids(False, False)
    if all(map(is_whole, first)):
        numbers = [int(cell) for cell in first]
        rises = all(low < high for low, high in pairwise(numbers))
        # Numbers before words are ids; numbers before numbers may be items.
        if sum(map(is_whole, others)) < (1 - NEARLY) * len(others):
            return Ids(True, True)
        counted = rises and numbers[-1] - numbers[0] == len(numbers) - 1
        apart = len(first) >= MANY and not set(first) & set(others)
        return Ids(counted or apart, not (rises or apart) and len(first) >= MANY)
    if _are_shaped(first, rows):
        return Ids(True, True)
    if set(first) & set(others):
        return Ids(False, True)
    return Ids(len(first) >= MANY and 2 * len(set(others)) <= len(others), False)


def _shape(cells: Sequence[str]) -> str | None:
    """Return the pattern with digits that nearly all share; None if there is none."""
    shapes = Counter(_shape_of(cell) for cell in cells)
    common, count = max(shapes.items(), key=itemgetter(1), default=("", 0))
    return common if "9" in common and count >= NEARLY * len(cells) else None


def is_shaped(values: Sequence[str]) -> bool:
    """Return True if nearly all `values` share a pattern with digits."""
    return _shape(values) is not None


def _shape_of(cell: str) -> str:
    """Return the pattern of a name: p01 and q7 are A9, a date is 9-9-9."""
    if _HEX.fullmatch(cell):
        return "hex 9"
    return _LETTERS.sub("A", _DIGITS.sub("9", cell))


def nested(rows: Rows) -> bool:
    """Return True if each of `rows` is an id and one further value, which may be a list itself."""
    return sum(len(row) == 2 for row in rows) >= NEARLY * len(rows) and max(map(len, rows)) <= 2


def inner_of(rows: Rows, outer: str) -> str | None:
    """Return the separator of names inside the values behind the ids of `rows`; None if there is none. `outer` is the
    separator of the columns.

    It occurs in a third of the values and in no id; a blank only between integers.
    """
    if not nested(rows):
        return None
    ids, values = [row[0] for row in rows], [row[1] for row in rows if len(row) == 2]
    for mark in INNER:
        there = [value for value in values if mark in value.strip()]
        numbers = mark != " " or all(all(map(is_whole, value.split())) for value in values)
        if mark != outer and 3 * len(there) >= len(values) and not any(mark in id_ for id_ in ids) and numbers:
            return mark
    return None


SAMPLE = 1 << 20
"""Bytes that are analysed to recognise a file."""
WHOLE = 1 << 25
"""Largest size in bytes of a file that is read completely, to count its content."""

_BINARY = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    # How a stream begins, where the others are files.
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "xlsx",
}
_MARKS = {codecs.BOM_UTF8: ("utf-8", "UTF-8 with a byte order mark"), codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
          codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16")}  # fmt: skip


class FileSample(NamedTuple):
    """The content of the first part of a file. A binary file has no lines."""

    file: ReadFile
    """The file with its content, unpacked; only the first part of a large one."""
    whole: bool
    """True if that is all of it."""
    packing: str | None
    binary: str | None
    """The format of a binary file."""
    encoding: str
    line_ends: str
    lines: tuple[Line, ...]
    """The lines of the part that is analysed."""

    @property
    def path(self) -> str:
        return os.fspath(self.file)

    @property
    def readable(self) -> bool:
        """True if decloak's readers accept the text unchanged."""
        return self.encoding.startswith("UTF-8") and self.line_ends != "CR"


def sample_of(path: FilePath) -> FileSample:
    """Read the first part of the file at `path` and return it. It is read once, because it may be a pipe."""
    # One byte more than is read whole shows that the file goes on.
    content, packing = start_of(path, WHOLE + 1)
    whole = len(content) <= WHOLE
    if not content.strip():
        raise DecloakError("the file is empty", location(path), "expected at least one line")
    if content.startswith(SQLITE):
        hint = "ask it by `decloak sql`; in a scenario a store that `decloak publish` wrote is data: {release: FILE}"
        raise DecloakError("a SQLite database: a store, or none of decloak's", location(path), hint)
    binary = next((name for magic, name in _BINARY.items() if content.startswith(magic)), None)
    if not whole and binary is None:
        # Whole lines only: a cut line would look like a fault.
        content = content[: content.rfind(b"\n", 0, SAMPLE) + 1] or content[:SAMPLE]
    file = ReadFile(path, content)
    if binary is not None:
        return FileSample(file, whole, packing, binary, "", "", ())
    encoding, text = _decoded(content[:SAMPLE], path)
    cut = not whole or len(content) > SAMPLE
    if not text.strip():
        raise DecloakError("the file is empty", location(path), "expected at least one line")
    return FileSample(file, whole, packing, None, encoding, _line_ends(text), lines_of_text(text, os.fspath(path), cut))


def lines_of_text(text: str, path: str, cut: bool) -> tuple[Line, ...]:
    """Return the lines of `text` of the file `path`, without blank ones at the end; if it is `cut`, without the
    last.
    """
    texts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if cut and len(texts) > 1:
        texts.pop()
    while texts and not texts[-1].strip():
        texts.pop()
    return tuple(Line(path, number, line) for number, line in enumerate(texts, 1))


def _decoded(data: bytes, path: FilePath) -> tuple[str, str]:
    """Return the name of the encoding and the text. Latin-1 is a guess that nothing can refute."""
    for mark, (codec, name) in _MARKS.items():
        if data.startswith(mark):
            return name, data.removeprefix(mark).decode(codec, "ignore")
    if 3 * data.count(b"\0") >= len(data) > 2:  # every other byte of Latin letters, less of others
        codec = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
        return "UTF-16", data.decode(codec, "ignore")
    if b"\0" in data:
        raise DecloakError("not text, and no known format", location(path), "see `decloak import --help`")
    try:
        # The sample may end inside a character, which this decoder leaves out.
        return "UTF-8", codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return "Latin-1", data.decode("latin-1")


def _line_ends(text: str) -> str:
    crlf = text.count("\r\n")
    lone, bare = text.count("\r") - crlf, text.count("\n") - crlf
    if lone:
        return "CR"
    return "CRLF" if crlf and not bare else "LF and CRLF" if crlf else "LF"
