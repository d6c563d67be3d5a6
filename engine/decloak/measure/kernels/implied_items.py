"""People for whom two known items imply a third, in a disassociated release.

An attacker who knows two items of a person considers every cluster that may have both. In one chunk, a sub-record must
have both. In different chunks, each must have one. In such a cluster the two items imply all items that the sub-records
with them have in common. A third item is implied if it follows in every cluster that may have the two.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain, combinations

from decloak.data.disassociated import Cluster, Disassociated

__all__ = ["implied_in_chunks"]

Pair = tuple[str, str]


def implied_in_chunks(
    release: Disassociated, known: Iterable[tuple[int | None, Iterable[str]]], *, outside: bool = False
) -> int:
    """Return the number of people for whom two known items imply a third.

    `release` is the disassociated release; `known` has the cluster and the known items of each person. People
    `outside` the data have no cluster: for them the third must be one of their items.

    >>> from decloak.data.disassociated import Chunk
    >>> chunk = Chunk(("a", "b", "c"), (("a", "b", "c"), ("a", "b", "c")))
    >>> implied_in_chunks(Disassociated((Cluster(2, (chunk,), ()),)), [(0, ["a", "b"]), (0, ["a", "d"])])
    1
    """
    clusters = _Clusters(release)
    verdicts: dict[Pair, frozenset[str]] = {}

    def is_implied(cluster: int | None, pair: Pair, own: frozenset[str]) -> bool:
        if pair not in verdicts:
            verdicts[pair] = clusters.implied(pair, cluster)
        return not verdicts[pair].isdisjoint(own) if outside else bool(verdicts[pair])

    return sum(
        any(is_implied(cluster, pair, own) for pair in combinations(sorted(own), 2))
        for cluster, own in ((cluster, frozenset(items)) for cluster, items in known)
    )


class _Clusters:
    """Clusters indexed by their published items."""

    def __init__(self, release: Disassociated) -> None:
        shared: list[set[str]] = [set() for _ in release.clusters]
        for joint in release.joints:
            for number in joint.clusters:
                shared[number].update(item for chunk in joint.shared_chunks for item in chunk.items)
        self._clusters_with: dict[str, set[int]] = {}
        for number, (cluster, others) in enumerate(zip(release.clusters, shared, strict=True)):
            for item in chain(*(chunk.items for chunk in cluster.record_chunks), cluster.term_chunk, others):
                self._clusters_with.setdefault(item, set()).add(number)
        # Most pairs are decided by a few clusters, so that clusters are indexed on demand.
        self._chunks = cache(lambda number: _chunks(release.clusters[number]))
        self._companions = cache(
            lambda number, item: _common(self._chunks(number).get(item, [frozenset((item,))]), (item,))
        )

    def implied(self, pair: Pair, first: int | None) -> frozenset[str]:
        """Return the items that follow from `pair` wherever the two may be; `first` is a cluster that may have both."""
        one, other = (self._clusters_with.get(item, set()) for item in pair)
        both, common = one & other, None
        if first is not None and first in both:
            common = self._implied_in_cluster(first, pair)
        if common is not None and not common:
            return common  # most pairs imply nothing there already
        for number in sorted(both - {first}):
            following = self._implied_in_cluster(number, pair)
            if following is not None:
                common = following if common is None else common & following
                if not common:
                    break
        return common or frozenset()

    def _implied_in_cluster(self, number: int, pair: Pair) -> frozenset[str] | None:
        """Return the items that follow from two items in a cluster, None where it cannot have both."""
        chunks = self._chunks(number)
        if (chunk := chunks.get(pair[0])) is not None and chunk is chunks.get(pair[1]):
            following = _common(chunk, pair)
        else:
            first, second = (self._companions(number, item) for item in pair)
            following = None if first is None or second is None else first | second
        return None if following is None else following.difference(pair)


def _common(chunk: Iterable[frozenset[str]], items: tuple[str, ...]) -> frozenset[str] | None:
    """Return the items common to all sub-records that have some items, or None without such sub-records."""
    holding = [subrecord for subrecord in chunk if subrecord.issuperset(items)]
    return frozenset.intersection(*holding) if holding else None


def _chunks(cluster: Cluster) -> Mapping[str, list[frozenset[str]]]:
    """Return the sub-records of the chunk of every item; terms, and items of shared chunks, imply nothing else."""
    chunks: dict[str, list[frozenset[str]]] = {}
    for chunk in cluster.record_chunks:
        subrecords = list(dict.fromkeys(map(frozenset, chunk.subrecords)))
        chunks |= dict.fromkeys(chunk.items, subrecords)
    return chunks
