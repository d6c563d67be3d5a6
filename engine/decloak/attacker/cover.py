"""Cover problems of a disassociated release (Barakat et al., Definition 3, over all earlier chunks).

x: an item of record chunk j of a cluster; l: an earlier record chunk, l < j. s(y): sub-records of y's chunk that hold
y. I(x, l): the items y of chunk l with s(y) >= s(x); s(I): sub-records of chunk l that hold all of I. There is a
problem when I is not empty and s(I) is the least s(y) in I. The y with this support are *covered*: every sub-record
with one of them has all of I. An attacker who joins x to a covered y joins it to I. The algorithm would have published
a frequent join together, so x and y are together in fewer than k records.

I depends on x only through s(x): it is all items of chunk l down to a support, the *level* of that support.

Quantitative privacy breach detection: the cover problems that an attacker's knowledge breaches.

A cover problem (x, l) is breached when a known itemset holds x and a covered y. The published algorithm never resets l,
so that it sees only the first item of a chunk. It never resets the maximum, so that early clusters raise later ones.
The readings add up other values:

| reading  | items looked at     | added up, per cluster                               |
|----------|---------------------|-----------------------------------------------------|
| literal  | first of each chunk | the largest breach of a chunk in any cluster so far |
| sound    | all                 | the largest breach of a chunk                       |
| per_item | all                 | the largest breach of an item                       |
| sum      | all                 | every breached problem                              |

Knowledge is a list of itemsets, or None for the strong attacker, who knows every pair.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated, as_disassociated
from decloak.errors import DecloakError, quote, suggest


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
    # The bits of -1 are all set: before the first item, every sub-record has all of them.
    levels, together, size = [], -1, 0
    for support, items in sorted(by_support.items(), reverse=True):
        for item in items:
            together &= holders[item]
        size += len(items)
        levels.append(_Level(support, size, tuple(items) if together.bit_count() == support else ()))
    return levels[::-1]


READINGS = ("literal", "sound", "per_item", "sum")

Knowledge = Iterable[Iterable[str]] | None

_Pair = tuple[str, str]
_Index = Mapping[_Pair, Sequence[frozenset[str]]]
"""Known itemsets that contain a pair, for each pair that a cover problem puts at risk."""


def breach(release: Disassociated, knowledge: Knowledge = None, reading: str = "sound") -> int:
    """Return the total of quantitative privacy breach detection.

    `release` is a disassociated release. `knowledge` lists the itemsets that the attacker knows; None means every pair.
    `reading` names the row of the table above.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> chunks = (Chunk(("a", "b"), (("a",), ("a", "b"), ("a", "b"))), Chunk(("e",), (("e",), ("e",))))
    >>> release = Disassociated((Cluster(3, chunks, ()),))
    >>> breach(release), breach(release, [("b", "e")]), breach(release, [("a", "e")])
    (1, 1, 0)
    """
    return breach_total(release, covers(as_disassociated(release)), knowledge, reading)


def breach_total(release: Disassociated, covers: Iterable[Cover], knowledge: Knowledge, reading: str) -> int:
    """Return the total for the cover problems `covers` of `release`, with the same `knowledge` and `reading` as
    `breach`.
    """
    if reading not in READINGS:
        hint = suggest(reading, READINGS) or f"readings are {', '.join(READINGS)}"
        raise DecloakError(f"no reading {quote(reading)} of the breach detection", hint=hint)
    problems = [cover.problem for cover in breached_covers(covers, knowledge)]
    if reading == "sum":
        return len(problems)
    if reading == "literal":
        return _literal(release, problems)
    by_item = reading == "per_item"
    return sum(_largest((p.cluster, p.chunk, p.item if by_item else "") for p in problems).values())


def breached_covers(covers: Iterable[Cover], knowledge: Knowledge) -> list[Cover]:
    """Return the elements of `covers` that the `knowledge` breaches, in the same order."""
    covers = list(covers)
    index = _index((cover.problem for cover in covers), knowledge)
    return [cover for cover in covers if index is None or any(pair in index for pair in _pairs(cover.problem))]


def risky_items(covers: Iterable[Cover], knowledge: Knowledge) -> list[tuple[int, str]]:
    """Return the items x of the breached problems in `covers`, each with the number of its
    cluster, given `knowledge`.
    """
    return sorted({(cover.problem.cluster, cover.problem.item) for cover in breached_covers(covers, knowledge)})


def hit_records(
    covers: Iterable[Cover], records: Sequence[Collection[str]], truth: Sequence[Sequence[int]], knowledge: Knowledge
) -> list[int]:
    """Return the row indices of the original records that a breach exposes; only the data owner can compute them.

    `truth` has the row indices of the records of each cluster. A record is exposed when an itemset of `knowledge` that
    it contains has x and a covered y of one of the `covers` of its cluster. `records` are the original records.
    """
    problems = [cover.problem for cover in covers]
    index = _index(problems, knowledge)
    at_risk: dict[int, set[_Pair]] = {}
    for problem in problems:
        at_risk.setdefault(problem.cluster, set()).update(_pairs(problem))
    return sorted(
        number
        for cluster, pairs in at_risk.items()
        for number in truth[cluster]
        if _hit(set(records[number]), pairs, index)
    )


def _hit(record: set[str], pairs: Iterable[_Pair], index: _Index | None) -> bool:
    inside = [pair for pair in pairs if record.issuperset(pair)]
    # The strong attacker knows every pair, so that any pair in the record is enough.
    if index is None:
        return bool(inside)
    return any(itemset <= record for pair in inside for itemset in index.get(pair, ()))


def _pairs(problem: CoverProblem) -> list[_Pair]:
    x = problem.item
    return [(x, y) if x < y else (y, x) for y in problem.covered]


def _index(problems: Iterable[CoverProblem], knowledge: Knowledge) -> _Index | None:
    if knowledge is None:
        return None
    if not isinstance(knowledge, Iterable):
        raise DecloakError(f"the knowledge is {quote(knowledge)}", hint="give a list of itemsets, or None for all")
    at_risk = {pair for problem in problems for pair in _pairs(problem)}
    index: dict[_Pair, list[frozenset[str]]] = {}
    for itemset in knowledge:
        if isinstance(itemset, str):
            raise DecloakError(f"an itemset is the text {quote(itemset)}", hint="give a tuple or a list of items")
        items = frozenset(itemset)
        for pair in combinations(sorted(items), 2):
            # Most known itemsets touch no cover problem: only pairs at risk are indexed.
            if pair in at_risk:
                index.setdefault(pair, []).append(items)
    return index


def _largest(places: Iterable[tuple[int, int, str]]) -> dict[int, int]:
    """Return the largest count of any place in each cluster."""
    largest: dict[int, int] = {}
    for (cluster, _, _), count in Counter(places).items():
        largest[cluster] = max(count, largest.get(cluster, 0))
    return largest


def _literal(release: Disassociated, problems: Iterable[CoverProblem]) -> int:
    firsts = [{j: chunk.items[0] for j, chunk in enumerate(c.record_chunks)} for c in release.clusters]
    largest = _largest((p.cluster, p.chunk, "") for p in problems if firsts[p.cluster][p.chunk] == p.item)
    total = running = 0
    for cluster in range(len(release.clusters)):
        # Never reset, as in the published algorithm: that is what makes this reading the literal one.
        running = max(running, largest.get(cluster, 0))
        total += running
    return total
