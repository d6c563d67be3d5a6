"""The one way a file is opened to be read: what may never end, or is no file, is refused before anybody waits."""

import errno
import os
import re
import stat
from io import FileIO
from pathlib import Path

from decloak.errors import DecloakError, shown

__all__ = ["check_is_file", "file_to_read"]

_HANDED = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")
"""What a shell calls the pipes it hands over."""


def file_to_read(path: str | os.PathLike[str], *, again: bool = False) -> FileIO:
    """Open a file for its bytes; an OSError where that cannot be, a DecloakError where it is a pipe or a device.

    What a shell hands over as /dev/stdin or /dev/fd/63 is read as a file is, unless it is read `again`.
    """
    handed = not again and _HANDED.fullmatch(str(Path(path).absolute())) is not None
    check_is_file(path, handed=handed)  # before it is opened, which some devices heed
    # Who exchanges the file for a pipe in the meantime makes nobody wait for its other end.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check(os.fstat(number).st_mode, path, handed)
        if hasattr(os, "set_blocking"):
            os.set_blocking(number, True)
        return FileIO(number)
    except BaseException:
        os.close(number)
        raise


def check_is_file(path: str | os.PathLike[str], *, handed: bool = False) -> None:
    """Refuse what is no file: a pipe, a device, and with an OSError a folder and what is not there."""
    try:
        mode = Path(path).stat().st_mode
    except ValueError:  # a zero character, or half a surrogate pair
        hint = "remove what is no text from it"
        raise DecloakError("no file can have this name", shown(os.fspath(path), 4096)[1:-1], hint) from None
    _check(mode, path, handed)


def _check(mode: int, path: str | os.PathLike[str], handed: bool) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or (handed and stat.S_ISFIFO(mode))):
        raise DecloakError("a pipe or a device, not a file", shown(os.fspath(path), 4096)[1:-1], "name a file")
