"""The packages of the extra `tables`, imported when a file needs them, and what their readers have in common."""

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from decloak.data.budget import ARROW_POOL, SYSTEM_POOL
from decloak.data.formats.lines import Line, place
from decloak.data.formats.record import Options, Record
from decloak.data.frames import Columns, rows_of_columns
from decloak.errors import DecloakError, placed
from decloak.extras import install

__all__ = ["needed", "records_of_columns"]


def needed(module: str, what: str) -> Any:
    """A module of the extra; the error of one that is missing says how to get it."""
    os.environ.setdefault(ARROW_POOL, SYSTEM_POOL)
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise DecloakError(f"reading {what} needs {package}", hint=install("tables")) from None


def records_of_columns(columns: Columns, path: str, options: Options) -> Iterator[Record]:
    """The records of a table; a fault has the number of the row in its words."""
    with placed(place(path)):
        for number, (label, items) in enumerate(rows_of_columns(columns, options.transaction, options.item), 1):
            yield Record(Line(path, number, ""), label, items)
