"""How related items are by the company they keep: which documents of the release itself hold them.

Horizontal partitioning puts records that are alike into one cluster, so the clusters that two items share tell of their
relatedness, though no record does. X has a row per item and a column per cluster, 1 / sqrt(records of the cluster)
where the cluster holds the item; an item's vector is its row of U S, X being near U S V' with the largest singular
values S. The similarity of two items is the cosine of their vectors, 0 for items that have nothing in common.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import Closer
from decloak.data.formats.folder import Folder
from decloak.data.rungs import Rung
from decloak.data.tables import Pair
from decloak.lazy import sparse
from decloak.relate.ngd import Scored
from decloak.relate.protocols import Similar
from decloak.relate.relatedness import Relatedness, Supplies
from decloak.relate.similar import CELLS, apart, share_note, similarities

__all__ = ["ClustersSource", "company"]


DENSE = 400
"""Documents or items up to which all singular values are worked out: the solver of a few needs more than it gives."""


class ClustersSource(Relatedness):
    """1 minus the cosine of items by the clusters, or the transactions, that they are published in."""

    rung: ClassVar = Rung.RELEASE
    closer: ClassVar[Closer] = "smaller"
    unrelated: ClassVar[float | None] = 1.0

    measure: Literal["clusters"]
    """The release itself: which items share clusters."""
    rank: int = Field(20, ge=1, le=1_000)
    """How many singular vectors stand for the clusters."""

    @property
    def origin(self) -> str:
        return "release"

    def check(self, folder: Folder) -> None:
        """There is nothing to read."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Compare the pairs by the documents of the release."""
        documents = list(supplies.documents())
        vectors = company(documents, supplies.sizes() if supplies.sizes else [1] * len(documents), self.rank)
        number = {item: place for place, item in enumerate(vectors)}
        table = np.array(list(vectors.values())).reshape(len(vectors), -1)
        scores = similarities(pairs, number, CELLS // max(1, len(table)), lambda rows: table[rows] @ table.T)
        absent = sorted({item for pair in scores for item in pair}.difference(number))
        return apart(Similar(scores, share_note(absent, len(number) + len(absent), "in no cluster, so no score")))


def company(documents: Iterable[Iterable[str]], sizes: Sequence[int], rank: int) -> Mapping[str, Floats]:
    """A vector of length 1 for every item of some documents, of so many records each.

    >>> vectors = company([["a", "b"], ["a", "b", "c"], ["c", "d"]], [2, 2, 2], 2)
    >>> round(float(vectors["a"] @ vectors["b"]), 6), bool(vectors["a"] @ vectors["d"] < 0.5)
    (1.0, True)
    """
    number: dict[str, int] = {}
    items, columns, weights = list[int](), list[int](), list[float]()
    width = 0
    for document, size in zip(documents, sizes, strict=True):
        members = sorted({number.setdefault(item, len(number)) for item in document})
        items += members
        columns += [width] * len(members)
        weights += [size**-0.5] * len(members)
        width += 1
    held = sparse.csr_array((np.array(weights, float), (items, columns)), shape=(len(number), width))
    vectors = _scaled(held, rank)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # An item far from the leading directions has a vector of noise: it is left at nothing, related to none.
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return dict(zip(number, unit, strict=True))


def _scaled(held: "sparse.csr_array[np.float64]", rank: int) -> Floats:
    """U S of the largest singular values, at most `rank` of them."""
    from scipy.sparse.linalg import svds

    least = min(held.shape)
    if least <= max(DENSE, rank):
        u, s, _ = np.linalg.svd(held.toarray(), full_matrices=False)
    else:
        u, s, _ = svds(held, k=rank, v0=np.ones(least))  # from a fixed start: the same release, the same vectors
        u, s = u[:, ::-1], s[::-1]
    return np.asarray(u[:, :rank] * s[:rank])
