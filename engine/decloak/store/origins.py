"""Truth: which record each row of a release was made from, the one place where both are linked.

A release never shares ids with its originals: whoever joins the two goes by these links.
"""

import sqlite3

import numpy as np

from decloak.data.ordering import Places
from decloak.store.arrays import damaged
from decloak.store.transactions import dataset_of, extent, read_origin_places, read_transactions, write_origin_places

__all__ = ["link_origins", "original_ids", "read_origins"]


def link_origins(connection: sqlite3.Connection, release: int, original: int, truth: Places | None) -> None:
    """Note the original transaction behind each row: the one at a place, None where each is at that of its row."""
    connection.execute("insert into truth_release (release, original) values (?, ?)", (release, original))
    dataset = dataset_of(connection, release)
    places = np.arange(extent(connection, dataset).transactions) if truth is None else np.asarray(truth, np.int64)
    write_origin_places(connection, dataset, places)


def read_origins(connection: sqlite3.Connection, release: int) -> Places | None:
    """The place of the record behind every row, None where the originals are not known."""
    dataset = dataset_of(connection, release)
    places = read_origin_places(connection, dataset)
    if places is None:
        return None
    size = extent(connection, _original(connection, release)).transactions
    if len(places) != extent(connection, dataset).transactions or not np.all((places >= 0) & (places < size)):
        raise damaged(dataset, "origins")
    return places


def original_ids(connection: sqlite3.Connection, release: int) -> list[str] | None:
    """What the records behind the rows are called, None where the originals are not known: it tells on people."""
    places = read_origins(connection, release)
    if places is None:
        return None
    labels = read_transactions(connection, _original(connection, release)).labels
    return [labels[place] for place in places.tolist()]


def _original(connection: sqlite3.Connection, release: int) -> int:
    (original,) = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
    return int(original)
