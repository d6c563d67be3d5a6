"""Reconstructions of one cluster: all ways to combine its record chunks that the disassociation algorithm could have
published.

n: records of the cluster, its rows. Chunk 0 lies on the first rows as published; a placement puts each sub-record of
the other chunks on a row of its own. It is consistent when for every x of chunk j and every l < j the projection on pre
+ x is not k^m-anonymous. Here pre is the set of items of chunk l that the algorithm took before x (by support, then
name). Otherwise the algorithm would have published x in chunk l.

Rows with the same sub-record of every chunk so far are interchangeable. A *class* is such a set of rows, written as the
numbers of their distinct sub-records, -1 for none. A *table* is the classes with the number of rows of each. The `ways`
of a table count its labelled placements (distinct maps from rows to sub-records). Enumeration walks over tables, and
leaves a table as soon as a chunk contradicts the algorithm.

Beyond MOST_TABLES decloak samples: a population of tables takes one chunk after the other at random, and tries again
where the algorithm is contradicted. The tries estimate the share of consistent placements.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from decloak.data.content import Cluster

MOST_TABLES = 20_000
"""Tables to walk over at most, about a second of work."""

POPULATION, TRIES = 100, 10_000
WEIGHT_UNIT = 1 << 200
"""Unit of the weight of a sampled table: weights are whole numbers, so that sums with huge counts stay exact."""

Class = tuple[int, ...]
ClassCounts = Mapping[Class, int]


class TooManyTables(Exception):
    """Error for a cluster whose enumeration would take too long."""


class _OrderRule(NamedTuple):
    """Constraint from the algorithm for x and an earlier chunk: some group must lie 1..k-1 times on rows with x.

    `holders` are the sub-records of x's chunk that contain x. A group is the sub-records of the earlier chunk that
    contain some itemset of at most m-1 items of pre.
    """

    earlier: int
    holders: frozenset[int]
    groups: frozenset[frozenset[int]]


class Pieces(NamedTuple):
    """A cluster as distinct sub-records by chunk, the count of each, and the constraints of each chunk."""

    rows: int
    k: int
    distinct: tuple[tuple[frozenset[str], ...], ...]
    counts: tuple[tuple[int, ...], ...]
    rules: tuple[tuple[_OrderRule, ...], ...]

    def start(self) -> dict[Class, int]:
        """Return the table that has chunk 0 only; without chunks it has one class of all rows."""
        if not self.counts:
            return {(): self.rows}
        taken: dict[Class, int] = {(number,): count for number, count in enumerate(self.counts[0])}
        return _nonzero(taken | {(-1,): self.rows - sum(self.counts[0])})

    def consistent(self, table: ClassCounts) -> bool:
        """Return True if the last chunk placed in `table` agrees with the algorithm."""
        j = len(next(iter(table))) - 1
        return not any(_anonymous(rule, table, j, self.k) for rule in self.rules[j])


def pieces(cluster: Cluster, k: int, m: int, *, cured: bool = False) -> Pieces:
    """Return `cluster` as pieces, with the constraints of an algorithm with parameters `k` and `m`.

    The constraints do not hold for a cluster that is `cured` of cover problems.
    """
    counted = [Counter(map(frozenset, chunk.subrecords)) for chunk in cluster.record_chunks]
    distinct = tuple(tuple(counter) for counter in counted)
    rules = tuple(
        tuple(
            rule
            for x in sorted(frozenset[str]().union(*distinct[j]))
            for earlier in range(0 if cured else j)
            for rule in _rules_for(x, counted[j], earlier, counted[earlier], k, m)
        )
        for j in range(len(counted))
    )
    return Pieces(cluster.size, k, distinct, tuple(tuple(counter.values()) for counter in counted), rules)


def consistent_tables(cluster: Pieces, most: int = MOST_TABLES) -> Iterator[tuple[int, dict[Class, int]]]:
    """Yield every table of `cluster` that the algorithm could have published, with its ways.

    Raise TooManyTables after `most` tables.
    """
    remaining = most

    # A generator, because callers stop early: a contradiction in chunk 1 saves all tables of later chunks.
    def completed(ways: int, table: dict[Class, int], j: int) -> Iterator[tuple[int, dict[Class, int]]]:
        nonlocal remaining
        if j >= len(cluster.counts):
            yield ways, table
            return
        for further, spread in _spreads(tuple(table.values()), cluster.counts[j]):
            remaining -= 1
            if remaining < 0:
                raise TooManyTables
            grown = _add_chunk(table, spread)
            if cluster.consistent(grown):
                yield from completed(ways * further, grown, j + 1)

    yield from completed(1, cluster.start(), 1)


def sampled_tables(cluster: Pieces, rng: random.Random) -> list[tuple[int, dict[Class, int]]]:
    """Return random consistent tables of `cluster`, each as likely as its ways, with one weight for all.

    `rng` draws them. The list is empty if the tries run out.
    """
    tables, weight = [cluster.start()] * POPULATION, WEIGHT_UNIT
    for j in range(1, len(cluster.counts)):
        grown: list[dict[Class, int]] = []
        tries = 0
        while len(grown) <= POPULATION:
            if tries == TRIES:
                return []
            tries += 1
            table = _add_chunk_randomly(rng.choice(tables), cluster.counts[j], rng)
            if cluster.consistent(table):
                grown.append(table)
        tables = grown[:POPULATION]  # the last one is left out, which makes the weight unbiased
        weight = weight * POPULATION // (tries - 1)
    return [(weight, table) for table in tables]


def _rules_for(
    x: str, counted: Counter[frozenset[str]], earlier: int, there: Counter[frozenset[str]], k: int, m: int
) -> Iterator[_OrderRule]:
    """Yield the constraint of x and an earlier chunk, unless nothing can make that projection k^m-anonymous."""
    support = Counter(y for subrecord in there.elements() for y in subrecord)
    holders = frozenset(number for number, subrecord in enumerate(counted) if x in subrecord)
    # The algorithm takes items in the order of support, then name: the rank repeats this order.
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
        yield _OrderRule(earlier, holders, groups)


def _anonymous(rule: _OrderRule, table: ClassCounts, j: int, k: int) -> bool:
    with_x: Counter[int] = Counter()
    for kind, rows in table.items():
        if kind[j] in rule.holders:
            with_x[kind[rule.earlier]] += rows
    return all(not 0 < sum(with_x[number] for number in group) < k for group in rule.groups)


def _spreads(rows: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Yield every way to put the sub-records on classes of these numbers of rows, with its number of labelled
    placements.
    """
    if not rows:
        yield 1, ()
        return
    # What this class does not take has to fit on the rows of the classes after it.
    room = sum(rows[1:])
    for ways, taken in _choose_rows(rows[0], counts, sum(counts) - room):
        remaining = tuple(count - used for count, used in zip(counts, taken, strict=True))
        for further, rest in _spreads(rows[1:], remaining):
            yield ways * further, (taken, *rest)


def _choose_rows(rows: int, counts: tuple[int, ...], least: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the sub-records that rows of one class may take, `least` or more in all, with the ways
    to choose the rows.
    """
    if not counts:
        if least <= 0:
            yield 1, ()
        return
    for chosen in range(min(rows, counts[0]) + 1):
        if sum(counts[1:]) >= least - chosen:
            for ways, rest in _choose_rows(rows - chosen, counts[1:], least - chosen):
                yield comb(rows, chosen) * ways, (chosen, *rest)


def _add_chunk(table: ClassCounts, spread: Sequence[tuple[int, ...]]) -> dict[Class, int]:
    grown: dict[Class, int] = {}
    for (kind, rows), taken in zip(table.items(), spread, strict=True):
        for number, chosen in enumerate(taken):
            grown[(*kind, number)] = chosen
        grown[(*kind, -1)] = rows - sum(taken)
    return _nonzero(grown)


def _add_chunk_randomly(table: ClassCounts, counts: tuple[int, ...], rng: random.Random) -> dict[Class, int]:
    """Return a table with one more chunk on rows drawn at random."""
    rows = [kind for kind, count in table.items() for _ in range(count)]
    kinds = [number for number, count in enumerate(counts) for _ in range(count)]
    kinds += [-1] * (len(rows) - len(kinds))
    # A random permutation of sub-records over rows is a random labelled placement.
    rng.shuffle(kinds)
    return dict(Counter((*kind, number) for kind, number in zip(rows, kinds, strict=True)))


def _nonzero(table: ClassCounts) -> dict[Class, int]:
    return {kind: rows for kind, rows in table.items() if rows}
