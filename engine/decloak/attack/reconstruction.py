"""The record chunks of one cluster put together again, as somebody who knows the algorithm can do it.

n: records of the cluster, its rows. Chunk 0 lies on the first rows as published; a placement puts each sub-record of
the other chunks on a row of its own. It is consistent when for every x of chunk j and every l < j the projection on
pre + x is not k^m-anonymous, pre being the items of chunk l that the algorithm took before x (by support, then name):
it would have published x in chunk l otherwise.

Rows that hold the same sub-record of every chunk so far are interchangeable. A *class* is such a set of rows, written
as the numbers of their distinct sub-records, -1 for none; a *table* is classes with how many rows each has. A table
stands for as many labelled placements (distinct maps from rows to sub-records) as its ways say. Enumeration walks
over tables, and leaves one as soon as a chunk contradicts the algorithm.

Beyond MOST_TABLES it samples: a population of tables takes one chunk after the other at random, tries again where the
algorithm is contradicted, and weighs what the tries say about the share of consistent placements.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from decloak.data.disassociated import Cluster

__all__ = ["MOST_TABLES", "ClassCounts", "Pieces", "TooManyTables", "consistent_tables", "pieces", "sampled_tables"]

MOST_TABLES = 20_000
"""Tables to walk over at most, about a second's work."""

POPULATION, TRIES = 100, 10_000
WEIGHT_UNIT = 1 << 200
"""The unit of a sampled table's weight: weights are whole numbers, so that sums with huge counts stay exact."""

Class = tuple[int, ...]
ClassCounts = Mapping[Class, int]


class TooManyTables(Exception):
    """Enumeration would take too long."""


class _Rule(NamedTuple):
    """What the algorithm says of x and an earlier chunk: some group must lie 1..k-1 times on rows with x.

    `holders` are the sub-records of x's chunk that hold x. A group is the sub-records of the earlier chunk that hold
    some itemset of at most m-1 items of pre.
    """

    earlier: int
    holders: frozenset[int]
    groups: frozenset[frozenset[int]]


class Pieces(NamedTuple):
    """A cluster taken apart: distinct sub-records by chunk, how often each is there, and the rules of each chunk."""

    rows: int
    k: int
    distinct: tuple[tuple[frozenset[str], ...], ...]
    counts: tuple[tuple[int, ...], ...]
    rules: tuple[tuple[_Rule, ...], ...]

    def start(self) -> dict[Class, int]:
        """The table that holds chunk 0 only, or nothing when there is no chunk."""
        if not self.counts:
            return {(): self.rows}
        taken: dict[Class, int] = {(number,): count for number, count in enumerate(self.counts[0])}
        return _nonzero(taken | {(-1,): self.rows - sum(self.counts[0])})

    def consistent(self, table: ClassCounts) -> bool:
        """Whether the chunk placed last agrees with the algorithm."""
        j = len(next(iter(table))) - 1
        return not any(_anonymous(rule, table, j, self.k) for rule in self.rules[j])


def pieces(cluster: Cluster, k: int, m: int) -> Pieces:
    counted = [Counter(map(frozenset, chunk.subrecords)) for chunk in cluster.record_chunks]
    distinct = tuple(tuple(counter) for counter in counted)
    rules = tuple(
        tuple(
            rule
            for x in sorted(frozenset[str]().union(*distinct[j]))
            for earlier in range(j)
            for rule in _rules(x, counted[j], earlier, counted[earlier], k, m)
        )
        for j in range(len(counted))
    )
    return Pieces(cluster.size, k, distinct, tuple(tuple(counter.values()) for counter in counted), rules)


def consistent_tables(cluster: Pieces, most: int = MOST_TABLES) -> Iterator[tuple[int, dict[Class, int]]]:
    """Every table the algorithm could have published, with its ways; TooManyTables once `most` were walked over."""
    remaining = most

    def completed(ways: int, table: dict[Class, int], j: int) -> Iterator[tuple[int, dict[Class, int]]]:
        nonlocal remaining
        if j >= len(cluster.counts):
            yield ways, table
            return
        for further, spread in _spread(tuple(table.values()), cluster.counts[j]):
            remaining -= 1
            if remaining < 0:
                raise TooManyTables
            grown = _grown(table, spread)
            if cluster.consistent(grown):
                yield from completed(ways * further, grown, j + 1)

    yield from completed(1, cluster.start(), 1)


def sampled_tables(cluster: Pieces, rng: random.Random) -> list[tuple[int, dict[Class, int]]]:
    """Random consistent tables, each as likely as its ways, and one weight for all; none when tries run out."""
    tables, weight = [cluster.start()] * POPULATION, WEIGHT_UNIT
    for j in range(1, len(cluster.counts)):
        grown: list[dict[Class, int]] = []
        tries = 0
        while len(grown) <= POPULATION:
            if tries == TRIES:
                return []
            tries += 1
            table = _dropped(rng.choice(tables), cluster.counts[j], rng)
            if cluster.consistent(table):
                grown.append(table)
        tables = grown[:POPULATION]  # the last one is left out, which makes the weight unbiased
        weight = weight * POPULATION // (tries - 1)
    return [(weight, table) for table in tables]


def _rules(
    x: str, counted: Counter[frozenset[str]], earlier: int, there: Counter[frozenset[str]], k: int, m: int
) -> Iterator[_Rule]:
    """The rule of x and an earlier chunk, unless nothing can make that projection k^m-anonymous."""
    support = Counter(y for subrecord in there.elements() for y in subrecord)
    holders = frozenset(number for number, subrecord in enumerate(counted) if x in subrecord)
    rank = (-sum(counted[subrecord] for subrecord in counted if x in subrecord), x)
    pre = frozenset(y for y in support if (-support[y], y) < rank)
    together: dict[frozenset[str], set[int]] = {}
    times: Counter[frozenset[str]] = Counter()
    for number, (subrecord, count) in enumerate(there.items()):
        for size in range(1, m + 1):
            for itemset in map(frozenset, combinations(sorted(subrecord & pre), size)):
                together.setdefault(itemset, set()).add(number)
                times[itemset] += count
    if -rank[0] >= k and all(count >= k for count in times.values()):
        groups = frozenset(frozenset(numbers) for itemset, numbers in together.items() if len(itemset) < m)
        yield _Rule(earlier, holders, groups)


def _anonymous(rule: _Rule, table: ClassCounts, j: int, k: int) -> bool:
    with_x: Counter[int] = Counter()
    for kind, rows in table.items():
        if kind[j] in rule.holders:
            with_x[kind[rule.earlier]] += rows
    return all(not 0 < sum(with_x[number] for number in group) < k for group in rule.groups)


def _spread(rows: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Every way to put so many sub-records of each kind on classes of so many rows, with its labelled placements."""
    if not rows:
        yield 1, ()
        return
    # What this class does not take has to fit on the rows of the classes after it.
    room = sum(rows[1:])
    for ways, taken in _taken(rows[0], counts, sum(counts) - room):
        remaining = tuple(count - used for count, used in zip(counts, taken, strict=True))
        for further, rest in _spread(rows[1:], remaining):
            yield ways * further, (taken, *rest)


def _taken(rows: int, counts: tuple[int, ...], least: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """What rows of one class may take, `least` sub-records or more, with the ways to choose the rows."""
    if not counts:
        if least <= 0:
            yield 1, ()
        return
    for chosen in range(min(rows, counts[0]) + 1):
        if sum(counts[1:]) >= least - chosen:
            for ways, rest in _taken(rows - chosen, counts[1:], least - chosen):
                yield comb(rows, chosen) * ways, (chosen, *rest)


def _grown(table: ClassCounts, spread: Sequence[tuple[int, ...]]) -> dict[Class, int]:
    grown: dict[Class, int] = {}
    for (kind, rows), taken in zip(table.items(), spread, strict=True):
        for number, chosen in enumerate(taken):
            grown[(*kind, number)] = chosen
        grown[(*kind, -1)] = rows - sum(taken)
    return _nonzero(grown)


def _dropped(table: ClassCounts, counts: tuple[int, ...], rng: random.Random) -> dict[Class, int]:
    """A table with one more chunk on rows drawn at random."""
    rows = [kind for kind, count in table.items() for _ in range(count)]
    kinds = [number for number, count in enumerate(counts) for _ in range(count)]
    kinds += [-1] * (len(rows) - len(kinds))
    rng.shuffle(kinds)
    return dict(Counter((*kind, number) for kind, number in zip(rows, kinds, strict=True)))


def _nonzero(table: ClassCounts) -> dict[Class, int]:
    return {kind: rows for kind, rows in table.items() if rows}
