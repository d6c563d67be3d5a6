"""Ground truth: links from the rows of a release to the records that they were made from.

Nothing else in a store links the two: a release never shares ids with its originals.
"""

import sqlite3
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from decloak.data.ordering import RowIndices
from decloak.store import records
from decloak.store.inserting import insert_rows, item_numbers
from decloak.store.lists import damaged
from decloak.store.records import dataset_of, extent, read_records

__all__ = ["link_original", "link_origins", "original_ids", "read_cut", "read_origins", "write_cut"]


def link_original(connection: sqlite3.Connection, release: int, original: int) -> None:
    """Write that `release` was made from the data set `original`, without a link between their rows."""
    connection.execute("insert into truth_release (release, original) values (?, ?)", (release, original))


def link_origins(connection: sqlite3.Connection, release: int, original: int, truth: RowIndices | None) -> None:
    """Write the links from the rows of `release` to the records of `original`.

    `truth` has the place of the record behind each row, None where each row is of the record at its own place.
    """
    link_original(connection, release, original)
    dataset = dataset_of(connection, release)
    places = np.arange(extent(connection, dataset).records) if truth is None else np.asarray(truth, np.int64)
    records.write_origins(connection, dataset, original, places)


def read_origins(connection: sqlite3.Connection, release: int) -> RowIndices | None:
    """Return the place of the record behind every row of `release`, or None without ground truth."""
    original = _original(connection, release)
    if original is None:
        return None
    dataset = dataset_of(connection, release)
    places = records.read_origins(connection, dataset, original)
    size = extent(connection, original).records
    if places is not None and not np.all((places >= 0) & (places < size)):
        raise damaged(f"records of data set {dataset} are of no original")
    return places


def original_ids(connection: sqlite3.Connection, release: int) -> list[str] | None:
    """Return the ids of the records behind the rows of `release`, or None without ground truth."""
    places, original = read_origins(connection, release), _original(connection, release)
    if places is None or original is None:
        return None
    labels = read_records(connection, original).labels
    return [labels[place] for place in places.tolist()]


def write_cut(connection: sqlite3.Connection, release: int, cut: Sequence[tuple[int, str]]) -> None:
    """Write the occurrences that `release` suppressed: `cut` has the place of the original record, and the item."""
    original = _original(connection, release)
    if not cut or original is None:
        return
    items, first = item_numbers(connection, sorted({item for _, item in cut})), extent(connection, original).first
    rows = sorted({(release, first + int(place), items[item]) for place, item in cut})
    insert_rows(connection, "truth_cut (release, txn, item)", rows)


def read_cut(connection: sqlite3.Connection, release: int) -> dict[int, frozenset[str]]:
    """Return the items that `release` suppressed in single original records, by the place of the record."""
    rows = connection.execute(
        "select c.txn - d.first, i.name from truth_release o join dataset d on d.id = o.original "
        "join truth_cut c on c.release = o.release join item i on i.id = c.item where o.release = ? order by 1",
        (release,),
    )
    grouped = groupby(rows, key=lambda row: row[0])
    return {place: frozenset(name for _, name in group) for place, group in grouped}


def _original(connection: sqlite3.Connection, release: int) -> int | None:
    row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
    return None if row is None else int(row[0])
