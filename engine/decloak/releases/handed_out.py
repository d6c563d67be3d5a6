"""A store to hand out: one release and nothing else, made anew, so that nothing of another store can be left in it.

Whoever gets it can ask it in SQL, look at it as a graph, and attack it.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from decloak.anonymisers.method import NewRelease
from decloak.anonymisers.registry import METHODS
from decloak.data.formats.disassociated_file import DISASSOCIATION
from decloak.data.formats.generalised_file import GENERALISATION
from decloak.data.formats.lines import FilePath, place
from decloak.data.formats.release_header import Header
from decloak.data.formats.unpacked import reading_file
from decloak.data.forms import FormName
from decloak.digest import digest
from decloak.errors import DecloakError, shown
from decloak.releases.carriers import Carrier
from decloak.releases.held import HeldRelease
from decloak.releases.registry import FORMS, form_of
from decloak.releases.self_check import WayBack
from decloak.store.opening import connect_readonly, open_store
from decloak.store.sandbox import quoted
from decloak.store.showing import show_if_usual

__all__ = ["STORE", "STORES", "left_over", "read_store", "read_store_header"]

STORES = (".db", ".sqlite", ".sqlite3")
"""What the names of files end in that are written as stores."""
_FILLED = {
    "dataset", "extent", "array", "item", "txn", "contains", "published_as", "release", "generalised", "member_of",
    "cluster", "cluster_row", "joint", "joins", "chunk", "subrecord", "has_item", "shows",
}  # fmt: skip
"""Tables that a release fills; in all others is what was known before it, or found since."""


def _write(release: Any, path: Path, ids: bool) -> None:
    method = release.method if release.method in METHODS else "unknown"
    alone = NewRelease(replace(release, origin="decloak publish"), method, release.parameters)
    with open_store(path) as store:
        with store.stage() as connection:
            FORMS[release.form].write(connection, digest(["handed out", repr(alone.release)]), alone, None)
        show_if_usual(store, sys.maxsize)  # all rows: to read it must not change it


def _held(connection: sqlite3.Connection, path: FilePath) -> HeldRelease:
    numbers = connection.execute("select id from release").fetchall()
    if len(numbers) != 1:
        hint = "name a store that `decloak publish RUN FILE.db` wrote"
        raise DecloakError(f"a store of {len(numbers)} releases, not of one", place(path), hint)
    ((number,),) = numbers
    return form_of(connection, number).hold(connection, number)  # type: ignore[no-any-return]


def read_store(path: FilePath) -> Any:
    """The release of a store that has one."""
    with reading_file(path), closing(connect_readonly(path)) as connection:
        return _held(connection, path).published


def read_store_header(path: FilePath) -> Header:
    """The same of it that the header of a release file says."""
    with reading_file(path), closing(connect_readonly(path)) as connection:
        held = _held(connection, path)
        chunked = form_of(connection, held.number).name == FormName.DISASSOCIATED
        promised = [held.making.parameters.get(name) for name in ("k", "m")]
    stated = promised if all(type(bound) is int and bound > 0 for bound in promised) else ()
    return Header(DISASSOCIATION if chunked else GENERALISATION, *stated)


STORE = Carrier("store: an SQLite file", lambda release: release, _write, lambda path, ids: read_store(path))


def left_over(path: Path, names: frozenset[str]) -> Iterator[WayBack]:
    """What is in a store that is to be handed out beside one release, which shows items of these names."""
    with closing(connect_readonly(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        for table in sorted({*tables} - _FILLED):
            if connection.execute(f"select exists (select 1 from {quoted(table)})").fetchone()[0]:
                yield WayBack(f"its table {table} is not empty")
        if connection.execute("select count(*) from dataset where kind <> 'published'").fetchone()[0]:
            yield WayBack("it has original data")
        items = {name for (name,) in connection.execute("select name from item")}
        if more := sorted(items - names):
            yield WayBack(f"it names items that the release does not show: {shown(more[0])}")
        if connection.execute("pragma freelist_count").fetchone()[0]:
            yield WayBack("it has free pages, which keep what was deleted")
