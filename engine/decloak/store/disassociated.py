"""A disassociated release in the store: clusters, chunks, sub-records, and the records behind them."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from decloak.data.disassociated import Chunk, Cluster, Disassociated, Joint
from decloak.store.inserting import insert, item_numbers, next_number

__all__ = [
    "link_rows",
    "read_clusters",
    "read_origins",
    "row_label",
    "write_clusters",
]


def row_label(cluster: int, row: int) -> str:
    """What the record behind a row of a cluster is called: nobody outside knows more of it."""
    return f"{cluster}.{row}"


def write_clusters(
    connection: sqlite3.Connection, digest: str, release: Disassociated, method: str, parameters: Mapping[str, Any]
) -> int:
    """Write a disassociated release; every row of a cluster becomes a transaction that shows its anchor."""
    dataset = insert(
        connection, "dataset", digest=digest, kind="published", origin=release.origin, format="disassociated"
    )
    settings = {"k": release.k, "m": release.m, **parameters}
    number = insert(
        connection, "release", digest=digest, dataset=dataset, method=method, parameters=json.dumps(settings)
    )
    items = item_numbers(connection, _names(release))
    clusters = _number_clusters(connection, number, release)
    _write_rows(connection, dataset, release, clusters, items)
    chunks: list[tuple[int | None, int | None, int, str, Chunk]] = [
        (clusters[at], None, position, "record", chunk)
        for at, cluster in enumerate(release.clusters)
        for position, chunk in enumerate(cluster.record_chunks)
    ]
    chunks += [
        (clusters[at], None, 0, "term", Chunk(cluster.term_chunk, ()))
        for at, cluster in enumerate(release.clusters)
        if cluster.term_chunk
    ]
    joints = _write_joints(connection, number, release, clusters)
    chunks += [
        (None, joints[at], position, "shared", chunk)
        for at, joint in enumerate(release.joints)
        for position, chunk in enumerate(joint.shared_chunks)
    ]
    _write_chunks(connection, chunks, items)
    return number


def _names(release: Disassociated) -> Iterator[str]:
    for cluster in release.clusters:
        yield from cluster.term_chunk
        for chunk in cluster.record_chunks:
            yield from chunk.items
    for joint in release.joints:
        for chunk in joint.shared_chunks:
            yield from chunk.items


def _number_clusters(connection: sqlite3.Connection, release: int, data: Disassociated) -> range:
    first = next_number(connection, "cluster")
    connection.executemany(
        "insert into cluster (id, release, number, size) values (?, ?, ?, ?)",
        ((first + at, release, at, cluster.size) for at, cluster in enumerate(data.clusters)),
    )
    return range(first, first + len(data.clusters))


def _write_joints(connection: sqlite3.Connection, release: int, data: Disassociated, clusters: Sequence[int]) -> range:
    first = next_number(connection, "joint")
    connection.executemany(
        "insert into joint (id, release, number) values (?, ?, ?)",
        ((first + at, release, at) for at in range(len(data.joints))),
    )
    connection.executemany(
        "insert into joins (joint, cluster) values (?, ?)",
        ((first + at, clusters[one]) for at, joint in enumerate(data.joints) for one in joint.clusters),
    )
    return range(first, first + len(data.joints))


def _write_rows(
    connection: sqlite3.Connection, dataset: int, data: Disassociated, clusters: Sequence[int], items: Mapping[str, int]
) -> None:
    first = next_number(connection, "txn")
    rows = [(at, row) for at, cluster in enumerate(data.clusters) for row in range(cluster.size)]
    connection.executemany(
        "insert into txn (id, dataset, position, label) values (?, ?, ?, ?)",
        ((first + number, dataset, number, row_label(*row)) for number, row in enumerate(rows)),
    )
    connection.executemany(
        "insert into cluster_row (txn, cluster, row) values (?, ?, ?)",
        ((first + number, clusters[at], row) for number, (at, row) in enumerate(rows)),
    )
    anchors = (
        anchor for cluster in data.clusters for anchor in _anchors(cluster)
    )  # fmt: skip
    connection.executemany(
        "insert into contains (txn, position, item) values (?, ?, ?)",
        (
            (first + number, position, items[item])
            for number, anchor in enumerate(anchors)
            for position, item in enumerate(anchor)
        ),
    )


def _anchors(cluster: Cluster) -> list[tuple[str, ...]]:
    """What the rows show: the sub-records of the first record chunk as published, then nothing."""
    shown = list(cluster.record_chunks[0].subrecords) if cluster.record_chunks else []
    return shown + [()] * (cluster.size - len(shown))


def _write_chunks(
    connection: sqlite3.Connection,
    chunks: Sequence[tuple[int | None, int | None, int, str, Chunk]],
    items: Mapping[str, int],
) -> None:
    first = next_number(connection, "chunk")
    connection.executemany(
        "insert into chunk (id, cluster, joint, number, kind) values (?, ?, ?, ?, ?)",
        ((first + at, *head) for at, (*head, _) in enumerate(chunks)),
    )
    connection.executemany(
        "insert into shows (chunk, item) values (?, ?)",
        ((first + at, items[item]) for at, (*_, chunk) in enumerate(chunks) for item in chunk.items),
    )
    subrecords = [
        (first + at, number, subrecord)
        for at, (*_, chunk) in enumerate(chunks)
        for number, subrecord in enumerate(chunk.subrecords)
    ]
    start = next_number(connection, "subrecord")
    connection.executemany(
        "insert into subrecord (id, chunk, number) values (?, ?, ?)",
        ((start + at, chunk, number) for at, (chunk, number, _) in enumerate(subrecords)),
    )
    connection.executemany(
        "insert into has_item (subrecord, item) values (?, ?)",
        ((start + at, items[item]) for at, (*_, subrecord) in enumerate(subrecords) for item in subrecord),
    )


def link_rows(connection: sqlite3.Connection, release: int, original: int, truth: Sequence[Sequence[int]]) -> None:
    """Note which original transaction stands behind each row."""
    connection.execute("insert into truth_release (release, original) values (?, ?)", (release, original))
    rows = connection.execute(
        "select r.txn from cluster c join cluster_row r on r.cluster = c.id where c.release = ? "
        "order by c.number, r.row",
        (release,),
    )
    records = [
        txn for (txn,) in connection.execute("select id from txn where dataset = ? order by position", (original,))
    ]
    flat = [records[one] for own in truth for one in own]
    connection.executemany(
        "insert into truth_origin (txn, original) values (?, ?)",
        [(txn, one) for (txn,), one in zip(rows, flat, strict=True)],
    )


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
        Joint(tuple(one for _, one in group), tuple(chunks.get(("joint", number, "shared"), ())))
        for number, group in groupby(members, key=lambda row: row[0])
    ]
    settings = json.loads(parameters)
    return Disassociated(tuple(clusters), tuple(joints), settings.get("k"), settings.get("m"), origin)


def _read_chunks(connection: sqlite3.Connection, release: int) -> dict[tuple[str, int, str], list[Chunk]]:
    of_release = (
        "from chunk k left join cluster c on c.id = k.cluster left join joint j on j.id = k.joint {} "
        "where coalesce(c.release, j.release) = ? order by k.id"
    )
    shown = connection.execute(
        "select k.id, i.name "
        + of_release.format("join shows s on s.chunk = k.id join item i on i.id = s.item")
        + ", i.name",
        (release,),
    )
    items = {number: tuple(name for _, name in group) for number, group in groupby(shown, key=lambda row: row[0])}
    shown_in = connection.execute(
        "select k.id, b.number, i.name "
        + of_release.format(
            "join subrecord b on b.chunk = k.id join has_item h on h.subrecord = b.id join item i on i.id = h.item"
        )
        + ", b.number, i.name",
        (release,),
    )
    subrecords: dict[int, list[tuple[str, ...]]] = {}
    for (number, _), group in groupby(shown_in, key=lambda row: row[:2]):
        subrecords.setdefault(number, []).append(tuple(name for *_, name in group))
    found: dict[tuple[str, int, str], list[Chunk]] = {}
    for number, cluster, joint, kind in connection.execute(
        "select k.id, k.cluster, k.joint, k.kind " + of_release.format("") + ", k.number", (release,)
    ):
        owner = ("cluster", cluster, kind) if joint is None else ("joint", joint, kind)
        found.setdefault(owner, []).append(Chunk(items.get(number, ()), tuple(subrecords.get(number, ()))))
    return found


def read_origins(connection: sqlite3.Connection, release: int) -> list[list[int]] | None:
    """The number of the original record behind each row of each cluster; None when the original is not known."""
    rows = connection.execute(
        "select c.number, o.position from cluster c join cluster_row r on r.cluster = c.id "
        "join truth_origin t on t.txn = r.txn join txn o on o.id = t.original where c.release = ? "
        "order by c.number, r.row",
        (release,),
    ).fetchall()
    return [[one for _, one in group] for _, group in groupby(rows, key=lambda row: row[0])] or None
