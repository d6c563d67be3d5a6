"""The order of records and items: as recorded, or sorted, so that the order reveals nothing.

Two data sets that contain the same records are equal here, in whatever order. A method receives sorted records, and its
result is sorted by its content. Rows with equal content are interchangeable: which record is behind which of them is
random. Otherwise the success of an attack that takes the first of equal rows would depend on the spelling of hidden
items.

A warning says that the items of transactions are sorted as well.
"""

import random
from collections.abc import Hashable
from dataclasses import replace
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, RowLabels, select_labels
from decloak.errors import DecloakError, quote, suggest

Order = Literal["sorted", "recorded"]
ORDERS: tuple[Order, ...] = get_args(Order)
RECORDED = (
    "WARNING: the release keeps the order of the records and of their items. An attacker who knows this order "
    "re-identifies people and eliminates members. Remedy: set anonymise.order to sorted"
)
"""The warning for a release in the order of the records."""

RowIndices = Ints
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class SortedRelease(NamedTuple, Generic[T]):
    """A release in an order that depends only on its content. `source_rows`: the old index of each row. `equal_rows`: a
    number that rows with equal content share.
    """

    release: T
    source_rows: RowIndices
    equal_rows: RowIndices


def check_order(order: object) -> None:
    """Raise an error unless `order` is one of ORDERS."""
    if order not in ORDERS:
        hint = suggest(str(order), ORDERS) or f"give {' or '.join(ORDERS)}"
        raise DecloakError(f"unknown order {quote(order)}", hint=hint)


def sort_rows(rows: CodedRows[K]) -> SortedRelease[CodedRows[K]]:
    """Return `rows` sorted, with sorted names in each row.

    >>> rows, source_rows, equal_rows = sort_rows(CodedRows.of([("tea", "milk"), ("bread",), ("milk", "tea")]))
    >>> rows, source_rows.tolist(), equal_rows.tolist()
    ((('bread',), ('milk', 'tea'), ('milk', 'tea')), [1, 0, 2], [0, 1, 1])
    """
    sortable = rows.with_used_names.with_sorted_names()
    rank = rank_rows(sortable)
    source_rows = np.argsort(rank, kind="stable")
    return SortedRelease(
        sortable.select(source_rows), source_rows, np.cumsum(np.diff(rank[source_rows], prepend=0) > 0)
    )


def rank_rows(rows: CodedRows[K]) -> RowIndices:
    """Return for each row the number of rows that sort before it; equal rows share a rank. Names are numbered in order.

    Equal prefixes are split by one more name at a time. A row that ends sorts before its extensions.
    """
    begin, lengths = rows.start[:-1], rows.lengths
    rank, open_rows = np.zeros(len(rows), np.int64), np.arange(len(rows))
    position = 0
    while len(open_rows):
        continues = lengths[open_rows] > position
        name = np.zeros(len(open_rows), np.int64)
        name[continues] = rows.codes[begin[open_rows[continues]] + position] + 1
        # A combined key sorts by the rank so far, then by the next name; 0 means that the row ends.
        key = rank[open_rows] * (len(rows.names) + 1) + name
        order = np.argsort(key, kind="stable")
        open_rows, key, continues = open_rows[order], key[order], continues[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))  # where rows that are alike so far begin
        size = np.diff(np.append(first, len(key)))
        old = np.searchsorted(
            rank[open_rows], rank[open_rows[first]]
        )  # the starts of runs that were equal before this name
        rank[open_rows] += np.repeat(first - old, size)
        open_rows = open_rows[continues & (np.repeat(size, size) > 1)]
        position += 1
    return rank


def sort_records(data: Dataset) -> tuple[Dataset, RowIndices]:
    """Return `data` with sorted records and sorted items, and the old index of each. Labels stay with their records.

    >>> data, source_rows = sort_records(Dataset((("tea", "milk"), ("bread",)), ("1", "2")))
    >>> data.transactions, data.labels, source_rows.tolist()
    ((('bread',), ('milk', 'tea')), ('2', '1'), [1, 0])
    """
    rows, source_rows, _ = sort_rows(data.rows)
    return Dataset(rows, select_labels(data.labels, source_rows), data.origin), source_rows


def canonical_digest(data: Dataset) -> str:
    """Return the digest of the records of `data`, independent of their order and labels."""
    records, _ = sort_records(data)
    return replace(records, labels=RowLabels(len(records.rows))).digest


def shuffle_equal_rows(source_rows: RowIndices, equal_rows: RowIndices) -> RowIndices:
    """Return the record behind each row, shuffled among rows with equal content, always by the same permutation.

    `source_rows` has the indices of all records in canonical order, so that nothing here depends on another order.
    `equal_rows` has an equal number for rows with equal content.
    """
    rank = list(range(len(source_rows)))
    # A fixed seed: equal content always gets the same records behind its rows.
    random.Random(0).shuffle(rank)
    return source_rows[np.lexsort((np.array(rank, np.int64)[source_rows], equal_rows))]


FEWEST = 3
"""Least number of items of a record that counts. Fewer are often alphabetical by accident."""


def sorted_warning(dataset: Dataset) -> str | None:
    """Return a warning if most records of `dataset` list their items alphabetically; else None.

    An attacker assumes that neighbours of a hidden item are related to it. In a sorted record that is no evidence.

    >>> sorted_warning(Dataset((("fever", "cough", "aspirin"),), ("1",))) is None
    True
    """
    rows = dataset.rows
    # Programs sort capitals before small letters, or among them: a record may follow either order.
    # As objects: a numpy text would give every name the length of the longest.
    keys = (np.array(list(map(key, rows.names)), object) for key in (str, str.casefold))
    ranks = [np.unique(each, return_inverse=True)[1] for each in keys]
    long = ordered = 0
    for block in rows.blocks():
        telling = block.lengths >= FEWEST
        long += int(np.count_nonzero(telling))
        ordered += int(np.count_nonzero(telling & (_ascend(block, ranks[0]) | _ascend(block, ranks[1]))))
    if 2 * ordered <= long:
        return None
    return (
        f"{ordered:,} of the {long:,} records of {FEWEST} items or more list them alphabetically: the "
        "nearest items of a hidden one are near in spelling, not in meaning, so take all of them as the context; and "
        "published in this order, the place of a hidden item tells how it is spelt"
    )


def _ascend(rows: CodedRows[str], ranks: Ints) -> Mask:
    """Return for each row True if the ranks of its items ascend."""
    rank, row = ranks[rows.codes], rows.row_of_code
    falls = (rank[1:] < rank[:-1]) & (row[1:] == row[:-1])
    ascending: Mask = np.bincount(row[1:][falls], minlength=len(rows)) == 0
    return ascending
