"""Cover problems of a disassociated release (Barakat et al., Definition 3, over all earlier chunks).

x: an item of record chunk j of a cluster; l: an earlier record chunk, l < j. s(y): sub-records of y's chunk that hold
y. I(x, l): the items y of chunk l with s(y) >= s(x); s(I): sub-records of chunk l that hold all of I. There is a
problem when I is not empty and s(I) is the least s(y) in I. The y with this support are *covered*: every sub-record
with one of them has all of I. An attacker who joins x to a covered y joins it to I. The algorithm would have published
a frequent join together, so x and y are together in fewer than k records.

I depends on x only through s(x): it is all items of chunk l down to a support, the *level* of that support.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from decloak.data.disassociated import Chunk, Cluster, Disassociated, as_disassociated
from decloak.errors import DecloakError, quote

__all__ = ["Cover", "CoverProblem", "build_covers", "cover_problems", "covers"]


class CoverProblem(NamedTuple):
    """An item x of a chunk, an earlier chunk, and the items covered there; clusters and chunks count from 0."""

    cluster: int
    chunk: int
    item: str
    earlier: int
    covered: tuple[str, ...]


class Cover(NamedTuple):
    """A cover problem with the size of I (above 1: non-trivial) and the support of the covered items."""

    problem: CoverProblem
    size: int
    support: int


class _Level(NamedTuple):
    """Items of a chunk with at least this support; `covered` is empty if there is no problem at this level."""

    support: int
    size: int
    covered: tuple[str, ...]


def cover_problems(release: Disassociated, adjacent: bool = False) -> list[CoverProblem]:
    """Return every cover problem of `release`, ordered by cluster, chunk, item and earlier chunk.

    With `adjacent` a chunk is compared only with the chunk before it, as in Definition 3.

    >>> chunks = (Chunk(("a", "b"), (("a",), ("a", "b"), ("a", "b"))), Chunk(("e",), (("e",), ("e",))))
    >>> cover_problems(Disassociated((Cluster(3, chunks, ()),)))
    [CoverProblem(cluster=0, chunk=1, item='e', earlier=0, covered=('b',))]
    """
    return [cover.problem for cover in covers(as_disassociated(release), adjacent)]


def covers(release: Disassociated, adjacent: bool = False) -> list[Cover]:
    """Return every cover problem of `release` with its size and support, in the order of `cover_problems`.

    With `adjacent` a chunk is compared only with the chunk before it.
    """
    return [
        cover
        for number, cluster in enumerate(release.clusters)
        for cover in _covers_in_cluster(number, cluster, adjacent)
    ]


def build_covers(release: Disassociated, relation: str, findings: Iterable[tuple[Any, ...]]) -> list[Cover]:
    """Return the cover problems that a rule found in `release`.

    `relation` is the name of the rule's relation, for errors. Each of `findings` is a cluster, a chunk, an item, an
    earlier chunk, a size, a support and one covered item; findings of one problem are adjacent.
    """
    chunks = {(i, j) for i, cluster in enumerate(release.clusters) for j in range(len(cluster.record_chunks))}
    # Findings of one problem are adjacent, so that groupby needs no sort.
    problems = []
    for problem, group in groupby(findings, key=lambda finding: finding[:-1]):
        cluster, chunk, item, earlier, size, support = problem
        covered = tuple(name for *_, name in group)
        # A rule of a user's own may derive anything under the names of these columns.
        there = (cluster, chunk) in chunks and (cluster, earlier) in chunks and None not in (item, *covered)
        if not there or not isinstance(size, int):
            message = f"{quote(str((*problem, *covered)), 200)} in {relation} is no cover problem of the release"
            hint = "clusters and chunks count from 0, item and covered are numbers of items, as in the rule cover"
            raise DecloakError(message, hint=hint)
        problems.append(Cover(CoverProblem(cluster, chunk, item, earlier, covered), size, support))
    return problems


def _covers_in_cluster(number: int, cluster: Cluster, adjacent: bool) -> Iterator[Cover]:
    earlier: list[list[_Level]] = []
    for j, chunk in enumerate(cluster.record_chunks):
        # A cover problem needs two chunks: x in chunk j, and the covered items in an earlier one.
        first = max(0, j - 1) if adjacent else 0
        for x, support in sorted(Counter(item for subrecord in chunk.subrecords for item in subrecord).items()):
            for before, levels in enumerate(earlier[first:], first):
                # The first level of at least this support: I holds all items of it and above.
                index = bisect_left(levels, (support,))
                if index < len(levels) and levels[index].covered:
                    least, size, covered = levels[index]
                    yield Cover(CoverProblem(number, j, x, before, covered), size, least)
        earlier.append(_levels(chunk))


def _levels(chunk: Chunk) -> list[_Level]:
    holders: dict[str, int] = {}  # item: a bit for each sub-record that holds it
    for number, subrecord in enumerate(chunk.subrecords):
        for item in subrecord:
            holders[item] = holders.get(item, 0) | 1 << number
    # Items of equal support enter I together, so that there is one level per support.
    by_support: dict[int, list[str]] = {}
    for item in sorted(holders):
        by_support.setdefault(holders[item].bit_count(), []).append(item)
    levels, together, size = [], -1, 0
    for support, items in sorted(by_support.items(), reverse=True):
        for item in items:
            together &= holders[item]
        size += len(items)
        levels.append(_Level(support, size, tuple(items) if together.bit_count() == support else ()))
    return levels[::-1]
