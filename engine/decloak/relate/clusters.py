"""Relatedness of items from the clusters of the release itself that contain both of them.

Horizontal partitioning puts similar records into one cluster, so that shared clusters indicate related items even where
no published record has both. X has a row per item and a column per cluster, 1 / sqrt(records of the cluster) where the
cluster has the item. The vector of an item is its row of U S, where X is near U S V' with the largest singular values
S. The similarity of two items is the cosine of their vectors, 0 for items with nothing in common.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import ScoreDirection
from decloak.data.formats.folder import Folder
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.pairs import Pair
from decloak.lazy import sparse
from decloak.relate.ngd import Scored
from decloak.relate.relatedness import Relatedness, Supplies
from decloak.relate.similar import CELLS, Similar, share_note, similarities, similarity_to_distance

DENSE = 400
"""Documents or items up to which all singular values are computed: below this size the solver for a few costs more."""


class ClustersSource(Relatedness):
    """1 minus the cosine of items by the clusters, or the records, that they are published in."""

    knowledge_level: ClassVar = KnowledgeLevel.RELEASE
    closer: ClassVar[ScoreDirection] = "smaller"
    unrelated: ClassVar[float | None] = 1.0

    measure: Literal["clusters"]
    """The release itself: which items share clusters."""
    rank: int = Field(20, ge=1, le=1_000)
    """The number of singular vectors of the clusters."""

    @property
    def origin(self) -> str:
        return "release"

    def check(self, folder: Folder) -> None:
        """Do nothing: there is no file in `folder` to read."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the distances of `pairs` by the documents of the release in `supplies`."""
        documents = list(supplies.documents())
        vectors = item_vectors(documents, supplies.sizes() if supplies.sizes else [1] * len(documents), self.rank)
        number = {item: place for place, item in enumerate(vectors)}
        table = np.array(list(vectors.values())).reshape(len(vectors), -1)
        scores = similarities(pairs, number, CELLS // max(1, len(table)), lambda rows: table[rows] @ table.T)
        absent = sorted(set(scores.pairs.terms).difference(number))
        return similarity_to_distance(Similar(scores, share_note(absent, len(number) + len(absent), "in no cluster")))


def item_vectors(documents: Iterable[Iterable[str]], sizes: Sequence[int], rank: int) -> Mapping[str, Floats]:
    """Return a vector of length 1 for every item of `documents`, which have `sizes` records each.

    `rank` is the number of singular vectors.

    >>> vectors = item_vectors([["a", "b"], ["a", "b", "c"], ["c", "d"]], [2, 2, 2], 2)
    >>> round(float(vectors["a"] @ vectors["b"]), 6), bool(vectors["a"] @ vectors["d"] < 0.5)
    (1.0, True)
    """
    number: dict[str, int] = {}
    items, columns, weights = list[int](), list[int](), list[float]()
    width = 0
    for document, size in zip(documents, sizes, strict=True):
        # The weight 1 / sqrt(size) makes large clusters count less: sharing one says less about two items.
        members = sorted({number.setdefault(item, len(number)) for item in document})
        items += members
        columns += [width] * len(members)
        weights += [size**-0.5] * len(members)
        width += 1
    held = sparse.csr_array((np.array(weights, float), (items, columns)), shape=(len(number), width))
    vectors = _singular_vectors(held, rank)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # An item far from the leading directions has a vector of noise: it is left at nothing, related to none.
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return dict(zip(number, unit, strict=True))


def _singular_vectors(held: "sparse.csr_array[np.float64]", rank: int) -> Floats:
    """Return U S of the largest singular values, at most `rank` of them."""
    from scipy.sparse.linalg import svds

    least = min(held.shape)
    # The solver for a few values needs a smaller rank than the matrix has.
    if least <= max(DENSE, rank):
        u, s, _ = np.linalg.svd(held.toarray(), full_matrices=False)
    else:
        u, s, _ = svds(held, k=rank, v0=np.ones(least))  # from a fixed start: the same release, the same vectors
        u, s = u[:, ::-1], s[::-1]
    return np.asarray(u[:, :rank] * s[:rank])
