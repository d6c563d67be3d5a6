"""The published form `distance tables`: a release known only by its distance tables, in a text file.

The file has CSV blocks with a blank line between them, one block a table.

    ,blood pressure,icd,limbs,injury
    heart disease,.56*,.78*,1.57,2.19
    gangrene,2.60,2.93,1.78*,1.49*

The header holds the table's name (perhaps empty) and its columns; each row a name and the values. No value
means no score, and so do negative and infinite ones; a star behind it marks a member of the original.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.method import NewRelease
from decloak.arrays import Mask
from decloak.data.content import Element
from decloak.data.formats.delimited import cells, read_number, split
from decloak.data.formats.lines import FilePath, Line, read_lines
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.pairs import AttackTable, DistanceTable, Pair
from decloak.data.published import Published
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker
from decloak.releases.set_generalised import SetGeneralisedForm
from decloak.releases.stored import StoredSetRelease
from decloak.yaml.section import ConfigErrors


class DistanceFile(NamedTuple):
    """The tables of a file, and the cells that are original members; None if the file has no star."""

    tables: tuple[DistanceTable, ...]
    originals: tuple[Mask, ...] | None


class DistancesForm(SetGeneralisedForm):
    """Tables that are attacked as they are: there is nothing to relate, and no context to choose."""

    name = FormName.DISTANCES
    stored_as = ("method", FormName.DISTANCES)
    related = False
    audits = ()

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        yield (), DecloakError("distance tables leave the attacker nothing to choose", hint="delete it")

    def tables(
        self,
        held: StoredSetRelease,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        # A table names its rows, and the release numbers them.
        places = {label: at for at, label in enumerate(held.published.labels)}
        return [
            AttackTable(
                table.columns,
                np.array([places[name] for name in table.rows], np.intp),
                table.columns,
                tuple(() for _ in table.rows),
                table.d,
            )
            for table in listed
        ]


def release_of_tables(file: DistanceFile, origin: str) -> NewRelease[Published]:
    """Return the release that the distance tables of `file` show: a record per row name, with the generalised
    items.

    `origin` is the name of the file.
    """
    rows: dict[str, list[Element]] = {}
    for table in file.tables:
        for name in table.rows:
            rows.setdefault(name, []).append(table.columns)
    marked = [
        (table.rows[row], table.columns[col])
        # A file without a star has no masks, and marks nothing.
        for table, stars in zip(file.tables, file.originals or (), strict=bool(file.originals))
        for row, col in zip(*np.nonzero(stars), strict=True)
    ]
    published = Published(tuple(map(tuple, rows.values())), tuple(rows), origin)
    return NewRelease(published, "distance tables", {"tables": len(file.tables)}, marked=marked)


def read_distances(path: FilePath) -> DistanceFile:
    """Read the distance tables at `path` and return them. A missing score is NaN."""
    blocks = groupby(read_lines(path), lambda line: not line.text.strip())
    read = [_table(list(block)) for blank, block in blocks if not blank]
    tables, stars = tuple(table for table, _ in read), tuple(star for _, star in read)
    return DistanceFile(tables, stars if any(star.any() for star in stars) else None)


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
    # Neither is a distance: they stand for no score.
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
