"""Inverse transformation: every data set that a cluster may come from, for tiny clusters only.

The sub-records of the first chunk are on the first rows, as published. The sub-records of every other chunk are on any
distinct rows. A term is on any number of rows, at least one. No row is empty. Placements are labelled: two that put a
sub-record on different rows are different.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, combinations, product
from math import comb

from decloak.counting.disassociation_guarantee import ReleaseFault
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated

FEW_PLACEMENTS = 1_000
"""Largest number of placements of a cluster that every check enumerates."""

FEW_ITEMSETS = 5_000_000
"""Largest number of itemsets in all rows of all placements that a check enumerates."""

Parts = Mapping[int, frozenset[str]]
"""The items that a chunk puts on each row."""
Choice = tuple[tuple[tuple[str, ...], range], ...]
"""Sub-records of one chunk: each distinct one, and on how many rows it may be."""


def _reconstructions(cluster: Cluster) -> Iterator[list[frozenset[str]]]:
    """Yield every data set that `cluster` may come from, as the items of each row."""
    first = cluster.record_chunks[0].subrecords[: cluster.size] if cluster.record_chunks else ()
    # Records beyond the sub-records of the first chunk have nothing of it.
    anchor = [*map(frozenset[str], first), *[frozenset[str]()] * (cluster.size - len(first))]
    for placed in product(*(list(_placements(choice, range(cluster.size))) for choice in _choices(cluster))):
        rows = [items.union(*(part.get(row, ()) for part in placed)) for row, items in enumerate(anchor)]
        if all(rows):
            yield rows


def _choices(cluster: Cluster) -> Iterator[Choice]:
    for chunk in cluster.record_chunks[1:]:
        yield tuple((subrecord, range(n, n + 1)) for subrecord, n in Counter(chunk.subrecords).items())
    for term in cluster.term_chunk:
        yield (((term,), range(1, cluster.size + 1)),)


def _placements(choice: Choice, free: range | frozenset[int]) -> Iterator[Parts]:
    if not choice:
        yield {}
        return
    (subrecord, counts), *rest = choice
    for n in counts:
        for chosen in combinations(sorted(free), n):
            for placement in _placements(tuple(rest), frozenset(free).difference(chosen)):
                yield {**placement, **dict.fromkeys(chosen, frozenset(subrecord))}


def guarantee_by_enumeration(cluster: Cluster, *, k: int, m: int) -> list[tuple[tuple[str, ...], int]]:
    """Return the possible itemsets of at most `m` items of `cluster` that reach support `k` in no reconstruction.

    >>> from decloak.data.disassociated import Chunk
    >>> guarantee_by_enumeration(Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",)), k=2, m=2)
    []
    """
    largest: dict[tuple[str, ...], int] = {}
    for rows in _reconstructions(cluster):
        support = Counter(
            itemset for row in rows for size in range(1, m + 1) for itemset in combinations(sorted(row), size)
        )
        for itemset, count in support.items():
            largest[itemset] = max(count, largest.get(itemset, 0))
    return sorted((itemset, most) for itemset, most in largest.items() if most < k)


def _bound_placements(cluster: Cluster) -> int:
    """Return an upper bound of the placements of `cluster`, which stops growing above `FEW_PLACEMENTS`.

    It leaves out that sub-records of one chunk take rows from each other.
    """
    bound = 1
    for _, counts in chain.from_iterable(_choices(cluster)):
        bound *= sum(comb(cluster.size, n) for n in counts)
        if bound > FEW_PLACEMENTS:
            break
    return bound


def enumerated(release: Disassociated, k: int, m: int) -> list[ReleaseFault]:
    """Return the violations of `k` and `m` in the small clusters of `release` outside joint ones, by enumeration."""
    joined = {number for joint in release.joints for number in joint.clusters}
    violations = []
    for number, cluster in enumerate(release.clusters):
        placements = _bound_placements(cluster)
        # Without a placement the cluster comes from no data set, and its other parts may have too many to list.
        if number in joined or not 0 < placements <= FEW_PLACEMENTS:
            continue
        most = len(cluster.items)  # items that a row may have
        itemsets = sum(comb(most, size) for size in range(1, min(m, most) + 1))
        if placements * cluster.size * itemsets > FEW_ITEMSETS:
            continue
        for itemset, support in guarantee_by_enumeration(cluster, k=k, m=m):
            message = f"in nothing that cluster {number} may have been do k records hold {', '.join(itemset)}"
            violations.append(ReleaseFault("enumeration", number, None, itemset, support, message))
    return violations
