"""What every writer of the store begins with: whether a stage is there, the numbers of items and of new rows."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from decloak.store.opening import Store
from decloak.store.sandbox import quoted

__all__ = ["find", "insert", "item_numbers", "next_number", "write_txns"]

_STAGES = {"dataset", "release", "relatedness", "scoring", "attack", "attacker", "measurement", "run", "rule"}


def find(store: Store, stage: str, digest: str) -> int | None:
    """The number of a stage that was finished before."""
    assert stage in _STAGES
    row = store.connection.execute(f"select id from {stage} where digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def item_numbers(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """The numbers of items by name; new names get one, in sorted order, so that stores are alike."""
    wanted = sorted(set(names))
    connection.executemany("insert or ignore into item (name) values (?)", ((name,) for name in wanted))
    connection.execute("create temp table if not exists wanted (name text primary key)")
    connection.execute("delete from temp.wanted")
    connection.executemany("insert into temp.wanted values (?)", ((name,) for name in wanted))
    found = connection.execute("select i.name, i.id from temp.wanted w join main.item i on i.name = w.name")
    return dict(found.fetchall())


def insert(connection: sqlite3.Connection, table: str, **columns: Any) -> int:
    """Insert one row and return its number."""
    names = ", ".join(map(quoted, columns))
    marks = ", ".join("?" * len(columns))
    cursor = connection.execute(f"insert into {table} ({names}) values ({marks})", tuple(columns.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def next_number(connection: sqlite3.Connection, table: str) -> int:
    """The number the next row of a table gets."""
    (last,) = connection.execute(f"select coalesce(max(id), 0) from {table}").fetchone()
    return int(last) + 1


def write_txns(connection: sqlite3.Connection, dataset: int, labels: Sequence[str]) -> range:
    """Number transactions in order, each with its label."""
    first = next_number(connection, "txn")
    connection.executemany(
        "insert into txn (id, dataset, position, label) values (?, ?, ?, ?)",
        ((first + position, dataset, position, label) for position, label in enumerate(labels)),
    )
    return range(first, first + len(labels))
