"""Word vectors as a measure of relatedness: the cosine of the angle between the vectors of two terms.

decloak looks up the whole term (new_york, "new york", new-york). Otherwise it takes the mean of the vectors of its
words. An unknown word with a hyphen is split into parts, and 's is dropped if the word is unknown with it. Words are
looked up in lower case, and then as written. u, v the vectors of two terms: cosine(u,v) = u.v / (|u| |v|), between -1
and 1.

Cache of word vector files: a table per file in the user's cache folder, mapped into memory.

A cache file has a header, the vectors in the order of their file (float32), then the vocabulary in byte order. The
vocabulary has each word once: the end of each word, the row of its vector, and the bytes of all words. It is only data:
decloak writes it again if the version, size, check sum or source differs. Where decloak cannot write it, the same
layout is kept in memory.
"""

import hashlib
import io
import mmap
import os
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import FilePath
from decloak.data.formats.writing import atomic_paths
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.errors import DecloakError
from decloak.extras import install
from decloak.relate.relatedness import SimilaritySource
from decloak.relate.similar import CELLS, FEW, Similar, Similarities, share_note, similarities
from decloak.relate.vectors_file import blocks, reading
from decloak.yaml.section import ConfigErrors, File


class EmbeddingSource(SimilaritySource):
    """1 minus the cosine of word vectors; a phrase is the mean of its words."""

    FILES: ClassVar = ("file",)

    measure: Literal["embedding"]
    """Word vectors."""
    file: File | None = None
    """The path of vectors: GloVe or word2vec, text or binary."""
    package: Literal["wordllama"] | None = None
    """An installed package that carries vectors (the extra 'embeddings')."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error unless there is exactly one place to read vectors from."""
        if (self.file is None) == (self.package is None):
            message = "word vectors are read from a 'file' or come with a 'package'"
            yield (), DecloakError(message, hint="write one of the two")

    @property
    def origin(self) -> str:
        return str(self.file or self.package)

    def open(self, folder: Folder) -> Similarities:
        """Return the vectors, from a file in `folder` or a package; a file that was read before
        loads from the cache.
        """
        return Embedding(PackagedVectors.load() if self.file is None else FileVectors.read(folder / self.file))


MAGIC = b"decloak vectors1"
HEADER = Struct("<16s32s5q8x")
"""MAGIC, the digest of the source, rows, numbers per row, distinct words, their bytes, check sum of the vocabulary."""

HEAD = 1 << 16
"""Bytes of a file that, with its size and time, identify its version."""


def cache_folder() -> Path | None:
    """Return the folder for caches by the XDG convention, None if the user has no home."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = named if named.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "decloak"


def _source(path: FilePath) -> bytes:
    """Return a digest that changes when the file changes."""
    with reading(path) as read:
        stat = Path(path).stat()
        return hashlib.sha256(b"%d %d " % (stat.st_size, stat.st_mtime_ns) + read(HEAD)).digest()


def _write_cache(cache: Path, path: FilePath, source: bytes) -> "FileVectors | None":
    """Write a cache file; another process never sees an incomplete one."""
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A pipe or a socket of this name would block the process.
    if cache.exists() and not cache.is_file():
        cache.unlink()
    with atomic_paths(cache) as (part,):
        part.touch(mode=0o600)  # for its owner alone, as the vectors may be
        with part.open("wb") as file:
            _write_table(file, path, source)
    return _map_cache(cache, source)


def _write_table(file: BinaryIO, path: FilePath, source: bytes) -> None:
    words: list[bytes] = []
    dim = 0
    # Room for the header, whose counts are known at the end.
    file.write(bytes(HEADER.size))
    for block in blocks(path):
        file.write(np.ascontiguousarray(block.vectors, dtype="<f4").tobytes())
        words += block.words
        dim = block.vectors.shape[1]
    # The sort is stable: the first row of a word that occurs twice comes first, and is kept.
    order = sorted(range(len(words)), key=words.__getitem__)
    once = order[:1] + [after for before, after in pairwise(order) if words[before] != words[after]]
    text = b"".join(words[row] for row in once)
    ends = np.cumsum([len(words[row]) for row in once], dtype="<i8")
    vocabulary = ends.tobytes() + np.array(once, dtype="<i8").tobytes() + text
    file.write(vocabulary)
    file.seek(0)
    file.write(HEADER.pack(MAGIC, source, len(words), dim, len(once), len(text), zlib.crc32(vocabulary)))


def _map_cache(cache: Path, source: bytes) -> "FileVectors | None":
    if not cache.is_file():
        return None
    try:
        with cache.open("rb") as file:
            return _table(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), source)
    except ValueError:  # an empty file cannot be mapped
        return None


def _table(data: memoryview, source: bytes) -> "FileVectors | None":
    """Return the table in some data; None unless the data are complete and of this source."""
    if len(data) < HEADER.size:
        return None
    # Everything in the header is checked: the file may be damaged, or of another version.
    magic, made_of, count, dim, words, size, check = HEADER.unpack(data[: HEADER.size])
    if magic != MAGIC or made_of != source or min(count, dim, words, size) < 0:
        return None
    begin = HEADER.size + 4 * count * dim
    # The sum leaves out the vectors: with them, each start would read the whole file.
    if len(data) != begin + 16 * words + size or zlib.crc32(data[begin:]) != check:
        return None
    return FileVectors(
        np.frombuffer(data, "<f4", count * dim, HEADER.size).reshape(count, dim),
        np.frombuffer(data, "<i8", words, begin),
        np.frombuffer(data, "<i8", words, begin + 8 * words),
        data[begin + 16 * words :],
    )


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


class FileVectors(NamedTuple):
    """The word vectors of a file by row, and the words in byte order: the end of each in the text, and its row."""

    vectors: NDArray[np.float32]
    ends: Ints
    rows: Ints
    text: memoryview

    @classmethod
    def read(cls, path: FilePath, folder: Path | None = None) -> "FileVectors":
        """Return the vectors of the file at `path`, GloVe or word2vec, text or binary.

        They come from the cache in `folder` (default: the user's own), which it may write.
        """
        source = _source(path)
        folder = folder or cache_folder()
        if folder is not None:
            with suppress(OSError):
                # By the real path, so that links to a file share its table.
                cache = folder / f"{hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]}.vectors"
                cached = _map_cache(cache, source) or _write_cache(cache, path, source)
                if cached:
                    return cached
        memory = io.BytesIO()
        _write_table(memory, path, source)
        table = _table(memory.getbuffer(), source)
        assert table is not None
        return table

    def row(self, word: bytes) -> int | None:
        """Return the row of `word`, the first one for a repeated word, or None."""
        index = bisect_left(range(len(self.ends)), word, key=self._word)
        return int(self.rows[index]) if index < len(self.ends) and self._word(index) == word else None

    def _word(self, index: int) -> bytes:
        return bytes(self.text[int(self.ends[index - 1]) if index else 0 : int(self.ends[index])])

    def embed(self, terms: Sequence[str]) -> Embedded:
        """Return the vectors of `terms`: of the whole term, or the mean of its words."""
        lookups = [self._find(term) for term in terms]
        vectors = np.zeros((len(terms), self.vectors.shape[1]))
        for vector, lookup in zip(vectors, lookups, strict=True):
            if lookup.rows:
                vector[:] = self.vectors[lookup.rows].mean(axis=0, dtype=np.float64)
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
        # The word as written comes first: some vectors have it with its 's.
        if row is None and word[-2:].lower() in ("'s", "’s"):
            return self._parts(word[:-2])
        if row is None and "-" in word:
            return [row for part in word.split("-") for row in self._parts(part)]
        return [row]

    def _first(self, spellings: Iterable[str]) -> int | None:
        rows = (self.row(spelling.encode(errors="surrogatepass")) for spelling in spellings)
        return next((row for row in rows if row is not None), None)

    def _warnings(self, terms: Sequence[str], lookups: Sequence[_Lookup], vectors: Floats) -> list[str]:
        lines = []
        for how in (WHOLE, MEAN, PARTLY, NOTHING):
            found = [term for term, lookup in zip(terms, lookups, strict=True) if lookup.how == how]
            lines += share_note(found, len(terms), how, few=0 if how == WHOLE else FEW)
        zero = [
            t for t, lookup, vector in zip(terms, lookups, vectors, strict=True) if lookup.rows and not vector.any()
        ]
        lines += share_note(zero, len(terms), "with a vector of zeros, so no score")
        again = len(self.vectors) - len(self.ends)
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
