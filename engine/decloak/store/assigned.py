"""Who was given what: the findings of a reassociate rule."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter

from decloak.data.assignment import Assignment
from decloak.store.inserting import insert_numbered, insert_rows
from decloak.store.relations import Derives
from decloak.store.sandbox import Sandbox

__all__ = ["as_read", "read_assigned", "show_assigned", "write_assigned"]


def write_assigned(
    connection: sqlite3.Connection,
    attack: int,
    release: int,
    assignments: Iterable[tuple[Assignment, Sequence[float | None]]],
) -> None:
    """Write who gets what: a finding for every row a unit was given to, with what the row was ranked by."""
    txns = {
        (cluster, row): txn
        for cluster, row, txn in connection.execute(
            "select c.number, r.row, r.txn from cluster c join cluster_row r on r.cluster = c.id where c.release = ?",
            (release,),
        )
    }
    text_of = cache(lambda unit: json.dumps(unit, ensure_ascii=False))  # many rows and clusters have the same units
    rows = [
        (txns[cluster, row], name, text, value)
        for (cluster, chunk, unit, receivers), values in assignments
        for name, text in [(str(chunk), text_of(unit))]
        for row, value in zip(receivers, values, strict=True)
    ]
    findings = insert_numbered(connection, "finding (attack, round)", [(attack, 1)] * len(rows))
    numbered = ((finding, *row) for finding, row in zip(findings, rows, strict=True))
    insert_rows(connection, "assigned (finding, txn, chunk, unit, value)", numbered)


def as_read(assignments: Iterable[Assignment]) -> list[Assignment]:
    """Assignments as they are read once they are written: who measures them finds the same either way.

    >>> as_read([Assignment(0, "T", ("b",), (2, 0)), Assignment(0, 1, ("a",), (1,))])[1].rows
    (0, 2)
    """
    text_of = cache(lambda unit: json.dumps(unit, ensure_ascii=False))
    ordered = sorted(assignments, key=lambda assigned: (assigned[0], str(assigned[1]), text_of(assigned[2])))
    return [assigned._replace(rows=tuple(sorted(assigned.rows))) for assigned in ordered]


def read_assigned(connection: sqlite3.Connection, attack: int) -> list[Assignment]:
    rows = connection.execute(
        "select c.number, s.chunk, s.unit, r.row from finding f join assigned s on s.finding = f.id "
        "join cluster_row r on r.txn = s.txn join cluster c on c.id = r.cluster where f.attack = ? "
        "order by c.number, s.chunk, s.unit, r.row",
        (attack,),
    )
    unit_of = cache(lambda text: tuple(json.loads(text)))  # many clusters have the same units
    return [
        Assignment(cluster, int(chunk) if chunk.isdigit() else chunk, unit_of(unit), tuple(r for *_, r in group))
        for (cluster, chunk, unit), group in groupby(rows, key=itemgetter(0, 1, 2))
    ]


def show_assigned(sandbox: Sandbox, attack: int, derives: Derives) -> None:
    """Let a rule read who got what in an earlier attack; why the condition that holds always, see `show_facts`."""
    sandbox.show(
        derives.name,
        derives.columns,
        "select l.number as cluster, s.chunk, s.unit, r.row from main.finding f "
        "join main.assigned s on s.finding = f.id join main.cluster_row r on r.txn = s.txn "
        f"join main.cluster l on l.id = r.cluster where f.attack = {int(attack)} and l.number >= 0",
    )
