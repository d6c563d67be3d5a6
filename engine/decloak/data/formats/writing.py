"""Atomic writing of files: written under a temporary name, flushed to the disk, then renamed.

A full disk, a Ctrl-C or a kill leaves nothing new under the requested name, and any old file intact.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from decloak.data.formats.lines import LONGEST_LINE, FilePath, location
from decloak.errors import DecloakError


@contextmanager
def atomic_paths(*paths: FilePath, private: bool = False) -> Iterator[tuple[Path, ...]]:
    """Yield temporary names to write files or folders to. At the end all replace `paths`, or all are removed.

    The names begin with a dot, so that a reader of a folder of documents skips them. A device is written to directly.
    `private` files exist beforehand, empty and readable only by the owner.
    """
    goals = [_resolve_link(Path(path)) for path in paths]
    for goal in goals:
        if goal.is_file() and not os.access(goal, os.W_OK):  # a read-only file is not replaced either
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(goal))
    # A random name: two processes that write the same file must not share a temporary one.
    parts = [goal if _is_device(goal) else goal.with_name(f".decloak.{secrets.token_hex(8)}.part") for goal in goals]
    pairs = [(part, goal) for part, goal in zip(parts, goals, strict=True) if part != goal]
    try:
        for part, _ in pairs if private else ():
            part.touch(mode=0o600, exist_ok=False)
        yield tuple(parts)
        for part, goal in pairs:
            _flush_to_disk(part)
            if goal.is_file() and not private:
                # A replaced file keeps its permissions; a private one has stricter ones.
                shutil.copymode(goal, part)
        _rename_all(pairs)
    finally:
        for part, _ in pairs:
            _remove(part)


def _resolve_link(path: Path) -> Path:
    """Return the file a link leads to: the file is replaced, not the link."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a zero character in the name")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_device(goal: Path) -> bool:
    return goal.exists() and not goal.is_file() and not goal.is_dir()


def _flush_to_disk(part: Path) -> None:
    """Wait until the disk has the file: some disks report only now that they are full."""
    for file in part.rglob("*") if part.is_dir() else (part,):
        if file.is_file():
            _sync(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # what was copied may be there to read alone


def _rename_all(pairs: Sequence[tuple[Path, Path]]) -> None:
    placed: list[Path] = []
    try:
        for part, goal in pairs:
            # After a failure only files that were not there before are removed.
            placed += [] if os.path.lexists(goal) else [goal]
            part.replace(goal)
    # Also on Ctrl-C: either all files get their names, or none.
    except BaseException:
        for goal in placed:
            _remove(goal)
        raise
    for folder in {goal.parent for _, goal in pairs}:
        with suppress(OSError):  # not every system can bring the names in a folder to the disk
            _sync(folder, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    number = os.open(path, mode)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def report_write_errors(path: FilePath) -> Iterator[None]:
    """Convert errors of the system while writing `path` into errors with a remedy."""
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "nothing was written, make room or name another file"
        raise DecloakError(f"cannot write the file: {reason}", location(path), hint) from None


def write_lines(lines: Iterable[str], path: FilePath, *, longest: int = LONGEST_LINE, remedy: str = "") -> None:
    """Write `lines` to a text file at `path`, each with a line feed. If one is longer than `longest`, write nothing and
    name `remedy`.
    """
    texts = list(lines)
    for number, text in enumerate(texts, 1):
        if len(text) > longest:
            hint = f"at most {longest:,}" + (f": {remedy}" if remedy else "")
            raise DecloakError(f"line {number} would have {len(text)} characters", location(path), hint)
    write_text("".join(text + "\n" for text in texts), path)


def write_text(text: str, path: FilePath, *, private: bool = False) -> None:
    """Write `text` to the file at `path`; `private` makes it readable only by its owner."""
    with report_write_errors(path):
        content = text.encode()
    write_bytes(content, path, private=private)


def write_bytes(content: bytes, path: FilePath, *, private: bool = False) -> None:
    """Write `content` to the file at `path`; `private` makes it readable only by its owner."""
    with report_write_errors(path), atomic_paths(path, private=private) as (part,):
        part.write_bytes(content)


def check_new(path: FilePath) -> None:
    """Raise an error if `path` exists or its folder does not: before the work, not after it."""
    if os.path.lexists(path):
        raise DecloakError("there is something already", location(path), "choose another name")
    folder = Path(path).parent
    if not folder.is_dir():
        raise DecloakError("there is no such folder", location(folder), "make it, or name another")
    if "\0" in Path(path).name:
        raise DecloakError("a zero character in the name", location(path), "remove it")
