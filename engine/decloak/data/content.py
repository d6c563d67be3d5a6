"""What release files hold, as plain values: their formats read and write these, the shapes of data build upon them.

A record chunk shows, for a set of items, the part of each record that lies in it (a sub-record), in an order that
says nothing of the records; a term chunk shows items only. A joint cluster publishes shared chunks over several
clusters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from decloak.data.rows import CodedRows

__all__ = ["Chunk", "Chunked", "Cluster", "Element", "Elements", "Joint", "Labelled"]

Element = str | tuple[str, ...]
"""One position of a published transaction: a plain item, or a generalised item (the tuple of its members)."""


@dataclass(frozen=True)
class Elements:
    """Set-generalised transactions, and what each is called."""

    transactions: Sequence[tuple[Element, ...]]
    labels: Sequence[str]

    @cached_property
    def rows(self) -> CodedRows[Element]:
        return CodedRows.of(self.transactions)


@dataclass(frozen=True)
class Labelled:
    """Transactions of labels in alphabetical order, and the items each label stands for."""

    transactions: Sequence[tuple[str, ...]]
    members: Mapping[str, tuple[str, ...]]
    ids: Sequence[str]
    method: str = "unknown"
    k: int | None = None
    m: int | None = None

    @cached_property
    def rows(self) -> CodedRows[str]:
        return CodedRows.of(self.transactions)

    @property
    def cut(self) -> tuple[str, ...]:
        """Every label that may stand in a transaction, in alphabetical order."""
        return tuple(sorted(self.members))


@dataclass(frozen=True)
class Chunk:
    """A set of items and the multiset of the non-empty sub-records over it, both in lexicographic order."""

    items: tuple[str, ...]
    subrecords: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Cluster:
    """So many records, published as record chunks and a term chunk."""

    size: int
    record_chunks: tuple[Chunk, ...]
    term_chunk: tuple[str, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Every item it publishes, chunk after chunk."""
        return tuple(item for chunk in self.record_chunks for item in chunk.items) + self.term_chunk

    @property
    def anchors(self) -> tuple[tuple[str, ...], ...]:
        """What its rows show: the sub-records of the first record chunk as published, then nothing."""
        subrecords = self.record_chunks[0].subrecords if self.record_chunks else ()
        return subrecords + ((),) * (self.size - len(subrecords))


@dataclass(frozen=True)
class Joint:
    """A joint cluster: the numbers of its clusters, from 0, and the chunks they share."""

    clusters: tuple[int, ...]
    shared_chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Chunked:
    """Clusters, joint clusters, and the k and m they promise, where that is told."""

    clusters: tuple[Cluster, ...]
    joints: tuple[Joint, ...] = ()
    k: int | None = None
    m: int | None = None
