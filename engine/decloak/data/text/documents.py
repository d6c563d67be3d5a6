"""Documents to be counted: text files and folders of them, columns of CSV and TSV, keys of JSON Lines.

What a file is, its name says: .csv, .tsv and .jsonl hold a document a record, in the field that is named; any other
file is one document, or one a line. A .gz or .xz behind that is unpacked. Text that is blank is no document.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from decloak.data.formats.delimited import records
from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import Line, decoded, place
from decloak.data.formats.unpacked import unpacked
from decloak.errors import DecloakError, nearest, shown

__all__ = [
    "LONGEST",
    "RECORDS",
    "Documents",
    "TextOptions",
    "Values",
    "files_of",
    "kind_of",
    "text_lines",
    "text_of",
    "whole_text",
]

LONGEST = 16_000_000
"""Bytes that a line, or a document that is a file, may have."""
UTF8 = "save it as UTF-8; what is packed must end in .gz or .xz"

Values = Mapping[str, Any]


class TextOptions(NamedTuple):
    """How files are read."""

    field: str | None = None
    """The key or column that holds the text; a number is that column, from 1, of a table without a header."""
    lines: bool = False
    """Whatever the file is, its lines are documents."""
    without: tuple[tuple[str, str], ...] = ()
    """Fields, each with a value that leaves a document out."""

    def __str__(self) -> str:
        if self.field is None:
            return "lines" if self.lines else "files"
        without = ", ".join(f"{name}={value}" for name, value in self.without)
        return f"field {self.field}" + (f" without {without}" if without else "")

    def check(self) -> None:
        """An error when the options contradict each other."""
        if self.lines and self.field is not None:
            raise DecloakError("lines have no fields", hint="leave out --lines or --field")
        if self.without and self.field is None:
            raise DecloakError("without a field nothing can be left out", hint="name the field of the text")

    @property
    def names(self) -> list[str]:
        """Every field that is looked at, the text first."""
        return [*([] if self.field is None else [self.field]), *(name for name, _ in self.without)]

    @property
    def by_number(self) -> bool:
        """Columns are counted from 1, as no header names them."""
        return bool(self.names) and all(name.isascii() and name.isdecimal() for name in self.names)


@dataclass
class Documents:
    """The documents of one file or folder; once it was gone through, it knows how many they were."""

    path: Path
    reading: TextOptions
    count: int = 0
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    sha256: Any = field(default_factory=hashlib.sha256)
    """Of the file as it lies on the disk; of the files of a folder, one after the other."""

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
                raise DecloakError("plain text has no fields", place(path), "fields are of .csv, .tsv and .jsonl files")
            elif self.reading.field is None:
                message = "nothing says which field holds the text"
                raise DecloakError(message, place(path), "give --field NAME, or --lines")
            else:
                yield from self._fields(RECORDS[kind](text_lines(stream, path), self.reading))

    def _fields(self, rows: Iterable[tuple[Line, Values]]) -> Iterator[str]:
        name = self.reading.field or ""
        for line, values in rows:
            reasons = (pair for pair in self.reading.without if pair[0] in values and str(values[pair[0]]) == pair[1])
            reason = next(reasons, None)
            if reason is None:
                yield text_of(line, values, name)
            else:
                self.left_out[reason] += 1


def text_of(line: Line, values: Values, name: str) -> str:
    """The text of a record; null is none."""
    if name not in values:
        hint = nearest(name, values) or f"there are {len(values)}; name one of them"
        raise line.wrong(f"no field {shown(name)}", hint)
    text = "" if values[name] is None else values[name]
    if not isinstance(text, str):
        raise line.wrong(f"the field {shown(name)} is not text", 'write "…", or null')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise line.wrong("half a surrogate pair in the text", "remove it") from None
    return text


def files_of(path: Path) -> Iterator[Path]:
    """The file itself, or what a folder holds, in order; hidden ones are left out."""
    if not path.is_dir():
        yield path
        return
    for folder, below, names in os.walk(path, onerror=_refuse):
        below[:] = sorted(name for name in below if not name.startswith("."))
        files = (Path(folder, name) for name in sorted(names) if not name.startswith("."))
        yield from (file for file in files if file.is_file())


def _refuse(error: OSError) -> NoReturn:
    raise DecloakError(f"cannot read the folder: {error.strerror}", place(error.filename)) from None


def kind_of(path: Path) -> str:
    """The ending that says what a file holds, whatever packs it."""
    suffixes = [suffix for suffix in map(str.lower, path.suffixes) if suffix not in (".gz", ".xz")]
    return suffixes[-1] if suffixes else ""


def whole_text(stream: IO[bytes], path: Path) -> str:
    """All of a file as one document."""
    data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        hint = f"at most {LONGEST:,} bytes; with --lines every line is a document"
        raise DecloakError("a document that is too long", place(path), hint)
    return decoded(data.removeprefix(b"\xef\xbb\xbf"), path, 1, UTF8)


def text_lines(stream: IO[bytes], path: Path) -> Iterator[Line]:
    """The lines that are not blank."""
    name, number = os.fspath(path), 0
    while data := stream.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST:
            raise DecloakError("a line that is too long", place(path, number), f"at most {LONGEST:,} bytes")
        text = decoded(data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data, path, number, UTF8)
        if text and not text.isspace():
            yield Line(name, number, text.removesuffix("\n").removesuffix("\r"))


def _csv(lines: Iterable[Line], reading: TextOptions) -> Iterator[tuple[Line, Values]]:
    return _table(records(lines), reading)


def _tsv(lines: Iterable[Line], reading: TextOptions) -> Iterator[tuple[Line, Values]]:
    """In TSV a quote is a character like any other."""
    return _table(((line, line.text.split("\t")) for line in lines), reading)


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
            raise line.wrong(message, "put text that holds a separator in quotes")
        yield line, dict(zip(header, row, strict=True))


def _check_column(head: Line, header: Sequence[str], name: str) -> None:
    if header.count(name) != 1:
        if name in header:
            raise head.wrong(f"{header.count(name)} columns {shown(name)}", "give each another name")
        listed = ", ".join(shown(column) for column in header[:6])
        hint = nearest(name, header) or "where there is no header, give a column's number, from 1"
        raise head.wrong(f"no column {shown(name)}; the header has {listed}", hint)


def _jsonl(lines: Iterable[Line], reading: TextOptions) -> Iterator[tuple[Line, Values]]:
    shape = f'write {{"{reading.field}": "…"}}'
    for line in lines:
        value = json_value(line, shape)
        if not isinstance(value, dict):
            raise line.wrong(f"expected an object, found {shown(line.text)}", shape)
        yield line, value


RECORDS = {".csv": _csv, ".tsv": _tsv, ".jsonl": _jsonl}
