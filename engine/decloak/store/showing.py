"""Rows of what is kept as arrays, made for somebody who asks for them."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from decloak.store.assigned import STORED_ASSIGNED
from decloak.store.bulk import Bulk, make_rows, pending_owners, rows_of, rows_of_all
from decloak.store.distance_tables import STORED_TABLES
from decloak.store.opening import Store, connect_readonly, is_copy, open_store
from decloak.store.pair_scores import STORED_PAIRS
from decloak.store.sandbox import is_denied
from decloak.store.strikes import STORED_STRIKES
from decloak.store.transactions import STORED_TRANSACTIONS

__all__ = ["BULK", "USUAL_ROWS", "connect_shown", "show", "show_all", "show_if_usual", "show_run", "shown_for"]

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


def connect_shown(path: Path) -> sqlite3.Connection:
    """Open a store for reading with all rows made that it lacks; of an older store they are made in a copy."""
    connection = connect_readonly(path)
    if _is_whole(connection):
        return connection
    if is_copy(connection):
        _show_missing(Store(path, connection))
        return connection
    connection.close()
    show_all(path)
    return connect_readonly(path)


def show_all(path: Path) -> None:
    """Make all rows that a store lacks."""
    with open_store(path) as store:
        _show_missing(store)


def show_run(path: Path, run: int) -> int:
    """Make the rows of a run: of its data, as they were and as they were published, and of its attacks; how many."""
    with open_store(path) as store:
        connection = store.connection
        owners = {bulk.owner: [n for (n,) in connection.execute(bulk.of_run, (run,))] for bulk in BULK}
        show(store, owners)
        return sum(rows_of(connection, bulk, set(owners[bulk.owner])) for bulk in BULK)


@contextmanager
def shown_for(path: Path, sql: str) -> Iterator[Path]:
    """The file in which a query finds the rows that it reads, however it names them.

    It is the store itself, or for as long a copy where the store is older. What is wrong with the query shows when it
    runs.
    """
    with closing(connect_readonly(path)) as connection:
        is_wanted = not _is_whole(connection) and _is_bulky(_tables_read(connection, sql))
        if is_copy(connection):
            if is_wanted:
                _show_missing(Store(path, connection))
            with TemporaryDirectory(prefix="decloak-", ignore_cleanup_errors=True) as folder:
                file = Path(folder) / "store.db"
                with closing(sqlite3.connect(file)) as copy:
                    connection.backup(copy)
                yield file
            return
    if is_wanted:
        show_all(path)
    yield path


def _is_bulky(tables: set[str]) -> bool:
    return any(tables.intersection(bulk.tables) for bulk in BULK)


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
    finally:
        connection.set_authorizer(None)
    return read
