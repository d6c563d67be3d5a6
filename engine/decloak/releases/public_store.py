"""Stores that can be published, and the leaks of a release: all that leads back to the original data.

A published store is a new file with one release and nothing else, so that nothing of another store remains. A recipient
can query it in SQL, view it as a graph, and attack it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.anonymisers.registry import CHOICES, METHODS
from decloak.attacker.written_order import order_notes
from decloak.data.disassociated import Disassociated
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.manifest_file import Manifest
from decloak.data.formats.release_header import Header
from decloak.data.formats.unpacked import reading_file
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.data.ordering import ORDERS, RowIndices
from decloak.data.rows import RowLabels
from decloak.digest import digest
from decloak.errors import DecloakError, at_location, quote
from decloak.releases.file_formats import AnyRelease, ReleaseFileFormat, published_items
from decloak.releases.registry import FORMS, form_of
from decloak.releases.stored import StoredRelease
from decloak.store.inserting import quoted
from decloak.store.opening import connect_readonly, open_store
from decloak.store.records import read_origins

REPORT = "report it: no release of decloak should be so"
WORDS = {*ORDERS, *METHODS, *CHOICES, "all", "unknown", FormName.DISTANCES}
"""Texts that a parameter or a method may have."""


class Leak(NamedTuple):
    """A connection from published files to the original data."""

    message: str
    remedy: str = REPORT


class HiddenFacts(NamedTuple):
    """Facts that only the publisher knows."""

    ids: frozenset[str] = frozenset()
    """Ids of the original records; empty if these are only numbers."""
    places: RowIndices | None = None
    """Row index of the original record of every row; None if it is not known."""
    suppressed: frozenset[str] = frozenset()
    """Items of the originals that the release does not show."""

    @classmethod
    def of(cls, held: StoredRelease) -> "HiddenFacts":
        """Return what the store knows about the originals of the release `held`."""
        original = held.original
        if original is None:
            return cls()
        # Numbers in the order of the records are no ids of people.
        ids = () if tuple(original.labels) == RowLabels(len(original.labels)) else original.labels
        suppressed = frozenset(original.items) - published_items(held.published)
        return cls(frozenset(ids), read_origins(held.connection, held.number), suppressed)


def find_leaks(
    back: AnyRelease, written: AnyRelease, truth: HiddenFacts, *, recorded: bool, with_ids: bool
) -> Iterator[Leak]:
    """Yield every leak in the release `back` that was read from the published files.

    `written` is the release that was written, and `truth` has the hidden facts. `recorded` and `with_ids` say whether
    the recorded order and the original ids were asked for.
    """
    if _row_content(back) != _row_content(written):
        yield Leak("the file differs from the release after it is read back")
    # Numbers as ids carry no information; any other id may be that of a person.
    named = not isinstance(back, Disassociated) and tuple(back.ids) != RowLabels(len(back.ids))
    if named and not with_ids and (ids := truth.ids.intersection(back.ids)):
        yield Leak(f"{len(ids)} of its {len(back.ids)} rows are called as the originals: {_name_first(ids)}")
    if not recorded and _ordered_content(back) != _ordered_content(back.sorted_by_content().release):
        yield Leak(f"the rows or their items are not sorted by content{_unmoved_rows(truth)}")
    for warning in order_notes(back):
        # Sorting rows does not help where the order inside brackets or chunks depends on the record.
        yield Leak(warning.removeprefix("WARNING: "))
    if isinstance(back, Generalised):
        if idle := set(back.members).difference(back.rows.used_names):
            yield Leak(f"it lists labels that no record shows: {_name_first(idle)}")
        if suppressed := truth.suppressed.intersection(back.members):
            remedy = "rename them in the hierarchy"
            yield Leak(
                f"labels are called like items that it does not show otherwise: {_name_first(suppressed)}", remedy
            )
    if suppressed := truth.suppressed.intersection(published_items(back)):
        yield Leak(f"it names items that the release suppressed: {_name_first(suppressed)}")


def manifest_leaks(manifest: Manifest) -> Iterator[Leak]:
    """Yield a leak for words of `manifest` outside decloak's own vocabulary: they come from the
    data or the scenario.
    """
    words = {manifest.method, *(value for value in manifest.parameters.values() if isinstance(value, str))}
    if foreign := words - WORDS:
        yield Leak(f"its manifest says {_name_first(foreign)}")


def _unmoved_rows(truth: HiddenFacts) -> str:
    if truth.places is None:
        return ""
    still = int(np.count_nonzero(truth.places == np.arange(len(truth.places))))
    return f"; {still} of {len(truth.places)} records are at their original position"


def _row_content(release: AnyRelease) -> Sequence[object]:
    """Return the content of the rows of a release, whatever their order."""
    # Labels that no record shows have a message of their own.
    return _ordered_content(release.sorted_by_content().release)[:1]


def _ordered_content(release: AnyRelease) -> Sequence[object]:
    """Return the content of a release in its order: its rows, and the members of its labels."""
    if isinstance(release, Disassociated):
        return [(release.clusters, release.joints, release.totals)]
    if isinstance(release, ItemsetTable):
        return [(release.records, release.itemsets, release.supports)]
    return [release.transactions, list(release.members.items()) if isinstance(release, Generalised) else []]


def _name_first(names: Iterable[str]) -> str:
    first, *rest = sorted(names)
    return quote(first) + (f" and {len(rest)} more" if rest else "")


STORES = (".db", ".sqlite", ".sqlite3")
"""Endings of file names that decloak writes as stores."""
_RELEASE_TABLES = {
    "dataset", "item", "record", "release", "generalised", "member_of", "cluster", "joint", "joins", "chunk",
    "subrecord", "seal", "published_itemset",
}  # fmt: skip
"""Tables that a release fills; all others have knowledge from before the release, or findings."""


def _write_store(release: StoredContent, path: Path, ids: bool) -> None:
    # A release from elsewhere may call its method anything, and a name may lead to a person.
    method = release.method if release.method in METHODS else "unknown"
    alone = NewRelease(replace(release, origin="decloak publish"), method, release.parameters)
    with open_store(path) as store, store.stage() as connection:
        # The key of the stage would depend on the original data.
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
    # The store may be foreign, and `bool` is a kind of `int`.
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
