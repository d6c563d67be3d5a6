"""Word vector files, plain or gzipped: GloVe text, word2vec text, word2vec binary.

GloVe text has a word and its numbers per line. word2vec has a header line with count and dim. Then it has the same
lines, or (binary) for every word its bytes, a blank, dim little-endian float32 numbers, and an optional line feed. In
text a word may contain blanks. Words are bytes here: a word outside UTF-8 is accepted, and never found.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.formats.delimited import read_number
from decloak.data.formats.lines import LONGEST_LINE, FilePath, location, open_file
from decloak.errors import DecloakError, quote

Read = Callable[[int], bytes]

BYTES = 1 << 24
"""Bytes read together."""

MOST_NUMBERS = 20_000
"""Numbers of a vector, at most: a header with more is no header."""

LONGEST_WORD = 10_000
# A larger number would become infinite in four bytes.
LARGEST = float(np.finfo(np.float32).max)
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


class VectorBlock(NamedTuple):
    """Some words of a file, in its order, and their vectors, a row each."""

    words: list[bytes]
    vectors: Floats


class _Header(NamedTuple):
    words: int
    dim: int


def blocks(path: FilePath) -> Iterator[VectorBlock]:
    """Yield the words of the file at `path`, block by block, so that memory does not depend on its
    size or its header.
    """
    with reading(path) as read:
        start = read(BYTES).removeprefix(BOM)
        if not start.strip():
            raise DecloakError("the file is empty", location(path), "expected word vectors")
        line, _, rest = start.partition(b"\n")
        header = _header(line)
        if header is None:
            yield from _text(read, start, path, None)
            return
        _check(header, path)
        read_rest = _binary if _is_binary(rest, header.dim) else _text
        yield from read_rest(read, rest, path, header)


@contextmanager
def reading(path: FilePath) -> Iterator[Read]:
    """Yield a function that reads bytes of the file at `path`, unpacked if it is gzipped; errors name the file."""
    with open_file(path, again=True) as raw, io.BufferedReader(raw) as file:
        try:
            if not file.peek().startswith(GZIP):
                yield file.read
            else:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked.read
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DecloakError(f"damaged gzip: {error}", location(path), "fetch or pack the file again") from None


def is_vectors_file(path: FilePath) -> bool:
    """Return True if the file at `path` begins like word vectors: with a header, or a word and two or more numbers."""
    with reading(path) as read:
        line = read(LONGEST_LINE).removeprefix(BOM).partition(b"\n")[0]
    return _header(line) is not None or (line.count(b" ") > 1 and all(map(_is_number, line.split()[1:])))


def _header(line: bytes) -> _Header | None:
    fields = line.split()
    # Python may refuse to read longer numbers, and no file has as many words.
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 20 for field in fields):
        return None
    return _Header(*map(int, fields))


def _check(header: _Header, path: FilePath) -> None:
    if not header.words or not 0 < header.dim <= MOST_NUMBERS:
        message = f"the header says {header.words:,} words of {header.dim:,} numbers"
        raise _file_error(path, 1, message, f"expected words with 1 to {MOST_NUMBERS:,} numbers each")


def _is_binary(start: bytes, dim: int) -> bool:
    """Return True if no row of text follows the header, and the bytes after the first word are not
    numbers and names.
    """
    fields = start.partition(b"\n")[0].split()
    if len(fields) > dim and all(map(_is_number, fields[-dim:])):
        return False
    numbers = start.partition(b" ")[2][: 4 * dim]
    return any(byte > 126 or (byte < 32 and byte not in b"\t\r\n") for byte in numbers)


def _text(read: Read, rest: bytes, path: FilePath, header: _Header | None) -> Iterator[VectorBlock]:
    dim, first, number = (header.dim, 2, 2) if header else (0, 1, 1)
    more = b"more"
    while more:
        more = read(BYTES)
        *lines, rest = (rest + more).split(b"\n")
        if not more:  # the end of the file ends a line too, and blank lines may follow
            lines, rest = [*lines, rest], b""
            while lines and not lines[-1].strip():
                lines.pop()
        long = next((index for index, line in enumerate([*lines, rest]) if len(line) > LONGEST_LINE), None)
        if long is not None:
            raise _file_error(path, number + long, f"line of more than {LONGEST_LINE:,} bytes", "expected word vectors")
        if lines:
            dim = dim or _dim(lines[0], path)
            yield _block(lines, dim, path, number)
        number += len(lines)
    if header and number - first != header.words:
        raise _truncated(path, header, number - first)


def _dim(line: bytes, path: FilePath) -> int:
    dim = len(line.split()) - 1
    if not 0 < dim <= MOST_NUMBERS:
        raise _file_error(
            path, 1, f"{dim + 1} values", "expected a word and the numbers of its vector, separated by spaces"
        )
    return dim


def _block(lines: list[bytes], dim: int, path: FilePath, number: int) -> VectorBlock:
    """Read all lines together; if that fails, one by one, to read words with blanks and to name the faulty line."""
    parts = [line.rstrip().partition(b" ") for line in lines]
    vectors = _numbers([numbers for _, _, numbers in parts], dim)
    if vectors is None or not all(word for word, _, _ in parts):
        rows = [_row(line, dim, path, place) for place, line in enumerate(lines, number)]
        vectors = _numbers([numbers for _, numbers in rows], dim)
        assert vectors is not None  # every number was read before
        return VectorBlock([word for word, _ in rows], vectors)
    return VectorBlock([word for word, _, _ in parts], vectors)


def _numbers(texts: list[bytes], dim: int) -> Floats | None:
    """Return the numbers of all lines; None unless all are finite numbers between single blanks."""
    if not all(texts):
        return None  # loadtxt skips empty lines
    try:
        # One call reads all lines: parsing each in Python would be slow.
        # Without `comments=None`, all that follows a # would be left out unnoticed.
        vectors = np.loadtxt(texts, dtype=np.float32, delimiter=" ", comments=None, ndmin=2)
    except ValueError:
        return None
    return vectors if vectors.shape == (len(texts), dim) and np.isfinite(vectors).all() else None


def _row(line: bytes, dim: int, path: FilePath, number: int) -> tuple[bytes, bytes]:
    fields = line.split()
    # The numbers are the last `dim` fields, because a word may contain blanks.
    word, numbers = fields[:-dim], fields[-dim:]
    if not word or (len(word) > 1 and _is_number(word[-1])):
        count = sum(map(_is_number, fields))
        raise _file_error(path, number, f"{count} numbers", f"expected a word and {dim}, as line 1 says")
    for text in numbers:
        if not _is_number(text):
            message = f"{quote(text.decode(errors='replace'))} is not a finite number"
            raise _file_error(path, number, message, f"expected a word and {dim} numbers, separated by spaces")
    return b" ".join(word), b" ".join(numbers)


def _is_number(text: bytes) -> bool:
    try:
        return abs(read_number(text.decode("ascii"))) <= LARGEST
    except ValueError:
        return False


def _binary(read: Read, rest: bytes, path: FilePath, header: _Header) -> Iterator[VectorBlock]:
    count = 0
    while count < header.words:
        more = read(BYTES)
        words, raw, rest = _records(rest + more, header.words - count, 4 * header.dim)
        vectors = np.frombuffer(b"".join(raw), dtype="<f4").reshape(-1, header.dim)
        if not np.isfinite(vectors).all():
            index = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            word = quote(words[index].decode(errors="replace"))
            message = f"word {count + index + 1}, {word}, has a number that is not finite"
            raise DecloakError(message, location(path), "expected word2vec vectors")
        if words:
            yield VectorBlock(words, vectors)
        count += len(words)
        if not words and (not more or len(rest) > LONGEST_WORD + 4 * header.dim):
            raise _truncated(path, header, count)
    if (rest + read(BYTES)).strip():
        message = f"the file goes on after the {header.words:,} words its header says"
        raise DecloakError(message, location(path), "fetch the file again")


def _records(data: bytes, most: int, size: int) -> tuple[list[bytes], list[bytes], bytes]:
    """Return the whole words and the bytes of their vectors in some data, at most `most`, and the rest."""
    words: list[bytes] = []
    raw: list[bytes] = []
    start = 0
    while len(words) < most:
        blank = data.find(b" ", start, start + LONGEST_WORD)
        if blank < 0 or blank + 1 + size > len(data):
            break
        words.append(data[start:blank].lstrip(b"\r\n"))
        raw.append(data[blank + 1 : blank + 1 + size])
        start = blank + 1 + size
    return words, raw, data[start:]


def _truncated(path: FilePath, header: _Header, count: int) -> DecloakError:
    message = f"the header says {header.words:,} words of {header.dim:,} numbers, the file has {count:,}"
    return DecloakError(message, location(path), "download the file again; it may be incomplete")


def _file_error(path: FilePath, line: int, message: str, hint: str) -> DecloakError:
    return DecloakError(message, location(path, line), hint)
