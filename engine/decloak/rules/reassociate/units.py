"""Rows with anchors, and the units that were split off them, in a disassociated release.

The rows of a cluster are the sub-records of its first record chunk in published order, then rows of which nothing is
published, up to its size. The *anchor* of a row is what it shows; rows of the same anchor form a *class*. Units are the
distinct sub-records of later record chunks and the terms. A cluster without a record chunk has no anchors and is
skipped. Shared chunks are ignored, except by an expectation (`shared`).
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from decloak.data.assignment import ChunkNumber
from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError

__all__ = ["AnchoredRows", "Unit", "classes", "rows_of_cluster", "subrecord_units", "units_of"]

Items = tuple[str, ...]


class Unit(NamedTuple):
    """A split-off part: its chunk, its items in order, and its number of rows."""

    chunk: ChunkNumber
    items: Items
    times: int


class AnchoredRows(NamedTuple):
    """The rows of a cluster: the distinct anchors in order of their first row, and the anchor number of each row."""

    anchors: tuple[Items, ...]
    of_row: tuple[int, ...]


def rows_of_cluster(cluster: Cluster) -> AnchoredRows:
    """Return the rows of `cluster`; without a record chunk all are empty.

    >>> from decloak.data.disassociated import Chunk
    >>> rows_of_cluster(Cluster(4, (Chunk(("a", "b"), (("a",), ("a", "b"), ("a",))),), ()))
    AnchoredRows(anchors=(('a',), ('a', 'b'), ()), of_row=(0, 1, 0, 2))
    """
    anchors = [*map(_items, cluster.record_chunks[0].subrecords)] if cluster.record_chunks else []
    # Records without a sub-record in the first chunk are rows too: units may belong to them.
    anchors += [()] * (cluster.size - len(anchors))
    number: dict[Items, int] = {}
    of_row = tuple([number.setdefault(anchor, len(number)) for anchor in anchors])
    return AnchoredRows(tuple(number), of_row)


def classes(rows: AnchoredRows) -> list[list[int]]:
    """Return the `rows` of every anchor.

    >>> classes(AnchoredRows((("a",), ()), (0, 1, 0)))
    [[0, 2], [1]]
    """
    members: list[list[int]] = [[] for _ in rows.anchors]
    for row, anchor in enumerate(rows.of_row):
        members[anchor].append(row)
    return members


def units_of(release: Disassociated) -> Iterator[tuple[int, list[Unit]]]:
    """Yield every cluster of `release` with anchors and its units, by chunk and items, terms last, once each."""
    for number, cluster in enumerate(release.clusters):
        _check(number, cluster)
        if cluster.record_chunks:
            yield number, [*_subrecords(cluster), *(Unit("T", (term,), 1) for term in sorted(cluster.term_chunk))]


def _check(number: int, cluster: Cluster) -> None:
    if cluster.size < 1:
        raise DecloakError(f"cluster {number} has {cluster.size} records", hint="a cluster has at least one")
    for j, chunk in enumerate(cluster.record_chunks):
        if len(chunk.subrecords) > cluster.size:
            message = (
                f"chunk {j} of cluster {number} has {len(chunk.subrecords)} sub-records for {cluster.size} records"
            )
            raise DecloakError(message, hint="a record has at most one sub-record in a chunk")


def _subrecords(cluster: Cluster) -> Iterator[Unit]:
    for j, chunk in enumerate(cluster.record_chunks[1:], 1):
        yield from subrecord_units(j, chunk)


def subrecord_units(name: ChunkNumber, chunk: Chunk) -> Iterator[Unit]:
    """Yield the units of `chunk`, which is called `name`."""
    for items, times in sorted(Counter(map(_items, chunk.subrecords)).items()):
        yield Unit(name, items, times)


def _items(subrecord: Items) -> Items:
    return tuple(sorted(subrecord)) if len(subrecord) > 1 else subrecord
