"""Content of release files as plain values. File formats read and write these; the release types extend them.

A record chunk publishes, for a set of items, the part of each record that consists of these items (a sub-record), in an
order that does not depend on the records. A term chunk publishes items only. A joint cluster publishes shared chunks
over several clusters.

Elements of published rows have numbers: plain items, and labels that contain several items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from decloak.arrays import Ints
from decloak.data.rows import CodedRows, Coding, runs

Element = str | tuple[str, ...]
"""One element of a published transaction: a plain item, or a generalised item (the tuple of its members)."""


@dataclass(frozen=True)
class LabelContent:
    """Transactions of labels in alphabetical order, and the items that each label covers."""

    transactions: Sequence[tuple[str, ...]]
    members: Mapping[str, tuple[str, ...]]
    ids: Sequence[str]
    method: str = "unknown"
    k: int | None = None
    m: int | None = None

    @cached_property
    def rows(self) -> CodedRows[str]:
        """The records as arrays."""
        return CodedRows.of(self.transactions)

    @property
    def cut(self) -> tuple[str, ...]:
        """Every label that a record may contain, in alphabetical order."""
        return tuple(sorted(self.members))


@dataclass(frozen=True)
class Chunk:
    """A set of items and the multiset of the non-empty sub-records over it, both in lexicographic order."""

    items: tuple[str, ...]
    subrecords: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Cluster:
    """A group of `size` records, published as record chunks and a term chunk."""

    size: int
    record_chunks: tuple[Chunk, ...]
    term_chunk: tuple[str, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Every item that the cluster publishes, chunk by chunk."""
        return tuple(item for chunk in self.record_chunks for item in chunk.items) + self.term_chunk

    @property
    def anchors(self) -> tuple[tuple[str, ...], ...]:
        """The published content of each row: the sub-records of the first record chunk, then empty rows."""
        subrecords = self.record_chunks[0].subrecords if self.record_chunks else ()
        return subrecords + ((),) * (self.size - len(subrecords))


@dataclass(frozen=True)
class JointCluster:
    """A joint cluster: the numbers of its clusters, from 0, and the chunks they share."""

    clusters: tuple[int, ...]
    shared_chunks: tuple[Chunk, ...]


class Elements:
    """The items of each element, and the elements of each item, by number."""

    def __init__(self, names: Sequence[Element], further: Sequence[str]) -> None:
        self.number: Coding[str] = Coding()
        sets = [(name,) if isinstance(name, str) else tuple(name) for name in names]
        self.item = np.array([self.number[item] for items in sets for item in items], np.int64)
        self.further = np.array([self.number[item] for item in further], np.int64)
        self.size = np.array(list(map(len, sets)), np.int64)
        self.plain = self.size == 1  # a label with one member hides nothing
        self.start = np.cumsum(self.size) - self.size
        # Never 0, because cells of rows × items are divided by it.
        self.items = max(1, len(self.number))

    @cached_property
    def elements_of_item(self) -> list[Ints]:
        """Return the elements of each item."""
        element = np.repeat(np.arange(len(self.size)), self.size)
        order = np.argsort(self.item, kind="stable")
        return np.split(element[order], np.searchsorted(self.item[order], np.arange(1, self.items)))

    def members(self, elements: Ints) -> tuple[Ints, Ints]:
        """Return the items of `elements`, and for each item the index of its element."""
        at, place = runs(self.start[elements], self.start[elements] + self.size[elements])
        return self.item[at], place
