"""Items that a disassociated release hides of its rows: best guesses, and items that two known items imply.

    part        a later record chunk, a shared chunk or the term chunk: it hides some items of a row
    candidate   an item that a part may hide of a row, with a weight: how likely the row is to have it
    group       the rows with the same candidates: those of a cluster for the release, those of one anchor for an attack

An attacker who knows the cluster and the anchor of a row makes one guess at a part: a candidate with the largest
weight. Candidates with equal weights share the guess, so that n of them are each guessed with the probability 1 / n.

People for whom two known items imply a third, in a disassociated release.

An attacker who knows two items of a person considers every cluster that may have both. In one chunk, a sub-record must
have both. In different chunks, each must have one. In such a cluster the two items imply all items that the sub-records
with them have in common. A third item is implied if it follows in every cluster that may have the two.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import distinct, places_in
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows, crossed
from decloak.rules.reassociate.shared import shared_places

__all__ = [
    "Candidates",
    "ClusterIndex",
    "assigned_candidates",
    "best_guesses",
    "implied_in_chunks",
    "possible_items",
    "published_candidates",
    "random_assignment",
]

AT_ONCE = 1 << 18
"""Rows of assignments that are shuffled at a time, and items of rows, about: bounds the memory."""


class Candidates(NamedTuple):
    """Items that rows may have: an item of the row that represents its group, and the weight."""

    entry: Ints
    weight: Floats


class _Best(NamedTuple):
    """The candidates to guess: ascending keys of group, part and item, and the probability that each is guessed."""

    key: Ints
    share: Floats
    part: Ints
    """Ascending keys of group and part that have any."""


def published_candidates(rows: TrueRows, clusters: Collection[int]) -> Candidates:
    """Return the candidates of each of `clusters`, with the share of its rows that has them.

    `rows` are the rows of all clusters. The first row of a cluster represents it. Any term of a cluster is in equally
    many rows, as far as the release shows.
    """
    code = {name: number for number, name in enumerate(rows.names)}
    found = [
        (int(rows.first[cluster]) * rows.items + code[item], weight)
        for cluster, item, weight in _published(rows, clusters)
    ]
    entry, weight = zip(*found, strict=True) if found else ((), ())
    return Candidates(np.array(entry, np.int64), np.array(weight, np.float64))


def _published(rows: TrueRows, clusters: Collection[int]) -> Iterator[tuple[int, str, float]]:
    for number in clusters:
        cluster = rows.release.clusters[number]
        for chunk in cluster.record_chunks[1:]:
            for item, times in Counter(chain.from_iterable(chunk.subrecords)).items():
                yield number, item, times / max(1, cluster.size)
        for item in cluster.term_chunk:
            yield number, item, 1.0
    places = shared_places(rows.release) if rows.release.joints else []
    for at, joint in enumerate(rows.release.joints):
        size = sum(rows.release.clusters[number].size for number in joint.clusters)
        members = sorted(set(joint.clusters).intersection(clusters))
        for j, chunk in enumerate(joint.shared_chunks):
            for item, times in Counter(chain.from_iterable(chunk.subrecords)).items():
                for number in members:
                    if places[number].get(item) == f"S{at}.{j}":  # not published elsewhere by the cluster itself
                        yield number, item, times / max(1, size)


def assigned_candidates(rows: TrueRows, given: AssignedUnits, weight: Floats | None = None) -> Candidates:
    """Return what an attack has `given` to `rows` as candidates; `weight` is the probability of
    each assignment, or 1.
    """
    of_gift = given.assignment
    begin, end = given.begin[of_gift], given.end[of_gift]
    entry = crossed(given.row, begin, end, given.item, rows.items)
    return Candidates(entry, np.repeat(np.ones(len(of_gift)) if weight is None else weight, end - begin))


def random_assignment(rows: TrueRows, given: AssignedUnits, rng: "np.random.Generator") -> Ints:
    """Return items of `rows` when each unit of `given` goes to random rows of its cluster, drawn with `rng`."""
    size = rows.sizes[given.cluster]
    number, within = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in np.split(np.arange(len(size)), np.flatnonzero(np.diff(np.cumsum(size) // AT_ONCE)) + 1):
        assignment = np.repeat(part, size[part])
        place = np.arange(len(assignment)) - np.repeat(np.cumsum(size[part]) - size[part], size[part])
        # Numbers from 0 to 1 keep the assignments apart, and shuffle the rows of each.
        order = np.argsort(assignment + rng.random(len(assignment)))
        # After the sort the n-th row of an assignment stands where it stood.
        chosen = order[place < given.times[assignment]]
        number.append(assignment[chosen])
        within.append(place[chosen])
    drawn = np.concatenate(number)
    row = rows.first[given.cluster[drawn]] + np.concatenate(within)
    return crossed(row, given.begin[drawn], given.end[drawn], given.item, rows.items)


def best_guesses(rows: TrueRows, hidden: Ints, candidates: Candidates, given: Candidates | None = None) -> Floats:
    """Return for each hidden item of a row the probability that the one guess at its part is right.

    `rows` are the rows of the release. `hidden` are items of rows, all that a part hides of a row or none of them.
    `candidates` are the candidates of the release. `given` are the candidates of an attack, which decide if it has any
    for the part and the anchor. A guess is right if the row has the guessed item.
    """
    right = _chance_right(rows, hidden, rows.cluster, candidates)
    if given is not None:
        by_attack = _chance_right(rows, hidden, rows.of_row, given)
        right = np.where(np.isnan(by_attack), right, by_attack)
    return np.nan_to_num(right)


def _chance_right(rows: TrueRows, hidden: Ints, group: Ints, candidates: Candidates) -> Floats:
    """Return the probability that the guess at the part of each hidden item is right; NaN without any candidate."""
    best = _best(rows, group, candidates)
    part = _part(rows, group, hidden)
    place, there = places_in(best.key, part * rows.items + hidden % rows.items)
    share = np.where(there, np.append(best.share, 0.0)[place], 0.0)
    # All items that the part hides of the row are right guesses.
    # The guess is right if it names any item that the part hides of the row.
    own, of_hidden = np.unique(_part(rows, np.arange(rows.rows), hidden), return_inverse=True)
    right = np.bincount(of_hidden, share, len(own))[of_hidden]
    _, reached = places_in(best.part, part)
    return np.where(reached, right, np.nan)


def _part(rows: TrueRows, group: Ints, entries: Ints) -> Ints:
    """Return a number for the part of each item of a row within the group of the row."""
    chunk = rows.part_of(entries)
    return (group[entries // rows.items] * rows.parts) + chunk % rows.parts


def _best(rows: TrueRows, group: Ints, candidates: Candidates) -> _Best:
    key = _part(rows, group, candidates.entry) * rows.items + candidates.entry % rows.items
    keys, of_key = np.unique(key, return_inverse=True)
    # Rounding makes equal weights equal, whatever the order of the sums.
    weight = np.round(np.bincount(of_key, candidates.weight, len(keys)), 12)
    part, first, of_part = np.unique(keys // rows.items, return_index=True, return_inverse=True)
    highest = np.maximum.reduceat(weight, first) if len(first) else weight
    top = weight == highest[of_part]
    share = 1 / np.bincount(of_part[top], minlength=len(part))[of_part[top]]
    return _Best(keys[top], share, part)


def possible_items(rows: TrueRows) -> Iterator[Ints]:
    """Yield the items that each of `rows` may have as published, ascending, in blocks of rows.

    These are the items of its anchor, and everything else that its cluster publishes.
    """
    code = {name: number for number, name in enumerate(rows.names)}
    further: list[set[str]] = [
        {*cluster.term_chunk, *(item for chunk in cluster.record_chunks[1:] for item in chunk.items)}
        for cluster in rows.release.clusters
    ]
    for joint in rows.release.joints:
        for number in joint.clusters:
            further[number].update(item for chunk in joint.shared_chunks for item in chunk.items)
    item = np.array([code[item] for items in further for item in sorted(items)], np.int64)
    end = np.cumsum(list(map(len, further)), dtype=np.int64)
    begin = np.append(0, end)[:-1]
    many = np.cumsum((end - begin)[rows.cluster])
    for part in np.split(np.arange(rows.rows), np.flatnonzero(np.diff(many // AT_ONCE)) + 1):
        elsewhere = crossed(part, begin[rows.cluster[part]], end[rows.cluster[part]], item, rows.items)
        low, high = np.searchsorted(rows.anchor_items, (part[0] * rows.items, (part[-1] + 1) * rows.items))
        yield distinct(np.concatenate((rows.anchor_items[low:high], elsewhere)))


Pair = tuple[str, str]


def implied_in_chunks(
    release: Disassociated, known: Iterable[tuple[int | None, Iterable[str]]], *, outside: bool = False
) -> int:
    """Return the number of people for whom two known items imply a third.

    `release` is the disassociated release; `known` has the cluster and the known items of each person. People
    `outside` the data have no cluster: for them the third must be one of their items.

    >>> from decloak.data.disassociated import Chunk
    >>> chunk = Chunk(("a", "b", "c"), (("a", "b", "c"), ("a", "b", "c")))
    >>> implied_in_chunks(Disassociated((Cluster(2, (chunk,), ()),)), [(0, ["a", "b"]), (0, ["a", "d"])])
    1
    """
    clusters = ClusterIndex(release)
    verdicts: dict[Pair, frozenset[str]] = {}

    def is_implied(cluster: int | None, pair: Pair, own: frozenset[str]) -> bool:
        if pair not in verdicts:
            verdicts[pair] = clusters.implied(pair, cluster) or frozenset()
        return not verdicts[pair].isdisjoint(own) if outside else bool(verdicts[pair])

    return sum(
        any(is_implied(cluster, pair, own) for pair in combinations(sorted(own), 2))
        for cluster, own in ((cluster, frozenset(items)) for cluster, items in known)
    )


class ClusterIndex:
    """Clusters indexed by their published items."""

    def __init__(self, release: Disassociated) -> None:
        shared: list[set[str]] = [set() for _ in release.clusters]
        for joint in release.joints:
            for number in joint.clusters:
                shared[number].update(item for chunk in joint.shared_chunks for item in chunk.items)
        self._clusters_with: dict[str, set[int]] = {}
        for number, (cluster, others) in enumerate(zip(release.clusters, shared, strict=True)):
            for item in chain(*(chunk.items for chunk in cluster.record_chunks), cluster.term_chunk, others):
                self._clusters_with.setdefault(item, set()).add(number)
        # Most pairs are decided by a few clusters, so that clusters are indexed on demand.
        self._chunks = cache(lambda number: _chunks(release.clusters[number]))
        self._companions = cache(
            lambda number, item: _common(self._chunks(number).get(item, [frozenset((item,))]), (item,))
        )

    def implied(self, pair: Pair, first: int | None) -> frozenset[str] | None:
        """Return the items that follow from `pair` wherever the two may be, None where no cluster may have them.

        `first` is a cluster that may have both.
        """
        one, other = (self._clusters_with.get(item, set()) for item in pair)
        both, common = one & other, None
        if first is not None and first in both:
            common = self._implied_in_cluster(first, pair)
        if common is not None and not common:
            return common  # most pairs imply nothing there already
        for number in sorted(both - {first}):
            following = self._implied_in_cluster(number, pair)
            if following is not None:
                common = following if common is None else common & following
                if not common:
                    break
        return common

    def _implied_in_cluster(self, number: int, pair: Pair) -> frozenset[str] | None:
        """Return the items that follow from two items in a cluster, None where it cannot have both."""
        chunks = self._chunks(number)
        if (chunk := chunks.get(pair[0])) is not None and chunk is chunks.get(pair[1]):
            following = _common(chunk, pair)
        else:
            first, second = (self._companions(number, item) for item in pair)
            following = None if first is None or second is None else first | second
        return None if following is None else following.difference(pair)


def _common(chunk: Iterable[frozenset[str]], items: tuple[str, ...]) -> frozenset[str] | None:
    """Return the items common to all sub-records that have some items, or None without such sub-records."""
    holding = [subrecord for subrecord in chunk if subrecord.issuperset(items)]
    return frozenset.intersection(*holding) if holding else None


def _chunks(cluster: Cluster) -> Mapping[str, list[frozenset[str]]]:
    """Return the sub-records of the chunk of every item; terms, and items of shared chunks, imply nothing else."""
    chunks: dict[str, list[frozenset[str]]] = {}
    for chunk in cluster.record_chunks:
        subrecords = list(dict.fromkeys(map(frozenset, chunk.subrecords)))
        chunks |= dict.fromkeys(chunk.items, subrecords)
    return chunks
