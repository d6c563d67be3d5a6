"""Text view of a disassociated release: one table per cluster, with its chunks side by side."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from decloak.data.content import Chunk, ChunkContent
from decloak.errors import quote

__all__ = ["text_table"]

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
