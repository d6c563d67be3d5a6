"""Co-occurrence counts in the published data: what an attacker without other knowledge can count.

A document is anything that shows which items may belong together. It is a published transaction, where a generalised
item counts as all of its members, or a cluster of a disassociated release.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from decloak.data.pairs import Pairs, ScoredPairs
from decloak.data.rows import CodedRows
from decloak.data.tables import Pair
from decloak.relate.joint_counts import joint_counts

__all__ = ["ObservedCounts"]


class ObservedCounts:
    """Counts of items over documents, as a CountSource.

    >>> seen = ObservedCounts([["flu", "cough"], ["flu"]])
    >>> seen.n, seen.counts(["flu", "knee"]), seen.joint([("cough", "flu")])
    (2, {'flu': 2, 'knee': 0}, {('cough', 'flu'): 1.0})
    """

    def __init__(self, documents: Iterable[Iterable[str]], notes: Sequence[str] = ()) -> None:
        self.notes = notes
        rows = CodedRows.of(documents)
        self._place = {item: code for code, item in enumerate(rows.names)}
        held = rows.matrix(np.arange(len(rows.names)), len(rows.names))
        # Transposed, because pairs are counted by rows of terms. An item that a document repeats counts once.
        self._held = held.T.tocsr().astype(np.int32)
        self._held.data[:] = 1

    @property
    def n(self) -> int:
        return int(self._held.shape[1])

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        size = np.diff(self._held.indptr)
        return {term: int(size[self._place[term]]) if term in self._place else 0 for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> ScoredPairs:
        """Return f(x,y) of each of `pairs`."""
        pairs = Pairs.of(pairs)
        place = np.array([self._place.get(item, -1) for item in pairs.items], np.int64)
        first, second = place[pairs.a], place[pairs.b]
        known = (first >= 0) & (second >= 0)
        counts = np.zeros(len(pairs))
        counts[known] = joint_counts(self._held, first[known], second[known])
        return ScoredPairs(pairs, counts)
