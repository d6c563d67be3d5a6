"""An order of rows that depends on the structure of a release, not on names of items or on positions of rows.

Equally likely rows have to be taken in some order. The published order would be an order of names: the same data with
other names would give another result. So each item gets a signature: how often it is published, and with the signatures
of which other items, two steps far. Rows are ordered by the signatures of their anchors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from decloak.arrays import Ints
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.rules.reassociate.scores import ClusterCase

__all__ = ["row_orders", "signatures"]

STEPS = 2


def signatures(release: Disassociated) -> dict[str, int]:
    """Return a number for each item, equal for items that `release` publishes in the same way."""
    held: dict[str, list[int]] = {}
    for number, cluster in enumerate(release.clusters):
        for item in cluster.items:
            held.setdefault(item, []).append(number)
    # Each step spreads signatures to the items published together: two steps reach neighbours of neighbours.
    of_item = dict.fromkeys(held, 0)
    for _ in range(STEPS):
        of_cluster = [_of_cluster(cluster, of_item) for cluster in release.clusters]
        of_item = {
            item: hash((of_item[item], tuple(sorted(of_cluster[number].get(item, 0) for number in numbers))))
            for item, numbers in held.items()
        }
    return of_item


def _of_cluster(cluster: Cluster, of_item: Mapping[str, int]) -> dict[str, int]:
    """Return a number for each item of a cluster by what it is published with there."""
    shown = ((_of_items(subrecord, of_item) for subrecord in chunk.subrecords) for chunk in cluster.record_chunks)
    parts = list(map(Counter, shown))
    whole = hash((cluster.size, tuple(map(_of_counts, parts)), _of_items(cluster.term_chunk, of_item)))
    found = {item: hash((whole, 1, of_item[item])) for item in cluster.term_chunk}
    for place, chunk in enumerate(cluster.record_chunks, 2):
        beside: dict[str, list[int]] = {item: [] for item in chunk.items}
        for subrecord in chunk.subrecords:
            together = _of_items(subrecord, of_item)
            for item in subrecord:
                beside[item].append(together)
        found |= {item: hash((whole, place, of_item[item], tuple(sorted(also)))) for item, also in beside.items()}
    return found


def _of_items(items: Iterable[str], of_item: Mapping[str, int]) -> int:
    return hash(tuple(sorted(of_item[item] for item in items)))


def _of_counts(counts: Mapping[int, int]) -> int:
    return hash(tuple(sorted(counts.items())))


def row_orders(cases: Sequence[ClusterCase], of_item: Mapping[str, int]) -> list[Ints]:
    """Return the rows of each of `cases` in the order of what they show, by the signatures `of_item`; equal rows are
    shuffled.
    """
    orders: list[Ints] = []
    for case in cases:
        sizes = Counter(case.rows.of_row)
        shown = [hash((_of_items(anchor, of_item), sizes[at])) for at, anchor in enumerate(case.rows.anchors)]
        seen: Counter[int] = Counter()
        keys = []
        for anchor in case.rows.of_row:
            seen[anchor] += 1
            keys.append((shown[anchor], anchor, hash((shown[anchor], seen[anchor]))))
        orders.append(np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64))
    return orders
