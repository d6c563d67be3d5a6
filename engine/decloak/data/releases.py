"""Release files of every method."""

from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.generalised_file import METHOD as GENERALISATION
from decloak.data.generalised_file import read_generalised
from decloak.data.lines import FilePath, read_lines
from decloak.data.release_file import LONGEST_CLUSTER, METHOD, read_disassociated
from decloak.data.release_header import header_of

__all__ = ["read_release"]


def read_release(path: FilePath) -> Disassociated | Generalised:
    """Read a release; what it promises is not checked here, only that it is one."""
    header = header_of(read_lines(path, longest=LONGEST_CLUSTER)[0], METHOD, GENERALISATION)
    return read_generalised(path) if header.method == GENERALISATION else read_disassociated(path)
