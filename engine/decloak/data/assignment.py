"""Assignments of sub-records to records: the result of an attack on a disassociated release."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from decloak.data.tables import Pair

__all__ = ["Assignment", "AssignmentList", "ChunkNumber", "PairScores", "ScoreDirection", "Unit"]

ChunkNumber = int | str
"""The number of a record chunk from 0, "T" for the term chunk, "S0.1" for shared chunk 1 of joint cluster 0."""
ScoreDirection = Literal["larger", "smaller"]
"""The scores of more closely related items are the larger or the smaller ones."""


class Assignment(NamedTuple):
    """The rows that an attack assigns a sub-record to. Clusters, chunks and rows count from 0, the term chunk is "T", a
    unit is a tuple of items.
    """

    cluster: int
    chunk: ChunkNumber
    unit: tuple[str, ...]
    rows: tuple[int, ...]


Unit = tuple[int, ChunkNumber, tuple[str, ...]]
"""A cluster, a chunk of it, and the unit's items by name."""


class AssignmentList(list[Assignment]):
    """Assignments, and the rows among which several choices are equally likely.

    `ties` has these rows by cluster, chunk and unit. The list contains a random choice of these rows, as many as
    the unit needs.
    """

    def __init__(
        self,
        assignments: Iterable[Assignment] = (),
        ties: Mapping[Unit, tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(assignments)
        self.ties = dict(ties or {})


class PairScores(NamedTuple):
    """Relatedness of items by one measure: a score per pair, in either order. None, NaN and infinities are missing
    scores.

    `unrelated` is the score of items that have nothing in common. Without it, the mean of the scores is used.
    """

    scores: Mapping[Pair, float | None]
    closer: ScoreDirection = "larger"
    unrelated: float | None = None
