"""What tells a header, a column of ids and a separator: the criteria of `decloak look`, and of the guards of readers.

Each goes by whole files, not by a line, and keeps silent over a few lines: what it says is taken for an error of the
person who said otherwise.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from decloak.data.formats.delimited import records
from decloak.data.formats.lines import Line
from decloak.errors import DecloakError

__all__ = ["ID_WORDS", "INNER", "ITEM_WORDS", "LINES", "NEARLY", "SEPARATORS", "Ids", "Rows", "header_of_rows",
           "ids_of_rows", "inner_of", "is_shaped", "is_whole", "matches", "may_be_header", "nearly_unique", "nested",
           "rows_by", "split_share"]  # fmt: skip

Rows = Sequence[Sequence[str]]

SEPARATORS = ("\t", ";", "|", ",")
"""Those that names seldom hold, the least likely first; a blank is looked for only where none of them is."""
INNER = ("|", ";", ",", " ")
"""What may separate the names inside a value."""
LINES = 20_000
"""Lines that are looked at."""
NEARLY = 0.9
"""The share of lines that is nearly all of them."""
HEADED = 3
"""Lines, the first included, that a header can be told from."""
FEWEST = 5
"""Lines that a column of ids can be told from: a1, a2, a3 may well be items."""
LONGEST_TITLE = 100
"""Characters that the name of a column may have: to match patterns takes long with a million."""
MANY = 10
"""Lines from which on names that are there once, before names that come again, are perhaps ids."""

ID_WORDS = re.compile(
    r"(?:\w*[ _.-])?(?:id|ids|tid|key|nr|no|number|transaction|trans|order|basket|customer|user|person|patient|visit|"
    r"invoice|invoiceno|case|record|session|member|visitor|client|subject|household|anonid|who|index)"
    r"|(?:\w*(?:id|_?no|_?nr|number))|#|",
    re.IGNORECASE,
)
"""What a column of ids is called; in one-hot tables also nothing."""
ITEM_WORDS = re.compile(
    r"(?:\w*[ _.-])?(?:item|product|article|diag|diagnos[ei]s?|dx|icd|atc|medication|procedure|code|drug|tag|"
    r"description|name|term|sku|stockcode|category|what|value|symptom|keyword|ingredient|good|movie|page|url|event|list|basket|purchase|word)(?:e?s)?"
    r"(?:[ _.-]?(?:id|code|name|no|list))?[ _.-]?\d*",
    re.IGNORECASE,
)
"""What a column of items is called."""
_COLUMN = re.compile(
    r"(?:item|product|article|diagnos[ei]s|code|drug|tag|symptom|keyword|ingredient|basket|transaction|purchase|itemset|"
    r"list)(?:e?s)?",
    re.IGNORECASE,
)
"""What the one name above lists is called; what else could be is an item as likely."""
_HEX = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){2,6}[0-9a-f]{0,12}", re.IGNORECASE)
_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


class Ids(NamedTuple):
    """Whether the first column holds ids, and whether that is sure."""

    there: bool
    sure: bool


def matches(pattern: re.Pattern[str], name: str) -> bool:
    return len(name) <= LONGEST_TITLE and bool(name.strip()) and pattern.fullmatch(name.strip()) is not None


def is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def rows_by(lines: Sequence[Line], separator: str) -> list[list[str]] | None:
    """The values of each line; None where quotes stand as they may not."""
    try:
        return [row for line, row in records(lines, separator) if line.text.strip()]
    except DecloakError:
        return None


def split_share(rows: Rows) -> float:
    """The share of rows with several values."""
    return sum(len(row) > 1 for row in rows) / len(rows) if rows else 0.0


def header_of_rows(rows: Rows) -> bool:
    """Whether the first row is unlike all others: names of columns.

    None of its values occurs below; and the words are those of columns, or it has letters where all others have
    numbers, be it in the first column alone. One name alone is what lists are called.
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
    """Whether the first row may be one, in words nobody knows: none of its values occurs below, where nearly all do
    again; or the first has no digit and the ids below it have, or it stands alone.
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
    """Whether the first value of each row is an id: it stands nowhere twice, and is of another make than the rest.

    Ids of a file that was written twice, or a few ids that repeat, are ids all the same. A few lines leave nothing
    sure, save that what stands twice is none.
    """
    filled = [row for row in rows if row]
    first = [row[0] for row in filled]
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


def nearly_unique(values: Sequence[str]) -> bool:
    """Whether values are as ids are: nearly all differ, or all stand equally often, as in a file written twice."""
    counts = Counter(values)
    often = Counter(counts.values()).most_common(1)
    return len(counts) >= NEARLY * len(values) or (bool(often) and often[0][0] > 1 and often[0][1] >= len(counts) - 1)


def _are_shaped(ids: Sequence[str], rows: Rows) -> bool:
    """Whether ids share a shape that other values seldom have."""
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
    """The shape that nearly all share, with digits in it; None where there is none."""
    shapes = Counter(_shape_of(cell) for cell in cells)
    common, count = max(shapes.items(), key=itemgetter(1), default=("", 0))
    return common if "9" in common and count >= NEARLY * len(cells) else None


def is_shaped(values: Sequence[str]) -> bool:
    """Whether nearly all values share a shape with digits in it."""
    return _shape(values) is not None


def _shape_of(cell: str) -> str:
    """How a name is written: p01 and q7 are A9, a date is 9-9-9."""
    if _HEX.fullmatch(cell):
        return "hex 9"
    return _LETTERS.sub("A", _DIGITS.sub("9", cell))


def nested(rows: Rows) -> bool:
    """Whether each row is an id and one value more, which may be a list of its own."""
    return sum(len(row) == 2 for row in rows) >= NEARLY * len(rows) and max(map(len, rows)) <= 2


def inner_of(rows: Rows, outer: str) -> str | None:
    """What separates names inside the values behind the ids; None where nothing does.

    It stands in a third of the values and in no id; a blank only between whole numbers.
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
