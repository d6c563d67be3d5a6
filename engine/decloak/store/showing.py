"""Rows of what is kept as arrays, made for somebody who asks for them."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from decloak.store.opening import Store, connect_readonly, open_store
from decloak.store.sandbox import is_denied
from decloak.store.strikes import make_strike_rows, pending_attacks, rows_of_attacks
from decloak.store.transactions import make_rows, pending_datasets, rows_of_all

__all__ = ["USUAL_ROWS", "show", "show_all", "show_if_usual", "show_named", "show_run"]

USUAL_ROWS = 2_000_000
"""Rows of a store of usual size: they are made when a run ends."""
_ROWS = {"txn", "contains", "published_as", "truth_origin", "truth_marked", "finding", "struck", "spared"}
"""The tables whose rows may not be there yet."""


def show(store: Store, datasets: Iterable[int], attacks: Iterable[int]) -> None:
    """Make the rows of data sets and of attacks that have none yet."""
    connection = store.connection
    missing = (
        sorted(set(datasets).intersection(pending_datasets(connection))),
        sorted(set(attacks).intersection(pending_attacks(connection))),
    )
    if any(missing):
        with store.stage(checked=False):
            make_rows(connection, missing[0])
            make_strike_rows(connection, missing[1])


def _is_whole(connection: sqlite3.Connection) -> bool:
    return not pending_datasets(connection) and not pending_attacks(connection)


def _show_missing(store: Store) -> None:
    show(store, pending_datasets(store.connection), pending_attacks(store.connection))


def show_if_usual(store: Store, most: int | None = None) -> bool:
    """Make all rows that are missing, unless the store would have more than `most`; whether all are there now."""
    connection = store.connection
    if rows_of_all(connection) + rows_of_attacks(connection) <= (USUAL_ROWS if most is None else most):
        _show_missing(store)
    return _is_whole(connection)


def show_all(path: Path) -> None:
    """Make all rows that a store lacks; nothing is written where it lacks none."""
    with closing(connect_readonly(path)) as connection:
        whole = _is_whole(connection)
    if not whole:
        with open_store(path) as store:
            _show_missing(store)


def show_run(path: Path, run: int) -> int:
    """Make the rows of a run: of its data, as they were and as they were published, and of its attacks; how many."""
    datasets = (
        "select l.dataset from run r join release l on l.id = r.release where r.id = ?1 union "
        "select o.original from run r join truth_release o on o.release = r.release where r.id = ?1"
    )
    attacks = "select attack from run_attack where run = ?1"
    with open_store(path) as store:
        connection = store.connection
        numbers = [[number for (number,) in connection.execute(sql, (run,))] for sql in (datasets, attacks)]
        show(store, *numbers)
        (count,) = connection.execute(
            f"select coalesce((select sum(transactions + elements) from extent where dataset in ({datasets})), 0) + "
            f"coalesce((select sum(2 * findings + spared) from attack_extent where attack in ({attacks})), 0)",
            (run,),
        ).fetchone()
    return int(count)


def show_named(path: Path, sql: str) -> None:
    """Make the rows that a query reads, however it names them; what is wrong with the query is told when it runs."""
    with closing(connect_readonly(path)) as connection:
        if _is_whole(connection):
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
    try:
        connection.execute(f"explain {sql}")
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if is_denied(error):  # by nobody: Python gives a Ctrl-C inside `note` to SQLite
            raise KeyboardInterrupt from None
    return read
