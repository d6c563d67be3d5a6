"""Does a disassociated release keep its promise? Checked from what is published, whoever made it.

The disassociation guarantee: every itemset I of at most m items that a record may hold has support k or more in one of
the data sets the release may have been. For a cluster of n records the largest support is the least over its chunks
of s(I in the chunk), and n for terms; so every chunk must be k^m-anonymous and n at least k. A shared chunk must even
have every sub-record k times when one of its items is also in a record chunk of its clusters, or in a shared chunk of
a joint cluster inside. Records must also not be empty; see `_may_be_empty`.

How many items a chunk could still have taken is the anonymiser's quality, not a promise: that is not looked at.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb
from typing import NamedTuple

from decloak.checks import check_km
from decloak.counting.guarantees import RareSets
from decloak.counting.release_structure import ReleaseFault, inner_joints, structure
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError, shown

__all__ = ["ReleaseFault", "check_release"]

MOST_ITEMSETS = 2_000_000
"""Itemsets of the chunks that break a promise, up to which all minimal ones are listed: a few seconds' work."""


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


class _Place(NamedTuple):
    """A chunk of sub-records: "shared " or nothing, the number of its cluster or joint cluster, its own number."""

    shared: str
    cluster: int
    position: int
    chunk: Chunk


class _Rare(NamedTuple):
    """An itemset and the number of sub-records that hold it."""

    items: tuple[str, ...]
    support: int


def _places(release: Disassociated) -> Iterator[_Place]:
    """Every chunk of sub-records with its place."""
    for number, cluster in enumerate(release.clusters):
        for position, chunk in enumerate(cluster.record_chunks):
            yield _Place("", number, position, chunk)
    for number, joint in enumerate(release.joints):
        for position, chunk in enumerate(joint.shared_chunks):
            yield _Place("shared ", number, position, chunk)


def _supports(release: Disassociated, k: int, m: int) -> Iterator[ReleaseFault]:
    """List the minimal itemsets that are too rare in their chunk.

    Most chunks have none, which the rows of their items show. The itemsets of the others are counted, all at once, up
    to the size at which they are too many. A chunk whose faults are all larger has one of the smallest.
    """
    broken = [(place, rare) for place in _places(release) if (rare := _smallest_rare(place.chunk, k, m)) is not None]
    size = _countable([place.chunk for place, _ in broken], m)
    yield from _listed([place for place, _ in broken], k, size)
    for place, rare in broken:
        if len(rare.items) > size:
            yield _fault(place, rare, k)


def _smallest_rare(chunk: Chunk, k: int, m: int) -> _Rare | None:
    """An itemset of at most m items in 1..k-1 sub-records of a chunk, none of its parts in so few; None without one.

    Itemsets are told apart by the sub-records that hold them, as the bits of one number: in a long sub-record nearly
    all of them are the same. So their number is bounded by that of the sets of sub-records, whatever m is.
    """
    rows: dict[str, int] = {}
    for number, subrecord in enumerate(chunk.subrecords):
        for item in subrecord:
            rows[item] = rows.get(item, 0) | 1 << number
    kinds = {held: item for item, held in sorted(rows.items(), reverse=True)}
    found: dict[int, tuple[str, ...]] = {held: (item,) for held, item in kinds.items()}
    last = found
    for size in range(1, m + 1):
        for held, items in last.items():
            if held.bit_count() < k:
                return _Rare(tuple(sorted(items)), held.bit_count())
        if size == m or not last:
            break
        grown = {held & kind: (held, kind) for held in last for kind in kinds}
        last = {both: (*last[held], kinds[kind]) for both, (held, kind) in grown.items() if both and both not in found}
        found |= last
    return None


def _countable(chunks: Sequence[Chunk], m: int) -> int:
    """The largest size, at most m, up to which the itemsets of some chunks are few enough to count them all."""
    lengths = [len(subrecord) for chunk in chunks for subrecord in set(chunk.subrecords)]
    m = min(m, max(lengths, default=0))
    size = total = 0
    while size < m and (total := total + sum(comb(length, size + 1) for length in lengths)) <= MOST_ITEMSETS:
        size += 1
    return size


def _listed(places: Sequence[_Place], k: int, m: int) -> Iterator[ReleaseFault]:
    """The minimal itemsets of at most m items too rare in their chunk; their items are told apart by its number."""
    if not places or not m:
        return
    marked = [
        [f"{number} {item}" for item in subrecord]
        for number, place in enumerate(places)
        for subrecord in place.chunk.subrecords
    ]
    seen: set[frozenset[str]] = set()
    for itemset, support in RareSets(marked, k, m).first(None):  # minimal ones first
        seen.add(itemset)
        if any(itemset - {item} in seen for item in itemset):
            continue
        place = places[int(min(itemset).split(" ", 1)[0])]
        items = tuple(sorted(marked_item.split(" ", 1)[1] for marked_item in itemset))
        yield _fault(place, _Rare(items, support), k)


def _fault(place: _Place, rare: _Rare, k: int) -> ReleaseFault:
    where = f"{place.shared}chunk {place.position} of {'joint ' if place.shared else ''}cluster {place.cluster}"
    message = f"{shown(', '.join(rare.items))} is in {rare.support} sub-records of {where}, fewer than k = {k}"
    return ReleaseFault(f"{place.shared}support", place.cluster, place.position, rare.items, rare.support, message)


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
