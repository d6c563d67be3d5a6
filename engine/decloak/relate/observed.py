"""Co-occurrence counts in the published data: what an attacker without other knowledge can count.

A document is anything that shows which items may belong together. It is a published transaction, where a generalised
item counts as all of its members, or a cluster of a disassociated release.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from decloak.data.tables import Pair
from decloak.lazy import sparse
from decloak.relate.joint_counts import joint_counts

__all__ = ["ObservedCounts"]


class ObservedCounts:
    """Counts of items over documents, as a CountSource.

    >>> seen = ObservedCounts([["flu", "cough"], ["flu"]])
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
        # Transposed, because pairs are counted by rows of terms.
        ones = np.ones(len(indices), np.int32)
        self._place = place
        self._held = sparse.csr_array((ones, np.array(indices, np.int64), np.array(start, np.int64)), shape).T.tocsr()

    @property
    def n(self) -> int:
        return int(self._held.shape[1])

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        size = np.diff(self._held.indptr)
        return {term: int(size[self._place[term]]) if term in self._place else 0 for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        """Return f(x,y) of each of `pairs`."""
        counts: dict[Pair, int | None] = dict.fromkeys(pairs, 0)
        known = [pair for pair in counts if pair[0] in self._place and pair[1] in self._place]
        first, second = (np.array([self._place[pair[side]] for pair in known], np.int64) for side in (0, 1))
        return counts | dict(zip(known, joint_counts(self._held, first, second).tolist(), strict=True))
