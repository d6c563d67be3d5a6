"""Rows on standard output: an aligned table for people, JSON and CSV for programs."""

import csv
import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from decloak.errors import DecloakError, shown

__all__ = ["FORMS", "emit", "emit_json"]

FORMS = ("table", "json", "csv")


def emit(columns: Sequence[str], rows: Iterable[Sequence[Any]], form: str = "table") -> None:
    """Print rows in one of FORMS."""
    if form == "json":
        if len(set(columns)) < len(columns):
            raise DecloakError("two columns have one name, which JSON cannot hold", hint="name one: select a as b")
        emit_json([dict(zip(columns, map(_finite, row), strict=True)) for row in rows])
    elif form == "csv":
        writer = csv.writer(_Lines(), lineterminator="\r\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        _table(columns, [list(row) for row in rows])


class _Lines:
    """Takes lines that end as CSV has it, so that a carriage return in a name is quoted, and prints them as lines."""

    def write(self, line: str) -> None:
        sys.stdout.write(line.removesuffix("\r\n") + "\n")


def _finite(value: Any) -> Any:
    """Infinity as text: JSON has no number for it."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def emit_json(value: Any) -> None:
    """Print one JSON value; bytes and the like as text."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1, default=str)
    sys.stdout.write("\n")


def _table(columns: Sequence[str], rows: list[list[Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], (int, float, type(None))) for row in rows)
        table.add_column(Text(column), justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.print(table)
        return
    console.width = 1_000_000  # a pipe has no edge to fold at; the table is as wide as its cells
    with console.capture() as captured:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if value and abs(value) < 0.001 else f"{value:.3f}"
    return str(value) if isinstance(value, int) else shown(value, 200)[1:-1]
