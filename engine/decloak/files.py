"""Opening of files for reading, and the folders of bundled rule files and scenarios.

Pipes, devices and endless files are refused before a read blocks.
"""

import errno
import os
import re
import stat
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from decloak.errors import DecloakError, quote

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def bundled(kind: str) -> "Traversable":
    """Return the folder `kind`, `rules` or `scenarios`, of an installed wheel or of a checkout."""
    from importlib.resources import files

    packaged = files("decloak") / f"_{kind}"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / kind


_HANDED = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")
"""Names of the pipes that a shell passes."""


def file_to_read(path: str | os.PathLike[str], *, again: bool = False) -> FileIO:
    """Open the file at `path` for its bytes and return it; raise a DecloakError for a pipe or a device.

    A pipe that a shell passes as /dev/stdin or /dev/fd/63 is read like a file, unless it is read `again`.
    """
    handed = not again and _HANDED.fullmatch(str(Path(path).absolute())) is not None
    check_is_file(path, handed=handed)  # before it is opened, which some devices heed
    # If the file becomes a pipe in the meantime, decloak does not wait for its other end.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check(os.fstat(number).st_mode, path, handed)
        # The pipe that a shell passes has to be waited for.
        if hasattr(os, "set_blocking"):
            os.set_blocking(number, True)
        return FileIO(number)
    except BaseException:
        os.close(number)
        raise


def check_is_file(path: str | os.PathLike[str], *, handed: bool = False) -> None:
    """Raise an error if `path` is not a file: a pipe, a device, a folder, or missing. `handed` allows pipes that a
    shell passes.
    """
    try:
        mode = Path(path).stat().st_mode
    except ValueError:  # a zero character, or half a surrogate pair
        hint = "remove what is no text from it"
        raise DecloakError("no file can have this name", quote(os.fspath(path), 4096)[1:-1], hint) from None
    _check(mode, path, handed)


def _check(mode: int, path: str | os.PathLike[str], handed: bool) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or (handed and stat.S_ISFIFO(mode))):
        raise DecloakError("a pipe or a device, not a file", quote(os.fspath(path), 4096)[1:-1], "name a file")
