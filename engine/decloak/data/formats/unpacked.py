"""The bytes of a file, .gz and .xz unpacked on the way, digested as they lie on the disk."""

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol

from decloak.data.budget import charge, reading
from decloak.data.formats.lines import FilePath, ReadFile, opened, place
from decloak.errors import DecloakError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Digest", "packing_of", "reading_file", "size_of_file", "start_of", "unpacked", "unpacked_file"]

FREE = 100_000_000
RATIO = 100
BUFFER = 1 << 16


_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz"}
"""The first bytes of packed data."""


class Digest(Protocol):
    """A digest that is being computed, as hashlib's are."""

    def update(self, data: bytes, /) -> None:
        """Take the next bytes."""


@contextmanager
def unpacked(path: Path, digest: Digest) -> Iterator[IO[bytes]]:
    """Open a file to read what it holds; `digest` gets the bytes of the file itself.

    Only so much is unpacked as text gives: a file that is small on the disk and endless in memory is an error.
    """
    with opened(path) as file:
        try:
            packed = _Packed(file, digest)
            unpack = _UNPACK.get(path.suffix.lower())
            with io.BufferedReader(_Unpacked(path, packed, unpack(packed)) if unpack else packed, BUFFER) as stream:
                yield stream
                while packed.read(BUFFER):  # what follows the packed data is part of the file
                    pass
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError):
            kind = path.suffix.lower()[1:]
            hint = "name it as what it is, or fetch it again"
            raise DecloakError(f"not {kind} data, or cut short", place(path), hint) from None


def packing_of(start: bytes) -> str | None:
    """How data that begin so are packed, whatever the file is called; None where they are not.

    >>> packing_of(b"\\x1f\\x8b\\x08")
    '.gz'
    """
    return next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), None)


def unpacked_file(path: FilePath) -> ReadFile:
    """A file with all that it holds, unpacked where its first bytes say that it is packed."""
    with reading_file(path):
        content = start_of(path)[0]
        return ReadFile(path, content, size_of_file(path) or len(content))


def size_of_file(path: FilePath) -> int:
    """Bytes of a file as it lies on the disk, 0 for a pipe."""
    if isinstance(path, ReadFile):
        return path.size
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):  # told where it is opened
        return 0


def reading_file(path: FilePath) -> AbstractContextManager[None]:
    """Inside, whatever is read of a file is charged to its budget."""
    return reading(os.fspath(path), size_of_file(path))


def start_of(path: FilePath, most: int = -1) -> tuple[bytes, str | None]:
    """So many bytes of what a file holds, or all, and how it is packed."""
    with opened(path) as file:
        packed = _Packed(file)
        stream = io.BufferedReader(packed, BUFFER)
        suffix = packing_of(stream.peek(BUFFER))
        if suffix is None:
            return stream.read(most), None
        try:
            unpacking = _Unpacked(Path(path), packed, _UNPACK[suffix](stream))
            return io.BufferedReader(unpacking, BUFFER).read(most), suffix
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError):
            raise DecloakError(f"{suffix[1:]} data that are cut short", place(path), "fetch it again") from None


class _Packed(io.RawIOBase):
    """The bytes of a file, counted and digested."""

    def __init__(self, file: io.FileIO | io.BytesIO, digest: Digest | None = None) -> None:
        self.file, self.digest, self.count = file, digest, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        got = self.file.readinto(buffer) or 0
        if self.digest is not None:
            self.digest.update(bytes(memoryview(buffer)[:got]))
        self.count += got
        return got


class _Unpacked(io.RawIOBase):
    """The unpacked bytes, as long as they are in proportion to the packed ones."""

    def __init__(self, path: Path, packed: _Packed, stream: BinaryIO) -> None:
        self.path, self.packed, self.stream, self.count = path, packed, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        data = self.stream.read(len(view))
        view[: len(data)] = data
        self.count += len(data)
        charge(len(data))
        if self.count > FREE + RATIO * self.packed.count:
            raise DecloakError(f"unpacks to more than {RATIO} times its size", place(self.path), "unpack it yourself")
        return len(data)


_UNPACK: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open}
