"""A disassociated release: clusters of records whose items are published in chunks that hide who had what.

A record chunk shows, for a set of items, the part of each record that lies in it (a sub-record), in an order that
says nothing of the records; a term chunk shows items only. A joint cluster publishes shared chunks over several
clusters. The first record chunk of a cluster anchors the attacks.
"""

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Chunk", "Cluster", "Disassociated", "Joint"]


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


@dataclass(frozen=True)
class Joint:
    """A joint cluster: the numbers of its clusters, from 0, and the chunks they share."""

    clusters: tuple[int, ...]
    shared_chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Disassociated:
    """What is published; nothing here says which record a sub-record came from."""

    clusters: tuple[Cluster, ...]
    joints: tuple[Joint, ...] = ()
    k: int | None = None
    m: int | None = None
    origin: str = field(default="memory", compare=False)

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of its clusters, in alphabetical order."""
        return tuple(sorted({item for cluster in self.clusters for item in cluster.items}))

    def write(self, path: str | Path) -> None:
        """Write it as a release file."""
        from decloak.data.formats.disassociated_file import write_disassociated

        write_disassociated(self, path)

    def __str__(self) -> str:
        """Its clusters as tables of text."""
        from decloak.data.formats.release_text import text_table

        return text_table(self)
