"""Cache of word vector files: a table per file in the user's cache folder, mapped into memory.

A cache file has a header, the vectors in the order of their file (float32), then the vocabulary in byte order. The
vocabulary has each word once: the end of each word, the row of its vector, and the bytes of all words. It is only data:
decloak writes it again if the version, size, check sum or source differs. Where decloak cannot write it, the same
layout is kept in memory.
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
from decloak.data.formats.writing import atomic_paths
from decloak.relate.vectors_file import blocks, reading

__all__ = ["VectorTable", "cache_folder", "vector_table"]

MAGIC = b"decloak vectors1"
HEADER = Struct("<16s32s5q8x")
"""MAGIC, the digest of the source, rows, numbers per row, distinct words, their bytes, check sum of the vocabulary."""

HEAD = 1 << 16
"""Bytes of a file that, with its size and time, identify its version."""


class VectorTable(NamedTuple):
    """Word vectors by row, and the words in byte order: the end of each in the text, and its row."""

    vectors: NDArray[np.float32]
    ends: Ints
    rows: Ints
    text: memoryview

    def row(self, word: bytes) -> int | None:
        """Return the row of `word`, the first one for a repeated word, or None."""
        index = bisect_left(range(len(self.ends)), word, key=self._word)
        return int(self.rows[index]) if index < len(self.ends) and self._word(index) == word else None

    def _word(self, index: int) -> bytes:
        return bytes(self.text[int(self.ends[index - 1]) if index else 0 : int(self.ends[index])])


def cache_folder() -> Path | None:
    """Return the folder for caches by the XDG convention, None if the user has no home."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = named if named.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "decloak"


def vector_table(path: FilePath, folder: Path | None = None) -> VectorTable:
    """Return the word vectors of the file at `path`, from the cache in `folder` (default: the user's own), which it may
    write.
    """
    source = _source(path)
    folder = folder or cache_folder()
    if folder is not None:
        with suppress(OSError):
            cache = folder / f"{hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]}.vectors"
            cached = _map_cache(cache, source) or _write_cache(cache, path, source)
            if cached:
                return cached
    memory = io.BytesIO()
    _write_table(memory, path, source)
    table = _table(memory.getbuffer(), source)
    assert table is not None
    return table


def _source(path: FilePath) -> bytes:
    """Return a digest that changes when the file changes."""
    with reading(path) as read:
        stat = Path(path).stat()
        return hashlib.sha256(b"%d %d " % (stat.st_size, stat.st_mtime_ns) + read(HEAD)).digest()


def _write_cache(cache: Path, path: FilePath, source: bytes) -> VectorTable | None:
    """Write a cache file; another process never sees an incomplete one."""
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A pipe or a socket of this name would block the process.
    if cache.exists() and not cache.is_file():
        cache.unlink()  # a pipe, say: it would be written to as it is, and waited for
    with atomic_paths(cache) as (part,):
        part.touch(mode=0o600)  # for its owner alone, as the vectors may be
        with part.open("wb") as file:
            _write_table(file, path, source)
    return _map_cache(cache, source)


def _write_table(file: BinaryIO, path: FilePath, source: bytes) -> None:
    words: list[bytes] = []
    dim = 0
    file.write(bytes(HEADER.size))
    for block in blocks(path):
        file.write(np.ascontiguousarray(block.vectors, dtype="<f4").tobytes())
        words += block.words
        dim = block.vectors.shape[1]
    # Sorting is stable: of a word that comes twice the first row stands first, and that one is kept.
    # The sort is stable: the first row of a word that occurs twice comes first, and is kept.
    order = sorted(range(len(words)), key=words.__getitem__)
    once = order[:1] + [after for before, after in pairwise(order) if words[before] != words[after]]
    text = b"".join(words[row] for row in once)
    ends = np.cumsum([len(words[row]) for row in once], dtype="<i8")
    vocabulary = ends.tobytes() + np.array(once, dtype="<i8").tobytes() + text
    file.write(vocabulary)
    file.seek(0)
    file.write(HEADER.pack(MAGIC, source, len(words), dim, len(once), len(text), zlib.crc32(vocabulary)))


def _map_cache(cache: Path, source: bytes) -> VectorTable | None:
    if not cache.is_file():
        return None
    try:
        with cache.open("rb") as file:
            return _table(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), source)
    except ValueError:  # an empty file cannot be mapped
        return None


def _table(data: memoryview, source: bytes) -> VectorTable | None:
    """Return the table in some data; None unless the data are complete and of this source."""
    if len(data) < HEADER.size:
        return None
    # Everything in the header is checked: the file may be damaged, or of another version.
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
