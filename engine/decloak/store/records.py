"""The records of data sets in the store: a row for each, with its elements as a JSON list.

Ground truth links the rows of a release to the records that they were made from. Nothing else in a store links the two:
a release never shares ids with its originals.
"""

import sqlite3
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, repeat
from typing import NamedTuple, TypeVar

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import Part
from decloak.data.ordering import RowIndices
from decloak.data.rows import CodedRows, RowLabels
from decloak.errors import DecloakError
from decloak.store.inserting import insert_rows, item_names, item_numbers, next_number
from decloak.store.lists import damaged, json_lists, read_lists

T = TypeVar("T")
E = TypeVar("E", bound=Hashable)


class Extent(NamedTuple):
    """The place of a data set among all records: the number of its first record, and how many follow each other."""

    first: int
    records: int


class StoredRecords(NamedTuple):
    """The records of a data set: labels, and elements by number, generalised items below zero."""

    labels: Sequence[str]
    rows: CodedRows[int]


def by_frequency(rows: CodedRows[T]) -> list[T]:
    """Return the names of `rows`, the most frequent first: they get the shortest numbers in lists."""
    held = rows.with_used_names
    counts = np.bincount(held.codes, minlength=len(held.names))
    return [held.names[code] for code in np.argsort(-counts, kind="stable").tolist()]


def write_records(
    connection: sqlite3.Connection,
    dataset: int,
    rows: CodedRows[T],
    labels: Sequence[str],
    number: Callable[[T], int],
    clusters: Iterable[int] | None = None,
) -> Extent:
    """Write records and return where they lie.

    `rows` are the records of `dataset`, `labels` their ids. `number` tells the number of each element in the store.
    `clusters` are the numbers of the clusters that the records belong to, where the release has clusters.
    """
    held = rows.with_used_names
    whole = Extent(next_number(connection, "record"), len(held))
    connection.execute("update dataset set first = ?, records = ? where id = ?", (*whole, dataset))
    # Labels that only count from 1 are not stored: reading makes them again.
    is_numbered = RowLabels(len(labels)) == (labels if isinstance(labels, RowLabels) else tuple(labels))
    names: Iterable[str | None] = repeat(None) if is_numbered else iter(labels)
    of_cluster: Iterable[int | None] = repeat(None) if clusters is None else iter(clusters)
    lists = _element_lists(held, np.array([number(name) for name in held.names], np.int64))
    numbers = range(whole.first, whole.first + whole.records)
    connection.executemany(
        "insert into record (id, dataset, cluster, label, elements) values (?, ?, ?, ?, ?)",
        zip(numbers, repeat(dataset), of_cluster, names, lists, strict=False),
    )
    return whole


def write_parts(connection: sqlite3.Connection, dataset: int, parts: Iterable[Part]) -> None:
    """Write the catalogue of the files that have the records of `dataset`."""
    into = "part (dataset, path, row_groups, records, elements, bytes, digest)"
    insert_rows(connection, into, ((dataset, *part) for part in parts))


def read_parts(connection: sqlite3.Connection, dataset: int) -> list[Part]:
    """Return the catalogue of `dataset`; empty if the store has its records."""
    columns = "path, row_groups, records, elements, bytes, digest"
    rows = connection.execute(f"select {columns} from part where dataset = ? order by id", (dataset,))
    return [Part(*row) for row in rows]


def require_records(connection: sqlite3.Connection, release: int) -> None:
    """Raise an error if the records of `release` are in files: the store has neither them nor findings about them."""
    if read_parts(connection, dataset_of(connection, release)):
        hint = "query the files by `decloak sql --parts`, or run a sample without parts"
        raise DecloakError("the release is in files: the store has neither its records nor findings", hint=hint)


def _element_lists(rows: CodedRows[T], elements: Ints) -> Iterator[str]:
    for block in rows.blocks():  # as Python's own numbers all of them would take ten times the memory
        numbers = elements[block.codes].tolist()
        yield from json_lists([numbers[low:high] for low, high in pairwise(block.start.tolist())])


def extent(connection: sqlite3.Connection, dataset: int) -> Extent:
    """Return the place of the records of `dataset`."""
    return Extent(*connection.execute("select first, records from dataset where id = ?", (dataset,)).fetchone())


def dataset_of(connection: sqlite3.Connection, release: int) -> int:
    """Return the number of the data set that `release` publishes."""
    (dataset,) = connection.execute("select dataset from release where id = ?", (release,)).fetchone()
    return int(dataset)


def read_records(connection: sqlite3.Connection, dataset: int) -> StoredRecords:
    """Return the records of `dataset`."""
    whole = extent(connection, dataset)
    chosen = "from record where id >= ?1 and id < ?1 + ?2 and dataset = ?3 order by id"
    place = (*whole, dataset)
    what = f"the elements of data set {dataset}"
    texts = (text for (text,) in connection.execute(f"select elements {chosen}", place))
    lengths, numbers = read_lists(texts, what)
    if len(lengths) != whole.records:
        raise damaged(f"data set {dataset} lacks records")
    elements, codes = _coded(numbers)
    rows = CodedRows(np.concatenate(([0], np.cumsum(lengths))), codes, elements.tolist()).with_used_names
    labels = [label for (label,) in connection.execute(f"select label {chosen}", place)]
    if all(label is None for label in labels):
        return StoredRecords(RowLabels(len(labels)), rows)
    return StoredRecords(tuple(str(number) if label is None else label for number, label in enumerate(labels, 1)), rows)


def named_rows(dataset: int, rows: CodedRows[int], names: Mapping[int, E]) -> CodedRows[E]:
    """Return `rows` of `dataset` with the names in `names` in place of the numbers of elements."""
    try:
        return rows.with_names(names.__getitem__)
    except KeyError:
        raise damaged(f"data set {dataset} has elements that are not there") from None


def read_dataset(connection: sqlite3.Connection, dataset: int) -> Dataset:
    """Read the plain records of a data set."""
    (origin,) = connection.execute("select origin from dataset where id = ?", (dataset,)).fetchone()
    stored = read_records(connection, dataset)
    return Dataset(named_rows(dataset, stored.rows, item_names(connection)), stored.labels, origin)


def _coded(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the different numbers, ascending, and the place of each number among them."""
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    # With numbers far apart, the table below would take too much memory.
    if high - low > 4 * len(numbers) + (1 << 20):
        different, places = np.unique(numbers, return_inverse=True)
        return different, places.reshape(-1)
    # Numbers of items lie close to each other: to look them up takes a tenth of the time of sorting.
    is_there = np.zeros(high - low + 1, np.bool_)
    is_there[numbers - low] = True
    return np.flatnonzero(is_there) + low, (np.cumsum(is_there) - 1)[numbers - low]


def write_places(connection: sqlite3.Connection, dataset: int, original: int, places: Ints) -> None:
    """Write, as ground truth, the places in `original` of the records behind the rows of `dataset`."""
    first = extent(connection, dataset).first
    numbers = (places + extent(connection, original).first).tolist()
    connection.executemany("insert into truth_origin (txn, original) values (?, ?)", enumerate(numbers, first))


def read_places(connection: sqlite3.Connection, dataset: int, original: int) -> Ints | None:
    """Return those places, or None if the records of `dataset` lack them."""
    whole = extent(connection, dataset)
    rows = connection.execute(
        "select original from truth_origin where txn >= ?1 and txn < ?1 + ?2 order by txn", whole
    ).fetchall()
    # A release without records lacks no place.
    if not rows and whole.records:
        return None
    places = np.array(rows, np.int64).reshape(-1) - extent(connection, original).first
    if len(places) != whole.records:
        raise damaged(f"records of data set {dataset} lack their originals")
    return places


def write_marked(connection: sqlite3.Connection, dataset: int, marked: Iterable[tuple[int, int]]) -> None:
    """Write, as ground truth, the places in `dataset` and the items that are marked as original there."""
    first = extent(connection, dataset).first
    rows = ((first + place, item) for place, item in marked)
    connection.executemany("insert into truth_marked (txn, item) values (?, ?)", rows)


def read_marked(connection: sqlite3.Connection, dataset: int) -> Ints:
    """Return those places and items, a row each."""
    whole = extent(connection, dataset)
    rows = connection.execute(
        "select txn - ?1, item from truth_marked where txn >= ?1 and txn < ?1 + ?2 order by 1, 2", whole
    ).fetchall()
    return np.array(rows, np.int64).reshape(-1, 2)


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
    write_places(connection, dataset, original, places)


def read_origins(connection: sqlite3.Connection, release: int) -> RowIndices | None:
    """Return the place of the record behind every row of `release`, or None without ground truth."""
    original = _original(connection, release)
    if original is None:
        return None
    dataset = dataset_of(connection, release)
    places = read_places(connection, dataset, original)
    size = extent(connection, original).records
    # In a damaged store, a place outside would name another person.
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
