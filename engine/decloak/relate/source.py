"""What sources of relatedness answer: counts of terms, or how similar they are."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from decloak.data.tables import Pair
    from decloak.relate.similar import Similar

__all__ = ["Similarities", "Source"]


class Source(Protocol):
    """Counts of terms: alone, in pairs, and of everything there is; None where the source cannot tell."""

    @property
    def n(self) -> float:
        """N, the number of pages."""

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        """f(x) of every term."""

    def joint(self, pairs: "Sequence[Pair]") -> "dict[Pair, int | None]":
        """f(x,y) of every pair."""


class Similarities(Protocol):
    """What embeddings and WordNet have in common."""

    def scores(self, pairs: "Iterable[Pair]") -> "Similar":
        """How similar the terms of every pair are."""
