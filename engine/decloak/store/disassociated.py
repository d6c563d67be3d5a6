"""A disassociated release in the store: clusters, chunks, sub-records."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from decloak.data.disassociated import Chunk, Cluster, Disassociated, Joint
from decloak.data.rows import CodedRows
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers
from decloak.store.transactions import write_transactions

__all__ = ["read_clusters", "write_clusters"]

_StoredChunk = tuple[int | None, int | None, int, str, Chunk]
"""The cluster or the joint cluster it is of, its number and kind as the store has them, and the chunk."""


def write_clusters(
    connection: sqlite3.Connection,
    digest: str,
    release: Disassociated,
    method: str,
    parameters: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> int:
    """Write a disassociated release; every row of a cluster becomes a transaction that shows its anchor."""
    dataset = insert(
        connection, "dataset", digest=digest, kind="published", origin=release.origin, format="disassociated"
    )
    settings = {"k": release.k, "m": release.m, **parameters}
    number = insert(
        connection, "release",
        digest=digest, dataset=dataset, method=method, parameters=json.dumps(settings), notes=json.dumps(list(notes)),
    )  # fmt: skip
    items = item_numbers(connection, _names(release))
    sizes = ((number, position, cluster.size) for position, cluster in enumerate(release.clusters))
    clusters = insert_numbered(connection, "cluster (release, number, size)", sizes)
    write_transactions(connection, dataset, CodedRows.of(release.transactions), release.ids, items.__getitem__)
    joints = insert_numbered(connection, "joint (release, number)", ((number, n) for n in range(len(release.joints))))
    members = zip(joints, release.joints, strict=True)
    joins = ((joint, clusters[position]) for joint, data in members for position in data.clusters)
    insert_rows(connection, "joins (joint, cluster)", joins)
    _write_chunks(connection, list(_chunks(release, clusters, joints)), items)
    return number


def _chunks(release: Disassociated, clusters: Sequence[int], joints: Sequence[int]) -> Iterator[_StoredChunk]:
    for number, cluster in zip(clusters, release.clusters, strict=True):
        for position, chunk in enumerate(cluster.record_chunks):
            yield number, None, position, "record", chunk
    for number, cluster in zip(clusters, release.clusters, strict=True):
        if cluster.term_chunk:
            yield number, None, 0, "term", Chunk(cluster.term_chunk, ())
    for number, joint in zip(joints, release.joints, strict=True):
        for position, chunk in enumerate(joint.shared_chunks):
            yield None, number, position, "shared", chunk


def _names(release: Disassociated) -> Iterator[str]:
    for cluster in release.clusters:
        yield from cluster.term_chunk
        for chunk in cluster.record_chunks:
            yield from chunk.items
    for joint in release.joints:
        for chunk in joint.shared_chunks:
            yield from chunk.items


def _write_chunks(connection: sqlite3.Connection, chunks: Sequence[_StoredChunk], items: Mapping[str, int]) -> None:
    heads = insert_numbered(connection, "chunk (cluster, joint, number, kind)", (head for *head, _ in chunks))
    numbered = [(number, chunk) for number, (*_, chunk) in zip(heads, chunks, strict=True)]
    shows = ((number, items[item]) for number, chunk in numbered for item in chunk.items)
    insert_rows(connection, "shows (chunk, item)", shows)
    rows = ((number, position) for number, chunk in numbered for position in range(len(chunk.subrecords)))
    numbers = insert_numbered(connection, "subrecord (chunk, number)", rows)
    subrecords = (subrecord for _, chunk in numbered for subrecord in chunk.subrecords)
    holds = ((number, items[item]) for number, subrecord in zip(numbers, subrecords, strict=True) for item in subrecord)
    insert_rows(connection, "has_item (subrecord, item)", holds)


def read_clusters(connection: sqlite3.Connection, release: int) -> Disassociated:
    """A disassociated release as it was written."""
    origin, parameters = connection.execute(
        "select d.origin, r.parameters from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    chunks = _read_chunks(connection, release)
    clusters = [
        Cluster(
            size,
            tuple(chunks.get(("cluster", number, "record"), ())),
            next((chunk.items for chunk in chunks.get(("cluster", number, "term"), ())), ()),
        )
        for number, size in connection.execute(
            "select id, size from cluster where release = ? order by number", (release,)
        )
    ]
    members = connection.execute(
        "select j.id, c.number from joint j join joins s on s.joint = j.id join cluster c on c.id = s.cluster "
        "where j.release = ? order by j.number, c.number",
        (release,),
    )
    joints = [
        Joint(tuple(cluster for _, cluster in group), tuple(chunks.get(("joint", number, "shared"), ())))
        for number, group in groupby(members, key=lambda row: row[0])
    ]
    settings = json.loads(parameters)
    return Disassociated(tuple(clusters), tuple(joints), settings.get("k"), settings.get("m"), origin)


def _read_chunks(connection: sqlite3.Connection, release: int) -> dict[tuple[str, int, str], list[Chunk]]:
    of_release = (
        "from chunk k left join cluster c on c.id = k.cluster left join joint j on j.id = k.joint {} "
        "where coalesce(c.release, j.release) = ? order by k.id"
    )
    names = connection.execute(
        "select k.id, i.name "
        + of_release.format("join shows s on s.chunk = k.id join item i on i.id = s.item")
        + ", i.name",
        (release,),
    )
    items = {number: tuple(name for _, name in group) for number, group in groupby(names, key=lambda row: row[0])}
    contents = connection.execute(
        "select k.id, b.number, i.name "
        + of_release.format(
            "join subrecord b on b.chunk = k.id join has_item h on h.subrecord = b.id join item i on i.id = h.item"
        )
        + ", b.number, i.name",
        (release,),
    )
    subrecords: dict[int, list[tuple[str, ...]]] = {}
    for (number, _), group in groupby(contents, key=lambda row: row[:2]):
        subrecords.setdefault(number, []).append(tuple(name for *_, name in group))
    chunks: dict[tuple[str, int, str], list[Chunk]] = {}
    for number, cluster, joint, kind in connection.execute(
        "select k.id, k.cluster, k.joint, k.kind " + of_release.format("") + ", k.number", (release,)
    ):
        owner = ("cluster", cluster, kind) if joint is None else ("joint", joint, kind)
        chunks.setdefault(owner, []).append(Chunk(items.get(number, ()), tuple(subrecords.get(number, ()))))
    return chunks
