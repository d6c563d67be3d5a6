"""Rows of what is kept as arrays, made for somebody who asks for them."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from decloak.store.opening import Store, connect_readonly, open_store
from decloak.store.transactions import USUAL_ROWS, make_rows, pending_datasets, rows_of_all

__all__ = ["show_all", "show_if_usual", "show_named", "show_run"]

_ROWS = {"txn", "contains", "published_as", "truth_origin"}
"""The tables whose rows may not be there yet."""


def show_if_usual(store: Store, most: int | None = None) -> bool:
    """Make all rows that are missing, unless the store would have more than `most`; whether all are there now."""
    if not pending_datasets(store.connection):
        return True
    if rows_of_all(store.connection) > (USUAL_ROWS if most is None else most):
        return False
    _show(store, pending_datasets(store.connection))
    return True


def show_all(path: Path) -> None:
    """Make all rows that a store lacks; nothing is written where it lacks none."""
    with closing(connect_readonly(path)) as connection:
        missing = pending_datasets(connection)
    if missing:
        with open_store(path) as store:
            _show(store, missing)


def show_run(path: Path, run: int) -> int:
    """Make the rows of the data of a run, before and after it was anonymised; how many rows show them."""
    with open_store(path) as store:
        datasets = store.connection.execute(
            "select l.dataset from run r join release l on l.id = r.release where r.id = ?1 union "
            "select o.original from run r join truth_release o on o.release = r.release where r.id = ?1",
            (run,),
        ).fetchall()
        _show(store, [dataset for (dataset,) in datasets])
        marks = ", ".join("?" * len(datasets))
        sql = f"select sum(transactions + elements) from extent where dataset in ({marks})"
        (count,) = store.connection.execute(sql, [dataset for (dataset,) in datasets]).fetchone()
    return int(count or 0)


def show_named(path: Path, sql: str) -> None:
    """Make the rows that a query reads, however it names them; what is wrong with the query is told when it runs."""
    with closing(connect_readonly(path)) as connection:
        if not pending_datasets(connection):
            return
        read = _tables_read(connection, sql)
    if read & _ROWS:
        show_all(path)


def _tables_read(connection: sqlite3.Connection, sql: str) -> set[str]:
    read: set[str] = set()

    def note(action: int, name: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and name is not None:
            read.add(name.lower())  # where no column is read, it is told as written
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    with suppress(sqlite3.Error, sqlite3.Warning, ValueError):
        connection.execute(f"explain {sql}")
    return read


def _show(store: Store, datasets: Iterable[int]) -> None:
    with store.stage(checked=False) as connection:
        make_rows(connection, datasets)
