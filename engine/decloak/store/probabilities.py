"""How sure an attack is of what it found: findings with the probability it gave them."""

import json
import sqlite3
from typing import NamedTuple

from decloak.data.assignment import Assignment

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
    """What an eliminate rule struck."""
    rows = connection.execute(
        "select s.distance_table, s.row, s.col, r.txn, s.weight from finding f join struck s on s.finding = f.id "
        "join distance_row r on r.distance_table = s.distance_table and r.row = s.row where f.attack = ? order by f.id",
        (attack,),
    )
    return [Struck(*row) for row in rows]


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
