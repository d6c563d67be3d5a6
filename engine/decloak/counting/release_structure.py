"""Is a disassociated release put together as one must be? Chunks apart, sub-records inside them, sizes that fit.

A place of an item is a chunk of the cluster: a record chunk, the term chunk, or a shared chunk of a joint cluster.
A joint cluster lies inside another when it shares clusters with it and has fewer, or as many and stands before it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from decloak.data.disassociated import Chunk, Cluster, Disassociated, Joint
from decloak.errors import shown

__all__ = ["TERMS", "ReleaseFault", "inner_joints", "joints_of", "published_by", "structure"]

TERMS = "T"
"""The number of the term chunk."""


@dataclass(frozen=True)
class ReleaseFault:
    """What is wrong with a release, and where.

    `cluster` is the number of the cluster, or of the joint cluster for kind "shared ..."; None is the whole release.
    `chunk` is the number of the chunk, "T" the term chunk. `support` is how often the itemset is there.
    """

    kind: str
    cluster: int | None
    chunk: int | str | None
    itemset: tuple[str, ...]
    support: int | None
    message: str


def joints_of(joints: Sequence[Joint]) -> dict[int, list[int]]:
    """The numbers of the joint clusters that each cluster belongs to; other clusters are not there."""
    numbers: dict[int, list[int]] = {}
    for number, joint in enumerate(joints):
        for cluster in joint.clusters:
            numbers.setdefault(cluster, []).append(number)
    return numbers


def inner_joints(joints: Sequence[Joint]) -> list[list[Joint]]:
    """For each joint cluster those that lie inside it.

    >>> inner_joints([Joint((0, 1, 2), ()), Joint((1, 2), ())])
    [[Joint(clusters=(1, 2), shared_chunks=())], []]
    """
    holders = joints_of(joints)
    neighbours = [sorted({number for cluster in joint.clusters for number in holders[cluster]}) for joint in joints]
    rank = [(len(joint.clusters), number) for number, joint in enumerate(joints)]
    return [[joints[n] for n in numbers if rank[n] < rank[number]] for number, numbers in enumerate(neighbours)]


def published_by(cluster: int, clusters: Sequence[Cluster], joints: Iterable[Joint]) -> frozenset[str]:
    """The items a cluster publishes in its own chunks or in those of some joint clusters it belongs to.

    >>> cluster = Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",))
    >>> sorted(published_by(0, [cluster], []))
    ['a', 'b']
    """
    shared = [chunk.items for joint in joints if cluster in joint.clusters for chunk in joint.shared_chunks]
    return frozenset(clusters[cluster].items).union(*shared)


def structure(release: Disassociated) -> Iterator[ReleaseFault]:
    """Yield what no release can have, whatever it promises."""
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
            yield from _homeless(release, inner[number], number, position)
        yield from _overlaps(number, list(enumerate(chunk.items for chunk in joint.shared_chunks)), "shared ")


def _members(number: int, joint: Joint, clusters: int) -> ReleaseFault | None:
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
            message = f"{where} has a sub-record with {shown(min(outside))}, which is not of its items"
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
                message = f"{where} has {shown(item)} in chunk {first[item]} and again in chunk {chunk}"
                yield ReleaseFault(f"{shared}overlap", number, chunk, (item,), None, message)
            first.setdefault(item, chunk)


def _homeless(release: Disassociated, inner: Sequence[Joint], number: int, position: int) -> Iterator[ReleaseFault]:
    """Sub-records of a shared chunk that can be on no row: each of its clusters has one of the items elsewhere."""
    joint = release.joints[number]
    elsewhere = [published_by(cluster, release.clusters, inner) for cluster in joint.clusters]
    for subrecord, count in Counter(joint.shared_chunks[position].subrecords).items():
        if not any(items.isdisjoint(subrecord) for items in elsewhere):
            message = f"no cluster of joint cluster {number} can hold the sub-record {shown(', '.join(subrecord))}"
            yield ReleaseFault("shared homeless", number, position, subrecord, count, message)
