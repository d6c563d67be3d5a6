"""Check of the disassociation guarantee, from the published data alone.

The guarantee: every itemset I of at most m items that a record may contain has support k or more in one of the data
sets that the release may come from. For a cluster of n records the largest support is the minimum over its chunks of
s(I in the chunk), and n for terms. So every chunk must be k^m-anonymous and n at least k. A shared chunk must have
every sub-record k times if one of its items is also in a record chunk of its clusters, or in a shared chunk of a joint
cluster inside. Records must also not be empty; see `_may_be_empty`.

A chunk that could have taken more items is a matter of quality, not of the guarantee: this is not checked.

Check of the structure of a disassociated release: disjoint chunks, sub-records inside them, consistent sizes.

The position of an item is a chunk of the cluster: a record chunk, the term chunk, or a shared chunk of a joint cluster.
A joint cluster is inside another if it shares clusters with it and has fewer, or the same number and precedes it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import comb
from typing import NamedTuple

from decloak.checks import check_km
from decloak.counting.violations import RareSets
from decloak.data.content import Chunk, Cluster, JointCluster
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError, quote

TERMS = "T"
"""The number of the term chunk."""


class ReleaseFault(NamedTuple):
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


def items_published_by(cluster: int, clusters: Sequence[Cluster], joints: Iterable[JointCluster]) -> frozenset[str]:
    """Return the items of cluster number `cluster` of `clusters`, in its own chunks or in the chunks of its `joints`.

    >>> cluster = Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",))
    >>> sorted(items_published_by(0, [cluster], []))
    ['a', 'b']
    """
    shared = [chunk.items for joint in joints if cluster in joint.clusters for chunk in joint.shared_chunks]
    return frozenset(clusters[cluster].items).union(*shared)


def structure(release: Disassociated) -> Iterator[ReleaseFault]:
    """Yield the structural faults of `release`, whatever its guarantee."""
    for number, cluster in enumerate(release.clusters):
        for position, chunk in enumerate(cluster.record_chunks):
            yield from _chunk(_ChunkPosition("", number, position, chunk), cluster.size)
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
            yield from _chunk(_ChunkPosition("shared ", number, position, chunk), size)
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


def _chunk(located: "_ChunkPosition", size: int) -> Iterator[ReleaseFault]:
    (shared, number, position, chunk), where = located, located.words
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
    elsewhere = [items_published_by(cluster, release.clusters, inner) for cluster in joint.clusters]
    for subrecord, count in Counter(joint.shared_chunks[position].subrecords).items():
        if not any(items.isdisjoint(subrecord) for items in elsewhere):
            message = f"no cluster of joint cluster {number} can hold the sub-record {quote(', '.join(subrecord))}"
            yield ReleaseFault("shared homeless", number, position, subrecord, count, message)


MOST_ITEMSETS = 2_000_000
"""Largest number of itemsets of violating chunks for which all minimal violations are listed: a few seconds' work."""

MOST_STEPS = 20_000_000
"""Largest number of steps of one check: a few seconds' work. A release of 60,000 clicks takes 640,000 with m = 5."""


def check_release(release: Disassociated, *, k: int | None = None, m: int | None = None) -> list[ReleaseFault]:
    """Return the violations of the guarantee of `release`; `k` and `m` default to those it states.

    If the structure is faulty, only its faults are returned.

    >>> release = Disassociated((Cluster(2, (Chunk(("a", "b"), (("a",), ("a", "b"))),), ()),), k=2, m=1)
    >>> [(fault.kind, fault.itemset, fault.support) for fault in check_release(release)]
    [('support', ('b',), 1)]
    """
    k, m = _stated("k", k, release.k), _stated("m", m, release.m)
    check_km(k, m)
    # Supports in a faulty structure mean nothing, so its faults are listed alone.
    faults = list(structure(release)) or [
        *_sizes(release, k),
        *_supports(release, k, m),
        *_rare_shared_subrecords(release, k),
    ]
    # The bound on empty records assumes chunks that meet the guarantee.
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


class _ChunkPosition(NamedTuple):
    """The position of a chunk of sub-records: "shared " or nothing, the number of its (joint) cluster, and its own
    number.
    """

    shared: str
    cluster: int
    position: int
    chunk: Chunk

    @property
    def words(self) -> str:
        """Return the position in words."""
        joint = "joint " if self.shared else ""
        return f"{self.shared}chunk {self.position} of {joint}cluster {self.cluster}"


class _Rare(NamedTuple):
    """An itemset and the number of sub-records that contain it."""

    items: tuple[str, ...]
    support: int


def _places(release: Disassociated) -> Iterator[_ChunkPosition]:
    """Yield every chunk of sub-records with its position."""
    for number, cluster in enumerate(release.clusters):
        for position, chunk in enumerate(cluster.record_chunks):
            yield _ChunkPosition("", number, position, chunk)
    for number, joint in enumerate(release.joints):
        for position, chunk in enumerate(joint.shared_chunks):
            yield _ChunkPosition("shared ", number, position, chunk)


def _supports(release: Disassociated, k: int, m: int) -> Iterator[ReleaseFault]:
    """Yield the minimal itemsets that are too rare in their chunk.

    Most chunks have none, which the rows of their items prove. The itemsets of the others are counted together, up to
    the size at which they are too many. A chunk with only larger violations has one of the smallest listed.
    """
    broken, steps = [], _Steps()
    for located in _places(release):
        steps.where = located.words
        rare = _smallest_rare(located.chunk, k, m, steps)
        if rare is not None:
            broken.append((located, rare))
    size = _countable([located.chunk for located, _ in broken], m)
    yield from _listed([located for located, _ in broken], k, size)
    for located, rare in broken:
        if len(rare.items) > size:
            yield _fault(located, rare, k)


class _Steps:
    """The steps of a check so far: each finds the sub-records that contain an itemset and one more item."""

    done = 0
    where = ""

    def take(self, count: int, size: int) -> None:
        """Count the steps that itemsets of this `size` need; refuse them beforehand where they are too many."""
        self.done += count
        if self.done > MOST_STEPS:
            message = f"a check of all sets of {size} items in {self.where} takes over {MOST_STEPS:,} steps"
            raise DecloakError(message, hint=f"check the release with m = {size - 1}")


def _smallest_rare(chunk: Chunk, k: int, m: int, steps: _Steps) -> _Rare | None:
    """Return an itemset of at most m items in 1 to k - 1 sub-records of a chunk without a violating subset; None if
    there is none.

    Itemsets are identified by the sub-records that contain them, as the bits of one number: in a long sub-record nearly
    all are equal. So the number of sets of sub-records bounds their number, for every m.
    """
    rows: dict[str, int] = {}
    for number, subrecord in enumerate(chunk.subrecords):
        for item in subrecord:
            rows[item] = rows.get(item, 0) | 1 << number
    # Items in the same sub-records violate together: the first by name stands for all.
    kinds = {row_bits: item for item, row_bits in sorted(rows.items(), reverse=True)}
    found: dict[int, tuple[str, ...]] = {row_bits: (item,) for row_bits, item in kinds.items()}
    last = found
    for size in range(1, m + 1):
        for row_bits, items in last.items():
            if row_bits.bit_count() < k:
                return _Rare(tuple(sorted(items)), row_bits.bit_count())
        if size == m or not last:
            break
        steps.take(len(last) * len(kinds), size + 1)
        grown = {row_bits & kind: (row_bits, kind) for row_bits in last for kind in kinds}
        last = {
            both: (*last[row_bits], kinds[kind])
            for both, (row_bits, kind) in grown.items()
            if both and both not in found
        }
        found |= last
    return None


def _countable(chunks: Sequence[Chunk], m: int) -> int:
    """Return the largest size, at most m, up to which the itemsets of the chunks are few enough to count."""
    lengths = [len(subrecord) for chunk in chunks for subrecord in set(chunk.subrecords)]
    m = min(m, max(lengths, default=0))
    size = total = 0
    while size < m and (total := total + sum(comb(length, size + 1) for length in lengths)) <= MOST_ITEMSETS:
        size += 1
    return size


def _listed(chunks: Sequence[_ChunkPosition], k: int, m: int) -> Iterator[ReleaseFault]:
    """Yield the minimal itemsets of at most m items that are too rare in their chunk. The number of the chunk is part
    of each item.
    """
    if not chunks or not m:
        return
    marked = [
        [f"{number} {item}" for item in subrecord]
        for number, located in enumerate(chunks)
        for subrecord in located.chunk.subrecords
    ]
    seen: set[frozenset[str]] = set()
    for itemset, support in RareSets(marked, k, m).first(None):  # minimal ones first
        seen.add(itemset)
        if any(itemset - {item} in seen for item in itemset):
            continue
        located = chunks[int(min(itemset).split(" ", 1)[0])]
        items = tuple(sorted(marked_item.split(" ", 1)[1] for marked_item in itemset))
        yield _fault(located, _Rare(items, support), k)


def _fault(located: _ChunkPosition, rare: _Rare, k: int) -> ReleaseFault:
    message = f"{quote(', '.join(rare.items))} is in {rare.support} sub-records of {located.words}, fewer than k = {k}"
    return ReleaseFault(
        f"{located.shared}support", located.cluster, located.position, rare.items, rare.support, message
    )


def _rare_shared_subrecords(release: Disassociated, k: int) -> Iterator[ReleaseFault]:
    """Yield sub-records that are too rare in shared chunks with an item published elsewhere in the joint cluster."""
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
                        f"the sub-record {quote(', '.join(subrecord))} is {count} times in shared chunk {position} of "
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
    """Return True if a cluster without terms leaves a record empty when some itemset is to reach support k.

    e sub-records may share a row with others: those beyond one per record. I over j chunks needs j - 1 of them on every
    row. It may occur if e >= j - 1 and reaches k only if e >= k (j - 1), for j up to h. With e = 0 nothing can be
    combined, and nothing is revealed. A cluster of a joint one needs all k (h - 1): its shared sub-records may fill
    other clusters.
    """
    spare = _subrecords(cluster) - cluster.size
    needed = k * (min(m, len(cluster.record_chunks)) - 1)
    return spare < 0 or (spare < needed and (spare > 0 or joined))


def _subrecords(cluster: Cluster) -> int:
    return sum(len(chunk.subrecords) for chunk in cluster.record_chunks)
