"""Documents for counting: text files and folders of them, columns of CSV and TSV, keys of JSON Lines.

The extension decides: .csv, .tsv and .jsonl have one document per record, in the named field. Any other file is one
document, or one per line. A further .gz or .xz is unpacked. Blank text is no document.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from decloak.data.formats.delimited import records
from decloak.data.formats.lines import Line, decode_text, json_value, location
from decloak.data.formats.unpacked import unpacked
from decloak.errors import DecloakError, quote, suggest

LONGEST = 16_000_000
"""Largest size in bytes of a line, or of a file that is one document."""
UTF8 = "save it as UTF-8; what is packed must end in .gz or .xz"

Values = Mapping[str, Any]


class TextOptions(NamedTuple):
    """Options for reading files of documents."""

    field: str | None = None
    """The key or column of the text. A number is that column, from 1, of a table without a header."""
    lines: bool = False
    """True if every line is a document, whatever the file."""
    without: tuple[tuple[str, str], ...] = ()
    """Fields, each with a value that excludes a document."""

    def __str__(self) -> str:
        if self.field is None:
            return "lines" if self.lines else "files"
        without = ", ".join(f"{name}={value}" for name, value in self.without)
        return f"field {self.field}" + (f" without {without}" if without else "")

    def check(self) -> None:
        """Raise an error if the options contradict each other."""
        if self.lines and self.field is not None:
            raise DecloakError("lines have no fields", hint="leave out --lines or --field")
        if self.without and self.field is None:
            raise DecloakError("--without needs --field", hint="name the field of the text")

    @property
    def names(self) -> list[str]:
        """Every field that is read, the text first."""
        return [*([] if self.field is None else [self.field]), *(name for name, _ in self.without)]

    @property
    def by_number(self) -> bool:
        """True if columns are counted from 1, because no header names them."""
        return bool(self.names) and all(name.isascii() and name.isdecimal() for name in self.names)


@dataclass
class Documents:
    """The documents of one file or folder. After an iteration it knows their number."""

    path: Path
    reading: TextOptions
    count: int = 0
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    sha256: Any = field(default_factory=hashlib.sha256)
    """Digest of the file on the disk; for a folder, the digest of its files in order."""

    def __iter__(self) -> Iterator[str]:
        self.reading.check()
        for path in files_of(self.path):
            for text in self._texts(path):
                if text.strip():
                    self.count += 1
                    yield text

    def _texts(self, path: Path) -> Iterator[str]:
        kind = kind_of(path)
        with unpacked(path, self.sha256) as stream:
            if self.reading.lines:
                yield from (line.text for line in text_lines(stream, path))
            elif kind not in RECORDS and self.reading.field is None:
                yield whole_text(stream, path)
            elif kind not in RECORDS:
                raise DecloakError(
                    "plain text has no fields", location(path), "fields are of .csv, .tsv and .jsonl files"
                )
            elif self.reading.field is None:
                message = "nothing says which field holds the text"
                raise DecloakError(message, location(path), "give --field NAME, or --lines")
            else:
                yield from self._fields(RECORDS[kind](text_lines(stream, path), self.reading))

    def _fields(self, rows: Iterable[tuple[Line, Values]]) -> Iterator[str]:
        name = self.reading.field or ""
        for line, values in rows:
            # A value in JSON may be a number, and the option is always text.
            reasons = (pair for pair in self.reading.without if pair[0] in values and str(values[pair[0]]) == pair[1])
            reason = next(reasons, None)
            if reason is None:
                yield text_of(line, values, name)
            else:
                self.left_out[reason] += 1


def text_of(line: Line, values: Values, name: str) -> str:
    """Return the text of field `name` in a record of `values` at `line`; null is empty."""
    if name not in values:
        hint = suggest(name, values) or f"there are {len(values)}; name one of them"
        raise line.error(f"no field {quote(name)}", hint)
    text = "" if values[name] is None else values[name]
    if not isinstance(text, str):
        raise line.error(f"the field {quote(name)} is not text", 'write "…", or null')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise line.error("half a surrogate pair in the text", "remove it") from None
    return text


def files_of(path: Path) -> Iterator[Path]:
    """Yield the file at `path`, or the files of a folder in order, without hidden ones."""
    if not path.is_dir():
        yield path
        return
    for folder, below, names in os.walk(path, onerror=_refuse):
        # Changed in place, because `os.walk` enters the folders left in this list, in its order.
        below[:] = sorted(name for name in below if not name.startswith("."))
        files = (Path(folder, name) for name in sorted(names) if not name.startswith("."))
        yield from (file for file in files if file.is_file())


def _refuse(error: OSError) -> NoReturn:
    raise DecloakError(f"cannot read the folder: {error.strerror}", location(error.filename)) from None


def kind_of(path: Path) -> str:
    """Return the extension of `path` that names its content, without the extension of the packing."""
    suffixes = [suffix for suffix in map(str.lower, path.suffixes) if suffix not in (".gz", ".xz")]
    return suffixes[-1] if suffixes else ""


def whole_text(stream: IO[bytes], path: Path) -> str:
    """Return all of `stream`, the content of `path`, as one document."""
    data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        hint = f"at most {LONGEST:,} bytes; with --lines every line is a document"
        raise DecloakError("a document that is too long", location(path), hint)
    return decode_text(data.removeprefix(b"\xef\xbb\xbf"), path, 1, UTF8)


def text_lines(stream: IO[bytes], path: Path) -> Iterator[Line]:
    """Yield the lines of `stream`, the content of `path`, that are not blank."""
    name, number = os.fspath(path), 0
    # One byte more than allowed shows a line that is too long, however long it is.
    while data := stream.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST:
            raise DecloakError("a line that is too long", location(path, number), f"at most {LONGEST:,} bytes")
        text = decode_text(data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data, path, number, UTF8)
        if text and not text.isspace():
            yield Line(name, number, text.removesuffix("\n").removesuffix("\r"))


def _table(rows: Iterator[tuple[Line, list[str]]], reading: TextOptions) -> Iterator[tuple[Line, Values]]:
    if reading.by_number:
        for line, row in rows:
            yield line, {str(number): value for number, value in enumerate(row, 1)}
        return
    head, header = next(rows, (None, []))
    if head is None:
        return
    for name in reading.names:
        _check_column(head, header, name)
    for line, row in rows:
        if len(row) != len(header):
            message = f"{len(row)} values where the header has {len(header)}"
            raise line.error(message, "put text that holds a separator in quotes")
        yield line, dict(zip(header, row, strict=True))


def _check_column(head: Line, header: Sequence[str], name: str) -> None:
    if header.count(name) != 1:
        if name in header:
            raise head.error(f"{header.count(name)} columns {quote(name)}", "give each another name")
        listed = ", ".join(quote(column) for column in header[:6])
        hint = suggest(name, header) or "where there is no header, give a column's number, from 1"
        raise head.error(f"no column {quote(name)}; the header has {listed}", hint)


def _jsonl(lines: Iterable[Line], reading: TextOptions) -> Iterator[tuple[Line, Values]]:
    shape = f'write {{"{reading.field}": "…"}}'
    for line in lines:
        value = json_value(line, shape)
        if not isinstance(value, dict):
            raise line.error(f"expected an object, found {quote(line.text)}", shape)
        yield line, value


RECORDS: dict[str, Callable[[Iterable[Line], TextOptions], Iterator[tuple[Line, Values]]]] = {
    ".csv": lambda lines, reading: _table(records(lines), reading),
    # A quote is an ordinary character in TSV.
    ".tsv": lambda lines, reading: _table(((line, line.text.split("\t")) for line in lines), reading),
    ".jsonl": _jsonl,
}
