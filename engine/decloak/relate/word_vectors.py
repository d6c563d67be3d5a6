"""Word vectors as a measure of relatedness: the cosine of the angle between the vectors of two terms.

A term is looked for whole (new_york, "new york", new-york), and else is the mean of the vectors of its words; for a
word with a hyphen that is not found, of its parts; 's is left off where it is not. Words are lower-cased; where that
finds none, as they are written.
u, v the vectors of two terms: cosine(u,v) = u.v / (|u| |v|), between -1 and 1.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np

from decloak.arrays import Floats
from decloak.data.formats.lines import FilePath
from decloak.data.tables import Pair
from decloak.relate.protocols import Similar
from decloak.relate.similar import CELLS, FEW, share_note, similarities
from decloak.relate.vectors_cache import VectorTable, vector_table

__all__ = ["Embedded", "Embedder", "Embedding", "FileVectors", "vectors_of"]


WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
DIGITS = 12
"""Digits of a cosine that count: the order of a sum, which differs between machines, shows in the last ones."""

WHOLE = "found whole among the word vectors"
MEAN = "as the mean of their words"
PARTLY = "as the mean of their words, some of which are unknown"
NOTHING = "not found, so no score"


class Embedded(NamedTuple):
    """The vector of every term, a row each, zeros for those without one; and how they were found, a line a kind."""

    vectors: Floats
    warnings: list[str]


class Embedder(Protocol):
    """What gives vectors to terms: a file of word vectors, or an installed package."""

    def embed(self, terms: Sequence[str]) -> Embedded:
        """The vectors of some terms."""


@dataclass(frozen=True)
class Embedding:
    """How related terms are by their vectors."""

    embedder: Embedder

    def scores(self, pairs: Iterable[Pair]) -> Similar:
        """The cosine of every pair, None where a term has no vector, or one that points nowhere."""
        distinct = list(dict.fromkeys(pairs))
        terms = list(dict.fromkeys(term for pair in distinct for term in pair))
        if not terms:
            return Similar({}, [])
        vectors, warnings = self.embedder.embed(terms)
        lengths = np.linalg.norm(vectors, axis=1)
        present = np.flatnonzero((lengths > 0) & np.isfinite(lengths)).tolist()
        units = vectors[present] / lengths[present, None]
        number = {terms[index]: row for row, index in enumerate(present)}
        block = CELLS // max(1, len(present))
        return Similar(similarities(distinct, number, block, lambda rows: _cosines(units[rows], units)), warnings)


def _cosines(chosen: Floats, units: Floats) -> Floats:
    return np.round(np.clip(chosen @ units.T, -1, 1), DIGITS)


class _Lookup(NamedTuple):
    """Where a term was found: the rows of it or of its words, and how."""

    rows: list[int]
    how: str


@dataclass(frozen=True)
class FileVectors:
    """The word vectors of a file."""

    table: VectorTable

    @classmethod
    def read(cls, path: FilePath, cache: Path | None = None) -> Self:
        """Read GloVe text, word2vec text or word2vec binary; in an instant from the cache when it was read before."""
        return cls(vector_table(path, cache))

    def embed(self, terms: Sequence[str]) -> Embedded:
        """The vectors of some terms: of the whole term, or the mean of its words."""
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
    """The vectors that a file of word vectors has for some items; those it has none for are left out."""
    terms = list(dict.fromkeys(items))
    vectors = FileVectors.read(path, cache).embed(terms).vectors
    return {term: vector for term, vector in zip(terms, vectors, strict=True) if vector.any()}
