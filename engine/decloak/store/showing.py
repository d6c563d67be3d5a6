"""Rows of what is kept as arrays, made for somebody who asks for them."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from decloak.store.assigned import STORED_ASSIGNED
from decloak.store.bulk import Bulk, make_rows, pending_owners, rows_of, rows_of_all
from decloak.store.distance_tables import STORED_TABLES
from decloak.store.opening import Store, connect_readonly, open_store
from decloak.store.pair_scores import STORED_PAIRS
from decloak.store.sandbox import is_denied
from decloak.store.strikes import STORED_STRIKES
from decloak.store.transactions import STORED_TRANSACTIONS

__all__ = ["BULK", "USUAL_ROWS", "show", "show_all", "show_if_usual", "show_named", "show_run"]

USUAL_ROWS = 2_000_000
"""Rows of a store of usual size: they are made when a run ends."""
BULK = (STORED_TRANSACTIONS, STORED_PAIRS, STORED_TABLES, STORED_STRIKES, STORED_ASSIGNED)
"""All that is kept as arrays and shown as rows."""


def show(store: Store, owners: Mapping[str, Iterable[int]]) -> None:
    """Make the rows that have not been made yet, of owners by what they are."""
    among = {owner: set(numbers) for owner, numbers in owners.items()}
    _show_missing(store, lambda bulk, number: number in among.get(bulk.owner, ()))


def _show_missing(store: Store, is_wanted: Callable[[Bulk, int], bool] = lambda bulk, number: True) -> None:
    connection = store.connection
    missing = {bulk: [n for n in pending_owners(connection, bulk) if is_wanted(bulk, n)] for bulk in BULK}
    if any(missing.values()):
        with store.stage(checked=False):
            for bulk, numbers in missing.items():
                make_rows(connection, bulk, numbers)


def _is_whole(connection: sqlite3.Connection) -> bool:
    return not any(pending_owners(connection, bulk) for bulk in BULK)


def show_if_usual(store: Store, most: int | None = None) -> bool:
    """Make all rows that are missing, unless the store would have more than `most`; whether all are there now."""
    connection = store.connection
    if sum(rows_of_all(connection, bulk) for bulk in BULK) <= (USUAL_ROWS if most is None else most):
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
    with open_store(path) as store:
        connection = store.connection
        owners = {bulk.owner: [n for (n,) in connection.execute(bulk.of_run, (run,))] for bulk in BULK}
        show(store, owners)
        return sum(rows_of(connection, bulk, set(owners[bulk.owner])) for bulk in BULK)


def show_named(path: Path, sql: str) -> None:
    """Make the rows that a query reads, however it names them; what is wrong with the query is told when it runs."""
    with closing(connect_readonly(path)) as connection:
        if _is_whole(connection):
            return
        read = _tables_read(connection, sql)
    if any(read.intersection(bulk.tables) for bulk in BULK):
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
