"""What gives counts of terms, and what compares them: the seams that every source of relatedness fits."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from decloak.data.tables import Pair

__all__ = ["CountSource", "Similar", "Similarities"]


class CountSource(Protocol):
    """Counts of terms: alone, in pairs, and of everything there is; None where the source cannot tell."""

    @property
    def n(self) -> float:
        """N, the number of pages."""

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        """f(x) of every term."""

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        """f(x,y) of every pair."""


class Similar(NamedTuple):
    """Similarities as asked for, None where there is no score; and how the terms were found, a line a kind."""

    scores: dict[Pair, float | None]
    warnings: list[str]


class Similarities(Protocol):
    """What embeddings and WordNet have in common."""

    def scores(self, pairs: Iterable[Pair]) -> Similar:
        """How similar the terms of every pair are."""
