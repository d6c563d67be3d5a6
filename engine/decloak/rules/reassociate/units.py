"""Rows with anchors, and the units that were split off them, in a disassociated release.

The rows of a cluster are the sub-records of its first record chunk in published order, then rows of which nothing is
published, up to its size. The *anchor* of a row is what it shows; rows of the same anchor form a *class*. Units are the
distinct sub-records of later record chunks and the terms. A cluster without a record chunk has no anchors and is
skipped. Shared chunks are ignored, except by an expectation (`shared`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from decloak.data.assignment import ChunkNumber
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.rules.reassociate.strategy import Reassociation

__all__ = ["AnchoredRows", "TermRows", "Unit", "classes", "rows_of_cluster", "subrecord_units", "units_of"]

Items = tuple[str, ...]


class Unit(NamedTuple):
    """A split-off part: its chunk, its items in order, and its number of rows."""

    chunk: ChunkNumber
    items: Items
    times: int


class TermRows(NamedTuple):
    """The expected number of rows with a term: `of_term` by cluster and term, or else `of_size` by size of the
    cluster.
    """

    of_size: Mapping[int, float]
    of_term: Mapping[tuple[int, str], float]

    def expected(self, cluster: int, size: int, term: str) -> float:
        """Return the expected number of rows with `term` in the cluster number `cluster` of `size` records."""
        return self.of_term.get((cluster, term), self.of_size[size])


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


def units_of(
    release: Disassociated, strategy: Reassociation, k: int | None, expected: TermRows | None = None
) -> Iterator[tuple[int, list[Unit]]]:
    """Yield every cluster of `release` with anchors and its units, by chunk and items, terms last.

    `strategy` and `k` decide the number of rows of a term; `expected` replaces it by the expected number.
    """
    for number, cluster in enumerate(release.clusters):
        _check(number, cluster)
        if cluster.record_chunks:
            terms = _terms(number, cluster, strategy, k, expected) if cluster.term_chunk else ()
            yield number, [*_subrecords(cluster), *terms]


def _check(number: int, cluster: Cluster) -> None:
    if cluster.size < 1:
        raise DecloakError(f"cluster {number} has {cluster.size} records", hint="a cluster has at least one")
    for j, chunk in enumerate(cluster.record_chunks):
        if len(chunk.subrecords) > cluster.size:
            message = (
                f"chunk {j} of cluster {number} has {len(chunk.subrecords)} sub-records for {cluster.size} records"
            )
            raise DecloakError(message, hint="a record has at most one sub-record in a chunk")


def _term_rows(strategy: Reassociation, k: int | None) -> int:
    if strategy.give == "multiplicity":
        return 1
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or choose give: multiplicity")
    if k < 2:
        raise DecloakError(f"k is {k}", hint="k is at least 2")
    return k - 1


def _subrecords(cluster: Cluster) -> Iterator[Unit]:
    for j, chunk in enumerate(cluster.record_chunks[1:], 1):
        yield from subrecord_units(j, chunk)


def subrecord_units(name: ChunkNumber, chunk: Chunk) -> Iterator[Unit]:
    """Yield the units of `chunk`, which is called `name`."""
    for items, times in sorted(Counter(map(_items, chunk.subrecords)).items()):
        yield Unit(name, items, times)


def _terms(
    number: int, cluster: Cluster, strategy: Reassociation, k: int | None, expected: TermRows | None
) -> Iterator[Unit]:
    for term in sorted(cluster.term_chunk):
        known = None if expected is None else expected.expected(number, cluster.size, term)
        rows = _term_rows(strategy, k) if known is None else round(known)
        yield Unit("T", (term,), min(rows, cluster.size))


def _items(subrecord: Items) -> Items:
    return tuple(sorted(subrecord)) if len(subrecord) > 1 else subrecord
