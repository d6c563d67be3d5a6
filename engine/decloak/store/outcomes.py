"""What eliminate attacks did to distance tables, with the truth of the cells beside it."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outcome", "TrueTable", "outcomes", "scoring_of", "true_tables"]


class TrueTable(NamedTuple):
    """A distance table, by its numbers in the store and in its scoring; arrays of its shape."""

    id: int
    number: int
    original: NDArray[np.bool_]  # truth: whether the transaction really has the member
    scored: NDArray[np.bool_]


class Outcome(NamedTuple):
    """What an attack did to one distance table; arrays of its shape."""

    table: TrueTable
    order: NDArray[np.int64]  # when the cell was struck, from 0; -1 where it was spared
    weight: NDArray[np.float64]  # the weight of the cells spared


def scoring_of(connection: sqlite3.Connection, attack: int) -> int:
    """The scoring whose tables an attack worked on."""
    (number,) = connection.execute("select scoring from attack where id = ?", (attack,)).fetchone()
    return int(number)


def true_tables(connection: sqlite3.Connection, scoring: int) -> list[TrueTable]:
    """The distance tables of a scoring: the same for every attack on them."""
    cells = connection.execute(
        "select t.id, t.number, c.row, c.col, c.d >= 0 and c.d < 9e999, e.original from distance_table t "
        "join cell c on c.distance_table = t.id "
        "join truth_cell e on e.distance_table = c.distance_table and e.row = c.row and e.col = c.col "
        "where t.scoring = ? order by t.number, c.row, c.col",
        (scoring,),
    )
    return [_table(table, number, list(group)) for (table, number), group in groupby(cells, key=lambda cell: cell[:2])]


def _table(table: int, number: int, cells: Sequence[tuple[int | None, ...]]) -> TrueTable:
    *_, (_, _, last_row, last_col, _, _) = cells
    shape = (int(last_row or 0) + 1, int(last_col or 0) + 1)
    # A comparison with a distance that is null is null itself: no score.
    scored, original = (np.array([bool(cell[column]) for cell in cells]).reshape(shape) for column in (4, 5))
    return TrueTable(table, number, original, scored)


def outcomes(connection: sqlite3.Connection, attack: int, tables: Sequence[TrueTable]) -> Iterator[Outcome]:
    """What an attack did to each of its tables."""
    strikes = _by_table(
        connection,
        "select s.distance_table, s.row, s.col, null from finding f join struck s on s.finding = f.id "
        "where f.attack = ? order by f.id",
        attack,
    )
    spared = _by_table(connection, "select distance_table, row, col, weight from spared where attack = ?", attack)
    for table in tables:
        order, weight = np.full(table.scored.shape, -1, np.int64), np.full(table.scored.shape, np.nan)
        for position, (_, row, col, _) in enumerate(strikes.get(table.id, ())):
            order[row, col] = position
        for _, row, col, left in spared.get(table.id, ()):
            weight[row, col] = np.nan if left is None else left
        yield Outcome(table, order, weight)


def _by_table(connection: sqlite3.Connection, sql: str, attack: int) -> dict[int, list[tuple[int, int, int, float]]]:
    tables: dict[int, list[tuple[int, int, int, float]]] = {}
    for cell in connection.execute(sql, (attack,)):
        tables.setdefault(cell[0], []).append(cell)
    return tables
