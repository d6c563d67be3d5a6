"""Who gets what a disassociated release took from its records."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from decloak.data.tables import Pair

__all__ = ["Assigned", "Assignment", "ChunkNumber", "Closer", "PairScores", "Unit"]

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


Unit = tuple[int, ChunkNumber, tuple[str, ...]]
"""A cluster, a chunk of it, and the unit's items by name."""


class Assigned(list[Assignment]):
    """Assignments, with the rows that share places where several are equally likely.

    `ties` has these rows by cluster, chunk and unit. The rows of an assignment that are among them stand for as many of
    them at random.
    """

    def __init__(
        self,
        assignments: Iterable[Assignment] = (),
        ties: Mapping[Unit, tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(assignments)
        self.ties = dict(ties or {})


class PairScores(NamedTuple):
    """How related items are by one measure: scores of pairs, in either order; None, NaN and infinities are no score.

    `unrelated` is the score of items that have nothing in common; without it, the mean of the scores stands for it.
    """

    scores: Mapping[Pair, float | None]
    closer: Closer = "larger"
    unrelated: float | None = None
