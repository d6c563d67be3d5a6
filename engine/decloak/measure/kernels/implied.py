"""Whom two known items tell a third of, in a disassociated release.

Who knows two items of a person looks at every cluster that may hold both: of one chunk, if a sub-record has both; of
different chunks, if each has one. In such a cluster the items are followed by all that the sub-records which hold them
have in common; a third item is implied where it follows in every cluster that may hold the two.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain, combinations

from decloak.data.disassociated import Cluster, Disassociated

__all__ = ["implied_in_chunks"]

Pair = tuple[str, str]


def implied_in_chunks(release: Disassociated, known: Iterable[tuple[int, Iterable[str]]]) -> int:
    """Of how many people two known items imply a third, given the cluster and the known items of each.

    >>> from decloak.data.disassociated import Chunk
    >>> chunk = Chunk(("a", "b", "c"), (("a", "b", "c"), ("a", "b", "c")))
    >>> implied_in_chunks(Disassociated((Cluster(2, (chunk,), ()),)), [(0, ["a", "b"]), (0, ["a", "d"])])
    1
    """
    clusters = _Clusters(release)
    verdicts: dict[Pair, bool] = {}

    def told(cluster: int, pair: Pair) -> bool:
        if pair not in verdicts:
            verdicts[pair] = clusters.implies(pair, cluster)
        return verdicts[pair]

    return sum(any(told(cluster, pair) for pair in combinations(sorted(set(items)), 2)) for cluster, items in known)


class _Clusters:
    """Clusters by what they publish."""

    def __init__(self, release: Disassociated) -> None:
        shared: list[set[str]] = [set() for _ in release.clusters]
        for joint in release.joints:
            for number in joint.clusters:
                shared[number].update(item for chunk in joint.shared_chunks for item in chunk.items)
        self._having: dict[str, set[int]] = {}
        for number, (cluster, others) in enumerate(zip(release.clusters, shared, strict=True)):
            for item in chain(*(chunk.items for chunk in cluster.record_chunks), cluster.term_chunk, others):
                self._having.setdefault(item, set()).add(number)
        self._chunks = cache(lambda number: _chunks(release.clusters[number]))
        self._beside = cache(
            lambda number, item: _common(self._chunks(number).get(item, [frozenset((item,))]), (item,))
        )
        self._follow = cache(self._followed)

    def implies(self, pair: Pair, first: int) -> bool:
        """Whether a third item follows from two wherever they may be, a cluster that may hold both first."""
        one, other = (self._having.get(item, set()) for item in pair)
        common = self._follow(first, pair) if first in one and first in other else None
        if common is not None and not common:
            return False  # most pairs tell of nothing there already
        for number in sorted(one & other - {first}):
            following = self._follow(number, pair)
            if following is not None:
                common = following if common is None else common & following
                if not common:
                    return False
        return bool(common)

    def _followed(self, number: int, pair: Pair) -> frozenset[str] | None:
        """What follows from two items in a cluster, None where it cannot hold both."""
        chunks = self._chunks(number)
        if (chunk := chunks.get(pair[0])) is not None and chunk is chunks.get(pair[1]):
            following = _common(chunk, pair)
        else:
            first, second = (self._beside(number, item) for item in pair)
            following = None if first is None or second is None else first | second
        return None if following is None else following.difference(pair)


def _common(chunk: Iterable[frozenset[str]], items: tuple[str, ...]) -> frozenset[str] | None:
    """What all sub-records have that have some items, None where none has them."""
    holding = [subrecord for subrecord in chunk if subrecord.issuperset(items)]
    return frozenset.intersection(*holding) if holding else None


def _chunks(cluster: Cluster) -> Mapping[str, list[frozenset[str]]]:
    """The sub-records of the chunk of every item; terms, and items of shared chunks, tell of nothing else."""
    chunks: dict[str, list[frozenset[str]]] = {}
    for chunk in cluster.record_chunks:
        subrecords = list(dict.fromkeys(map(frozenset, chunk.subrecords)))
        chunks |= dict.fromkeys(chunk.items, subrecords)
    return chunks
