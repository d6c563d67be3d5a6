"""Release files of every method. The header of a file names its method."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from decloak.data.disassociated import Disassociated, disassociated_of
from decloak.data.formats.disassociated_file import DISASSOCIATION, disassociated_schema
from decloak.data.formats.generalised_file import GENERALISATION, generalised_schema
from decloak.data.formats.itemset_file import ITEMSETS, itemset_schema
from decloak.data.formats.lines import LONGEST_LINE, FilePath, Line, decode_text, open_file, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE, Header, header_of
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised, generalised_of
from decloak.data.itemset_table import ItemsetTable, itemset_table_of

__all__ = ["RELEASE_FORMATS", "ReleaseFormat", "read_headed", "read_header", "read_release"]


AnyRelease = Disassociated | Generalised | ItemsetTable


class ReleaseFormat(NamedTuple):
    """The form of the release files of a method, their reader, and the JSON Schema of their lines."""

    form: FormName
    release_of: Callable[[Sequence[Line]], AnyRelease]
    json_schema: Callable[[], dict[str, object]]
    schema_name: str
    """The name of the schema in the reference documentation."""


RELEASE_FORMATS = {
    DISASSOCIATION: ReleaseFormat(FormName.DISASSOCIATED, disassociated_of, disassociated_schema, "release"),
    GENERALISATION: ReleaseFormat(FormName.GENERALISED, generalised_of, generalised_schema, "generalised-release"),
    ITEMSETS: ReleaseFormat(FormName.ITEMSETS, itemset_table_of, itemset_schema, "itemset-table"),
}
"""The format of each method, by the method that the header names."""


def read_release(path: FilePath) -> AnyRelease:
    """Read the release file at `path` and return the release. Its guarantee is not checked here."""
    return read_headed(path)[1]


def read_headed(path: FilePath) -> tuple[Header, AnyRelease]:
    """Read the release file at `path` in one opening; return its header and the release."""
    lines = read_lines(path, longest=LONGEST_RELEASE)
    header = header_of(lines[0], *RELEASE_FORMATS)
    return header, RELEASE_FORMATS[header.method].release_of(lines)


def read_header(path: FilePath, *methods: str) -> Header:
    """Read only the first line of the release at `path`; return its header. An error if it names none of `methods`,
    where some are given.
    """
    with open_file(path, again=True) as file:
        data = file.readline(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")
    text = decode_text(data, path, 1, "unpack it if it is compressed, or save it as UTF-8")
    return header_of(Line(os.fspath(path), 1, text.rstrip()), *(methods or RELEASE_FORMATS))
