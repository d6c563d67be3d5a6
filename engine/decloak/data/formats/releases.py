"""Release files of every method."""

import os

from decloak.data.disassociated import Disassociated
from decloak.data.formats.disassociated_file import LONGEST_CLUSTER, METHOD, read_disassociated
from decloak.data.formats.generalised_file import METHOD as GENERALISATION
from decloak.data.formats.generalised_file import read_generalised
from decloak.data.formats.lines import LONGEST_LINE, FilePath, Line, decoded, opened, read_lines
from decloak.data.formats.release_header import Header, header_of
from decloak.data.generalised import Generalised

__all__ = ["read_header", "read_release"]


def read_release(path: FilePath) -> Disassociated | Generalised:
    """Read a release; what it promises is not checked here, only that it is one."""
    header = header_of(read_lines(path, longest=LONGEST_CLUSTER)[0], METHOD, GENERALISATION)
    return read_generalised(path) if header.method == GENERALISATION else read_disassociated(path)


def read_header(path: FilePath, *methods: str) -> Header:
    """Read the first line alone of a release by one of the methods."""
    with opened(path, again=True) as file:
        data = file.readline(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")
    text = decoded(data, path, 1, "unpack it if it is compressed, or save it as UTF-8")
    return header_of(Line(os.fspath(path), 1, text.rstrip()), *methods)
