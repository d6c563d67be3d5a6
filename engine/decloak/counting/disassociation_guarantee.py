"""Does a disassociated release keep its promise? Checked from what is published, whoever made it.

The disassociation guarantee: every itemset I of at most m items that a record may hold has support k or more in one of
the data sets the release may have been. For a cluster of n records the largest support is the least over its chunks
of s(I in the chunk), and n for terms; so every chunk must be k^m-anonymous and n at least k. A shared chunk must even
have every sub-record k times when one of its items is also in a record chunk of its clusters, or in a shared chunk of
a joint cluster inside. Records must also not be empty; see `_may_be_empty`.

How many items a chunk could still have taken is the anonymiser's quality, not a promise: that is not looked at.
"""

from collections import Counter
from collections.abc import Iterator

from decloak.checks import check_km
from decloak.counting.guarantees import RareSets
from decloak.counting.release_structure import ReleaseFault, inner_joints, structure
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError, shown

__all__ = ["ReleaseFault", "check_release"]


def check_release(release: Disassociated, *, k: int | None = None, m: int | None = None) -> list[ReleaseFault]:
    """List what breaks the promise of a release; k and m are those it states unless others are given.

    Where the release is not even put together well, only that is listed.

    >>> release = Disassociated((Cluster(2, (Chunk(("a", "b"), (("a",), ("a", "b"))),), ()),), k=2, m=1)
    >>> [(fault.kind, fault.itemset, fault.support) for fault in check_release(release)]
    [('support', ('b',), 1)]
    """
    k, m = _stated("k", k, release.k), _stated("m", m, release.m)
    check_km(k, m)
    faults = list(structure(release)) or [*_sizes(release, k), *_supports(release, k, m), *_alike(release, k)]
    return faults or list(_empty_records(release, k, m))


def _stated(name: str, bound: int | None, stated: int | None) -> int:
    value = stated if bound is None else bound
    if value is None:
        raise DecloakError(f"the release does not say its {name}", hint=f"give {name}")
    return value


def _sizes(release: Disassociated, k: int) -> Iterator[ReleaseFault]:
    for number, cluster in enumerate(release.clusters):
        if cluster.size < k:
            message = f"cluster {number} has {cluster.size} records, fewer than k = {k}"
            yield ReleaseFault("size", number, None, (), cluster.size, message)


def _places(release: Disassociated) -> Iterator[tuple[str, int, int, Chunk]]:
    """Every chunk of sub-records: which kind, of which cluster or joint cluster, its number."""
    for number, cluster in enumerate(release.clusters):
        for position, chunk in enumerate(cluster.record_chunks):
            yield "", number, position, chunk
    for number, joint in enumerate(release.joints):
        for position, chunk in enumerate(joint.shared_chunks):
            yield "shared ", number, position, chunk


def _supports(release: Disassociated, k: int, m: int) -> Iterator[ReleaseFault]:
    """Minimal itemsets too rare in their chunk; all chunks are counted at once, their items told apart by number."""
    places = list(_places(release))
    marked = [
        [f"{number} {item}" for item in subrecord]
        for number, (_, _, _, chunk) in enumerate(places)
        for subrecord in chunk.subrecords
    ]
    seen: set[frozenset[str]] = set()
    for itemset, support in RareSets(marked, k, m).first(None):  # minimal ones first
        seen.add(itemset)
        if any(itemset - {item} in seen for item in itemset):
            continue
        shared, cluster, position, _ = places[int(min(itemset).split(" ", 1)[0])]
        items = tuple(sorted(marked_item.split(" ", 1)[1] for marked_item in itemset))
        where = f"{shared}chunk {position} of {'joint ' if shared else ''}cluster {cluster}"
        message = f"{shown(', '.join(items))} is in {support} sub-records of {where}, fewer than k = {k}"
        yield ReleaseFault(f"{shared}support", cluster, position, items, support, message)


def _alike(release: Disassociated, k: int) -> Iterator[ReleaseFault]:
    """Sub-records too rare in shared chunks that have an item published elsewhere in the joint cluster."""
    inner = inner_joints(release.joints)
    for number, joint in enumerate(release.joints):
        chunks = [chunk for cluster in joint.clusters for chunk in release.clusters[cluster].record_chunks]
        chunks += [chunk for inside in inner[number] for chunk in inside.shared_chunks]
        elsewhere = {item for chunk in chunks for item in chunk.items}
        for position, chunk in enumerate(joint.shared_chunks):
            if elsewhere.isdisjoint(chunk.items):
                continue
            counts = Counter(tuple(sorted(subrecord)) for subrecord in chunk.subrecords)
            for subrecord, count in sorted(counts.items()):
                if count < k:
                    message = (
                        f"the sub-record {shown(', '.join(subrecord))} is {count} times in shared chunk {position} of "
                        f"joint cluster {number}, fewer than k = {k}, and an item of the chunk is also in another"
                    )
                    yield ReleaseFault("shared alike", number, position, subrecord, count, message)


def _empty_records(release: Disassociated, k: int, m: int) -> Iterator[ReleaseFault]:
    joined = {cluster for joint in release.joints for cluster in joint.clusters}
    for number, cluster in enumerate(release.clusters):
        if not cluster.term_chunk and _may_be_empty(cluster, k, m, number in joined):
            message = f"cluster {number} has too few sub-records for k records that hold items of several chunks"
            yield ReleaseFault("records", number, None, (), _subrecords(cluster), message)


def _may_be_empty(cluster: Cluster, k: int, m: int, joined: bool) -> bool:
    """Tell whether a cluster without terms leaves a record empty when some itemset is to reach support k.

    e sub-records may stand beside others: those beyond one for each record. I over j chunks takes j - 1 of them
    on every row: it may occur when e >= j - 1 and reaches k only when e >= k (j - 1), for j up to h. Without a
    single one to spare nothing can stand together, and nothing is betrayed. A cluster of a joint one must have
    all of k (h - 1): the sub-records it shares may fill other clusters.
    """
    spare = _subrecords(cluster) - cluster.size
    needed = k * (min(m, len(cluster.record_chunks)) - 1)
    return spare < 0 or (spare < needed and (spare > 0 or joined))


def _subrecords(cluster: Cluster) -> int:
    return sum(len(chunk.subrecords) for chunk in cluster.record_chunks)
