"""The cells that an eliminate rule reads by its SQL, as arrays: a rectangle for each distance table."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError, shown
from decloak.rules.operators.operator import RuleOf, Sight

__all__ = ["ADDED", "TableCells", "cells_of", "is_plain", "with_learned"]

ADDED = "added"
"""The column of what is learned."""


class TableCells(NamedTuple):
    """The relation of one table as arrays: distances, and what else the weights read."""

    table: int
    d: Floats
    further: dict[str, Floats]


def cells_of(rule: RuleOf[Any], sight: Sight) -> list[TableCells]:
    """Read a rule's cells; a table has the rows and columns its relation names, cells not named are unscored."""
    if is_plain(rule) and (distances := sight.distances()) is not None:
        return [TableCells(number, np.asarray(d, np.float64), {}) for number, d in enumerate(distances) if d.size]
    place = rule.place("cells")
    names, stream = sight.sandbox.stream(rule.model.cells, place)
    rows = list(stream)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    if not columns:
        return []
    further = [name for name in rule.compiled.further if name != ADDED or rule.model.learn is None]
    positions = [_whole(name, columns[name], place) for name in ("table", "row", "col")]
    # The distances first: `_table` takes the rest for the further columns.
    values = [_numbers(name, columns[name], place) for name in ("d", *further)]
    # lexsort goes by its last key first; by table, row and column equal cells come to stand together.
    order = np.lexsort(positions[::-1])
    cut = np.flatnonzero(np.diff(positions[0][order])) + 1
    return [_table(part, positions, values, further, place) for part in np.split(order, cut)]


def is_plain(rule: RuleOf[Any]) -> bool:
    """Whether a rule goes over the distances themselves."""
    return " ".join(rule.model.cells.lower().split()) == "select * from distance"


def with_learned(tables: Sequence[TableCells], added: Mapping[int, Floats]) -> list[TableCells]:
    """The cells with what was learned of them; what nothing was learned of is not struck."""
    with_added = []
    for cells in tables:
        p = np.full(cells.d.shape, np.nan)
        learned = added.get(cells.table, p)
        rows, cols = np.minimum(p.shape, learned.shape).tolist()
        p[:rows, :cols] = learned[:rows, :cols]
        d = np.where(np.isnan(p), np.nan, cells.d)
        with_added.append(TableCells(cells.table, d, cells.further | {ADDED: p}))
    return with_added


def _whole(name: str, column: tuple[Any, ...], place: str) -> Ints:
    for value in column:
        if type(value) is not int or value < 0:
            raise DecloakError(f"the cells give {shown(value)} as {name}", place, "give whole numbers from 0")
    return np.array(column, np.int64)


def _numbers(name: str, column: tuple[Any, ...], place: str) -> Floats:
    for value in column:
        if value is not None and type(value) not in (int, float):
            raise DecloakError(f"the cells give {shown(value)} as {name}", place, "give a number, or null")
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
    # A table is held as a rectangle: numbers with gaps would ask for memory that nothing fills.
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
