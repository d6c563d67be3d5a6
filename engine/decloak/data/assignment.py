"""Who gets what a disassociated release took from its records."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from decloak.data.tables import Pair

__all__ = ["Assignment", "ChunkNumber", "Closer", "PairScores"]

ChunkNumber = int | str
"""The number of a record chunk from 0, "T" for the term chunk, "S0.1" for shared chunk 1 of joint cluster 0."""
Closer = Literal["larger", "smaller"]
"""Whether larger or smaller scores are of closer items."""


class Assignment(NamedTuple):
    """Who gets a unit: clusters, chunks and rows count from 0, the term chunk is "T", a unit is a tuple of items."""

    cluster: int
    chunk: ChunkNumber
    unit: tuple[str, ...]
    rows: tuple[int, ...]


class PairScores(NamedTuple):
    """How related items are by one measure: scores of pairs, in either order; None, NaN and infinities are no score.

    `unrelated` is the score of items that have nothing in common; without it, the mean of the scores stands for it.
    """

    scores: Mapping[Pair, float | None]
    closer: Closer = "larger"
    unrelated: float | None = None
