"""The one dialect of separated values that decloak reads and writes.

Blanks around a name are no part of it; what stands between double quotes is the name as it is, a quote inside
written twice. A quote anywhere else is an error, so that an unbalanced one never swallows a comma unseen.
With a blank as the separator, several in a row count as one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from decloak.data.formats.lines import LONGEST_LINE, Line
from decloak.errors import DecloakError, shown

__all__ = [
    "LineCell", "cells", "check_header", "check_separator", "check_width", "join", "one_line", "quoted_value",
    "read_number", "records", "split",
]  # fmt: skip

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)


class LineCell(NamedTuple):
    """One value of a line: its text, whether it stood in quotes, and the column (from 1) it begins at."""

    text: str
    quoted: bool
    column: int


@lru_cache(maxsize=8)
def _cell_pattern(separator: str) -> re.Pattern[str]:
    """A value with the blanks before it; the end is a separator, the end of the line, or what is wrong."""
    mark = re.escape(separator)
    run = mark + "++" if separator == " " else mark
    blank = rf"[^\S{mark}]*+"
    return re.compile(
        rf'{blank}(?:"(?P<quoted>(?:[^"]++|"")*+)"{blank}|(?P<bare>[^"{mark}]*+))(?P<end>{run}|\Z|.)', re.DOTALL
    )


def check_separator(separator: str) -> str:
    """Return the separator; an error when it is not one character that can separate names."""
    if len(separator) != 1 or separator in '"(\n\r\0':
        message = f"{shown(separator)} cannot separate names"
        raise DecloakError(message, hint="use one character, as ',' or ';' or ' ' or a tab")
    return separator


def cells(line: Line, separator: str = ",") -> list[LineCell]:
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
    if bare is None:
        return line.wrong("text after a closing quote", 'write a quote in a name as ""', column)
    if not bare.strip():
        return line.wrong("a quote that is never closed", 'write a quote in a name as ""', column)
    return line.wrong("a quote inside a name", 'put the whole name in quotes and write its quotes as ""', column)


def split(line: Line, separator: str = ",") -> list[str]:
    """The values of a line; the same as `cells`, and much faster where there are no quotes.

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
    """CSV records, whose quoted values may go over several lines.

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
        if size > LONGEST_LINE:
            break
        if len(held) > 1 and line.text.count('"') % 2:
            record = first._replace(text="\n".join(held))
            yield record, split(record, separator)
            first, held, size = None, [], 0
    if first is not None:
        raise first.wrong("a quote that is never closed", 'write a quote in a name as ""')


def check_header(head: Line, names: list[str]) -> None:
    first: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if first.setdefault(name, number) != number:
            raise head.wrong(f"columns {first[name]} and {number} are both {shown(name)}", "rename one")


def check_width(line: Line, row: list[str], width: int) -> None:
    if not line.text.strip():
        raise line.wrong("an empty line", "remove it")
    if len(row) != width:
        raise line.wrong(f"{len(row)} values where the header has {width}", "put names that hold a separator in quotes")


def join(values: Iterable[str], separator: str = ",", *, multiline: bool = False) -> str:
    """Write values as one line that `cells` reads back (`records`, when line ends in names are allowed).

    >>> join(["milk", "bread, white"])
    'milk,"bread, white"'
    """
    return separator.join(quoted_value(one_line(value, multiline=multiline), separator) for value in values)


def quoted_value(value: str, marks: str) -> str:
    """Write one value, in quotes where it holds one of the marks or anything else that would be misread."""
    plain = (
        value == value.strip()
        and not value.startswith(("(", "\ufeff"))
        and not any(mark in value for mark in (*marks, '"', "\n"))
    )
    return value if plain else '"' + value.replace('"', '""') + '"'


def one_line(value: str, *, multiline: bool = False) -> str:
    """Return the value; an error when it holds a line end that the file's form cannot carry."""
    if "\r" in value or ("\n" in value and not multiline):
        message = f"the name {shown(value)} holds a line end, which this format cannot carry"
        raise DecloakError(message, hint="write jsonl")
    return value


def read_number(text: str) -> float:
    """A decimal number, inf or nan; a ValueError for whatever else Python would take, such as 1_000."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)
