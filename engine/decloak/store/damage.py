"""Find the damage in a store, after an error that a sound store cannot raise."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from decloak.data.formats.lines import location
from decloak.errors import DecloakError, quote
from decloak.store.opening import connect_readonly
from decloak.store.seals import REMEDY, broken_seals

__all__ = ["damage_of"]


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
