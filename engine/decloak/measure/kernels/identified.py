"""Records that somebody who knows a few items of a person finds with certainty.

A known itemset leads to one record for certain when only one cluster publishes all of its items, and in every
reconstruction of that cluster that agrees with the algorithm, and in which somebody holds it, one record does: that
somebody does is known. Where these are too many to go through, nothing is taken for certain.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from decloak.attack.reconstruction import TooManyTables, consistent_tables, pieces
from decloak.data.disassociated import Cluster, Disassociated
from decloak.measure.kernels.link_probability import link_probabilities

__all__ = ["Identified", "identified"]

TABLES = 2_000
"""Tables of interchangeable rows that a cluster is gone through for at most."""

Itemset = tuple[str, ...]


class Identified(NamedTuple):
    """The numbers of the records that are found, and how many clusters were too large to go through."""

    records: list[int]
    skipped: int


def identified(
    release: Disassociated,
    records: Sequence[Collection[str]],
    truth: Sequence[Sequence[int]],
    knowledge: Iterable[Iterable[str]] | None,
) -> Identified:
    """The records of a release that what is known leads to; None: every pair of items is known.

    `truth` holds, cluster by cluster, the numbers of the records in it.
    """
    places = _places(release)
    joined = {number for joint in release.joints for number in joint.clusters}
    known = None if knowledge is None else [tuple(sorted(set(itemset))) for itemset in knowledge]
    numbers: list[int] = []
    skipped = 0
    for number, cluster in enumerate(release.clusters):
        asked = _asked(number, [records[row] for row in truth[number]], places, known)
        # What lies in shared chunks is not gone through.
        certain = None if asked and number in joined else _certain(cluster, release.k or 2, release.m or 2, asked)
        skipped += certain is None
        numbers += [
            row for row in truth[number] if any(set(itemset).issubset(records[row]) for itemset in certain or ())
        ]
    return Identified(sorted(numbers), skipped)


def _places(release: Disassociated) -> Mapping[str, frozenset[int]]:
    """The clusters that publish each item."""
    places: dict[str, set[int]] = {}
    for number, cluster in enumerate(release.clusters):
        for item in (*cluster.term_chunk, *(item for chunk in cluster.record_chunks for item in chunk.items)):
            places.setdefault(item, set()).add(number)
    for joint in release.joints:
        for item in (item for chunk in joint.shared_chunks for item in chunk.items):
            places.setdefault(item, set()).update(joint.clusters)
    return {item: frozenset(numbers) for item, numbers in places.items()}


def _asked(
    number: int,
    records: Sequence[Collection[str]],
    places: Mapping[str, frozenset[int]],
    known: Sequence[Itemset] | None,
) -> list[Itemset]:
    """The known itemsets that a record of a cluster holds and no other cluster publishes."""
    held = [sorted(record) for record in records]
    itemsets: set[Itemset]
    if known is None:
        itemsets = {pair for record in held for pair in combinations(record, 2)}
    else:
        itemsets = {itemset for itemset in known if any(set(itemset).issubset(record) for record in held)}
    return sorted(
        itemset
        for itemset in itemsets
        if frozenset.intersection(*(places.get(item, frozenset()) for item in itemset)) == {number}
    )


def _certain(cluster: Cluster, k: int, m: int, asked: Sequence[Itemset]) -> list[Itemset] | None:
    """Those that one record at most holds in every reconstruction that agrees; None where these are too many."""
    if not asked:
        return []
    try:
        deque(consistent_tables(pieces(cluster, k, m), TABLES), maxlen=0)
    except TooManyTables:  # before they are sampled, which makes nothing certain
        return None
    links = link_probabilities(cluster, k=k, m=m, itemsets=asked, tables=TABLES)
    return [link.itemset for link in links if link.most == 1]
