"""Data and releases as short texts, as HTML and as frames: a notebook prints the last value of each cell."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import ClassVar, NamedTuple

from decloak.data.frames import FrameLibrary, make_frame
from decloak.errors import escape_control

FEW = 10
"""Largest number of rows of a value that is printed in full."""
LONGEST = 500
"""Largest number of characters of a representation."""
SHOWN = 5
"""Number of rows in a table of a notebook."""
MOST_ROWS = 50
"""Number of rows of a result in a notebook."""
LONGEST_CELL = 200
"""Largest number of characters of a cell in such a table."""


class Summary(NamedTuple):
    """A value in short: one line, the number of its rows, the columns of its table and the rows as texts."""

    line: str
    size: int
    columns: Sequence[str]
    rows: Iterable[Sequence[str]]


class LongRows(NamedTuple):
    """The columns and the rows of a long table: one fact in each row."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


class Represented:
    """A dataclass with a short `repr`, a table for notebooks, and a frame. Only the frame contains all rows."""

    rows_are_records: ClassVar[bool] = True
    """True if each row stands for a record of the original data."""

    @abstractmethod
    def summary(self) -> Summary:
        """Return the value in short."""

    def __repr__(self) -> str:
        """Return a small value in full and a larger one as a line of at most 500 characters."""
        summary = self.summary()
        if summary.size <= FEW:
            values = ((field.name, getattr(self, field.name)) for field in fields(self) if field.repr)  # type: ignore[arg-type]
            text = f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values)})"
            if len(text) <= LONGEST:
                return text
        return shorten(f"<{escape_control(summary.line)}>")

    def _repr_html_(self) -> str:
        """Return the line and the first rows as HTML, which fetches nothing and runs nothing."""
        return html_table(self.summary())

    def long_rows(self) -> LongRows:
        """Return the rows of the frame."""
        summary = self.summary()
        return LongRows(summary.columns, summary.rows)

    def to_frame(self, library: FrameLibrary | None = None) -> object:
        """Return the value as a long frame of `library`; by default of pandas, else of polars."""
        return make_frame(*self.long_rows(), library)


@dataclass(frozen=True, repr=False)
class Table(Represented):
    """Rows under columns, and a line about them: a result that a notebook shows and `to_frame` converts."""

    line: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def summary(self) -> Summary:
        """Return the table with its cells as texts."""
        return Summary(self.line, len(self.rows), self.columns, (tuple(map(cell_text, row)) for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return shorten(f"<{escape_control(self.line)}; {counted(len(self.rows), 'row')} of {', '.join(self.columns)}>")

    def _repr_html_(self) -> str:
        return html_table(self.summary(), MOST_ROWS)

    def long_rows(self) -> LongRows:
        """Return the rows unchanged."""
        return LongRows(self.columns, self.rows)


def cell_text(value: object) -> str:
    """Return the `value` of a cell as text: numbers with few digits, sets with commas, nothing for None."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else joined(value) if isinstance(value, tuple) else str(value)


def html_table(summary: Summary, shown: int = SHOWN) -> str:
    """Return a `summary` as HTML: its line, the first `shown` rows, and how many more there are."""
    head = "".join(f"<th>{html_text(column)}</th>" for column in summary.columns)
    rows = [
        # Rows are made on demand: of millions only these few.
        "<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>"
        for row in islice(summary.rows, shown)
    ]
    more = f"<p>… and {summary.size - shown:,} more</p>" if summary.size > shown else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<div><p>{html_text(summary.line)}</p>{table}{more}</div>"


def counted(number: int, noun: str) -> str:
    """Return a `number` with its `noun`, which gets an s unless there is one of it.

    >>> counted(1, "record"), counted(1200, "item")
    ('1 record', '1,200 items')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def joined(elements: Iterable[object]) -> str:
    """Return the `elements` of a record as one text, generalised items in brackets.

    >>> joined(["knee", ("icd", "injury")])
    'knee, (icd, injury)'
    """
    return ", ".join(f"({', '.join(one)})" if isinstance(one, tuple) else str(one) for one in elements)


def html_text(text: str, most: int = LONGEST_CELL) -> str:
    """Return the first `most` characters of `text` as HTML that is only text.

    >>> html_text("<b>")
    '&lt;b&gt;'
    """
    # Item names are hostile input: a name must not become markup or steer a terminal.
    from html import escape

    return escape(escape_control(shorten(text, most)))


def html_lines(text: str) -> str:
    """Return the lines of `text` as HTML with their spaces."""
    return f"<pre>{chr(10).join(html_text(line, LONGEST) for line in text.splitlines())}</pre>"


def shorten(text: str, most: int = LONGEST) -> str:
    """Return `text`, cut to `most` characters if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
