"""A store that can be published: a new file with one release and nothing else, so that nothing of another store
remains.

A recipient can query it in SQL, view it as a graph, and attack it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.anonymisers.registry import METHODS
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.release_header import Header
from decloak.data.formats.unpacked import reading_file
from decloak.digest import digest
from decloak.errors import DecloakError, at_location, quote
from decloak.releases.file_formats import AnyRelease, ReleaseFileFormat
from decloak.releases.leak_check import Leak
from decloak.releases.registry import FORMS, form_of
from decloak.releases.stored import StoredRelease
from decloak.store.opening import connect_readonly, open_store
from decloak.store.sandbox import quoted

__all__ = ["STORE", "STORES", "read_store", "read_store_header", "store_leaks"]

STORES = (".db", ".sqlite", ".sqlite3")
"""Endings of file names that decloak writes as stores."""
_RELEASE_TABLES = {
    "dataset", "item", "record", "release", "generalised", "member_of", "cluster", "joint", "joins", "chunk",
    "subrecord", "seal", "published_itemset",
}  # fmt: skip
"""Tables that a release fills; all others have knowledge from before the release, or findings."""


def _write_store(release: StoredContent, path: Path, ids: bool) -> None:
    method = release.method if release.method in METHODS else "unknown"
    alone = NewRelease(replace(release, origin="decloak publish"), method, release.parameters)
    with open_store(path) as store, store.stage() as connection:
        FORMS[release.form].write(connection, digest(["handed out", repr(alone.release)]), alone, None)


def _load(connection: sqlite3.Connection, path: FilePath) -> StoredRelease:
    numbers = connection.execute("select id from release").fetchall()
    if len(numbers) != 1:
        # A store with several releases could contain the original data of one of them.
        hint = "name a store that `decloak publish RUN FILE.db` wrote"
        raise DecloakError(f"a store of {len(numbers)} releases, not of one", location(path), hint)
    ((number,),) = numbers
    return form_of(connection, number).load(connection, number)  # type: ignore[no-any-return]


def read_store(path: FilePath) -> AnyRelease:
    """Return the release in the store at `path`, which has exactly one."""
    with reading_file(path), at_location(location(path)), closing(connect_readonly(path)) as connection:
        published: AnyRelease = _load(connection, path).published
        return published


def read_store_header(path: FilePath) -> Header:
    """Return the header that a release file of the store at `path` would have."""
    with reading_file(path), at_location(location(path)), closing(connect_readonly(path)) as connection:
        held = _load(connection, path)
        method = form_of(connection, held.number).header_method
        promised = [held.making.parameters.get(name) for name in ("k", "m")]
    stated = promised if all(type(bound) is int and bound > 0 for bound in promised) else ()
    return Header(method, *stated)


STORE = ReleaseFileFormat(
    "store: an SQLite file", lambda release: release, _write_store, lambda path, ids: read_store(path)
)


def store_leaks(path: Path, names: frozenset[str]) -> Iterator[Leak]:
    """Yield a leak for everything in the store at `path` in addition to one release, which shows items of these
    `names`.
    """
    with closing(connect_readonly(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        for table in sorted({*tables} - _RELEASE_TABLES):
            if connection.execute(f"select exists (select 1 from {quoted(table)})").fetchone()[0]:
                yield Leak(f"its table {table} is not empty")
        if connection.execute("select count(*) from dataset where kind <> 'published'").fetchone()[0]:
            yield Leak("it has original data")
        items = {name for (name,) in connection.execute("select name from item")}
        if more := sorted(items - names):
            yield Leak(f"it names items that the release does not show: {quote(more[0])}")
        # SQLite keeps deleted rows in free pages until they are overwritten.
        if connection.execute("pragma freelist_count").fetchone()[0]:
            yield Leak("its free pages contain deleted data")
