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
    _write_tables(connection, list(zip(numbers, tables, strict=True)), txns, items)
    return scoring


def _write_tables(
    connection: sqlite3.Connection,
    tables: Sequence[tuple[int, AttackTable]],
    txns: Sequence[int],
    items: Mapping[str, int],
) -> None:
    """The rows of all tables together: there are often many small ones."""
    rows = ((n, row, txns[place]) for n, table in tables for row, place in enumerate(table.transactions.tolist()))
    insert_rows(connection, "distance_row (distance_table, row, txn)", rows)
    columns = ((n, col, items[item]) for n, table in tables for col, item in enumerate(table.columns))
    insert_rows(connection, "distance_col (distance_table, col, item)", columns)
    # SQLite reads NaN as null: no score.
    lines = ((n, row, line) for n, table in tables for row, line in enumerate(table.d.tolist()))
    cells = ((n, row, col, d) for n, row, line in lines for col, d in enumerate(line))
    insert_rows(connection, "cell (distance_table, row, col, d)", cells)
    named = ((n, row, dict.fromkeys(names)) for n, table in tables for row, names in enumerate(table.contexts))
    contexts = ((n, row, items[name]) for n, row, names in named for name in names)
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
