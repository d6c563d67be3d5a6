"""The first part of a file for `decloak look`: unpacked, decoded as well as possible, split into lines."""

import codecs
import os
from typing import NamedTuple

from decloak.data.formats.lines import SQLITE, FilePath, Line, ReadFile, location
from decloak.data.formats.unpacked import start_of
from decloak.errors import DecloakError

__all__ = ["SAMPLE", "WHOLE", "FileSample", "lines_of_text", "sample_of"]

SAMPLE = 1 << 20
"""Bytes that are analysed to recognise a file."""
WHOLE = 1 << 25
"""Largest size in bytes of a file that is read completely, to count its content."""

_BINARY = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "xlsx",
}
_MARKS = {codecs.BOM_UTF8: ("utf-8", "UTF-8 with a byte order mark"), codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
          codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16")}  # fmt: skip


class FileSample(NamedTuple):
    """The content of the first part of a file. A binary file has no lines."""

    file: ReadFile
    """The file with its content, unpacked; only the first part of a large one."""
    whole: bool
    """True if that is all of it."""
    packing: str | None
    binary: str | None
    """The format of a binary file."""
    encoding: str
    line_ends: str
    lines: tuple[Line, ...]
    """The lines of the part that is analysed."""

    @property
    def path(self) -> str:
        return os.fspath(self.file)

    @property
    def readable(self) -> bool:
        """True if decloak's readers accept the text unchanged."""
        return self.encoding.startswith("UTF-8") and self.line_ends != "CR"


def sample_of(path: FilePath) -> FileSample:
    """Read the first part of the file at `path` and return it. It is read once, because it may be a pipe."""
    content, packing = start_of(path, WHOLE + 1)
    whole = len(content) <= WHOLE
    if not content.strip():
        raise DecloakError("the file is empty", location(path), "expected at least one line")
    if content.startswith(SQLITE):
        hint = "ask it by `decloak sql`; in a scenario a store that `decloak publish` wrote is data: {release: FILE}"
        raise DecloakError("a SQLite database: a store, or none of decloak's", location(path), hint)
    binary = next((name for magic, name in _BINARY.items() if content.startswith(magic)), None)
    if not whole and binary is None:
        # Whole lines only: a cut line would look like a fault.
        content = content[: content.rfind(b"\n", 0, SAMPLE) + 1] or content[:SAMPLE]
    file = ReadFile(path, content)
    if binary is not None:
        return FileSample(file, whole, packing, binary, "", "", ())
    encoding, text = _decoded(content[:SAMPLE], path)
    cut = not whole or len(content) > SAMPLE
    if not text.strip():
        raise DecloakError("the file is empty", location(path), "expected at least one line")
    return FileSample(file, whole, packing, None, encoding, _line_ends(text), lines_of_text(text, os.fspath(path), cut))


def lines_of_text(text: str, path: str, cut: bool) -> tuple[Line, ...]:
    """Return the lines of `text` of the file `path`, without blank ones at the end; if it is `cut`, without the
    last.
    """
    texts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if cut and len(texts) > 1:
        texts.pop()
    while texts and not texts[-1].strip():
        texts.pop()
    return tuple(Line(path, number, line) for number, line in enumerate(texts, 1))


def _decoded(data: bytes, path: FilePath) -> tuple[str, str]:
    """Return the name of the encoding and the text. Latin-1 is a guess that nothing can refute."""
    for mark, (codec, name) in _MARKS.items():
        if data.startswith(mark):
            return name, data.removeprefix(mark).decode(codec, "ignore")
    if 3 * data.count(b"\0") >= len(data) > 2:  # every other byte of Latin letters, less of others
        codec = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
        return "UTF-16", data.decode(codec, "ignore")
    if b"\0" in data:
        raise DecloakError("not text, and no known format", location(path), "see `decloak import --help`")
    try:
        return "UTF-8", codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return "Latin-1", data.decode("latin-1")


def _line_ends(text: str) -> str:
    crlf = text.count("\r\n")
    lone, bare = text.count("\r") - crlf, text.count("\n") - crlf
    if lone:
        return "CR"
    return "CRLF" if crlf and not bare else "LF and CRLF" if crlf else "LF"
