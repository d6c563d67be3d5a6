"""The content of a file, unpacked from .gz and .xz on the way. Its digest is the digest of the packed bytes."""

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from decloak.data.formats.lines import FilePath, ReadFile, location, open_file
from decloak.data.read_budget import charge, reading
from decloak.errors import DecloakError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FREE = 100_000_000
RATIO = 100
BUFFER = 1 << 16


_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz"}
"""The first bytes of packed data."""


class Digest(Protocol):
    """The interface of a running digest, as in hashlib."""

    def update(self, data: bytes, /) -> None:
        """Add `data` to the digest."""


@contextmanager
def unpacked(path: Path, digest: Digest | None = None) -> "Iterator[io.BufferedReader[_Unpacked | _Packed]]":
    """Open the file at `path` to read its content; `digest`, if given, gets the bytes of the file itself.

    The unpacked size is limited relative to the file: a small file with endless content is an error.
    """
    with open_file(path) as file:
        try:
            packed = _Packed(file, digest)
            unpack = _UNPACK.get(path.suffix.lower())
            with io.BufferedReader(_Unpacked(path, packed, unpack(packed)) if unpack else packed, BUFFER) as stream:
                yield stream
                while packed.read(BUFFER):  # what follows the packed data is part of the file
                    pass
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError):
            kind = path.suffix.lower()[1:]
            hint = "correct the extension, or download the file again"
            raise DecloakError(f"not {kind} data, or cut short", location(path), hint) from None


def packing_of(start: bytes) -> str | None:
    """Return the packing (.gz or .xz) of data that begin with `start`, None if they are not packed. The name does not
    matter.

    >>> packing_of(b"\\x1f\\x8b\\x08")
    '.gz'
    """
    return next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), None)


def unpacked_file(path: FilePath) -> ReadFile:
    """Return the file at `path` with its whole content, unpacked if its first bytes mark packed data."""
    with reading_file(path):
        content = start_of(path)[0]
        return ReadFile(path, content, size_of_file(path) or len(content))


def size_of_file(path: FilePath) -> int:
    """Return the size of the file at `path` in bytes, 0 for a pipe."""
    if isinstance(path, ReadFile):
        return path.size
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):  # told where it is opened
        return 0


def reading_file(path: FilePath) -> AbstractContextManager[None]:
    """Charge all reads inside to the budget of the file at `path`; return the context."""
    return reading(os.fspath(path), size_of_file(path))


def start_of(path: FilePath, most: int = -1) -> tuple[bytes, str | None]:
    """Return the first `most` bytes of the content of `path`, or all, and its packing."""
    with open_file(path) as file:
        packed = _Packed(file)
        stream = io.BufferedReader(packed, BUFFER)
        # Looked at and not read, because a pipe cannot go back.
        suffix = packing_of(stream.peek(BUFFER))
        if suffix is None:
            return stream.read(most), None
        try:
            unpacking = _Unpacked(Path(path), packed, _UNPACK[suffix](stream))
            return io.BufferedReader(unpacking, BUFFER).read(most), suffix
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError):
            raise DecloakError(f"{suffix[1:]} data that are cut short", location(path), "fetch it again") from None


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
    """The unpacked bytes, limited in proportion to the packed ones."""

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
            raise DecloakError(
                f"unpacks to more than {RATIO} times its size", location(self.path), "unpack it yourself"
            )
        return len(data)


_UNPACK: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open}
