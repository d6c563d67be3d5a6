"""Co-occurrence in the published data itself: what somebody without any knowledge from outside can count.

A document is whatever shows which items may belong together: a published transaction, a generalised item counting as
all of its members, or a cluster of a disassociated release.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from decloak.data.tables import Pair
from decloak.lazy import sparse

__all__ = ["Observed"]

WIDEST = 1_000
"""Terms whose joint counts are worked out at once."""


class Observed:
    """Counts of items over documents, as a CountSource.

    >>> seen = Observed([["flu", "cough"], ["flu"]])
    >>> seen.n, seen.counts(["flu", "knee"]), seen.joint([("cough", "flu")])
    (2, {'flu': 2, 'knee': 0}, {('cough', 'flu'): 1})
    """

    def __init__(self, documents: Iterable[Iterable[str]], notes: Sequence[str] = ()) -> None:
        self.notes = notes
        place: dict[str, int] = {}
        start, indices = [0], list[int]()
        for document in documents:
            indices += sorted({place.setdefault(item, len(place)) for item in document})
            start.append(len(indices))
        shape = (len(start) - 1, len(place))
        ones = np.ones(len(indices), np.int64)
        self._place = place
        self._held = sparse.csr_array((ones, np.array(indices, np.int64), np.array(start, np.int64)), shape).tocsc()

    @property
    def n(self) -> int:
        return int(self._held.shape[0])

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        size = np.diff(self._held.indptr)
        return {term: int(size[self._place[term]]) if term in self._place else 0 for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        """f(x,y) of every pair."""
        counts: dict[Pair, int | None] = dict.fromkeys(pairs, 0)
        countable = [pair for pair in counts if pair[0] in self._place and pair[1] in self._place]
        columns = sorted({self._place[b] for _, b in countable})
        column = {code: index for index, code in enumerate(columns)}
        by_first: dict[int, list[Pair]] = {}
        for pair in countable:
            by_first.setdefault(self._place[pair[0]], []).append(pair)
        right = self._held[:, columns]
        firsts = sorted(by_first)
        for begin in range(0, len(firsts), WIDEST):
            block = firsts[begin : begin + WIDEST]
            together = (self._held[:, block].T @ right).toarray()
            for row, first in enumerate(block):
                counts |= {pair: int(together[row, column[self._place[pair[1]]]]) for pair in by_first[first]}
        return counts
