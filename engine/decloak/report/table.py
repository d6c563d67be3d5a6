"""Rows on standard output: an aligned table for people, CSV for spreadsheets, JSON for programs, Markdown for pages."""

import csv
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import click
from rich.cells import cell_len

from decloak.data.formats.lines import json_text
from decloak.errors import DecloakError, escape_control, quote
from decloak.report.terminal import say_data


def markdown_text(text: str) -> str:
    """Return `text` escaped, so that Markdown and HTML show it as text.

    >>> markdown_text("a | b")
    'a \\\\| b'
    """
    return re.sub(r"([\\`*_{}\[\]()#+|~<>&!-])", r"\\\1", escape_control(" ".join(text.split())))


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Return a Markdown table with columns of numbers to the right; an absent value is an empty cell."""
    held = [list(row) for row in rows]
    # Numbers stand below each other only if every cell of the column is one.
    numeric = [
        bool(held) and all(isinstance(row[place], int | float | None) for row in held) for place in range(len(columns))
    ]
    yield _line(map(markdown_text, columns))
    yield _line("---:" if right else "---" for right in numeric)
    yield from (_line(map(_cell_markdown, row)) for row in held)


def _cell_markdown(value: object) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) else markdown_text(str(value))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


GAP = 3
"""Blanks between two columns of a table."""
RULE = "─"
"""The line under the names of the columns."""
WORD = 24
"""Longer words may be folded."""
FIGURES = re.compile(r"[-–\d.,()→±%]+( (to|of|[-–\d.,()→±%]+))*")
"""A number, or several that belong together, such as 0.9 (0.8–0.95), or 12 → 40 of 800."""
_DIGITS = re.compile(r"[-–\d.,]*")
"""A text that may be a name as well."""
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Characters that begin a formula; in some spreadsheets also wide characters, or after a tab or a line end."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?: ±[\d.]+)?", re.ASCII)


def emit(
    columns: Sequence[str], rows: Iterable[Sequence[object]], form: str = "table", *, width: int | None = None
) -> None:
    """Print `rows` under `columns`, in the `form` table, json, csv or md.

    A table is at most `width` characters wide, and as wide as a terminal. Without a `width`, output to a pipe has any
    length.
    """
    if form == "json":
        if len(set(columns)) < len(columns):
            raise DecloakError("two columns have one name, which JSON cannot hold", hint="name one: select a as b")
        _json(columns, rows)
    elif form == "csv":
        writer = csv.writer(_Lines(), lineterminator="\r\n")
        writer.writerow(map(_spread, columns))
        writer.writerows(map(_spread, row) for row in rows)
    elif form == "md":
        sys.stdout.writelines(f"{line}\n" for line in table_lines(columns, rows))
    else:
        _table(columns, [list(row) for row in rows], width)


def _json(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print the rows as one JSON list, each as soon as it exists."""
    before = "[\n "
    for row in rows:
        text = json_text(dict(zip(columns, map(_finite, row), strict=True)), indent=1, default=str)
        sys.stdout.write(before + text.replace("\n", "\n "))
        before = ",\n "
    sys.stdout.write("[]\n" if before[0] == "[" else "\n]\n")


class _Lines:
    """Takes lines that end as CSV has it, so that a carriage return in a name is quoted, and prints them as lines."""

    def write(self, line: str) -> None:
        sys.stdout.write(line.removesuffix("\r\n") + "\n")


def _spread(value: object) -> object:
    """Return a value for a spreadsheet, with a quote before text that it would run as a formula.

    Other values stay as they are, unless a terminal prints them.
    """
    if not isinstance(value, str):
        return value
    text = escape_control(value) if sys.stdout.isatty() else value
    # Spreadsheets would run it, and names of items come from others.
    return f"'{text}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else text


def _finite(value: object) -> object:
    """Return infinity as text: JSON has no number for it."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def emit_json(value: object) -> None:
    """Print one JSON value; bytes and similar types as text."""
    say_data(json_text(value, indent=1, default=str))


def fits_width(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> bool:
    """Say whether a table has room in `width` characters, its headings folded between words."""
    return _total(column.need for column in _columns(columns, rows, names=False)) <= width


def _columns(columns: Sequence[str], rows: Sequence[Sequence[object]], *, names: bool) -> list["_Column"]:
    """Lay out the columns of a table; with `names` a text of digits alone may be a name, and is no figure."""
    cells = [[_cell(value) for value in row] for row in rows]
    drawn = []
    for index, name in enumerate(columns):
        values, texts = [row[index] for row in rows], [_cell(name), *(row[index] for row in cells)]
        # Numbers and what joins them are never folded; words may be, so a column needs only its longest word.
        figures = bool(rows) and all(_is_figure(value, names) for value in values)
        folded = texts[:1] if figures else texts
        words = [*(texts[1:] if figures else ()), *(word[:WORD] for text in folded for word in text.split())]
        drawn.append(_Column(texts, figures, max(1, *map(cell_len, texts)), max(map(cell_len, words), default=1)))
    return drawn


def _table(columns: Sequence[str], rows: list[list[object]], width: int | None) -> None:
    drawn = _columns(columns, rows, names=width is None)
    edge, is_bold = _terminal()
    room = min((limit for limit in (edge, width) if limit is not None), default=None)
    for number, band in enumerate([drawn] if room is None else _bands(drawn, room)):
        if number:
            sys.stdout.write("\n")
        # A pipe has no edge to fold at; the table is as wide as its cells.
        widths = [column.width for column in band] if room is None else _column_widths(band, room, edge)
        lines = list(_drawn(band, widths))
        heads = next(number for number, line in enumerate(lines) if line.startswith(RULE)) if is_bold else 0
        sys.stdout.writelines(f"{click.style(line, bold=True)}\n" for line in lines[:heads])
        sys.stdout.writelines(f"{line}\n" for line in lines[heads:])


def _terminal() -> tuple[int | None, bool]:
    """Return the width of the terminal, None for a pipe, and whether it shows bold text."""
    if not sys.stdout.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return None, False
    # It takes time to import, and the output is often a file.
    from rich.console import Console

    console = Console()
    return (console.width, console.color_system is not None) if console.is_terminal else (None, False)


class _Column(NamedTuple):
    """The texts of a column, its name first, and how much room they want and need: text folds between words."""

    texts: Sequence[str]
    figures: bool
    width: int
    need: int


def _bands(columns: Sequence[_Column], room: int) -> list[list[_Column]]:
    """Return the tables to print below each other, so that the terminal's edge folds no figure or word.

    Each begins with the columns that say what a row is about, which get at most half of the room.
    """
    keys = max(1, next((number for number, column in enumerate(columns) if column.figures), len(columns)))
    rest = columns[keys:]
    if _total(column.need for column in columns) <= room:
        return [list(columns)]
    room_beside = room - min(_total(column.width for column in columns[:keys]), room // 2)
    bands: list[list[_Column]] = [[]]
    for column in rest:
        if bands[-1] and GAP + _total([*(before.need for before in bands[-1]), column.need]) > room_beside:
            bands.append([])
        bands[-1].append(column)
    return [[*columns[:keys], *band] for band in bands]


def _column_widths(columns: Sequence[_Column], room: int, edge: int | None) -> list[int]:
    """Return the width of every column, reduced where most of it is not needed; beyond the terminal's edge, where it
    is.
    """
    widths = [column.width for column in columns]
    while (total := _total(widths)) > room:
        # The column with most room to spare gives way first.
        slack, index = max((widths[index] - column.need, index) for index, column in enumerate(columns))
        if slack <= 0:
            if edge is None or total <= edge or max(widths) <= 1:
                break
            index = widths.index(max(widths))
        widths[index] -= 1
    return widths


def _total(widths: Iterable[int]) -> int:
    """Return the total width of columns side by side."""
    return sum(width + GAP for width in widths) - GAP


def _drawn(columns: Sequence[_Column], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table; cells of several lines end on the last line of their row."""
    for number, row in enumerate(zip(*(column.texts for column in columns), strict=True)):
        cells = [_folded(text.rstrip(), width) for text, width in zip(row, widths, strict=True)]
        height = max(map(len, cells))
        for line in zip(*([""] * (height - len(cell)) + cell for cell in cells), strict=True):
            # `len` counts characters and a terminal counts cells.
            padded = (
                text.rjust(width - cell_len(text) + len(text))
                if column.figures
                else text.ljust(width - cell_len(text) + len(text))
                for text, width, column in zip(line, widths, columns, strict=True)
            )
            yield (" " * GAP).join(padded).rstrip()
        if not number:
            yield RULE * _total(widths)


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a text that is folded between words, and inside words that are longer than `width`."""
    # `textwrap` counts characters, and a wide one takes two cells of a terminal.
    lines, line = list[str](), ""
    for word in re.findall(r"\s*\S+\s*", text):
        if cell_len(line) + cell_len(word.rstrip()) <= width:
            line += word
            continue
        if line:
            lines.append(line.rstrip())
        line = word
        while cell_len(line.rstrip()) > width:
            end = next(end for end in range(len(line), 0, -1) if end == 1 or cell_len(line[:end]) <= width)
            lines.append(line[:end])
            line = line[end:]
    return [*lines, line.rstrip()]


def _is_figure(value: object, names: bool) -> bool:
    """Return whether a value is a number, or several with a separator."""
    if value is None or isinstance(value, (int, float)):
        return True
    return bool(FIGURES.fullmatch(str(value))) and not (names and _DIGITS.fullmatch(str(value)))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if value and abs(value) < 0.001 else f"{value:.3f}"
    return str(value) if isinstance(value, int) else quote(value, 200)[1:-1]


def as_count(value: float | None) -> float | None:
    """Return a count as a whole number; an expected count may be a fraction."""
    return int(value) if value is not None and value.is_integer() else value
