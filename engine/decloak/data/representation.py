"""Short representations of data and releases: a notebook prints the last value of each cell."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from itertools import islice
from typing import Any, NamedTuple

from decloak.errors import escape_control

__all__ = ["Represented", "Summary", "counted", "html_table", "joined"]

FEW = 10
"""Largest number of rows of a value that is printed in full."""
LONGEST = 500
"""Largest number of characters of a representation."""
SHOWN = 5
"""Number of rows in a table of a notebook."""
LONGEST_CELL = 200
"""Largest number of characters of a cell in such a table."""


class Summary(NamedTuple):
    """A value in short: one line, the number of its rows, the columns of its table and the rows as texts."""

    line: str
    size: int
    columns: Sequence[str]
    rows: Iterable[Sequence[str]]


class Represented:
    """A dataclass with a short `repr` and a table for notebooks. Both contain no more than the first rows."""

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
        return _cut(f"<{escape_control(summary.line)}>", LONGEST)

    def _repr_html_(self) -> str:
        """Return the line and the first rows as HTML, which fetches nothing and runs nothing."""
        return html_table(self.summary())


def html_table(summary: Summary) -> str:
    """Return a `summary` as HTML: its line, its first rows, and how many more there are."""
    head = "".join(f"<th>{_safe(column)}</th>" for column in summary.columns)
    rows = [
        "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in islice(summary.rows, SHOWN)
    ]
    more = f"<p>… and {summary.size - SHOWN:,} more</p>" if summary.size > SHOWN else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<div><p>{_safe(summary.line)}</p>{table}{more}</div>"


def counted(number: int, noun: str) -> str:
    """Return a `number` with its `noun`, which gets an s unless there is one of it.

    >>> counted(1, "record"), counted(1200, "item")
    ('1 record', '1,200 items')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def joined(elements: Iterable[Any]) -> str:
    """Return the `elements` of a record as one text, generalised items in brackets.

    >>> joined(["knee", ("icd", "injury")])
    'knee, (icd, injury)'
    """
    return ", ".join(f"({', '.join(one)})" if isinstance(one, tuple) else str(one) for one in elements)


def _safe(text: str) -> str:
    # Item names are hostile input: a name must not become markup or steer a terminal.
    return escape(escape_control(_cut(text, LONGEST_CELL)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
