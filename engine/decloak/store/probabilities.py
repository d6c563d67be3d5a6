"""How sure an attack is of what it found: findings with the probability it gave them."""

import json
import sqlite3
from typing import NamedTuple

from decloak.data.assignment import Assignment
from decloak.store.strikes import read_strikes

__all__ = ["Given", "Struck", "gives_probabilities", "probable_gifts", "probable_strikes"]


class Struck(NamedTuple):
    """A member struck: the table by its number in the store, the cell, the transaction, and the probability."""

    table: int
    row: int
    column: int
    txn: int
    probability: float


class Given(NamedTuple):
    """A unit given to one row, and the probability."""

    assignment: Assignment
    probability: float


def gives_probabilities(connection: sqlite3.Connection, attack: int) -> bool:
    """Whether an attack ranks what it finds by probabilities."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return bool(json.loads(parameters).get("probabilities"))


def probable_strikes(connection: sqlite3.Connection, attack: int) -> list[Struck]:
    """What an eliminate rule struck, in order; nothing of an attack of another form."""
    strikes = read_strikes(connection, attack)
    if strikes is None:
        return []
    txns = {
        (table, row): txn
        for table, row, txn in connection.execute(
            "select r.distance_table, r.row, r.txn from attack a join distance_table t on t.scoring = a.scoring "
            "join distance_row r on r.distance_table = t.id where a.id = ?",
            (attack,),
        )
    }
    cells = zip(strikes.tables.tolist(), strikes.rows.tolist(), strikes.cols.tolist(), strict=True)
    return [
        Struck(table, row, column, txns[table, row], p)
        for (table, row, column), p in zip(cells, strikes.weights.tolist(), strict=True)
    ]


def probable_gifts(connection: sqlite3.Connection, attack: int) -> list[Given]:
    """What a reassociate rule gave, a row at a time."""
    rows = connection.execute(
        "select c.number, s.chunk, s.unit, r.row, s.value from finding f join assigned s on s.finding = f.id "
        "join cluster_row r on r.txn = s.txn join cluster c on c.id = r.cluster where f.attack = ? order by f.id",
        (attack,),
    )
    return [
        Given(Assignment(cluster, int(chunk) if chunk.isdigit() else chunk, tuple(json.loads(unit)), (row,)), p)
        for cluster, chunk, unit, row, p in rows
    ]
