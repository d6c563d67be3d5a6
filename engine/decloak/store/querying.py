"""Questions in SQL that a user asks of a store: everything in it may be read, nothing written."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decloak.errors import DecloakError, shown
from decloak.store.opening import connect_readonly

__all__ = ["query_rows"]


def query_rows(path: str | Path, sql: str) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Run a SELECT on a store; its columns, and its rows, each when it is asked for."""
    connection = connect_readonly(path)
    connection.execute("pragma query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    with _explaining():
        cursor = connection.execute(sql)
    if cursor.description is None:
        raise DecloakError("the SQL gives no rows", hint="write a SELECT: the store is open for reading")
    return tuple(column[0] for column in cursor.description), _rows(connection, cursor)


def _rows(connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        with _explaining():
            yield from cursor
    finally:
        connection.close()


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        hint = "write one SELECT: the store is open for reading" if "readonly" in str(error) else None
        hint = hint or "`decloak schema` lists tables and columns"
        raise DecloakError(f"SQL: {shown(error, 200)[1:-1]}", hint=hint) from None
