"""Write the stages of a run; each function fills one inside the caller's transaction and returns its number."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from decloak.data.dataset import Dataset
from decloak.store.inserting import insert, insert_rows, item_numbers
from decloak.store.records import by_frequency, write_records

__all__ = ["write_dataset", "write_measurement", "write_requests", "write_run"]


def write_dataset(
    connection: sqlite3.Connection, digest: str, data: Dataset, kind: str, file_format: str, note: str | None = None
) -> int:
    """Write plain transactions; the plain items of a release go the same way."""
    number = insert(connection, "dataset", digest=digest, kind=kind, origin=data.origin, format=file_format, note=note)
    items = item_numbers(connection, by_frequency(data.rows))
    write_records(connection, number, data.rows, data.labels, items.__getitem__)
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
    write_requests(connection, [run])
    return run


def write_requests(connection: sqlite3.Connection, runs: Iterable[int]) -> None:
    """Note that `runs` were asked for in this order, after all others."""
    connection.executemany(
        "insert or replace into request (id, run) values ((select coalesce(max(id), 0) + 1 from request), ?)",
        ((run,) for run in runs),
    )
