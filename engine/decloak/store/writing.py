"""Write the stages of a run; each function fills one inside the caller's transaction and returns its number."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from decloak.data.dataset import Dataset
from decloak.data.tables import AttackTable
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers
from decloak.store.releases import generalised_numbers
from decloak.store.transactions import dataset_of, extent, write_transactions

__all__ = ["write_dataset", "write_measurement", "write_relatedness", "write_run", "write_scoring"]


def write_dataset(
    connection: sqlite3.Connection, digest: str, data: Dataset, kind: str, file_format: str, note: str | None = None
) -> int:
    """Write plain transactions; the plain items of a release go the same way."""
    number = insert(connection, "dataset", digest=digest, kind=kind, origin=data.origin, format=file_format, note=note)
    items = item_numbers(connection, data.items)
    write_transactions(connection, number, data.rows, data.labels, items.__getitem__)
    return number


def write_relatedness(
    connection: sqlite3.Connection,
    digest: str,
    measure: str,
    origin: str,
    scores: Mapping[tuple[str, str], float | None],
    warnings: Sequence[str],
) -> int:
    """Write the scores of item pairs; None is no score."""
    number = insert(
        connection, "relatedness",
        digest=digest, measure=measure, origin=origin, warnings=json.dumps(list(warnings)),
    )  # fmt: skip
    items = item_numbers(connection, (name for pair in scores for name in pair))
    rows = ((number, items[a], items[b], score) for (a, b), score in scores.items())
    insert_rows(connection, "related (relatedness, a, b, score)", rows)
    return number


def write_scoring(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    relatedness: int | None,
    context: str,
    tables: Sequence[AttackTable],
) -> int:
    """Write the distance tables of a release."""
    scoring = insert(connection, "scoring", digest=digest, release=release, relatedness=relatedness, context=context)
    whole = extent(connection, dataset_of(connection, release))
    txns = range(whole.first, whole.first + whole.transactions)
    generalised = generalised_numbers(connection, release)
    names = {name for table in tables for row in (table.columns, *table.contexts) for name in row}
    items = item_numbers(connection, names)
    rows = ((scoring, number, generalised[frozenset(table.members)]) for number, table in enumerate(tables))
    numbers = insert_numbered(connection, "distance_table (scoring, number, generalised)", rows)
    for number, table in zip(numbers, tables, strict=True):
        _write_table(connection, number, table, txns, items)
    return scoring


def _write_table(
    connection: sqlite3.Connection, number: int, table: AttackTable, txns: Sequence[int], items: Mapping[str, int]
) -> None:
    rows = ((number, row, txns[index]) for row, index in enumerate(table.transactions.tolist()))
    insert_rows(connection, "distance_row (distance_table, row, txn)", rows)
    columns = ((number, col, items[item]) for col, item in enumerate(table.columns))
    insert_rows(connection, "distance_col (distance_table, col, item)", columns)
    # SQLite reads NaN as null: no score.
    cells = ((number, row, col, d) for row, values in enumerate(table.d.tolist()) for col, d in enumerate(values))
    insert_rows(connection, "cell (distance_table, row, col, d)", cells)
    contexts = ((number, row, items[name]) for row, names in enumerate(table.contexts) for name in dict.fromkeys(names))
    insert_rows(connection, "context (distance_table, row, item)", contexts)


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
