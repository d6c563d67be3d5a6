"""Open, create and migrate a store, and find its damage after an error that a sound store cannot raise."""

import contextlib
import math
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from decloak.data.formats.lines import SQLITE, FilePath, location, open_file
from decloak.errors import DecloakError, quote
from decloak.files import check_is_file
from decloak.store.documentation import check_schema, distrust, schema_text
from decloak.store.migrations import MIGRATIONS, Migration
from decloak.store.seals import REMEDY, broken_seals, forget_gone, seal_new

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION = 0x0DEC10AC
"""`PRAGMA application_id` of a store, so that decloak never writes to another program's database."""

VERSION = 1 + len(MIGRATIONS)

PATIENCE = 30
"""Seconds to wait for others who write to the store."""
_NOT_OURS = "name another file: decloak makes the store itself"
_DAMAGED = ("not a database", "malformed", "Could not decode", "corrupt")
"""Words of SQLite about files that something has changed."""


class Store:
    """An open store: its path, its connection, and transactions that leave nothing half done."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @property
    def database(self) -> "Database":
        """The same for sqlite-utils, which migrates: it takes longer to import than a run with nothing to do."""
        from sqlite_utils import Database

        return Database(self.connection)

    @contextmanager
    def stage(self, *, checked: bool = True) -> Iterator[sqlite3.Connection]:
        """Make everything written inside visible together when the block ends; an error undoes all of it.

        References are checked at each row, and new stages sealed, unless `checked` is false, which is for migrations.
        """
        connection = self.connection
        try:
            connection.execute(f"pragma foreign_keys = {'on' if checked else 'off'}")
            # Immediate, so that a run that has to wait reads nothing that another is changing.
            connection.execute("begin immediate")
            if checked:
                forget_gone(connection)
            yield connection
            if checked:
                seal_new(connection)
            connection.execute("commit")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("rollback")
            # Not their subclasses: errors such as IntegrityError make the command line look for damage.
            if type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError):
                raise unusable(error, self.path) from None
            raise

    def reopen(self) -> None:
        """Go on with a new connection, after the old one was closed."""
        self.connection = open_store(self.path).connection

    def close(self) -> None:
        """Close the store, which is one file again when no other process has it open."""
        with contextlib.suppress(sqlite3.OperationalError):
            self.connection.execute("pragma journal_mode = delete")
        self.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(path: str | Path, *, migrations: Mapping[int, Migration] | None = None, version: int = VERSION) -> Store:
    """Open the store at `path` for writing, making it when the file is not there and migrating an older one.

    `migrations` and `version` replace the project's own in tests of migrations.
    """
    path = Path(path)
    _check_place(path)
    if not path.exists():
        _make(path, version)
    return _opened(path, _connect(path, readonly=False), migrations, version)


def _make(path: Path, version: int) -> None:
    """Make a complete store, then link it into place: no reader sees half of it, and an existing store stays."""
    # Shortened: a name near the limit of the file system has no room for more.
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}")
    try:
        _make_private(beside, path)
        connection = sqlite3.connect(beside, isolation_level=None)
        with closing(connection), _closed_on_error(connection, path):
            _create(Store(path, connection), version)
        try:
            # Unlike a replacement, a link fails if another process has made the store.
            path.hardlink_to(beside)
        except FileExistsError:
            pass  # another process was faster
        except OSError:  # this file system has no links
            beside.replace(path)
    finally:
        for ending in ("", "-journal"):
            beside.with_name(beside.name + ending).unlink(missing_ok=True)


def _opened(
    path: Path, connection: sqlite3.Connection, migrations: Mapping[int, Migration] | None, version: int
) -> Store:
    with _closed_on_error(connection, path):
        store = Store(path, connection)
        present = _version(connection, path)
        if present is None:
            _create(store, version)
        else:
            # Before the migration too, because its SQL would run what a stranger has tied to a table.
            check_schema(connection, path, current=False)
            _migrate(store, present, version, MIGRATIONS if migrations is None else migrations)
        check_schema(connection, path, current=version == VERSION and migrations is None)
        _write_ahead(connection)
        connection.execute("pragma foreign_keys = on")
        # A crash of the machine may cost the last stage, never the file: enough for what can be run again.
        connection.execute("pragma synchronous = normal")
    return store


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers read while another process writes. SQLite refuses immediately while another process opens or closes
    the file.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def connect_readonly(path: FilePath) -> sqlite3.Connection:
    """Open an existing store so that nothing can be written to it.

    A store of an older version stays as it is: the connection is to a temporary copy that is brought up to date.
    """
    path = Path(path)
    if not path.exists():
        raise DecloakError("no store there", location(path), "make one with `decloak run SCENARIO.yaml`")
    connection = _connect(path, readonly=True)
    with _closed_on_error(connection, path):
        version = _version(connection, path)
        if version is None:
            raise DecloakError(
                "an empty file, not a store", location(path), "make one with `decloak run SCENARIO.yaml`"
            )
        if version < VERSION:
            return _copied(path, connection, version)
        if version > VERSION:
            raise _newer(path, version, VERSION)
        check_schema(connection, path, current=True)
    return connection


def _copied(path: Path, file: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """Return a migrated copy of an older store in a temporary file without a name."""
    check_schema(file, path, current=False)
    copy = sqlite3.connect("", isolation_level=None)
    with closing(file), _closed_on_error(copy, path):
        # The copy has the schema of the file, and deserves no more trust.
        distrust(copy)
        file.backup(copy)
        add_functions(copy)
        _migrate(Store(path, copy), version, VERSION, MIGRATIONS)
        check_schema(copy, path, current=True)
    return copy


@contextmanager
def current_file(path: FilePath) -> Iterator[Path]:
    """Yield the file of the store at `path`; of an older store a copy that is brought up to date, for as long."""
    with closing(connect_readonly(path)) as connection:
        (file,) = connection.execute("select file from pragma_database_list where name = 'main'").fetchone()
        if file:
            yield Path(path)
            return
        with TemporaryDirectory(prefix="decloak-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / "store.db"
            with closing(sqlite3.connect(copy)) as target:
                connection.backup(target)
            yield copy


def is_store(path: FilePath) -> bool:
    """Return whether a file is a SQLite database, by its first bytes."""
    if not Path(path).is_file():
        return False
    with open_file(path, again=True) as file:
        return file.read(len(SQLITE)) == SQLITE


@contextmanager
def _closed_on_error(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Close the connection when the block fails, and turn the message of SQLite into one with a remedy."""
    try:
        yield
    except BaseException as error:
        connection.close()
        if isinstance(error, (sqlite3.DatabaseError, UnicodeDecodeError)):
            raise unusable(error, path) from None
        raise


def add_functions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that some builds of SQLite lack (`ln`).

    Only those: in the views of a store, SQLite trusts its own functions and none of ours.
    """

    def ln(x: float | None) -> float | None:
        return math.log(x) if x is not None and x > 0 else None

    try:
        connection.execute("select ln(1)")
    except sqlite3.OperationalError:
        connection.create_function("ln", 1, ln, deterministic=True)


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise DecloakError("a folder, not a store", location(path), "name a file in it, such as store.db")
    if "\0" in str(path) or not path.parent.is_dir():
        raise DecloakError("no such folder", location(path.parent), "make it first")


def _connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    _check_place(path)
    if path.exists():
        check_is_file(path)  # SQLite would wait for the other end of a pipe
    # Not `rwc`: SQLite would create a store that others may read.
    mode = "ro" if readonly else "rw"
    url = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(url, uri=True, isolation_level=None, timeout=PATIENCE)
    except sqlite3.DatabaseError as error:
        raise unusable(error, path) from None
    with _closed_on_error(connection, path):
        distrust(connection)
        # SQLite looks at a file only when it first reads of it.
        connection.execute("select count(*) from sqlite_master").fetchone()
    add_functions(connection)
    return connection


def _make_private(path: Path, store: Path) -> None:
    """Create the file with access for its owner only; SQLite gives its own files beside it the same access.

    `store` is the file that errors name.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise unusable(sqlite3.OperationalError(f"unable to open: {error.strerror}"), store) from None


def _version(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the version of a store, or None for an empty file."""
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
    if application == APPLICATION:
        return int(version)
    if tables or version or application:
        raise DecloakError("a SQLite database, but no store of decloak", location(path), _NOT_OURS)
    return None


def _create(store: Store, version: int) -> None:
    # One script, so one transaction: a store is there whole or not at all. executescript commits what is
    # open before it starts, so the script brings its own begin.
    try:
        store.connection.executescript(
            f"begin immediate;\n{schema_text()}\n"
            f"pragma application_id = {APPLICATION};\npragma user_version = {version};\ncommit;"
        )
    except sqlite3.OperationalError:
        if store.connection.in_transaction:
            store.connection.execute("rollback")
        if _version(store.connection, store.path) is None:
            raise  # else another process has made it in the meantime


def _migrate(store: Store, present: int, version: int, migrations: Mapping[int, Migration]) -> None:
    if present > version:
        raise _newer(store.path, present, version)
    if present < 1:
        raise DecloakError(f"a store of version {present}, which there never was", location(store.path), _NOT_OURS)
    for step in range(present + 1, version + 1):
        with store.stage(checked=False) as connection:
            migrations[step](store.database)
            connection.execute(f"pragma user_version = {step}")


def _newer(path: Path, present: int, version: int) -> DecloakError:
    message = f"a store of version {present}, newer than this decloak, which reads version {version}"
    return DecloakError(message, location(path), "install a newer decloak, or name another store")


def unusable(error: BaseException, path: Path | None = None) -> DecloakError:
    """Turn a message of SQLite into one with a remedy; damage often appears long after a store was opened."""
    text, where = str(error), None if path is None else location(path)
    if isinstance(error, UnicodeDecodeError) or any(word in text for word in _DAMAGED):
        if path is None:
            return DecloakError("the store is damaged", hint="run its scenario into a new one, or take a copy of it")
        return DecloakError("not a SQLite database, or a damaged one", where, _NOT_OURS)
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        return DecloakError(
            "the store cannot be written here", where, "check the permissions and the free space, or name another file"
        )
    if "locked" in text:
        return DecloakError("another run holds the store", where, "wait for it to end, or name another store")
    if "full" in text:
        return DecloakError("the disk is full", where, "make room, then run again: finished stages are kept")
    return DecloakError(f"SQLite says {quote(text)}", where)


def damage_of(path: Path) -> DecloakError | None:
    """Return what is damaged in the store at `path`, None where all is as decloak wrote it."""
    try:
        with closing(connect_readonly(path)) as connection:
            fault = next(_faults(connection), None)
    except DecloakError as error:
        return error  # it is no store, or none that can be opened
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        fault = str(error)
    if fault is None:
        return None
    return DecloakError(f"the store is damaged: {quote(fault, 200)[1:-1]}", location(path), REMEDY)


def _faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield pages that SQLite cannot read, references without a target, and stages with changed rows."""
    (state,) = connection.execute("pragma integrity_check(1)").fetchone()
    if state != "ok":
        yield " ".join(str(state).split())
    for table, _, parent, _ in connection.execute("pragma foreign_key_check"):
        yield f"{table} names what is not in {parent}"
    yield from broken_seals(connection)
