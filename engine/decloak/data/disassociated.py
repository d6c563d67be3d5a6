"""Disassociated releases: clusters of records whose items are published in chunks that hide their combination.

The first record chunk of a cluster provides the anchors of the attacks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, ClassVar, Self

import numpy as np

from decloak.data.content import Chunk, ChunkContent, Cluster, JointCluster
from decloak.data.formats.disassociated_file import DISASSOCIATION, parse_chunk_content, write_disassociated
from decloak.data.formats.lines import FilePath, Line, location, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE
from decloak.data.forms import FormName, Release, with_bounds
from decloak.data.ordering import RowIndices, SortedRelease
from decloak.data.representation import LongRows, Represented, Summary, counted, joined
from decloak.errors import DecloakError, quote

__all__ = [
    "Chunk",
    "Cluster",
    "Disassociated",
    "JointCluster",
    "as_disassociated",
    "disassociated_of",
    "read_disassociated",
    "text_table",
]


LONGEST_NAME = 200
"""Largest number of characters of a name that are printed."""


def text_table(release: ChunkContent) -> str:
    """Return `release` as text. Sub-records on one line may belong to different records.

    >>> from decloak.data.content import Cluster
    >>> chunks = Chunk(("a", "b"), (("a",), ("a", "b"))), Chunk(("c",), (("c",),))
    >>> print(text_table(ChunkContent((Cluster(2, chunks, ("d", "e")),))))
    cluster 0: 2 records
    C1      C2   terms
    {a}     {c}  {d, e}
    {a, b}
    """
    parts = []
    for number, cluster in enumerate(release.clusters):
        columns = [_column(f"C{place}", chunk) for place, chunk in enumerate(cluster.record_chunks, 1)]
        terms = ["terms", *([_set(cluster.term_chunk)] if cluster.term_chunk else [])]
        parts.append([f"cluster {number}: {cluster.size} records", *_join_columns([*columns, terms])])
    for joint in release.joints:
        columns = [_column(f"S{place}", chunk) for place, chunk in enumerate(joint.shared_chunks, 1)]
        parts.append([f"shared by clusters {', '.join(map(str, joint.clusters))}", *_join_columns(columns)])
    return "\n\n".join("\n".join(part) for part in parts)


def _column(name: str, chunk: Chunk) -> list[str]:
    return [name, *map(_set, chunk.subrecords)]


def _set(items: Iterable[str]) -> str:
    return "{" + ", ".join(quote(item, LONGEST_NAME)[1:-1] for item in items) + "}"


def _join_columns(columns: Sequence[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in columns]
    for row in zip_longest(*columns, fillvalue=""):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


@dataclass(frozen=True, repr=False)
class Disassociated(Represented, ChunkContent):
    """Published clusters. They do not say which record a sub-record came from.

    >>> chunk = Chunk(("a", "b"), (("a",), ("a", "b")))
    >>> release = Disassociated((Cluster(3, (chunk,), ("c",)),), k=2)
    >>> list(zip(release.ids, release.transactions))
    [('0.0', ('a',)), ('0.1', ('a', 'b')), ('0.2', ())]
    """

    form: ClassVar = FormName.DISASSOCIATED

    origin: str = field(default="memory", compare=False)
    method: str = field(default=DISASSOCIATION, compare=False)
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    def summary(self) -> Summary:
        """Return the release in short: a row for each cluster."""
        records = sum(cluster.size for cluster in self.clusters)
        counts = f"{counted(records, 'record')}, {counted(len(self.clusters), 'cluster')}"
        line = f"Disassociated release of {counts}, k = {self.k}"
        rows = (
            (f"{number}", f"{cluster.size:,}", f"{len(cluster.record_chunks):,}", joined(cluster.items))
            for number, cluster in enumerate(self.clusters)
        )
        return Summary(line, len(self.clusters), ("cluster", "records", "record chunks", "published items"), rows)

    def long_rows(self) -> LongRows:
        """Return a row for each published item of each chunk: chunks are numbers, T for terms, S0.1 for a shared one.

        The cluster of a shared chunk and the sub-record of a term are None.
        """
        chunks: list[tuple[int | None, str, tuple[tuple[str, ...], ...]]] = []
        for number, cluster in enumerate(self.clusters):
            chunks += [(number, str(place), chunk.subrecords) for place, chunk in enumerate(cluster.record_chunks)]
            chunks.append((number, "T", ()))
        for number, joint in enumerate(self.joints):
            chunks += [
                (None, f"S{number}.{place}", chunk.subrecords) for place, chunk in enumerate(joint.shared_chunks)
            ]
        rows: list[tuple[object, ...]] = []
        for of_cluster, name, subrecords in chunks:
            parts = enumerate(subrecords) if name != "T" else ((None, self.clusters[of_cluster or 0].term_chunk),)
            rows += [(of_cluster, name, place, item) for place, items in parts for item in items]
        return LongRows(("cluster", "chunk", "subrecord", "item"), rows)

    @property
    def transactions(self) -> tuple[tuple[str, ...], ...]:
        """The anchor of every row, cluster by cluster."""
        return tuple(anchor for cluster in self.clusters for anchor in cluster.anchors)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the rows, such as 2.0. An attacker knows no other names of the records."""
        return tuple(f"{number}.{row}" for number, cluster in enumerate(self.clusters) for row in range(cluster.size))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of the clusters, in alphabetical order."""
        return tuple(sorted({item for cluster in self.clusters for item in cluster.items}))

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the release in an order that depends only on its content.

        Clusters, and joint clusters of one size, are sorted by what they publish. Chunks already have their order, by
        their most frequent items. Items, sub-records and rows are sorted.
        """
        # The order must not depend on numbers of clusters, which follow the records.
        shared = [(joint, [self.clusters[number] for number in joint.clusters]) for joint in self.joints]
        in_joints: list[list[Any]] = [[] for _ in self.clusters]
        for joint, members in shared:
            for number in joint.clusters:
                in_joints[number].append((_content(joint.shared_chunks), sorted(map(_sort_key, members))))
        # Where clusters publish the same, what they share with others decides.
        keys = [(_sort_key(cluster), sorted(joined)) for cluster, joined in zip(self.clusters, in_joints, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        number_of = {place: number for number, place in enumerate(order)}
        joints = [
            replace(joint, clusters=tuple(sorted(map(number_of.__getitem__, joint.clusters)))) for joint in self.joints
        ]
        joints.sort(key=lambda joint: (len(joint.clusters), joint.clusters, _content(joint.shared_chunks)))
        arranged = replace(self, clusters=tuple(self.clusters[place] for place in order), joints=tuple(joints))
        start = np.cumsum([0, *(cluster.size for cluster in self.clusters)])
        # Rows move with their clusters.
        places = [np.arange(start[place], start[place + 1]) for place in order]
        return SortedRelease(arranged, np.concatenate([np.arange(0), *places]), arranged.equal_rows)

    @property
    def equal_rows(self) -> RowIndices:
        """A number for each row, shared by the rows of its cluster with the same anchor."""
        rows = [(number, anchor) for number, cluster in enumerate(self.clusters) for anchor in cluster.anchors]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        return np.array([numbers[row] for row in rows], np.int64)

    def renumbered(self) -> Self:
        """Return the release itself: its rows are named after their clusters."""
        return self

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write a release file to `path`. `ids` is an error: its rows have only positions in their clusters."""
        if ids:
            raise DecloakError("a disassociated release has no ids", location(path), "write it without them")
        write_disassociated(self, path)

    def __str__(self) -> str:
        """Return the clusters as text tables."""
        return text_table(self)


def _content(chunks: Iterable[Chunk]) -> list[object]:
    return [(chunk.items, chunk.subrecords) for chunk in chunks]


def _sort_key(cluster: Cluster) -> tuple[Any, ...]:
    return _content(cluster.record_chunks), cluster.term_chunk, cluster.size


def as_disassociated(release: object) -> Disassociated:
    """Return `release` if it is disassociated; raise an error that names its form otherwise."""
    if not isinstance(release, Disassociated):
        form = release.form if isinstance(release, Release) else type(release).__name__
        message = f"the release is {quote(form)}, and this is about disassociated ones"
        raise DecloakError(message, hint="read one with read_release, or make one by anonymise(data, 'disassociation')")
    return release


def read_disassociated(path: FilePath) -> Disassociated:
    """Read the disassociated release at `path` and return it. Its guarantee is not checked here."""
    return disassociated_of(read_lines(path, longest=LONGEST_RELEASE))


def disassociated_of(lines: Sequence[Line]) -> Disassociated:
    """Return the release that the `lines` of a release file describe."""
    return Disassociated(**vars(parse_chunk_content(lines)), origin=location(lines[0].path))
