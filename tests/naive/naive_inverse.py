"""Every data set that a few clusters may come from, joint ones too: what the check of single clusters is compared with.

The rows are the rows of the clusters in order. The sub-records of a cluster's first chunk are on its first rows, as
published. The sub-records of every other chunk are on any distinct rows. A term is on any number of rows, at least one.
A sub-record of a shared chunk may be on any row whose cluster publishes none of its items elsewhere. No row is empty.
Placements are labelled: two that put a sub-record on different rows are different.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import comb, prod

from decloak.counting.disassociation_guarantee import inner_joints, items_published_by
from decloak.data.disassociated import Chunk, Cluster, JointCluster
from decloak.errors import DecloakError

MOST_PLACEMENTS = 2_000_000
"""Largest number of placements, including placements with an empty row."""

Rows = tuple[frozenset[str], ...]
Parts = Mapping[int, frozenset[str]]
"""The items that a chunk puts on each row."""
Choice = tuple[tuple[tuple[str, ...], tuple[int, ...], range], ...]
"""Sub-records of one chunk: each distinct one, the rows it may be on, and its multiplicity."""


def reconstructions(clusters: Sequence[Cluster], joints: Sequence[JointCluster] = ()) -> Iterator[Rows]:
    """Yield every data set that `clusters` with `joints` may come from, as the items of each row.

    >>> one = Cluster(2, (Chunk(("a",), (("a",), ("a",))), Chunk(("b",), (("b",),))), ())
    >>> [[sorted(row) for row in rows] for rows in reconstructions([one])]
    [[['a', 'b'], ['a']], [['a'], ['a', 'b']]]
    """
    starts = [sum(cluster.size for cluster in clusters[:number]) for number in range(len(clusters) + 1)]
    rows = [range(*both) for both in pairwise(starts)]
    choices = [
        choice for cluster, rows_here in zip(clusters, rows, strict=True) for choice in _of_cluster(cluster, rows_here)
    ]
    for joint, inner in zip(joints, inner_joints(joints), strict=True):
        elsewhere = {number: items_published_by(number, clusters, inner) for number in joint.clusters}
        choices += [_of_shared(chunk, rows, elsewhere) for chunk in joint.shared_chunks]
    if prod(map(_ways, choices)) > MOST_PLACEMENTS:
        raise DecloakError("too many reconstructions to enumerate", hint="enumerate clusters of a few records only")
    for placed in _chosen(choices):
        reconstruction = tuple(frozenset().union(*(part.get(row, ()) for part in placed)) for row in range(starts[-1]))
        if all(reconstruction):
            yield reconstruction


def _of_cluster(cluster: Cluster, rows: range) -> Iterator[Choice]:
    for number, chunk in enumerate(cluster.record_chunks):
        if number == 0:
            # Records beyond the sub-records of the first chunk have nothing of it.
            for row, subrecord in zip(rows, chunk.subrecords, strict=False):
                yield ((subrecord, (row,), range(1, 2)),)
        else:
            yield tuple((subrecord, tuple(rows), range(n, n + 1)) for subrecord, n in Counter(chunk.subrecords).items())
    for term in cluster.term_chunk:
        yield (((term,), tuple(rows), range(1, len(rows) + 1)),)


def _of_shared(chunk: Chunk, rows: Sequence[range], elsewhere: Mapping[int, frozenset[str]]) -> Choice:
    def free(subrecord: Sequence[str]) -> tuple[int, ...]:
        return tuple(row for number, items in elsewhere.items() if items.isdisjoint(subrecord) for row in rows[number])

    return tuple((subrecord, free(subrecord), range(n, n + 1)) for subrecord, n in Counter(chunk.subrecords).items())


def _ways(choice: Choice) -> int:
    return prod(sum(comb(len(rows), n) for n in counts) for _, rows, counts in choice)


def _chosen(choices: Sequence[Choice]) -> Iterator[list[Parts]]:
    if not choices:
        yield []
        return
    for part in _placements(choices[0], frozenset()):
        for parts in _chosen(choices[1:]):
            yield [part, *parts]


def _placements(choice: Choice, taken: frozenset[int]) -> Iterator[Parts]:
    if not choice:
        yield {}
        return
    (subrecord, rows, counts), *rest = choice
    for n in counts:
        for chosen in combinations([row for row in rows if row not in taken], n):
            for placement in _placements(tuple(rest), taken.union(chosen)):
                yield {**placement, **dict.fromkeys(chosen, frozenset(subrecord))}


def largest_supports(
    clusters: Sequence[Cluster], m: int, joints: Sequence[JointCluster] = ()
) -> dict[tuple[str, ...], int]:
    """Return for every itemset of at most `m` items in a reconstruction of `clusters` with `joints` its largest support
    in one.
    """
    largest: dict[tuple[str, ...], int] = {}
    for rows in reconstructions(clusters, joints):
        support = Counter(
            itemset for row in rows for size in range(1, m + 1) for itemset in combinations(sorted(row), size)
        )
        for itemset, count in support.items():
            largest[itemset] = max(count, largest.get(itemset, 0))
    return largest


def guarantee_by_enumeration(cluster: Cluster, *, k: int, m: int) -> list[tuple[tuple[str, ...], int]]:
    """Return the possible itemsets of at most `m` items of `cluster` that reach support `k` in no reconstruction.

    >>> guarantee_by_enumeration(Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",)), k=2, m=2)
    []
    """
    return sorted((itemset, most) for itemset, most in largest_supports([cluster], m).items() if most < k)
