"""Distance tables in a text file: CSV blocks with a blank line between them, one block a table.

    ,blood pressure,icd,limbs,injury
    heart disease,.56*,.78*,1.57,2.19
    gangrene,2.60,2.93,1.78*,1.49*

The header holds the table's name (perhaps empty) and its columns; each row a name and the values. No value
means no score, and so do negative and infinite ones; a star behind it marks a member of the original.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from decloak.arrays import Mask
from decloak.data.formats.delimited import cells, read_number, split
from decloak.data.formats.lines import FilePath, Line, read_lines
from decloak.data.pairs import DistanceTable
from decloak.errors import quote

__all__ = ["DistanceFile", "read_distances"]


class DistanceFile(NamedTuple):
    """The tables of a file, and the cells that are original members; None if the file has no star."""

    tables: tuple[DistanceTable, ...]
    originals: tuple[Mask, ...] | None


def read_distances(path: FilePath) -> DistanceFile:
    """Read the distance tables at `path` and return them. A missing score is NaN."""
    read = [_table(block) for block in _blocks(read_lines(path))]
    tables, stars = tuple(table for table, _ in read), tuple(star for _, star in read)
    return DistanceFile(tables, stars if any(star.any() for star in stars) else None)


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    for blank, block in groupby(lines, lambda line: not line.text.strip()):
        if not blank:
            yield list(block)


def _table(block: list[Line]) -> tuple[DistanceTable, Mask]:
    head, *rows = block
    name, *columns = split(head)
    if not columns or not rows:
        raise head.error("a table without columns or rows", "write a header (name, columns), then a row a line")
    values, names = [], []
    for row in rows:
        label, *texts = split(row)
        if len(texts) != len(columns):
            message = f"{len(texts)} values where the header has {len(columns)} columns"
            raise row.error(message, "leave a value empty when there is no score")
        names.append(label)
        values.append([_value(row, number, text) for number, text in enumerate(texts, 1)])
    _check_unique(columns, [head] * len(columns), "column")
    _check_unique(names, rows, "row")
    d = np.array([[value for value, _ in row] for row in values])
    d[~np.isfinite(d) | (d < 0)] = np.nan
    return DistanceTable(name, tuple(names), tuple(columns), d), np.array([[star for _, star in row] for row in values])


def _value(line: Line, number: int, text: str) -> tuple[float, bool]:
    bare = text.removesuffix("*").rstrip()
    try:
        return read_number(bare) if bare else float("nan"), text.endswith("*")
    except ValueError:
        column = cells(line)[number].column
        hint = "write 0.5, or 0.5* for an original member, or leave the cell empty"
        raise line.error(f"{quote(text)} is not a number", hint, column) from None


def _check_unique(names: Sequence[str], lines: Sequence[Line], what: str) -> None:
    """Raise an error at the line of the first name that repeats."""
    seen: set[str] = set()
    for name, line in zip(names, lines, strict=True):
        if not name.strip():
            raise line.error(f"a {what} without a name", "only the table itself may have none")
        if name in seen:
            raise line.error(f"the {what} {quote(name)} is there twice", "rename one")
        seen.add(name)
