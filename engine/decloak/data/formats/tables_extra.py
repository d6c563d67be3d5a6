"""The packages of the extra `tables`, imported when a file needs them, and what their readers have in common."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from decloak.data.formats.lines import Line, place
from decloak.data.formats.record import Options, Record
from decloak.data.frames import Columns, rows_of_columns
from decloak.errors import DecloakError, placed
from decloak.extras import install

__all__ = ["MOST_CELLS", "check_cells", "needed", "records_of_columns"]

MOST_CELLS = 100_000_000
"""Cells a table may have: a small file can claim any number of equal ones."""


def needed(module: str, what: str) -> Any:
    """A module of the extra; the error of one that is missing says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise DecloakError(f"reading {what} needs {package}", hint=install("tables")) from None


def check_cells(rows: int, columns: int, path: str) -> None:
    """Refuse a table that would not fit in memory."""
    if rows * columns > MOST_CELLS:
        raise DecloakError(f"a table of {rows * columns:,} cells", place(path), f"at most {MOST_CELLS:,}")


def records_of_columns(columns: Columns, path: str, options: Options) -> Iterator[Record]:
    """The records of a table; a fault has the number of the row in its words."""
    with placed(place(path)):
        rows = list(rows_of_columns(columns, options.transaction, options.item))
    for number, (label, items) in enumerate(rows, 1):
        yield Record(Line(path, number, ""), label, items)
