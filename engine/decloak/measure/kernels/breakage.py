"""How many records, and how many protected itemsets, an attack on a disassociated release lays open.

Transaction breakage: records that got at least one item they really have. By *row*, the record behind the row itself;
by *class*, as many as a maximum matching of the rows with the records of the same anchor can have right.
k^m breakage: an itemset of 2..m items is protected when fewer than k records hold it and some record holds it across
chunks of its cluster (items of one record chunk are published together; shared chunks are not consulted). It is
exposed by row when such a record was given it, by class when the row of an identical anchor was.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from decloak.data.assignment import Assignment
from decloak.data.disassociated import Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.measure.kernels.reassociation import Records, Truth, added_items, check_truth
from decloak.rules.reassociate.units import classes, rows_of_cluster

__all__ = ["KmBreakage", "TransactionBreakage", "km_breakage", "transaction_breakage"]

Itemset = tuple[str, ...]


class TransactionBreakage(NamedTuple):
    """Records with an item won back, by row and by class, of how many."""

    row: int
    by_class: int
    records: int


class KmBreakage(NamedTuple):
    """Protected itemsets exposed, by row and by class, of how many; an itemset of several records counts once."""

    row: int
    by_class: int
    protected: int


class _Class(NamedTuple):
    """The rows of one anchor: what was added to each, and what their records hold."""

    anchor: Itemset
    added: list[set[str]]
    records: list[frozenset[str]]


def transaction_breakage(
    release: Disassociated, records: Records, truth: Truth, assignments: Iterable[Assignment]
) -> TransactionBreakage:
    """Count the records that got an item they hold."""
    check_truth(release, records, truth)
    rows: list[int] = []
    columns: list[int] = []
    by_row = first = 0
    for _, group in _classes(release, records, truth, assignments):
        by_row += sum(not added.isdisjoint(record) for added, record in zip(group.added, group.records, strict=True))
        for row, added in enumerate(group.added):
            hits = [index for index, record in enumerate(group.records) if not added.isdisjoint(record)]
            rows += [first + row] * len(hits)
            columns += [first + hit for hit in hits]
        first += len(group.records)
    edges = sparse.csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(first, first))
    # Rows are matched with records of their own class only: nobody can tell these apart, and any others can be told.
    matched = int((maximum_bipartite_matching(edges) >= 0).sum()) if rows else 0
    return TransactionBreakage(by_row, matched, len(records))


def _classes(
    release: Disassociated, records: Records, truth: Truth, assignments: Iterable[Assignment]
) -> Iterator[tuple[int, _Class]]:
    """The classes of every cluster, with its number."""
    added = added_items(release, assignments)
    for number, cluster in enumerate(release.clusters):
        rows = rows_of_cluster(cluster)
        for anchor, members in zip(rows.anchors, classes(rows), strict=True):
            held = [frozenset(records[truth[number][row]]) for row in members]
            yield number, _Class(anchor, [added[number][row] for row in members], held)


def km_breakage(
    release: Disassociated, records: Records, truth: Truth, assignments: Iterable[Assignment], *, k: int, m: int
) -> KmBreakage:
    """Count the protected itemsets of at most m items, and those that the attack put together again."""
    check_truth(release, records, truth)
    if k < 1 or m < 1:
        raise DecloakError(f"k is {k} and m is {m}", hint="both are at least 1")
    rare = _rare(records, k, m)
    chunks = [_chunk_of(cluster) for cluster in release.clusters]
    protected = set[Itemset]()
    by_row, by_class = set[Itemset](), set[Itemset]()
    for number, group in _classes(release, records, truth, assignments):
        within = chunks[number]
        for row, record in enumerate(group.records):
            protected.update(_parted(record, m, rare, within))
            by_row.update(_exposed(group, record, group.added[row : row + 1], m, rare, within))
            by_class.update(_exposed(group, record, group.added, m, rare, within))
    return KmBreakage(len(by_row), len(by_class), len(protected))


def _rare(records: Records, k: int, m: int) -> set[Itemset]:
    """Itemsets of 2..m items that fewer than k records hold."""
    support = Counter(itemset for record in records for itemset in _itemsets(record, m))
    return {itemset for itemset, count in support.items() if count < k}


def _itemsets(items: Collection[str], m: int) -> Iterator[Itemset]:
    ascending = sorted(items)
    for size in range(2, m + 1):
        yield from combinations(ascending, size)


def _chunk_of(cluster: Cluster) -> dict[str, int]:
    return {item: j for j, chunk in enumerate(cluster.record_chunks) for item in chunk.items}


def _parted(items: Collection[str], m: int, rare: set[Itemset], chunk_of: Mapping[str, int]) -> Iterator[Itemset]:
    """Rare itemsets of some items that no record chunk shows."""
    for itemset in _itemsets(items, m):
        if itemset in rare:
            chunks = {chunk_of.get(item) for item in itemset}
            if len(chunks) > 1 or None in chunks:
                yield itemset


def _exposed(
    group: _Class,
    record: frozenset[str],
    added: Sequence[set[str]],
    m: int,
    rare: set[Itemset],
    chunk_of: Mapping[str, int],
) -> Iterator[Itemset]:
    """Parted itemsets of a record that lie in its anchor with what was added to some row."""
    for right in {frozenset(more & record) for more in added} - {frozenset()}:
        yield from _parted(right.union(group.anchor), m, rare, chunk_of)
