"""A disassociated release in the store: clusters, chunks, sub-records."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby, islice, repeat

from decloak.data.content import Chunk, Cluster, JointCluster
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Part
from decloak.data.rows import CodedRows
from decloak.store.inserting import insert_numbered, insert_rows, item_names, item_numbers, next_number
from decloak.store.lists import damaged, json_lists, read_lists, read_object
from decloak.store.records import write_parts, write_records
from decloak.store.releases import insert_release

_StoredChunk = tuple[int | None, int | None, int, str, Chunk]
"""The cluster or the joint cluster it is of, its number and kind as the store has them, and the chunk."""


def write_clusters(
    connection: sqlite3.Connection,
    digest: str,
    release: Disassociated,
    method: str,
    parameters: Mapping[str, object],
    notes: Sequence[str] = (),
    loss: Mapping[str, object] | None = None,
    parts: Sequence[Part] = (),
) -> int:
    """Write a disassociated `release` and return its number.

    Every row of a cluster becomes a record that shows its anchor. `digest` is the key of the stage; `method`,
    `parameters` and `notes` describe the making of the release. If its clusters are in files, `parts` is their
    catalogue.
    """
    settings = {"k": release.k, "m": release.m, **parameters}
    if release.cover is not None:
        settings["cover"] = release.cover
    data = (release.origin, "disassociated")
    dataset, number = insert_release(connection, digest, data, method, settings, notes, loss)
    items = item_numbers(connection, _names(release))
    # The records of a cluster follow each other, so the number of its first one finds all.
    begins = accumulate((cluster.size for cluster in release.clusters), initial=next_number(connection, "record"))
    # Not strict: `accumulate` also gives the number after the last record.
    sizes = ((number, position, cluster.size, first)
             for position, (cluster, first) in enumerate(zip(release.clusters, begins, strict=False)))  # fmt: skip
    clusters = insert_numbered(connection, "cluster (release, number, size, first)", sizes)
    of_row = chain.from_iterable(
        repeat(cluster, data.size) for cluster, data in zip(clusters, release.clusters, strict=True)
    )
    rows = CodedRows.of(release.transactions)
    write_records(connection, dataset, rows, release.ids, items.__getitem__, of_row)
    joints = insert_numbered(connection, "joint (release, number)", ((number, n) for n in range(len(release.joints))))
    members = zip(joints, release.joints, strict=True)
    joins = ((joint, clusters[position]) for joint, data in members for position in data.clusters)
    insert_rows(connection, "joins (joint, cluster)", joins)
    _write_chunks(connection, list(_chunks(release, clusters, joints)), items)
    write_totals(connection, number, release.totals)
    write_parts(connection, dataset, parts)
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
    listed = json_lists([[items[item] for item in chunk.items] for *_, chunk in chunks])
    heads = ((*head, text) for (*head, _), text in zip(chunks, listed, strict=True))
    numbers = insert_numbered(connection, "chunk (cluster, joint, number, kind, items)", heads)
    places = (
        (number, position)
        for number, (*_, chunk) in zip(numbers, chunks, strict=True)
        for position in range(len(chunk.subrecords))
    )
    subrecords = [[items[item] for item in subrecord] for *_, chunk in chunks for subrecord in chunk.subrecords]
    rows = ((*place, text) for place, text in zip(places, json_lists(subrecords), strict=True))
    insert_rows(connection, "subrecord (chunk, number, items)", rows)


def read_clusters(connection: sqlite3.Connection, release: int) -> Disassociated:
    """Return the disassociated `release` as it was written."""
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
        JointCluster(tuple(cluster for _, cluster in group), tuple(chunks.get(("joint", number, "shared"), ())))
        for number, group in groupby(members, key=lambda row: row[0])
    ]
    settings = json.loads(parameters)
    return Disassociated(
        tuple(clusters), tuple(joints), settings.get("k"), settings.get("m"), origin,
        cover=settings.get("cover"), totals=_read_totals(connection, release),
    )  # fmt: skip


def write_totals(connection: sqlite3.Connection, release: int, totals: Sequence[tuple[str, int]]) -> None:
    """Write the supports that `release` publishes of single items: item and support in `totals`."""
    if totals:
        items = item_numbers(connection, [item for item, _ in totals])
        text = json.dumps({items[item]: support for item, support in totals}, separators=(",", ":"))
        connection.execute("update release set totals = ? where id = ?", (text, release))


def _read_totals(connection: sqlite3.Connection, release: int) -> tuple[tuple[str, int], ...]:
    (text,) = connection.execute("select totals from release where id = ?", (release,)).fetchone()
    totals = {} if text is None else read_object(text, f"the totals of release {release}")
    names = item_names(connection)
    # `isinstance` would accept true and false.
    if not names.keys() >= totals.keys() or not all(type(support) is int for support in totals.values()):
        raise damaged(f"the totals of release {release} are of items that are not there")
    return tuple((names[item], support) for item, support in totals.items())


def _read_chunks(connection: sqlite3.Connection, release: int) -> dict[tuple[str, int, str], list[Chunk]]:
    """Return the chunks by their owner: cluster or joint, its number, and the kind of chunk."""
    of_release = (
        "from chunk k left join cluster c on c.id = k.cluster left join joint j on j.id = k.joint {} "
        "where coalesce(c.release, j.release) = ? order by k.id"
    )
    heads = connection.execute(
        "select k.id, k.cluster, k.joint, k.kind, k.items " + of_release.format(""), (release,)
    ).fetchall()
    parts = connection.execute(
        "select k.id, b.items " + of_release.format("join subrecord b on b.chunk = k.id") + ", b.number", (release,)
    ).fetchall()
    names = item_names(connection)
    shown = _named([text for *_, text in heads], names)
    subrecords: dict[int, list[tuple[str, ...]]] = {}
    for (number, _), items in zip(parts, _named([text for _, text in parts], names), strict=True):
        subrecords.setdefault(number, []).append(items)
    chunks: dict[tuple[str, int, str], list[Chunk]] = {}
    for (number, cluster, joint, kind, _), items in zip(heads, shown, strict=True):
        owner = ("cluster", cluster, kind) if joint is None else ("joint", joint, kind)
        chunks.setdefault(owner, []).append(Chunk(items, tuple(subrecords.get(number, ()))))
    return chunks


def _named(texts: Sequence[str], names: Mapping[int, str]) -> list[tuple[str, ...]]:
    """Return the names of the items of each list, ascending."""
    lengths, numbers = read_lists(texts, "the items of chunks")
    try:
        listed = iter([names[number] for number in numbers.tolist()])
    except KeyError:
        raise damaged("a chunk has an item that is not there") from None
    return [tuple(sorted(islice(listed, length))) for length in lengths.tolist()]
