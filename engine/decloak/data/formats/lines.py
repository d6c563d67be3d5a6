"""Text files as numbered lines (UTF-8, LF or CRLF, of bounded length); places for errors; what a name is."""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO, FileIO
from itertools import count, islice, repeat
from pathlib import Path
from typing import NamedTuple

from decloak.data.budget import charge
from decloak.errors import DecloakError, placed, shown
from decloak.files import file_to_read

__all__ = [
    "LONGEST_LINE",
    "SQLITE",
    "FilePath",
    "Line",
    "ReadFile",
    "ReadProgress",
    "check_lengths",
    "check_name",
    "decoded",
    "opened",
    "place",
    "read_lines",
    "stream_lines",
]

BLOCK = 1 << 20
"""Bytes of a file that are lines at the same time."""
LINE = 100
"""Bytes of memory that a line takes beside its text."""
LONGEST_LINE = 1_000_000
"""Characters a line may have, quoted line ends inside a CSV record included."""

SQLITE = b"SQLite format 3\0"
"""What a SQLite database begins with."""

FilePath = str | os.PathLike[str]
ReadProgress = Callable[[int, int], None]
"""Told how much is read, and of how much."""


def place(path: FilePath, line: int | None = None, column: int | None = None) -> str:
    """Where something is, for an error: file, file:line or file:line:column.

    >>> place("visits.csv", 3, 7)
    'visits.csv:3:7'
    """
    file = shown(os.fspath(path), 4096)[1:-1]
    return ":".join([file, *(str(number) for number in (line, column) if number is not None)])


class ReadFile(os.PathLike[str]):
    """A file whose content was read already: whoever opens it is given that."""

    def __init__(self, path: FilePath, content: bytes, size: int | None = None) -> None:
        self._path, self.content = os.fspath(path), content
        self.size = len(content) if size is None else size
        """Bytes of the file, which may be packed."""

    def __fspath__(self) -> str:
        return self._path


class Line(NamedTuple):
    """One line of a file (or one CSV record: the line it begins on, and all its text)."""

    path: str
    number: int
    text: str

    def wrong(self, message: str, hint: str | None = None, column: int | None = None) -> DecloakError:
        return DecloakError(message, place(self.path, self.number, column), hint)

    def name(self, text: str) -> str:
        """The name of an item or a transaction that stands in this line; an error when it is none."""
        with placed(place(self.path, self.number)):
            return check_name(text)


def read_lines(path: FilePath, *, longest: int = LONGEST_LINE) -> list[Line]:
    """Every line of a text file without its line end; blank lines at the end of the file are left out."""
    return list(stream_lines(path, longest=longest))


def stream_lines(path: FilePath, *, longest: int = LONGEST_LINE) -> Iterator[Line]:
    """The same one by one: of a large file only a block is held as lines."""
    with opened(path) as file:
        data = file.read()
    charge(len(data))
    lines = _lines_of(data.removeprefix(b"\xef\xbb\xbf"), path, longest)
    first = next(lines, None)
    if first is None:
        raise DecloakError("the file is empty", place(path), "expected at least one line")
    yield first
    yield from lines


def _lines_of(data: bytes, path: FilePath, longest: int) -> Iterator[Line]:
    """The lines up to the last that is not blank; what is wrong with a block is told before its first line."""
    name, blank, number, begin = os.fspath(path), list[Line](), 1, 0
    while begin < len(data):
        end = data.find(b"\n", begin + BLOCK) + 1 or len(data)
        texts = _texts(data[begin:end], path, number)
        lines = list(map(Line._make, zip(repeat(name), count(number), texts)))
        check_lengths(lines, longest)
        last = next((at for at in range(len(texts), 0, -1) if texts[at - 1].strip()), 0)
        if last:
            yield from blank
            blank.clear()
            yield from islice(lines, last)
        blank += lines[last:]
        charge(LINE * (len(lines) - last))
        number, begin = number + len(lines), end


def _texts(block: bytes, path: FilePath, number: int) -> list[str]:
    """The texts of whole lines, the first of which has a number in the file."""
    text = decoded(block, path, number, "unpack it if it is compressed, or save it as UTF-8").replace("\r\n", "\n")
    if "\r" in text:
        raise DecloakError(
            "a carriage return inside the line",
            place(path, number + text.count("\n", 0, text.index("\r"))),
            "end lines with LF or CRLF; in item names only jsonl can carry it, as \\r",
        )
    return text.removesuffix("\n").split("\n")


def check_lengths(lines: Iterable[Line], longest: int) -> None:
    """Refuse a line that is longer than its format has any."""
    for line in lines:
        if len(line.text) > longest and line.text.strip():
            raise line.wrong(f"line of {len(line.text)} characters", f"at most {longest:,}")


@contextmanager
def opened(path: FilePath, *, again: bool = False) -> Iterator[FileIO | BytesIO]:
    """Open a file to read its bytes; what cannot be opened or read, or may never end, is an error at its place.

    What a shell hands over as /dev/stdin or /dev/fd/63 is read as a file is, unless it is read `again`.
    """
    if isinstance(path, ReadFile):
        yield BytesIO(path.content)
        return
    try:
        with file_to_read(path, again=again) as file:
            yield file
    except FileNotFoundError:
        raise DecloakError("no such file", place(path), _neighbour(Path(path))) from None
    except IsADirectoryError:
        raise DecloakError("this is a folder", place(path), "name a file in it") from None
    except OSError as error:
        reason = f"cannot read the file: {error.strerror or error}"
        raise DecloakError(reason, place(path), "check its name and who may read it") from None


def _neighbour(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {shown(path.parent)} either"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {shown(close[0])}?" if close else "check the name and the folder"


def decoded(data: bytes, path: FilePath, number: int, hint: str) -> str:
    """Bytes that begin on a line of a file, as text."""
    zero = data.find(b"\0")
    try:
        if zero >= 0:
            raise UnicodeDecodeError("utf-8", data, zero, zero + 1, "a zero byte")
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text: byte 0x{data[error.start]:02x}"
        raise DecloakError(message, place(path, number + data.count(b"\n", 0, error.start)), hint) from None


def check_name(name: str) -> str:
    """Return the name of an item or a transaction; an error (without a place) when no file can hold it."""
    if not name.strip():
        raise DecloakError("an empty name", hint="write a name, or remove the separator beside it")
    if "\0" in name:
        raise DecloakError(f"a zero character in the name {shown(name)}", hint="remove it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DecloakError(f"half a surrogate pair in the name {shown(name)}", hint="remove it") from None
    return name
