"""Vectors from an installed package that carries its weights: wordllama, which cuts any term into pieces it knows.

It is loaded from its own folder only, with downloads refused, so that the network is never asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from decloak.errors import DecloakError
from decloak.extras import install
from decloak.relate.similar import share_note
from decloak.relate.word_vectors import Embedded

__all__ = ["PackagedVectors"]


def _hint() -> str:
    return f"{install('embeddings')}, or name a file of word vectors"


@dataclass(frozen=True)
class PackagedVectors:
    """The vectors of the package wordllama."""

    model: Any

    @classmethod
    def load(cls) -> Self:
        try:
            import wordllama  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise DecloakError(f"no word vectors installed: {error}", hint=_hint()) from None
        try:
            folder = Path(wordllama.__file__).parent
            return cls(wordllama.WordLlama.load(cache_dir=folder, disable_download=True))
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise DecloakError(f"wordllama has no weights of its own: {error}", hint=_hint()) from None

    def embed(self, terms: Sequence[str]) -> Embedded:
        """The vectors of some terms, lower-cased; every term with a letter has one."""
        texts = [term.lower().encode(errors="replace").decode() for term in terms]
        vectors = np.asarray(self.model.embed(texts), dtype=np.float64)
        nothing = [term for term, vector in zip(terms, vectors, strict=True) if not vector.any()]
        pieces = f"{len(terms) - len(nothing)} of {len(terms)} terms as the mean of the pieces wordllama cuts them into"
        return Embedded(vectors, [pieces, *share_note(nothing, len(terms), "not found, so no score")])
