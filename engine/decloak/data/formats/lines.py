"""Text files as numbered lines (UTF-8, LF or CRLF, of bounded length), locations for errors, and the rules for
names.

JSON values from one line or from a text of several, with the best location for each error; and values as JSON
text.
"""

import difflib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, FileIO
from itertools import count, islice, repeat
from pathlib import Path
from typing import NamedTuple

from decloak.data.read_budget import charge
from decloak.errors import MARKS, DecloakError, at_location, quote
from decloak.files import file_to_read

BLOCK = 1 << 20
"""Bytes of a file that exist as lines at the same time."""
LINE = 100
"""Bytes of memory per line, next to its text."""
LONGEST_LINE = 1_000_000
"""Largest number of characters of a line, including quoted line ends inside a CSV record."""

SQLITE = b"SQLite format 3\0"
"""The first bytes of a SQLite database."""

FilePath = str | os.PathLike[str]
ReadProgress = Callable[[int, int], None]
"""A callback that gets the number of units read, and of all units."""


def location(path: FilePath, line: int | None = None, column: int | None = None) -> str:
    """Return the location of an error in the file `path`: file, file:line or file:line:column.

    >>> location("visits.csv", 3, 7)
    'visits.csv:3:7'
    """
    # A path is hostile too: quoting escapes what would control a terminal.
    file = quote(os.fspath(path), 4096)[1:-1]
    return ":".join([file, *(str(number) for number in (line, column) if number is not None)])


class ReadFile(os.PathLike[str]):
    """A file whose content was read already. Opening it returns this content."""

    def __init__(self, path: FilePath, content: bytes, size: int | None = None) -> None:
        self._path, self.content = os.fspath(path), content
        self.size = len(content) if size is None else size
        """Size of the file in bytes, which may be packed."""

    def __fspath__(self) -> str:
        return self._path


class Line(NamedTuple):
    """One line of a file, or one CSV record: the line on which it begins, and all its text."""

    path: str
    number: int
    text: str

    def error(self, message: str, hint: str | None = None, column: int | None = None) -> DecloakError:
        """Return the error `message` with the remedy `hint` at this line and `column`."""
        return DecloakError(message, location(self.path, self.number, column), hint)

    def name(self, text: str) -> str:
        """Return `text` as the name of an item or a record in this line; raise an error if it cannot be one."""
        with at_location(location(self.path, self.number)):
            return check_name(text)


def read_lines(path: FilePath, *, longest: int = LONGEST_LINE) -> list[Line]:
    """Return every line of the text file at `path` without its line end. Blank lines at the end are left out. `longest`
    limits a line.
    """
    return list(stream_lines(path, longest=longest))


def stream_lines(path: FilePath, *, longest: int = LONGEST_LINE) -> Iterator[Line]:
    """Yield the lines of the text file at `path`, as `read_lines` returns them: only a block of a large file exists as
    lines.

    `longest` limits a line.
    """
    with open_file(path) as file:
        data = file.read()
    charge(len(data))
    # Programs on Windows begin a file in UTF-8 with a byte order mark.
    lines = _lines_of(data.removeprefix(b"\xef\xbb\xbf"), path, longest)
    first = next(lines, None)
    if first is None:
        raise DecloakError("the file is empty", location(path), "expected at least one line")
    yield first
    yield from lines


def _lines_of(data: bytes, path: FilePath, longest: int) -> Iterator[Line]:
    """Yield the lines up to the last that is not blank. Errors in a block are raised before its first line."""
    name, blank, number, begin = os.fspath(path), list[Line](), 1, 0
    while begin < len(data):
        # Blocks end at line ends, so that no line and no UTF-8 character is cut.
        end = data.find(b"\n", begin + BLOCK) + 1 or len(data)
        texts = _texts(data[begin:end], path, number)
        lines = list(map(Line._make, zip(repeat(name), count(number), texts)))
        for line in lines:
            if len(line.text) > longest and line.text.strip():
                raise line.error(f"line of {len(line.text)} characters", f"at most {longest:,}")
        last = next((at for at in range(len(texts), 0, -1) if texts[at - 1].strip()), 0)
        if last:
            yield from blank
            blank.clear()
            yield from islice(lines, last)
        # Blank lines are kept back until a further line shows that the file goes on.
        blank += lines[last:]
        charge(LINE * (len(lines) - last))
        number, begin = number + len(lines), end


def _texts(block: bytes, path: FilePath, number: int) -> list[str]:
    """Return the texts of whole lines, the first of which has the given number in the file."""
    text = decode_text(block, path, number, "unpack it if it is compressed, or save it as UTF-8").replace("\r\n", "\n")
    if "\r" in text:
        raise DecloakError(
            "a carriage return inside the line",
            location(path, number + text.count("\n", 0, text.index("\r"))),
            "end lines with LF or CRLF; in item names only jsonl can carry it, as \\r",
        )
    return text.removesuffix("\n").split("\n")


@contextmanager
def open_file(path: FilePath, *, again: bool = False) -> Iterator[FileIO | BytesIO]:
    """Open the file at `path` to read its bytes. A missing, unreadable or endless file is an error.

    A pipe, such as /dev/stdin or /dev/fd/63, is read like a file, unless it is read `again`.
    """
    if isinstance(path, ReadFile):
        yield BytesIO(path.content)
        return
    try:
        with file_to_read(path, again=again) as file:
            yield file
    except FileNotFoundError:
        raise DecloakError("no such file", location(path), _neighbour(Path(path))) from None
    except IsADirectoryError:
        raise DecloakError("this is a folder", location(path), "name a file in it") from None
    except OSError as error:
        reason = f"cannot read the file: {error.strerror or error}"
        raise DecloakError(reason, location(path), "check the name and the permissions of the file") from None


def _neighbour(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {quote(path.parent)} either"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {quote(close[0])}?" if close else "check the name and the folder"


def decode_text(data: bytes, path: FilePath, number: int, hint: str) -> str:
    """Return `data`, which begin on line `number` of the file `path`, as text; the error has the remedy `hint`."""
    # A zero byte is valid UTF-8, but no text file has one.
    zero = data.find(b"\0")
    try:
        if zero >= 0:
            raise UnicodeDecodeError("utf-8", data, zero, zero + 1, "a zero byte")
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text: byte 0x{data[error.start]:02x}"
        raise DecloakError(message, location(path, number + data.count(b"\n", 0, error.start)), hint) from None


def check_name(name: str) -> str:
    """Return `name` of an item or a record; raise an error (without a location) if no file can contain it."""
    if not name.strip():
        raise DecloakError("an empty name", hint="write a name, or remove the extra separator")
    if "\0" in name:
        raise DecloakError(f"a zero character in the name {quote(name)}", hint="remove it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DecloakError(f"half a surrogate pair in the name {quote(name)}", hint="remove it") from None
    return name


def json_text(value: object, *, indent: int | None = None, default: Callable[[object], object] | None = None) -> str:
    """Return `value` as JSON that reads back as the same, without characters that control a terminal.

    `indent` puts it on several lines. `default` converts values that JSON does not have.

    >>> print(json_text(["caf\u00e9", chr(0x9b) + "31m"]))
    ["caf\u00e9", "\\u009b31m"]
    """
    return MARKS.sub(_escape, json.dumps(value, ensure_ascii=False, indent=indent, default=default))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def json_value(line: Line, shape: str) -> object:
    """Return the JSON value in `line`; `shape` describes the expected one. A repeated key is an error.

    The text may extend over several lines. Then only a syntax error has a line; other errors have the file.
    """
    if not line.text.strip():
        raise line.error("an empty line", "remove it")
    try:
        return json.loads(line.text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        fault = line._replace(number=line.number + error.lineno - 1)
        raise fault.error(f"not JSON: {error.msg}", shape, error.colno) from None
    except DecloakError as error:
        raise _error_at(line, error.message, error.hint) from None
    # Python refuses integers of thousands of digits with a ValueError.
    except (ValueError, RecursionError):
        raise _error_at(line, "not JSON: nested too deeply, or a number too large", shape) from None


def _error_at(line: Line, message: str, hint: str | None) -> DecloakError:
    return DecloakError(message, location(line.path, None if "\n" in line.text else line.number), hint)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise DecloakError(f"the key {quote(key)} is there twice", hint="write each key once")
        values[key] = value
    return values
