"""The transactions of a data set in the store: arrays always, and rows of tables where somebody wants to see them.

    lengths    how many elements each transaction has
    codes      the elements of all, by number in `elements`
    elements   what a number means: an item of the store, or as a negative number a generalised item
    labels     what transactions are called; none where they are called 1, 2 and so on
    origins    truth: the place of the transaction of the original that each was made from
    marked     truth: places of transactions, and items that somebody marked as original in them, by turns

Transactions are numbered in the order of the data set from `first` on, whether rows show them or not. Rows are made
when a run ends, unless the store is large, or whenever they are asked for.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.data.rows import CodedRows, Numbers
from decloak.store.arrays import damaged, read_array, read_texts, write_array, write_texts
from decloak.store.bulk import PENDING, Bulk
from decloak.store.inserting import insert, insert_rows, next_number

__all__ = [
    "STORED_TRANSACTIONS", "Extent", "StoredTransactions", "dataset_of", "element_rows", "extent", "read_marked",
    "read_origin_places", "read_transactions", "write_marked", "write_origin_places", "write_transactions",
]  # fmt: skip

BLOCK = 1 << 18
"""Transactions whose rows are made at once."""

T = TypeVar("T")


class Extent(NamedTuple):
    """How much a data set holds: the number of its first transaction, how many there are, with how many elements."""

    first: int
    transactions: int
    elements: int


class StoredTransactions(NamedTuple):
    """The transactions of a data set: elements by number, generalised ones below zero."""

    labels: Sequence[str]
    rows: CodedRows[int]


def write_transactions(
    connection: sqlite3.Connection,
    dataset: int,
    rows: CodedRows[T],
    labels: Sequence[str],
    number: Callable[[T], int],
) -> Extent:
    """Keep transactions; `number` says of each element which it is in the store."""
    held = rows.compact
    whole = Extent(next_number(connection, "txn"), len(held), len(held.codes))
    write_array(connection, dataset, "lengths", held.lengths)
    write_array(connection, dataset, "codes", held.codes)
    write_array(connection, dataset, "elements", np.array([number(name) for name in held.names], np.int64))
    if Numbers(len(labels)) != (labels if isinstance(labels, Numbers) else tuple(labels)):
        write_texts(connection, dataset, "labels", labels)
    insert(connection, "extent", dataset=dataset, **whole._asdict(), pending=PENDING)
    return whole


def extent(connection: sqlite3.Connection, dataset: int) -> Extent:
    """How much a data set holds."""
    row = connection.execute(
        "select first, transactions, elements from extent where dataset = ?", (dataset,)
    ).fetchone()
    if row is None:
        raise damaged(dataset, "extent")
    return Extent(*row)


def dataset_of(connection: sqlite3.Connection, release: int) -> int:
    """The number of the data set that a release is."""
    (dataset,) = connection.execute("select dataset from release where id = ?", (release,)).fetchone()
    return int(dataset)


def read_transactions(connection: sqlite3.Connection, dataset: int) -> StoredTransactions:
    """The transactions of a data set, from its arrays."""
    whole = extent(connection, dataset)
    lengths, codes, elements = (_array(connection, dataset, name) for name in ("lengths", "codes", "elements"))
    labels: Sequence[str] | None = read_texts(connection, dataset, "labels")
    labels = Numbers(whole.transactions) if labels is None else labels
    counts = (len(lengths), int(lengths.sum()), len(codes), len(labels))
    if counts != (whole.transactions, whole.elements, whole.elements, whole.transactions):
        raise damaged(dataset, "lengths")
    if lengths.min(initial=0) < 0:
        raise damaged(dataset, "lengths")
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < len(elements):
        raise damaged(dataset, "codes")
    start = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return StoredTransactions(labels, CodedRows(start, codes, elements.tolist()))


def _array(connection: sqlite3.Connection, dataset: int, name: str) -> NDArray[Any]:
    array = read_array(connection, dataset, name)
    if array is None or array.dtype.kind == "f":
        raise damaged(dataset, name)
    return array


def write_origin_places(connection: sqlite3.Connection, dataset: int, places: Ints) -> None:
    """Keep, as truth, the place of the original transaction that each of a release was made from."""
    write_array(connection, dataset, "origins", places, table="truth_array")


def read_origin_places(connection: sqlite3.Connection, dataset: int) -> NDArray[Any] | None:
    """Truth: those places, None where they are not known."""
    return read_array(connection, dataset, "origins", table="truth_array")


def write_marked(connection: sqlite3.Connection, dataset: int, marked: Sequence[tuple[int, int]]) -> None:
    """Keep, as truth, the places of transactions with items that are marked as original in them."""
    write_array(connection, dataset, "marked", np.array(marked, np.int64).ravel(), table="truth_array")


def read_marked(connection: sqlite3.Connection, dataset: int) -> NDArray[Any]:
    """Truth: those places and items, a row each."""
    marked = read_array(connection, dataset, "marked", table="truth_array")
    return np.zeros((0, 2), np.int64) if marked is None else marked.astype(np.int64).reshape(-1, 2)


def _show(connection: sqlite3.Connection, dataset: int) -> None:
    """Make the rows of transactions and of what is in them."""
    first = extent(connection, dataset).first
    stored = read_transactions(connection, dataset)
    rows, elements = stored.rows, np.array(stored.rows.names, np.int64)
    for begin in range(0, len(rows), BLOCK):
        block = slice(begin, begin + BLOCK)
        labels = stored.labels[block]
        places = range(begin, begin + len(labels))
        numbers = range(first + begin, first + begin + len(labels))
        txns = ((number, dataset, place, label) for number, place, label in zip(numbers, places, labels, strict=True))
        insert_rows(connection, "txn (id, dataset, position, label)", txns)
        for table, shown in element_rows(rows, elements, first, block):
            insert_rows(connection, table, shown)
    _show_clusters(connection, dataset)
    marked = read_marked(connection, dataset) + np.array((first, 0))
    insert_rows(connection, "truth_marked (txn, item)", marked.tolist())
    _make_origins(connection, dataset, first)


def _show_clusters(connection: sqlite3.Connection, dataset: int) -> None:
    """Make the rows of clusters: those of one after those of the other."""
    whole = extent(connection, dataset)
    clusters = connection.execute(
        "select c.id, c.size from release l join cluster c on c.release = l.id where l.dataset = ? order by c.number",
        (dataset,),
    ).fetchall()
    if clusters and sum(size for _, size in clusters) != whole.transactions:
        raise damaged(dataset, "lengths")
    places = ((cluster, row) for cluster, size in clusters for row in range(size))
    rows = ((txn, *place) for txn, place in enumerate(places, whole.first))
    insert_rows(connection, "cluster_row (txn, cluster, row)", rows)


def element_rows(
    rows: CodedRows[int], elements: Ints, first: int, block: slice
) -> Iterator[tuple[str, Iterable[tuple[int, int, int]]]]:
    """Return the rows of contains and of published_as for a block of transactions, which are numbered from `first`."""
    start = rows.start[block.start : block.stop + 1]
    held = elements[rows.codes[start[0] : start[-1]]]
    lengths = np.diff(start)
    txn = np.repeat(np.arange(len(lengths)) + first + block.start, lengths)
    position = np.arange(len(held)) - np.repeat(start[:-1] - start[0], lengths)
    plain = held > 0
    for into, mask in (
        ("contains (txn, position, item)", plain),
        ("published_as (txn, position, generalised)", ~plain),
    ):
        columns = (txn[mask], position[mask], np.abs(held[mask]))
        yield into, zip(*(column.tolist() for column in columns), strict=True)


def _make_origins(connection: sqlite3.Connection, dataset: int, first: int) -> None:
    places = read_origin_places(connection, dataset)
    if places is None:
        return
    (original,) = connection.execute(
        "select o.original from release r join truth_release o on o.release = r.id where r.dataset = ?", (dataset,)
    ).fetchone()
    start = extent(connection, original).first
    rows = zip(range(first, first + len(places)), (places.astype(np.int64) + start).tolist(), strict=True)
    insert_rows(connection, "truth_origin (txn, original)", rows)


STORED_TRANSACTIONS = Bulk(
    owner="dataset",
    extent="extent",
    rows=(
        "transactions + elements + (select coalesce(sum(c.size), 0) "
        "from release l join cluster c on c.release = l.id where l.dataset = extent.dataset)"
    ),
    unlike=(
        "(select count(*) from txn x where x.dataset = e.dataset) <> iif(e.pending is null, e.transactions, 0) "
        "or exists (select 1 from txn x where x.id >= e.first and x.id < e.first + e.transactions "
        "and x.dataset <> e.dataset) or exists (select 1 from release l join cluster c on c.release = l.id "
        "where l.dataset = e.dataset "
        "and (select count(*) from cluster_row r where r.cluster = c.id) <> iif(e.pending is null, c.size, 0))"
    ),
    tables=("txn", "contains", "published_as", "truth_origin", "truth_marked", "cluster_row"),
    of_run=(
        "select l.dataset from run r join release l on l.id = r.release where r.id = ?1 union "
        "select o.original from run r join truth_release o on o.release = r.release where r.id = ?1"
    ),
    show=_show,
    indexes={"contains_item": "contains (item)", "published_as_generalised": "published_as (generalised)"},
)
"""The transactions of data sets."""
