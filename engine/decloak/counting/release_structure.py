"""Check of the structure of a disassociated release: disjoint chunks, sub-records inside them, consistent sizes.

The position of an item is a chunk of the cluster: a record chunk, the term chunk, or a shared chunk of a joint cluster.
A joint cluster is inside another if it shares clusters with it and has fewer, or the same number and precedes it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.errors import quote

__all__ = ["TERMS", "ReleaseFault", "inner_joints", "joints_of", "published_by", "structure"]

TERMS = "T"
"""The number of the term chunk."""


@dataclass(frozen=True)
class ReleaseFault:
    """A fault of a release, and its position.

    `cluster` is the number of the cluster, or of the joint cluster for kind "shared ..."; None is the whole release.
    `chunk` is the number of the chunk, "T" the term chunk. `support` is the support of the itemset there.
    """

    kind: str
    cluster: int | None
    chunk: int | str | None
    itemset: tuple[str, ...]
    support: int | None
    message: str


def joints_of(joints: Sequence[JointCluster]) -> dict[int, list[int]]:
    """Return the numbers of the joint clusters of each cluster in `joints`; other clusters are absent."""
    numbers: dict[int, list[int]] = {}
    for number, joint in enumerate(joints):
        for cluster in joint.clusters:
            numbers.setdefault(cluster, []).append(number)
    return numbers


def inner_joints(joints: Sequence[JointCluster]) -> list[list[JointCluster]]:
    """Return for each of `joints` the joint clusters inside it.

    >>> inner_joints([JointCluster((0, 1, 2), ()), JointCluster((1, 2), ())])
    [[JointCluster(clusters=(1, 2), shared_chunks=())], []]
    """
    holders = joints_of(joints)
    neighbours = [sorted({number for cluster in joint.clusters for number in holders[cluster]}) for joint in joints]
    rank = [(len(joint.clusters), number) for number, joint in enumerate(joints)]
    return [[joints[n] for n in numbers if rank[n] < rank[number]] for number, numbers in enumerate(neighbours)]


def published_by(cluster: int, clusters: Sequence[Cluster], joints: Iterable[JointCluster]) -> frozenset[str]:
    """Return the items of cluster number `cluster` of `clusters`, in its own chunks or in the chunks of its `joints`.

    >>> cluster = Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",))
    >>> sorted(published_by(0, [cluster], []))
    ['a', 'b']
    """
    shared = [chunk.items for joint in joints if cluster in joint.clusters for chunk in joint.shared_chunks]
    return frozenset(clusters[cluster].items).union(*shared)


def structure(release: Disassociated) -> Iterator[ReleaseFault]:
    """Yield the structural faults of `release`, whatever its guarantee."""
    for number, cluster in enumerate(release.clusters):
        for position, chunk in enumerate(cluster.record_chunks):
            yield from _chunk(number, position, chunk, cluster.size, "")
        places: list[tuple[int | str, Sequence[str]]]
        places = [*enumerate(chunk.items for chunk in cluster.record_chunks), (TERMS, cluster.term_chunk)]
        yield from _overlaps(number, places, "")
    inner = inner_joints(release.joints)
    for number, joint in enumerate(release.joints):
        wrong = _members(number, joint, len(release.clusters))
        if wrong:
            yield wrong
            continue
        size = sum(release.clusters[cluster].size for cluster in set(joint.clusters))
        for position, chunk in enumerate(joint.shared_chunks):
            yield from _chunk(number, position, chunk, size, "shared ")
            yield from _unplaceable_subrecords(release, inner[number], number, position)
        yield from _overlaps(number, list(enumerate(chunk.items for chunk in joint.shared_chunks)), "shared ")


def _members(number: int, joint: JointCluster, clusters: int) -> ReleaseFault | None:
    members = joint.clusters
    if len(set(members)) < max(2, len(members)):
        message = f"joint cluster {number} needs two clusters or more, each once"
    elif not all(0 <= member < clusters for member in members):
        message = f"joint cluster {number} names a cluster that is not there"
    else:
        return None
    return ReleaseFault("shared clusters", number, None, (), None, message)


def _chunk(number: int, position: int, chunk: Chunk, size: int, shared: str) -> Iterator[ReleaseFault]:
    where = f"{shared}chunk {position} of {'joint ' if shared else ''}cluster {number}"
    if len(chunk.subrecords) > size:
        message = f"{where} has {len(chunk.subrecords)} sub-records of {size} records"
        yield ReleaseFault(f"{shared}size", number, position, (), len(chunk.subrecords), message)
    for subrecord, count in Counter(chunk.subrecords).items():
        outside = set(subrecord).difference(chunk.items)
        if not subrecord:
            yield ReleaseFault(f"{shared}empty", number, position, (), count, f"{where} has an empty sub-record")
        elif outside:
            message = f"{where} has a sub-record with {quote(min(outside))}, which is not of its items"
            yield ReleaseFault(f"{shared}outside", number, position, tuple(sorted(outside)), count, message)
        elif len(set(subrecord)) < len(subrecord):
            message = f"{where} has a sub-record with an item twice"
            yield ReleaseFault(f"{shared}repeated", number, position, subrecord, count, message)


def _overlaps(number: int, places: Sequence[tuple[int | str, Sequence[str]]], shared: str) -> Iterator[ReleaseFault]:
    first: dict[str, int | str] = {}
    for chunk, items in places:
        for item in items:
            if item in first:
                where = f"{'joint ' if shared else ''}cluster {number}"
                message = f"{where} has {quote(item)} in chunk {first[item]} and again in chunk {chunk}"
                yield ReleaseFault(f"{shared}overlap", number, chunk, (item,), None, message)
            first.setdefault(item, chunk)


def _unplaceable_subrecords(
    release: Disassociated, inner: Sequence[JointCluster], number: int, position: int
) -> Iterator[ReleaseFault]:
    """Yield sub-records of a shared chunk that fit no row: each cluster publishes one of the items elsewhere."""
    joint = release.joints[number]
    elsewhere = [published_by(cluster, release.clusters, inner) for cluster in joint.clusters]
    for subrecord, count in Counter(joint.shared_chunks[position].subrecords).items():
        if not any(items.isdisjoint(subrecord) for items in elsewhere):
            message = f"no cluster of joint cluster {number} can hold the sub-record {quote(', '.join(subrecord))}"
            yield ReleaseFault("shared homeless", number, position, subrecord, count, message)
