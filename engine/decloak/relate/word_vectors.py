"""Word vectors as a measure of relatedness: the cosine of the angle between the vectors of two terms.

decloak looks up the whole term (new_york, "new york", new-york). Otherwise it takes the mean of the vectors of its
words. An unknown word with a hyphen is split into parts, and 's is dropped if the word is unknown with it. Words are
looked up in lower case, and then as written. u, v the vectors of two terms: cosine(u,v) = u.v / (|u| |v|), between -1
and 1.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from decloak.arrays import Floats
from decloak.data.formats.lines import FilePath
from decloak.data.pairs import Pairs, ScoredPairs
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.extras import install
from decloak.relate.similar import CELLS, FEW, Similar, share_note, similarities
from decloak.relate.vectors_cache import VectorTable, vector_table

__all__ = ["Embedded", "Embedder", "Embedding", "FileVectors", "PackagedVectors", "vectors_of"]


WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
DIGITS = 12
"""Digits of a cosine that count: the order of a sum, which differs between machines, changes the last ones."""

WHOLE = "found whole among the word vectors"
MEAN = "as the mean of their words"
PARTLY = "as the mean of their words, some of which are unknown"
NOTHING = "missing (without a score)"


class Embedded(NamedTuple):
    """The vector of every term, a row each, zeros for those without one; and one line for each way of finding terms."""

    vectors: Floats
    warnings: list[str]


class Embedder(Protocol):
    """A source of vectors: a file of word vectors, or an installed package."""

    def embed(self, terms: Sequence[str]) -> Embedded:
        """Return the vectors of `terms`."""


@dataclass(frozen=True)
class Embedding:
    """Relatedness of terms by their vectors."""

    embedder: Embedder

    def scores(self, pairs: Iterable[Pair]) -> Similar:
        """Return the cosine of each of `pairs`, None where a term has no vector, or a zero vector."""
        distinct = Pairs.of(pairs)
        terms = distinct.terms
        if not terms:
            return Similar(ScoredPairs.of({}), [])
        vectors, warnings = self.embedder.embed(terms)
        lengths = np.linalg.norm(vectors, axis=1)
        present = np.flatnonzero((lengths > 0) & np.isfinite(lengths)).tolist()
        # Unit vectors make the cosine of all pairs one matrix product.
        units = vectors[present] / lengths[present, None]
        number = {terms[index]: row for row, index in enumerate(present)}
        block = CELLS // max(1, len(present))
        return Similar(similarities(distinct, number, block, lambda rows: _cosines(units[rows], units)), warnings)


def _cosines(chosen: Floats, units: Floats) -> Floats:
    return np.round(np.clip(chosen @ units.T, -1, 1), DIGITS)


class _Lookup(NamedTuple):
    """The rows of a term or of its words, and how they were found."""

    rows: list[int]
    how: str


@dataclass(frozen=True)
class FileVectors:
    """The word vectors of a file."""

    table: VectorTable

    @classmethod
    def read(cls, path: FilePath, cache: Path | None = None) -> Self:
        """Read the vectors at `path`, GloVe or word2vec, text or binary, or from the folder `cache`; return them."""
        return cls(vector_table(path, cache))

    def embed(self, terms: Sequence[str]) -> Embedded:
        """Return the vectors of `terms`: of the whole term, or the mean of its words."""
        lookups = [self._find(term) for term in terms]
        vectors = np.zeros((len(terms), self.table.vectors.shape[1]))
        for vector, lookup in zip(vectors, lookups, strict=True):
            if lookup.rows:
                vector[:] = self.table.vectors[lookup.rows].mean(axis=0, dtype=np.float64)
        return Embedded(vectors, self._warnings(terms, lookups, vectors))

    def _find(self, term: str) -> _Lookup:
        whole = self._first(_spellings(term))
        if whole is not None:
            return _Lookup([whole], WHOLE)
        looked = [row for word in WORD.findall(term) for row in self._parts(word)]
        rows = [row for row in looked if row is not None]
        return _Lookup(rows, NOTHING if not rows else MEAN if len(rows) == len(looked) else PARTLY)

    def _parts(self, word: str) -> list[int | None]:
        row = self._first((word.lower(), word))
        # Only where the word as written is not there: some vectors have it with its 's.
        # The word as written comes first: some vectors have it with its 's.
        if row is None and word[-2:].lower() in ("'s", "’s"):
            return self._parts(word[:-2])
        if row is None and "-" in word:
            return [row for part in word.split("-") for row in self._parts(part)]
        return [row]

    def _first(self, spellings: Iterable[str]) -> int | None:
        rows = (self.table.row(spelling.encode(errors="surrogatepass")) for spelling in spellings)
        return next((row for row in rows if row is not None), None)

    def _warnings(self, terms: Sequence[str], lookups: Sequence[_Lookup], vectors: Floats) -> list[str]:
        lines = []
        for how in (WHOLE, MEAN, PARTLY, NOTHING):
            alike = [term for term, lookup in zip(terms, lookups, strict=True) if lookup.how == how]
            lines += share_note(alike, len(terms), how, few=0 if how == WHOLE else FEW)
        nowhere = [
            t for t, lookup, vector in zip(terms, lookups, vectors, strict=True) if lookup.rows and not vector.any()
        ]
        lines += share_note(nowhere, len(terms), "with a vector of zeros, so no score")
        again = len(self.table.vectors) - len(self.table.ends)
        return [*lines, f"the word vectors have {again} words again: the first vector counts"] if again else lines


def _spellings(term: str) -> Iterator[str]:
    for text in dict.fromkeys((term.lower(), term)):
        words = text.replace("_", " ").split()
        yield from dict.fromkeys(mark.join(words) for mark in ("_", " ", "-"))


def vectors_of(path: FilePath, items: Iterable[str], cache: Path | None = None) -> dict[str, Floats]:
    """Return the vectors that the file at `path` has for `items`, read through the folder `cache`;
    others are left out.
    """
    terms = list(dict.fromkeys(items))
    vectors = FileVectors.read(path, cache).embed(terms).vectors
    return {term: vector for term, vector in zip(terms, vectors, strict=True) if vector.any()}


def _install_hint() -> str:
    return f"{install('embeddings')}, or name a file of word vectors"


@dataclass(frozen=True)
class PackagedVectors:
    """The vectors of the package wordllama, loaded from its own folder, with downloads refused."""

    model: Any

    @classmethod
    def load(cls) -> Self:
        """Load the vectors of the installed package; return them."""
        try:
            import wordllama  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise DecloakError(f"no word vectors installed: {error}", hint=_install_hint()) from None
        try:
            folder = Path(wordllama.__file__).parent
            return cls(wordllama.WordLlama.load(cache_dir=folder, disable_download=True))
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise DecloakError(f"wordllama has no weights of its own: {error}", hint=_install_hint()) from None

    def embed(self, terms: Sequence[str]) -> Embedded:
        """Return the vectors of `terms` in lower case; every term with a letter has one."""
        texts = [term.lower().encode(errors="replace").decode() for term in terms]
        vectors = np.asarray(self.model.embed(texts), dtype=np.float64)
        nothing = [term for term, vector in zip(terms, vectors, strict=True) if not vector.any()]
        pieces = f"{len(terms) - len(nothing)} of {len(terms)} terms as the mean of the pieces wordllama cuts them into"
        return Embedded(vectors, [pieces, *share_note(nothing, len(terms), "missing (without a score)")])
