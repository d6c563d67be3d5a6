"""What is broken in a store: looked for only when something went wrong that a sound store would not do."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from decloak.data.formats.lines import place
from decloak.errors import DecloakError, shown
from decloak.store.bulk import pending_owners
from decloak.store.documentation import SchemaTable, schema_tables
from decloak.store.opening import connect_readonly
from decloak.store.sandbox import quoted
from decloak.store.showing import BULK

__all__ = ["damage_of"]

_COMPLETE = {
    "run_attack": "select id from run where id not in (select run from run_attack)",
    "run_measurement": "select id from run where id not in (select run from run_measurement)",
}
"""What lacks rows in a table that every one of its kind has."""
_READING = ("decloak.store.", "decloak.releases.")
_REMEDY = "run its scenarios into another store, or take a copy from before"


def damage_of(path: Path, met: Exception | None = None) -> DecloakError | None:
    """What is damaged in a store, None where nothing is that can be told; `met` is the exception that came of it."""
    try:
        with closing(connect_readonly(path)) as connection:
            fault = next(_faults(connection), None)
    except DecloakError as error:
        return error  # it is no store, or none that can be opened
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        fault = str(error)
    if fault is None and met is not None:
        fault = _missing_row(met)
    if fault is None:
        return None
    return DecloakError(f"the store is damaged: {shown(fault, 200)[1:-1]}", place(path), _REMEDY)


def _missing_row(error: Exception) -> str | None:
    """Where a row was read that is not there: SQLite gives None for it, which nothing can be taken from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    read_by = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    if isinstance(error, TypeError) and "NoneType" in str(error) and read_by.startswith(_READING):
        return f"a row is missing that {read_by} reads"
    return None


def _faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Pages and rows that are not as SQLite writes them, references to nothing, texts that are none."""
    (state,) = connection.execute("pragma integrity_check(1)").fetchone()
    if state != "ok":
        yield " ".join(str(state).split())
    # What names a row that is not made yet names nothing.
    unmade = {table for bulk in BULK if pending_owners(connection, bulk) for table in bulk.tables}
    for table, _, parent, _ in connection.execute("pragma foreign_key_check"):
        if parent not in unmade:
            yield f"{table} names what is not in {parent}"
    for bulk in BULK:
        if connection.execute(f"select 1 from {bulk.extent} e where {bulk.unlike} limit 1").fetchone():
            yield f"{bulk.extent} does not say what rows there are"
    for table, sql in _COMPLETE.items():
        if connection.execute(f"{sql} limit 1").fetchone():
            yield f"{table} lacks rows"
    for each in schema_tables():
        if each.kind == "table":
            yield from _of_texts(connection, each)


def _of_texts(connection: sqlite3.Connection, table: SchemaTable) -> Iterator[str]:
    for column in table.columns:
        if column.type == "TEXT":
            name = f"{quoted(table.name)}.{quoted(column.name)}"
            for _ in connection.execute(f"select {name} from {quoted(table.name)}"):
                pass  # what is not UTF-8 is an error
            if "JSON" in column.meaning:
                kind = "array" if "JSON list" in column.meaning else "object"
                wrong = f"select 1 from {quoted(table.name)} where not json_valid({name}) or json_type({name}) <> ?"
                if connection.execute(wrong, (kind,)).fetchone():
                    yield f"{table.name}.{column.name} is no {kind} of JSON"
