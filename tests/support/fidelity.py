"""What a disassociated release promises, and whether it agrees with the records it was made from.

A record gives to a record chunk its items in it, to the term chunk likewise, and to a shared chunk its items that its
cluster publishes neither itself nor in a joint cluster inside. Without the truth (which records are in which cluster)
only what every partition must have is compared: the number of records, the items, and how often each can occur.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from decloak.counting import disassociation_guarantee
from decloak.counting.disassociation_guarantee import TERMS, ReleaseFault, inner_joints, items_published_by, joints_of
from decloak.counting.itemsets import item_sets
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError, quote

Subrecords = Iterable[Iterable[str]]


def check_release(
    release: Disassociated,
    *,
    original: Dataset | Iterable[Iterable[str]] | None = None,
    truth: Sequence[Sequence[int]] | None = None,
    **bounds: int | None,
) -> list[ReleaseFault]:
    """What breaks the promise of a release, and where it differs from the records; with `truth`, the numbers of the
    records of each cluster, every chunk must be their projection.
    """
    faults = disassociation_guarantee.check_release(release, **bounds)
    if original is not None and not any(fault.kind == "shared clusters" for fault in faults):
        faults += infidelities(release, original, truth)
    return faults


def infidelities(
    release: Disassociated, original: Dataset | Iterable[Iterable[str]], truth: Sequence[Sequence[int]] | None = None
) -> Iterator[ReleaseFault]:
    """Yield where a release (put together well) and its original records differ."""
    data = original.transactions if isinstance(original, Dataset) else original
    records = list(map(frozenset, item_sets(data)))
    if truth is None:
        yield from _counts(release, records)
    else:
        members = _members(release, records, truth)
        yield from _of_clusters(release, members)
        yield from _of_joints(release, members)


def _counts(release: Disassociated, records: Sequence[frozenset[str]]) -> Iterator[ReleaseFault]:
    size = sum(cluster.size for cluster in release.clusters)
    if size != len(records):
        yield _unlike(None, None, (), f"the release has {size} records, the original {len(records)}")
    held = Counter(item for record in records for item in record)
    least, most = _bounds(release)
    for item in sorted(held.keys() | most.keys()):
        if not least[item] <= held[item] <= most[item]:
            published = f"{least[item]} to {most[item]}" if least[item] < most[item] else f"{least[item]}"
            message = f"{quote(item)} is in {held[item]} original records, and in {published} as published"
            yield _unlike(None, None, (item,), message)


def _bounds(release: Disassociated) -> tuple[Counter[str], Counter[str]]:
    """How many records hold an item at least and at most: a term is held by one record of its cluster or more."""
    least: Counter[str] = Counter()
    chunks = [chunk for cluster in release.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in release.joints for chunk in joint.shared_chunks]
    for chunk in chunks:
        least.update(item for subrecord in chunk.subrecords for item in subrecord)
    most = Counter(least)
    for cluster in release.clusters:
        for term in cluster.term_chunk:
            least[term] += 1
            most[term] += cluster.size
    return least, most


def _members(
    release: Disassociated, records: Sequence[frozenset[str]], truth: Sequence[Sequence[int]]
) -> list[list[frozenset[str]]]:
    sizes = [cluster.size for cluster in release.clusters]
    numbers = sorted(record for ids in truth for record in ids)
    if [len(ids) for ids in truth] != sizes or numbers != list(range(len(records))):
        message = "the truth is not a partition of the records into these clusters"
        raise DecloakError(message, hint="give every record number once, as many to a cluster as its size")
    return [[records[record] for record in ids] for ids in truth]


def _of_clusters(release: Disassociated, members: Sequence[Sequence[frozenset[str]]]) -> Iterator[ReleaseFault]:
    memberships = joints_of(release.joints)
    for number, (cluster, records) in enumerate(zip(release.clusters, members, strict=True)):
        for position, chunk in enumerate(cluster.record_chunks):
            if _differ(chunk.subrecords, [record.intersection(chunk.items) for record in records]):
                message = f"chunk {position} of cluster {number} is not what its records hold"
                yield _unlike(number, position, chunk.items, message)
        held = frozenset[str]().union(*records)
        foreign = sorted(set(cluster.term_chunk) - held)
        if foreign:
            message = f"no record of cluster {number} holds the term {quote(foreign[0])}"
            yield _unlike(number, TERMS, tuple(foreign), message)
        joints = [release.joints[joint] for joint in memberships.get(number, ())]
        missing = sorted(held - items_published_by(number, release.clusters, joints))
        if missing:
            message = f"cluster {number} does not publish {quote(missing[0])}, which a record of it holds"
            yield _unlike(number, None, tuple(missing), message)


def _of_joints(release: Disassociated, members: Sequence[Sequence[frozenset[str]]]) -> Iterator[ReleaseFault]:
    inner = inner_joints(release.joints)
    for number, joint in enumerate(release.joints):
        parts = [
            record - published
            for cluster in joint.clusters
            for published in [items_published_by(cluster, release.clusters, inner[number])]
            for record in members[cluster]
        ]
        for position, chunk in enumerate(joint.shared_chunks):
            if _differ(chunk.subrecords, [part.intersection(chunk.items) for part in parts]):
                message = f"shared chunk {position} of joint cluster {number} is not what its records give"
                yield ReleaseFault("shared fidelity", number, position, chunk.items, None, message)


def _differ(published: Subrecords, original: Subrecords) -> bool:
    return Counter(map(frozenset, published)) != Counter(part for part in map(frozenset, original) if part)


def _unlike(cluster: int | None, chunk: int | str | None, items: tuple[str, ...], message: str) -> ReleaseFault:
    return ReleaseFault("fidelity", cluster, chunk, items, None, message)
