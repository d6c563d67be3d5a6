"""Imports of the extra `tables`, on demand, and the code that its readers share."""

import os
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from decloak.data.formats.lines import Line, location
from decloak.data.formats.record import Options, Record
from decloak.data.frames import Columns, rows_of_columns
from decloak.data.read_budget import ARROW_POOL, SYSTEM_POOL
from decloak.errors import DecloakError, at_location
from decloak.extras import install

__all__ = ["import_extra", "records_of_columns"]


def import_extra(module: str, what: str) -> ModuleType:
    """Import `module` of the extra and return it. The error for a missing one names `what` needs it and the remedy."""
    os.environ.setdefault(ARROW_POOL, SYSTEM_POOL)
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise DecloakError(f"reading {what} needs {package}", hint=install("tables")) from None


def records_of_columns(columns: Columns, path: str, options: Options) -> Iterator[Record]:
    """Yield the records of the table `columns`; errors name `path` and the row. `options` are the options of the
    format.
    """
    with at_location(location(path)):
        for number, (label, items) in enumerate(rows_of_columns(columns, options.transaction, options.item), 1):
            yield Record(Line(path, number, ""), label, items)
