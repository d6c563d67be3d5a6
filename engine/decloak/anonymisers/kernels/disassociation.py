"""ReleaseAndTruth (Terrovitis, Liagouris, Mamoulis, Skiadopoulos 2012): items stay, their links are hidden.

D are the records, a cluster some of them, published as chunks: HORPART makes the clusters, VERPART the record
chunks C1, C2, ... and the term chunk of each, REFINE chunks that several clusters share. Items are coded by
number in code point order, so that ascending codes are ascending names and a tuple of codes sorts as its names.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from decloak.anonymisers.kernels.horpart import horizontal, pooled_parts
from decloak.anonymisers.kernels.refine import Leaf, Shared, refined
from decloak.anonymisers.kernels.verpart import held_rows, vertical
from decloak.checks import check_whole
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Chunk, Cluster, Disassociated, Joint
from decloak.errors import DecloakError, shown

__all__ = ["ReleaseAndTruth", "check_records", "default_max_cluster", "disassociate"]

LARGEST = 1_000
"""The most records of a cluster where nobody says how many."""

Record = tuple[int, ...]


class ReleaseAndTruth(NamedTuple):
    """A release, and what must stay secret: `truth[c]` has the record number of each anchor row of cluster c.

    The anchor rows are the sub-records of the first record chunk as published, then the records without one;
    equal rows stand in the order of the records.
    """

    release: Disassociated
    truth: tuple[tuple[int, ...], ...]


def disassociate(
    data: Dataset | Iterable[Iterable[str]],
    *,
    k: int,
    m: int,
    max_cluster: int | None = None,
    refine: bool = False,
    strict: bool = False,
) -> ReleaseAndTruth:
    """Publish records in clusters and chunks so that no m items that a record holds point to fewer than k.

    `max_cluster` bounds the clusters before small ones are pooled, see `default_max_cluster`; `strict` splits one of
    exactly that size too.

    >>> release, truth = disassociate([["milk", "tea"], ["milk", "salt"], ["milk"]], k=2, m=2, max_cluster=4)
    >>> release.clusters[0].record_chunks, release.clusters[0].term_chunk
    ((Chunk(items=('milk',), subrecords=(('milk',), ('milk',), ('milk',))),), ('salt', 'tea'))
    >>> truth
    ((0, 1, 2),)
    """
    data = Dataset.of(data)
    check_whole(2, k=k)
    max_cluster = default_max_cluster(len(data.transactions), k) if max_cluster is None else max_cluster
    _check_parameters(k, m, max_cluster)
    check_records(data, k)
    names, records = _coded(data.transactions)
    clusters = pooled_parts(horizontal(records, max_cluster, strict), k)
    leaves = [_leaf([records[number] for number in ids], k, m) for ids in clusters]
    joints = refined(leaves, k, m) if refine else []
    truth = tuple(_anchor_order(leaf, ids) for leaf, ids in zip(leaves, clusters, strict=True))
    published = tuple(_cluster(leaf, names) for leaf in leaves)
    shared = tuple(_joint(joint, leaves, names) for joint in joints)
    release = Disassociated(published, shared, k, m, data.origin, parameters={"max_cluster": max_cluster})
    return ReleaseAndTruth(release, truth)


def default_max_cluster(records: int, k: int) -> int:
    """Return the cluster size to use where none is given: a quarter of the records, at most 1,000 and at least k.

    In a large cluster a person is one of many, so large clusters expose fewer people than small ones. A quarter leaves
    several clusters, which keep together the records that have much in common.
    """
    return max(min(records // 4, LARGEST), k)


def check_records(data: Dataset, k: int) -> None:
    """Refuse fewer records than one cluster needs, and an empty one: every row of a cluster holds something."""
    if len(data.transactions) < k:
        count = len(data.transactions)
        message = f"{count} record{'s' * (count != 1)} cannot hide among k = {k}"
        raise DecloakError(message, hint="add records or lower k")
    for label, record in zip(data.labels, data.transactions, strict=True):
        if not record:
            hint = "disassociation takes no empty ones: leave it out"
            raise DecloakError(f"transaction {label if label.isdecimal() else shown(label)} has no items", hint=hint)


def _check_parameters(k: int, m: int, max_cluster: int) -> None:
    check_whole(1, m=m)
    check_whole(2, max_cluster=max_cluster)
    if max_cluster < k:
        raise DecloakError(f"max_cluster is {max_cluster} and k is {k}", hint="give a max_cluster of at least k")


def _coded(transactions: Sequence[Sequence[str]]) -> tuple[list[str], list[Record]]:
    """The names of the items in order, and every record as ascending codes."""
    sets = [set(items) for items in transactions]
    names = sorted(set().union(*sets))
    code = {name: number for number, name in enumerate(names)}
    return names, [tuple(sorted([code[item] for item in items])) for items in sets]


def _leaf(records: Sequence[Record], k: int, m: int) -> Leaf:
    held = held_rows(records)
    return Leaf(records, held, *vertical(held, len(records), k, m))


def _anchor_order(leaf: Leaf, ids: list[int]) -> tuple[int, ...]:
    anchor = frozenset(leaf.chunks[0] if leaf.chunks else ())
    rows = [tuple(item for item in record if item in anchor) for record in leaf.records]
    ranked = sorted((not row, row, number) for row, number in zip(rows, ids, strict=True))
    return tuple(number for _, _, number in ranked)


def _cluster(leaf: Leaf, names: list[str]) -> Cluster:
    chunk_of = {item: number for number, chunk in enumerate(leaf.chunks) for item in chunk}
    subrecords: list[list[tuple[str, ...]]] = [[] for _ in leaf.chunks]
    for record in leaf.records:
        parts: dict[int, list[str]] = {}
        for item in record:
            if item in chunk_of:
                parts.setdefault(chunk_of[item], []).append(names[item])
        for number, part in parts.items():
            subrecords[number].append(tuple(part))
    chunks = tuple(_chunk(*both, names) for both in zip(leaf.chunks, subrecords, strict=True))
    return Cluster(len(leaf.records), chunks, tuple(names[item] for item in sorted(leaf.terms)))


def _joint(joint: Shared, leaves: list[Leaf], names: list[str]) -> Joint:
    chunks = []
    for items in joint.chunks:
        rows = joint.contributions(leaves, items)
        chunks.append(_chunk(items, [tuple(names[item] for item in row) for row in rows if row], names))
    return Joint(joint.leaves, tuple(chunks))


def _chunk(items: Iterable[int], subrecords: list[tuple[str, ...]], names: list[str]) -> Chunk:
    """In lexicographic order: the order of the records must not show."""
    return Chunk(tuple(names[item] for item in sorted(items)), tuple(sorted(subrecords)))
