"""The order of records and items: as they were recorded, or sorted, so that it says nothing that they do not.

Two data sets that hold the same records are one here, in whatever order each holds them. A method is given them
sorted, and what it makes is sorted again by what it shows. Rows that show the same are interchangeable: which record
is behind which of them is left to chance, or attacks that take the first of equal ones would fare better or worse by
the spelling of what is hidden.
"""

import random
from collections.abc import Hashable
from dataclasses import replace
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, Numbers, picked_labels
from decloak.errors import DecloakError, nearest, shown

__all__ = [
    "ORDERS", "RECORDED", "Arranged", "Order", "Places", "arranged_rows", "canonical", "canonical_digest",
    "check_order", "shuffled_alike",
]  # fmt: skip

Order = Literal["sorted", "recorded"]
ORDERS: tuple[Order, ...] = get_args(Order)
RECORDED = (
    "the release keeps the order of the records and of their items: whoever has them in that order, or knows how they "
    "are ordered, links by place alone; order: sorted under anonymise tells nothing by it"
)
"""What somebody is told who publishes in the order of the records."""

Places = Ints
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Arranged(NamedTuple, Generic[T]):
    """A release in an order that only what it shows decides; of each row the place it had, and a number that it shares
    with the rows that show the same.
    """

    release: T
    places: Places
    alike: Places


def check_order(order: object) -> None:
    if order not in ORDERS:
        hint = nearest(str(order), ORDERS) or f"give {' or '.join(ORDERS)}"
        raise DecloakError(f"unknown order {shown(order)}", hint=hint)


def arranged_rows(rows: CodedRows[K]) -> Arranged[CodedRows[K]]:
    """Rows sorted, the names sorted in each.

    >>> rows, places, alike = arranged_rows(CodedRows.of([("tea", "milk"), ("bread",), ("milk", "tea")]))
    >>> rows, places.tolist(), alike.tolist()
    ((('bread',), ('milk', 'tea'), ('milk', 'tea')), [1, 0, 2], [0, 1, 1])
    """
    held = rows.compact.ascending()
    rank = _ranks(held)
    places = np.argsort(rank, kind="stable")
    return Arranged(held.take(places), places, np.cumsum(np.diff(rank[places], prepend=0) > 0))


def _ranks(rows: CodedRows[K]) -> Places:
    """How many rows come before those that show the same; names are numbered in their order.

    Rows that begin alike are told apart by one name more at a time; a row that ends comes before those that go on.
    """
    begin, lengths = rows.start[:-1], rows.lengths
    rank, among = np.zeros(len(rows), np.int64), np.arange(len(rows))
    place = 0
    while len(among):
        goes_on = lengths[among] > place
        name = np.zeros(len(among), np.int64)
        name[goes_on] = rows.codes[begin[among[goes_on]] + place] + 1
        key = rank[among] * (len(rows.names) + 1) + name
        order = np.argsort(key, kind="stable")
        among, key, goes_on = among[order], key[order], goes_on[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))  # where rows that are alike so far begin
        size = np.diff(np.append(first, len(key)))
        old = np.searchsorted(rank[among], rank[among[first]])  # where those that were alike before this name begin
        rank[among] += np.repeat(first - old, size)
        among = among[goes_on & (np.repeat(size, size) > 1)]
        place += 1
    return rank


def canonical(data: Dataset) -> tuple[Dataset, Places]:
    """The same records sorted, the items sorted in each, and the place that each had; labels stay with their records.

    >>> data, places = canonical(Dataset((("tea", "milk"), ("bread",)), ("1", "2")))
    >>> data.transactions, data.labels, places.tolist()
    ((('bread',), ('milk', 'tea')), ('2', '1'), [1, 0])
    """
    rows, places, _ = arranged_rows(data.rows)
    return Dataset(rows, picked_labels(data.labels, places), data.origin), places


def canonical_digest(data: Dataset) -> str:
    """The digest of the records, whatever their order and labels."""
    records, _ = canonical(data)
    return replace(records, labels=Numbers(len(records.rows))).digest


def shuffled_alike(behind: Places, alike: Places) -> Places:
    """The record behind each row, those behind rows that show the same in random order, always the same one.

    `behind` are the places of all records in canonical order, so that nothing here depends on any other.
    """
    rank = list(range(len(behind)))
    random.Random(0).shuffle(rank)
    return behind[np.lexsort((np.array(rank, np.int64)[behind], alike))]
