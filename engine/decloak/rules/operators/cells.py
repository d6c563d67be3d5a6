"""Cells that an eliminate rule selects with its SQL, as one rectangular array for each distance table."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError, quote
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import Value

ADDED = "added"
"""Column of the learned probabilities."""


class TableCells(NamedTuple):
    """Cells of one distance table as arrays: the distances `d`, and the `further` columns that a formula reads."""

    table: int
    d: Floats
    further: dict[str, Floats]


def read_cells(sql: str, further: Sequence[str], view: AttackerView, place: str) -> list[TableCells]:
    """Select cells from the `view` with `sql` and return them as arrays, table by table.

    A table has the rows and columns that the cells name; other cells have no score. `further` names the numeric columns
    to read in addition to the distances. `place` is the file and line of the SQL, for errors.
    """
    if selects_distances(sql) and (distances := view.distances()) is not None:
        return [TableCells(number, np.asarray(d, np.float64), {}) for number, d in enumerate(distances) if d.size]
    names, stream = view.sandbox.stream(sql, place)
    rows = list(stream)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    if not columns:
        return []
    positions = [_whole(name, columns[name], place) for name in ("item_group", "row", "col")]
    # The distances first: `_table` takes the others as further columns.
    values = [_numbers(name, columns[name], place) for name in ("d", *further)]
    # lexsort sorts by its last key first: by table, row and column, so that equal cells are adjacent.
    order = np.lexsort(positions[::-1])
    # Cells are sorted by table, so that a change of the number begins the next table.
    cut = np.flatnonzero(np.diff(positions[0][order])) + 1
    return [_table(part, positions, values, further, place) for part in np.split(order, cut)]


def selects_distances(sql: str) -> bool:
    """Return True if `sql` selects the distance tables unchanged, so that no database is needed."""
    return " ".join(sql.lower().split()) == "select * from distance"


def add_learned(tables: Sequence[TableCells], probabilities: Mapping[int, Floats]) -> list[TableCells]:
    """Return the `tables` with the learned `probabilities`, by table, as a further column.

    A cell without a probability loses its distance, so that no rule eliminates it.
    """
    with_added = []
    for cells in tables:
        p = np.full(cells.d.shape, np.nan)
        learned = probabilities.get(cells.table, p)
        rows, cols = np.minimum(p.shape, learned.shape).tolist()
        p[:rows, :cols] = learned[:rows, :cols]
        d = np.where(np.isnan(p), np.nan, cells.d)
        with_added.append(TableCells(cells.table, d, cells.further | {ADDED: p}))
    return with_added


def _whole(name: str, column: tuple[Value, ...], place: str) -> Ints:
    for value in column:
        if type(value) is not int or value < 0:
            raise DecloakError(f"the cells give {quote(value)} as {name}", place, "give whole numbers from 0")
    return np.array(column, np.int64)


def _numbers(name: str, column: tuple[Value, ...], place: str) -> Floats:
    for value in column:
        if value is not None and type(value) not in (int, float):
            raise DecloakError(f"the cells give {quote(value)} as {name}", place, "give a number, or null")
    return np.array(column, np.float64)


def _table(
    part: Ints,
    positions: Sequence[Ints],
    values: Sequence[Floats],
    further: Sequence[str],
    place: str,
) -> TableCells:
    number, row, col = int(positions[0][part[0]]), positions[1][part], positions[2][part]
    shape = (int(row.max()) + 1, int(col.max()) + 1)
    # A table is a rectangular array: numbers with gaps would need memory for cells that do not exist.
    if shape[0] * shape[1] > 10 * len(part) + 10_000:
        cells = f"table {number} has {len(part)} cells in {shape[0]} rows and {shape[1]} columns"
        raise DecloakError(cells, place, "number rows and columns from 0 without gaps")
    flat = row * shape[1] + col
    if (np.diff(flat) == 0).any():
        raise DecloakError(f"the cells give a cell of table {number} twice", place, "group them")
    arrays = []
    for column in values:
        array = np.full(shape, np.nan)
        array.flat[flat] = column[part]
        arrays.append(array)
    return TableCells(number, arrays[0], dict(zip(further, arrays[1:], strict=True)))
