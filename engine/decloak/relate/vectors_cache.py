"""A file of word vectors as a table that is ready at once: laid out in a cache of the user's own, mapped to memory.

A cache file: a header, the vectors in the order of their file (float32), then the vocabulary in byte order, each word
once: where each ends, which row is its vector, all their bytes. It is only data: one of another version, size or check
sum, or made of another file, is made anew. Where none can be written the same layout is held in memory.
"""

import hashlib
import io
import mmap
import os
import zlib
from bisect import bisect_left
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.data.formats.lines import FilePath
from decloak.data.formats.writing import made_whole
from decloak.relate.vectors_file import blocks, reading

__all__ = ["VectorTable", "cache_folder", "vector_table"]

MAGIC = b"decloak vectors1"
HEADER = Struct("<16s32s5q8x")
"""MAGIC, the digest of the source, rows, numbers a row, distinct words, their bytes, check sum of the vocabulary."""

HEAD = 1 << 16
"""Bytes of a file that, with its size and time, tell it from what it was before."""


class VectorTable(NamedTuple):
    """Word vectors by row, and the words in byte order: where each ends in the text, and its row."""

    vectors: NDArray[np.float32]
    ends: Ints
    rows: Ints
    text: memoryview

    def row(self, word: bytes) -> int | None:
        """The row of a word, None when it has none; of a word that came twice the first."""
        index = bisect_left(range(len(self.ends)), word, key=self._word)
        return int(self.rows[index]) if index < len(self.ends) and self._word(index) == word else None

    def _word(self, index: int) -> bytes:
        return bytes(self.text[int(self.ends[index - 1]) if index else 0 : int(self.ends[index])])


def cache_folder() -> Path | None:
    """Where caches go by the XDG convention, None when the user has no home."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = named if named.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "decloak"


def vector_table(path: FilePath, folder: Path | None = None) -> VectorTable:
    """The word vectors of a file, from the cache in a folder (the user's own when none is named) or put there."""
    source = _source(path)
    folder = folder or cache_folder()
    if folder is not None:
        with suppress(OSError):
            cache = folder / f"{hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]}.vectors"
            cached = _mapped(cache, source) or _written_table(cache, path, source)
            if cached:
                return cached
    memory = io.BytesIO()
    _lay_out(memory, path, source)
    table = _table(memory.getbuffer(), source)
    assert table is not None
    return table


def _source(path: FilePath) -> bytes:
    """The digest of what tells one state of a file from another."""
    with reading(path) as read:
        stat = Path(path).stat()
        return hashlib.sha256(b"%d %d " % (stat.st_size, stat.st_mtime_ns) + read(HEAD)).digest()


def _written_table(cache: Path, path: FilePath, source: bytes) -> VectorTable | None:
    """Write a cache; nobody ever sees half of one."""
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if cache.exists() and not cache.is_file():
        cache.unlink()  # a pipe, say: it would be written to as it is, and waited for
    with made_whole(cache) as (part,):
        part.touch(mode=0o600)  # for its owner alone, as the vectors may be
        with part.open("wb") as file:
            _lay_out(file, path, source)
    return _mapped(cache, source)


def _lay_out(file: BinaryIO, path: FilePath, source: bytes) -> None:
    words: list[bytes] = []
    dim = 0
    file.write(bytes(HEADER.size))
    for block in blocks(path):
        file.write(np.ascontiguousarray(block.vectors, dtype="<f4").tobytes())
        words += block.words
        dim = block.vectors.shape[1]
    # Sorting is stable: of a word that comes twice the first row stands first, and that one is kept.
    order = sorted(range(len(words)), key=words.__getitem__)
    once = order[:1] + [after for before, after in pairwise(order) if words[before] != words[after]]
    text = b"".join(words[row] for row in once)
    ends = np.cumsum([len(words[row]) for row in once], dtype="<i8")
    vocabulary = ends.tobytes() + np.array(once, dtype="<i8").tobytes() + text
    file.write(vocabulary)
    file.seek(0)
    file.write(HEADER.pack(MAGIC, source, len(words), dim, len(once), len(text), zlib.crc32(vocabulary)))


def _mapped(cache: Path, source: bytes) -> VectorTable | None:
    if not cache.is_file():
        return None
    try:
        with cache.open("rb") as file:
            return _table(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), source)
    except ValueError:  # an empty file cannot be mapped
        return None


def _table(data: memoryview, source: bytes) -> VectorTable | None:
    """The table that some data hold, None unless they are whole and of this source."""
    if len(data) < HEADER.size:
        return None
    magic, made_of, count, dim, words, size, check = HEADER.unpack(data[: HEADER.size])
    if magic != MAGIC or made_of != source or min(count, dim, words, size) < 0:
        return None
    begin = HEADER.size + 4 * count * dim
    if len(data) != begin + 16 * words + size or zlib.crc32(data[begin:]) != check:
        return None
    return VectorTable(
        np.frombuffer(data, "<f4", count * dim, HEADER.size).reshape(count, dim),
        np.frombuffer(data, "<i8", words, begin),
        np.frombuffer(data, "<i8", words, begin + 8 * words),
        data[begin + 16 * words :],
    )
