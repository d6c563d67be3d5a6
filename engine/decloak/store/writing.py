"""Write the stages of a run; each function fills one inside the caller's transaction and returns its number."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from decloak.data.dataset import Dataset
from decloak.store.inserting import insert, insert_rows, item_numbers
from decloak.store.transactions import write_transactions

__all__ = ["write_dataset", "write_measurement", "write_run"]


def write_dataset(
    connection: sqlite3.Connection, digest: str, data: Dataset, kind: str, file_format: str, note: str | None = None
) -> int:
    """Write plain transactions; the plain items of a release go the same way."""
    number = insert(connection, "dataset", digest=digest, kind=kind, origin=data.origin, format=file_format, note=note)
    items = item_numbers(connection, data.items)
    write_transactions(connection, number, data.rows, data.labels, items.__getitem__)
    return number


def write_measurement(
    connection: sqlite3.Connection,
    digest: str,
    attack: int,
    family: str,
    figures: Iterable[tuple[int, str, float | None, float | None, float | None]],
    note: str | None,
) -> int:
    """Write measured figures: scope (-1 is pooled), name, value, and the counts of the ratio."""
    number = insert(connection, "measurement", digest=digest, attack=attack, family=family, note=note)
    rows = ((number, *figure) for figure in figures)
    insert_rows(connection, "measure (measurement, scope, name, value, part, whole)", rows)
    return number


def write_run(
    connection: sqlite3.Connection, *, attacks: Sequence[tuple[str, int]], measurements: Iterable[int], **columns: Any
) -> int:
    """Write a finished run with the attacks and measurements that belong to it."""
    run = insert(connection, "run", started=datetime.now(UTC).isoformat(timespec="seconds"), **columns)
    rows = ((run, position, label, attack) for position, (label, attack) in enumerate(attacks))
    insert_rows(connection, "run_attack (run, position, label, attack)", rows)
    connection.executemany(
        "insert or ignore into run_measurement (run, measurement) values (?, ?)",
        ((run, measurement) for measurement in measurements),
    )
    return run
