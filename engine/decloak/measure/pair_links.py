"""The guarantee against pairs of items: a known pair finds its record with a probability of at most 1/k.

s is the number of records of a reconstruction that have the known itemset. The attacker finds the right record with
probability 1/s. E[1/s] is the mean over the reconstructions that have the itemset, where labelled placements are
equally likely. There are two means: over all reconstructions that the release allows (a term is on 1..n rows), and over
reconstructions that agree with the algorithm (a term is on 1..k-1 rows; see decloak.attacker.reconstruction).
Disassociation guarantees that s >= k in one of them; a probability above 1/k is allowed by this guarantee.

No row may stay empty, which inclusion and exclusion count: over the rows that are forced to stay empty, with
alternating signs. `ways[s]` is a number of placements by s. A further chunk lies on n rows of which s have the rest of
the itemset. With t sub-records that have the chunk's part, s' of these rows remain in C(s, s') C(n-s, t-s') / C(n, t)
of the chunk's placements.

All counts are exact integers. For large clusters the algorithm-consistent ones are sampled in BATCHES independent
populations, whose spread gives the standard error of a ratio of means.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, factorial, perm, prod, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.attacker.reconstruction import (
    MOST_TABLES,
    ClassCounts,
    Pieces,
    TooManyTables,
    consistent_tables,
    pieces,
    sampled_tables,
)
from decloak.checks import check_km
from decloak.counting.guarantees import Disassociation
from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError

__all__ = ["PairLinks", "algorithm_ways", "link_probabilities", "released_ways", "risky_pairs"]


@dataclass(frozen=True)
class PairLinks(Disassociation):
    """A guarantee about pairs, which disassociation does not give. It is checked for an attacker without the algorithm,
    and for one with the algorithm.
    """

    columns: ClassVar = ("cluster", "itemset", "by the release", "knowing the algorithm", "standard error")
    parts: ClassVar = ("violations",)

    @property
    def statement(self) -> str:
        return f"k = {self.k}"

    def violations(self, release: Disassociated) -> Iterable[tuple[object, ...]]:
        surer = risky_pairs(replace(release, k=self.k, m=self.m))
        rows = [(number, link.itemset, link.release, link.algorithm, link.error) for number, link in surer]
        return sorted(rows, key=lambda row: (-max(row[2] or 0, row[3] or 0), row[0], row[1]))


BATCHES = 20

Ways = list[int]
"""The number of placements in which 0, 1, ... n rows have an itemset."""

Tally = Counter[tuple[int, int]]
"""Ways of tables by the rows that have an itemset and the rows without any sub-record."""


class LinkProbability(NamedTuple):
    """E[1/s] of an itemset; None if every reconstruction lacks it, or if the sample has no consistent one.

    `least` and `most` are the extremes of s among the reconstructions that agree. If these were sampled, `error` is the
    standard error of `algorithm`, and the extremes are those seen; if it is None, all is exact.
    """

    itemset: tuple[str, ...]
    release: float | None
    algorithm: float | None
    error: float | None
    least: int
    most: int


def link_probabilities(
    cluster: Cluster,
    *,
    k: int,
    m: int,
    itemsets: Iterable[Iterable[str]] | None = None,
    empty_rows: bool = False,
    seed: int = 0,
    tables: int = MOST_TABLES,
) -> list[LinkProbability]:
    """Return E[1/s] of these `itemsets`, or of every pair of items that may occur in the `cluster`.

    `k` and `m` are the parameters of the algorithm. `empty_rows` allows rows without any item, as in a cluster whose
    records shared chunks may fill. Beyond `tables` tables of interchangeable rows the consistent reconstructions are
    sampled with `seed`.

    >>> chunks = (Chunk(("a", "b"), (("a",), ("a", "b"), ("a", "b"))), Chunk(("e",), (("e",), ("e",))))
    >>> link_probabilities(Cluster(3, chunks, ()), k=2, m=2, itemsets=[("b", "e")])[0]
    LinkProbability(itemset=('b', 'e'), release=0.8333333333333334, algorithm=1.0, error=None, least=1, most=1)
    """
    check_km(k, m)
    _check_rows(cluster)
    chosen, terms = _itemsets(cluster, itemsets), frozenset(cluster.term_chunk)
    # Itemsets of one kind have equal probabilities, so one of them is computed.
    kinds = {_kind(itemset, terms): itemset for itemset in chosen}
    batches = algorithm_ways(cluster, list(kinds.values()), k=k, m=m, empty_rows=empty_rows, seed=seed, tables=tables)
    chances = {
        kind: _chances(released_ways(cluster, itemset, empty_rows=empty_rows), by_batch)
        for (kind, itemset), by_batch in zip(kinds.items(), batches, strict=True)
    }
    probabilities = [chances[_kind(itemset, terms)]._replace(itemset=tuple(sorted(itemset))) for itemset in chosen]
    return [probability for probability in probabilities if itemsets is not None or probability.release is not None]


def risky_pairs(release: Disassociated) -> list[tuple[int, LinkProbability]]:
    """Return the pairs of items in `release` with a link probability above 1/k, each with the number of its cluster."""
    if release.k is None or release.m is None:
        raise DecloakError("the release does not say its k and m", release.origin, "write them in its header")
    k, m = release.k, release.m
    shared = {number for joint in release.joints for number in joint.clusters}
    risky = []
    cured = release.cover is not None
    for number, cluster in enumerate(release.clusters):
        # A seed by cluster: the samples of one do not depend on how many others take.
        pairs = link_probabilities(cluster, k=k, m=m, empty_rows=cured or number in shared, seed=number)
        if cured:  # an attacker may assume nothing of the order of items
            pairs = [pair._replace(algorithm=None, error=None) for pair in pairs]
        # By more than the rounding of a float, because the release guarantees 1/k itself.
        risky += [(number, pair) for pair in pairs if max(pair.release or 0, pair.algorithm or 0) > 1 / k + 1e-9]
    return risky


def _check_rows(cluster: Cluster) -> None:
    longest = max((len(chunk.subrecords) for chunk in cluster.record_chunks), default=0)
    if longest > cluster.size:
        problem = f"a chunk of {longest} sub-records in a cluster of {cluster.size} records"
        raise DecloakError(problem, hint="each record has one sub-record of a chunk at most")


def _kind(itemset: frozenset[str], terms: frozenset[str]) -> tuple[frozenset[str], int]:
    """Return the properties that decide the probabilities of an itemset: all terms are equal."""
    return itemset - terms, len(itemset & terms)


def _chances(released: Ways, batches: Sequence[Ways]) -> LinkProbability:
    mean, error = _mean(batches)
    seen = [s for s in range(len(released)) if any(ways[s] for ways in batches)]
    return LinkProbability((), _mean([released])[0], mean, error, min(seen, default=0), max(seen, default=0))


def released_ways(cluster: Cluster, itemset: Iterable[str], *, empty_rows: bool = False) -> Ways:
    """Return the placements of a `cluster` that the release allows, by the number of rows that have the `itemset`.

    `empty_rows` allows rows without any item. The sum is the number of all placements.
    """
    items, n = frozenset(itemset), cluster.size
    chunks = [(chunk, _subrecords_with(chunk, items)) for chunk in cluster.record_chunks]
    longest = max((len(chunk.subrecords) for chunk, _ in chunks), default=0)
    # Terms are interchangeable: only the number of known terms matters.
    terms, inside = len(cluster.term_chunk), len(items.intersection(cluster.term_chunk))
    total = [0] * (n + 1)
    # The longest chunk fills a row with each sub-record, so no more rows can be empty.
    for empty in range(1 if empty_rows else n - longest + 1):
        rows = n - empty
        ways = _start(rows, rows if items <= _items(cluster) else 0)
        for chunk, holders in chunks:
            ways = _lay_chunk(ways, _placements(chunk, rows), holders)
        for s, count in enumerate(_lay_terms(ways, inside, terms - inside, rows)):
            # All rows have the itemset without items, the empty ones too.
            total[s if items else n] += (-1) ** empty * comb(n, empty) * count
    # Placements of chunk 0 are all the same release, so that they are divided out.
    anchored = _placements(chunks[0][0], n) if chunks else 1  # chunk 0 lies as published
    return [count // anchored for count in total]


def algorithm_ways(
    cluster: Cluster,
    itemsets: Sequence[frozenset[str]],
    *,
    k: int,
    m: int,
    empty_rows: bool = False,
    seed: int = 0,
    tables: int = MOST_TABLES,
) -> list[list[Ways]]:
    """Return for each of `itemsets` the placements of a `cluster` that agree with the algorithm.

    There is one list if they are exact, or BATCHES lists of samples. `k`, `m`, `empty_rows`, `seed` and `tables` are
    the parameters of `link_probabilities`.
    """
    apart = pieces(cluster, k, m)
    terms = frozenset(cluster.term_chunk)
    parts = list(dict.fromkeys(itemset - terms for itemset in itemsets))
    try:
        batches = [_tallies(apart, parts, consistent_tables(apart, tables))]
    except TooManyTables:
        rng = random.Random(seed)
        batches = [_tallies(apart, parts, sampled_tables(apart, rng)) for _ in range(BATCHES)]
    number_of = {part: number for number, part in enumerate(parts)}
    completed = []
    for itemset in itemsets:
        inside = len(itemset & terms)
        shape = (cluster.size, inside, len(terms) - inside, k - 1, empty_rows)
        completed.append([_with_terms(tallies[number_of[itemset - terms]], *shape) for tallies in batches])
    return completed


def _tallies(apart: Pieces, parts: Sequence[frozenset[str]], tables: Iterable[tuple[int, ClassCounts]]) -> list[Tally]:
    """Return the ways of tables for each part, by the rows that have it and the rows without any sub-record."""
    columns, items = _columns(apart), _code(apart, parts)
    by_supports: Counter[tuple[int, bytes]] = Counter()
    for ways, table in tables:
        classes, rows = np.array(list(table), np.int64), np.fromiter(table.values(), np.int64)
        holds = np.hstack([*(column[classes[:, j]] for j, column in enumerate(columns)), _edges(len(rows))])
        supports = rows @ holds[:, items].all(axis=2)
        empty = int(rows[(classes < 0).all(axis=1)].sum())
        by_supports[empty, supports.tobytes()] += ways
    tallies: list[Tally] = [Counter() for _ in parts]
    for (empty, supports_of), ways in by_supports.items():
        for tally, s in zip(tallies, np.frombuffer(supports_of, np.int64).tolist(), strict=True):
            tally[s, empty] += ways
    return tallies


def _columns(apart: Pieces) -> list[Mask]:
    """Return for each chunk the items of each distinct sub-record; the last row is the empty sub-record."""
    return [
        np.array([[item in subrecord for item in sorted(_union(kinds))] for subrecord in (*kinds, frozenset())], bool)
        for kinds in apart.distinct
    ]


def _code(apart: Pieces, parts: Sequence[frozenset[str]]) -> Ints:
    """Return the columns of the items of each part, padded with one that is always true; unknown
    items are never true.
    """
    names = [item for kinds in apart.distinct for item in sorted(_union(kinds))]
    place = {item: column for column, item in enumerate(names)}
    never, always = len(names), len(names) + 1
    longest = max(map(len, parts), default=0)
    rows = [[place.get(item, never) for item in part] + [always] * (longest - len(part)) for part in parts]
    return np.array(rows, np.int64).reshape(len(parts), longest)


def _edges(rows: int) -> Mask:
    return np.tile(np.array([False, True]), (rows, 1))


def _with_terms(tally: Tally, n: int, inside: int, outside: int, most: int, empty_rows: bool) -> Ways:
    """Lay the terms on the rows: every empty row must get one."""
    total = [0] * (n + 1)
    for (s, empty), ways in tally.items():
        for holding, count in _termed_rows(n, s, 0 if empty_rows else empty, inside, outside, most):
            total[holding] += ways * count
    return total


@lru_cache(maxsize=10_000)
def _termed_rows(n: int, s: int, empty: int, inside: int, outside: int, most: int) -> tuple[tuple[int, int], ...]:
    total = [0] * (n + 1)
    for forced in range(empty + 1):
        rows = n - forced
        ways = _lay_terms(_start(rows, min(s, rows)), inside, outside, most)  # s = n: the itemset is terms only
        for holding, count in enumerate(ways):
            # Without a known term, terms leave the rows with the itemset as they are.
            total[holding if inside else s] += (-1) ** forced * comb(empty, forced) * count
    return tuple((holding, count) for holding, count in enumerate(total) if count)


def _start(rows: int, s: int) -> Ways:
    return [int(holding == s) for holding in range(rows + 1)]


def _lay_chunk(ways: Ways, placements: int, holders: int | None) -> Ways:
    """Lay a chunk with `placements` labelled placements; None means that it has no item of the itemset."""
    rows = len(ways) - 1
    if holders is None:
        return [count * placements for count in ways]
    # Each choice of rows for this part of the itemset has equally many placements.
    each = placements // comb(rows, holders)
    laid = [0] * (rows + 1)
    for s, count in enumerate(ways):
        for kept in range(min(s, holders) + 1 if count else 0):
            laid[kept] += count * comb(s, kept) * comb(rows - s, holders - kept) * each
    return laid


def _lay_terms(ways: Ways, inside: int, outside: int, most: int) -> Ways:
    """Lay terms on 1..most rows each, `inside` of them in the itemset."""
    rows = len(ways) - 1
    sizes = range(1, min(most, rows) + 1)
    for _ in range(inside):
        layers = [_lay_chunk(ways, comb(rows, size), size) for size in sizes]
        ways = [sum(layer[s] for layer in layers) for s in range(rows + 1)]
    return _lay_chunk(ways, sum(comb(rows, size) for size in sizes) ** outside, None)


def _placements(chunk: Chunk, rows: int) -> int:
    """Return the number of distinct maps from rows to the sub-records of a chunk."""
    counts = Counter(chunk.subrecords).values()
    return perm(rows, len(chunk.subrecords)) // prod(map(factorial, counts))


def _subrecords_with(chunk: Chunk, itemset: frozenset[str]) -> int | None:
    """Return the number of sub-records with the chunk's part of the itemset, or None if the chunk lacks it."""
    part = itemset.intersection(chunk.items)
    return sum(part.issubset(subrecord) for subrecord in chunk.subrecords) if part else None


def _itemsets(cluster: Cluster, itemsets: Iterable[Iterable[str]] | None) -> list[frozenset[str]]:
    chosen = combinations(sorted(_items(cluster)), 2) if itemsets is None else itemsets
    return list(map(frozenset, chosen))


def _items(cluster: Cluster) -> frozenset[str]:
    return frozenset(cluster.term_chunk).union(*(chunk.items for chunk in cluster.record_chunks))


def _union(subrecords: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*subrecords)


def _mean(batches: Sequence[Ways]) -> tuple[float | None, float | None]:
    """Return E[1/s] over the placements with s >= 1, and the standard error over several batches."""
    held = [sum(ways[1:]) for ways in batches]
    number, all_held = len(batches), sum(held)
    if not all_held:
        return None, None
    chance = [sum((Fraction(count, s) for s, count in enumerate(ways) if count and s), Fraction()) for ways in batches]
    mean = sum(chance, Fraction()) / all_held
    if number == 1:
        return float(mean), None
    away = [float((total - mean * weight) * number / all_held) for total, weight in zip(chance, held, strict=True)]
    return float(mean), sqrt(sum(deviation * deviation for deviation in away) / (number * (number - 1)))
