"""Quantitative privacy breach detection: the cover problems that an attacker's knowledge breaches.

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

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from decloak.attacker.cover import Cover, CoverProblem, covers
from decloak.data.disassociated import Disassociated, as_disassociated
from decloak.errors import DecloakError, quote, suggest

__all__ = [
    "READINGS", "Knowledge", "breach", "breach_total", "breached_covers", "hit_records", "risky_items",
]  # fmt: skip

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
