"""Release files of every method; the header of a file says which it is."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from decloak.data.disassociated import Disassociated, disassociated_of
from decloak.data.formats.disassociated_file import DISASSOCIATION, chunked_schema
from decloak.data.formats.generalised_file import GENERALISATION, labelled_schema
from decloak.data.formats.lines import LONGEST_LINE, FilePath, Line, decoded, opened, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE, Header, header_of
from decloak.data.generalised import Generalised, generalised_of

__all__ = ["RELEASE_FORMATS", "ReleaseFormat", "read_headed", "read_header", "read_release"]


class ReleaseFormat(NamedTuple):
    """How the release files of a method are read, and the JSON Schema of their lines."""

    release_of: Callable[[Sequence[Line]], Disassociated | Generalised]
    json_schema: Callable[[], dict[str, Any]]
    schema_name: str
    """What the schema is called among the references."""


RELEASE_FORMATS = {
    DISASSOCIATION: ReleaseFormat(disassociated_of, chunked_schema, "release"),
    GENERALISATION: ReleaseFormat(generalised_of, labelled_schema, "generalised-release"),
}
"""By the method that the header names."""


def read_release(path: FilePath) -> Disassociated | Generalised:
    """Read a release; what it promises is not checked here, only that it is one."""
    return read_headed(path)[1]


def read_headed(path: FilePath) -> tuple[Header, Disassociated | Generalised]:
    """Read a release with what its header says, in one opening of the file."""
    lines = read_lines(path, longest=LONGEST_RELEASE)
    header = header_of(lines[0], *RELEASE_FORMATS)
    return header, RELEASE_FORMATS[header.method].release_of(lines)


def read_header(path: FilePath, *methods: str) -> Header:
    """Read the first line alone of a release, by one of the methods where some are named."""
    with opened(path, again=True) as file:
        data = file.readline(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")
    text = decoded(data, path, 1, "unpack it if it is compressed, or save it as UTF-8")
    return header_of(Line(os.fspath(path), 1, text.rstrip()), *(methods or RELEASE_FORMATS))
