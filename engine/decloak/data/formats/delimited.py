"""The dialect of separated values that decloak reads and writes.

Blanks around a name are not part of it. Text between double quotes is the name itself, with a quote inside written
twice. A quote anywhere else is an error, so that an unbalanced one never swallows a comma unnoticed. If the separator
is a blank, several in a row count as one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from decloak.data.formats.lines import LONGEST_LINE, Line
from decloak.errors import DecloakError, quote

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)


class LineCell(NamedTuple):
    """One value of a line: its text, its quoting, and the column (from 1) at which it begins."""

    text: str
    quoted: bool
    column: int


@lru_cache(maxsize=8)
def _cell_pattern(separator: str) -> re.Pattern[str]:
    """Return a pattern for a value with the blanks before it. Its end is a separator, the end of the line, or an
    error.
    """
    mark = re.escape(separator)
    # Two commas have an empty value between them, and two blanks have none.
    run = mark + "++" if separator == " " else mark
    blank = rf"[^\S{mark}]*+"
    # Possessive quantifiers: a hostile line must not cause exponential backtracking.
    return re.compile(
        rf'{blank}(?:"(?P<quoted>(?:[^"]++|"")*+)"{blank}|(?P<bare>[^"{mark}]*+))(?P<end>{run}|\Z|.)', re.DOTALL
    )


def check_separator(separator: str) -> str:
    """Return `separator`; raise an error if it is not one character that can separate names."""
    if len(separator) != 1 or separator in '"(\n\r\0':
        message = f"{quote(separator)} cannot separate names"
        raise DecloakError(message, hint="use one character, as ',' or ';' or ' ' or a tab")
    return separator


def cells(line: Line, separator: str = ",") -> list[LineCell]:
    """Return the cells of `line` between `separator`; raise an error where a quote is misplaced."""
    pattern, values, position = _cell_pattern(separator), [], 0
    text = line.text.strip(" ") if separator == " " else line.text
    offset = 1 + (len(line.text) - len(line.text.lstrip(" ")) if separator == " " else 0)
    while True:
        match = pattern.match(text, position)
        assert match is not None  # whatever stands there, the last branch of the pattern takes it
        inside, bare, end = match.group("quoted", "bare", "end")
        if end and not end.startswith(separator):
            raise _misplaced(line, bare, match.start("end") + offset)
        start = match.start("bare") if inside is None else match.start("quoted") - 1
        value = bare.strip() if inside is None else inside.replace('""', '"')
        values.append(LineCell(value, inside is not None, start + offset))
        if not end:
            return values
        position = match.end()


def _misplaced(line: Line, bare: str | None, column: int) -> DecloakError:
    """Return the error for the text behind or inside a quoted value."""
    if bare is None:
        return line.error("text after a closing quote", 'write a quote in a name as ""', column)
    if not bare.strip():
        return line.error("a quote that is never closed", 'write a quote in a name as ""', column)
    return line.error("a quote inside a name", 'put the whole name in quotes and write its quotes as ""', column)


def split(line: Line, separator: str = ",") -> list[str]:
    """Return the values of `line` between `separator`, as `cells` does, but much faster where there are no quotes.

    >>> split(Line("x", 1, 'milk, "bread, white" ,rice'))
    ['milk', 'bread, white', 'rice']
    """
    text = line.text
    if '"' in text:
        return [cell.text for cell in cells(line, separator)]
    if separator == " ":
        return list(map(str.strip, filter(None, text.split(" ")))) or [""]
    return list(map(str.strip, text.split(separator)))


def records(lines: Iterable[Line], separator: str = ",") -> Iterator[tuple[Line, list[str]]]:
    """Yield the CSV records of `lines` with this `separator`. Quoted values may extend over several lines.

    A record is complete when its number of quotes is even: outside quotes the dialect has none.
    """
    first: Line | None = None
    held: list[str] = []
    size = 0
    for line in lines:
        if first is None and line.text.count('"') % 2 == 0:
            yield line, split(line, separator)
            continue
        first = first or line
        held.append(line.text)
        size += len(line.text) + 1
        # A quote that is never closed would take in the rest of the file.
        if size > LONGEST_LINE:
            break
        if len(held) > 1 and line.text.count('"') % 2:
            record = first._replace(text="\n".join(held))
            yield record, split(record, separator)
            first, held, size = None, [], 0
    if first is not None:
        raise first.error("a quote that is never closed", 'write a quote in a name as ""')


def check_header(head: Line, names: list[str]) -> None:
    """Raise an error if the `names` of the columns in `head` are empty or repeat."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if first.setdefault(name, number) != number:
            raise head.error(f"columns {first[name]} and {number} are both {quote(name)}", "rename one")


def check_width(line: Line, row: list[str], width: int) -> None:
    """Raise an error if `row` in `line` does not have `width` values."""
    if not line.text.strip():
        raise line.error("an empty line", "remove it")
    if len(row) != width:
        raise line.error(f"{len(row)} values where the header has {width}", "put names that hold a separator in quotes")


def join(values: Iterable[str], separator: str = ",", *, multiline: bool = False) -> str:
    """Return the `values` with `separator` as one line that `cells` reads back.

    If `multiline` allows line ends in names, only `records` reads it back.

    >>> join(["milk", "bread, white"])
    'milk,"bread, white"'
    """
    return separator.join(quoted_value(one_line(value, multiline=multiline), separator) for value in values)


def quoted_value(value: str, marks: str) -> str:
    """Return `value`, in quotes if it contains one of `marks` or anything else that would be misread."""
    plain = (
        value == value.strip()
        and not value.startswith(("(", "\ufeff"))
        and not any(mark in value for mark in (*marks, '"', "\n"))
    )
    return value if plain else '"' + value.replace('"', '""') + '"'


def one_line(value: str, *, multiline: bool = False) -> str:
    """Return `value`; raise an error if it contains a line end that the format cannot carry. `multiline` allows line
    feeds.
    """
    if "\r" in value or ("\n" in value and not multiline):
        message = f"the name {quote(value)} holds a line end, which this format cannot carry"
        raise DecloakError(message, hint="write jsonl")
    return value


def read_number(text: str) -> float:
    """Return the decimal number, inf or nan in `text`. A ValueError for other notations of Python, such as 1_000."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)
