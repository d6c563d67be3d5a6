"""Files that are there whole or not at all: made beside where they belong, brought to the disk, then given their names.

A full disk, a Ctrl-C or an end by force leaves nothing under the name that was asked for, and what stood there before.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from decloak.data.formats.lines import LONGEST_LINE, FilePath, place
from decloak.errors import DecloakError

__all__ = ["check_new", "made_whole", "told_unwritable", "write_bytes", "write_lines", "write_text"]


@contextmanager
def made_whole(*paths: FilePath, private: bool = False) -> Iterator[tuple[Path, ...]]:
    """Names to write files or folders to; at the end all of them take the places of `paths`, or all go away.

    They begin with a dot, so that a folder of documents something is written into does not count them. What is no file
    but a device is written to as it is. `private` files are there already, empty, for their owner's eyes alone.
    """
    goals = [_goal(Path(path)) for path in paths]
    for goal in goals:
        if goal.is_file() and not os.access(goal, os.W_OK):  # what nobody may write to is not replaced either
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(goal))
    parts = [goal if _is_device(goal) else goal.with_name(f".decloak.{secrets.token_hex(8)}.part") for goal in goals]
    pairs = [(part, goal) for part, goal in zip(parts, goals, strict=True) if part != goal]
    try:
        for part, _ in pairs if private else ():
            part.touch(mode=0o600, exist_ok=False)
        yield tuple(parts)
        for part, goal in pairs:
            _bring_to_disk(part)
            if goal.is_file() and not private:
                shutil.copymode(goal, part)
        _put_in_place(pairs)
    finally:
        for part, _ in pairs:
            _remove(part)


def _goal(path: Path) -> Path:
    """The file a link leads to: what is replaced is the file, not the link."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a zero character in the name")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_device(goal: Path) -> bool:
    return goal.exists() and not goal.is_file() and not goal.is_dir()


def _bring_to_disk(part: Path) -> None:
    """Wait until the disk has it: some disks tell only now that they are full."""
    for file in part.rglob("*") if part.is_dir() else (part,):
        if file.is_file():
            _sync(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # what was copied may be there to read alone


def _put_in_place(pairs: Sequence[tuple[Path, Path]]) -> None:
    placed: list[Path] = []
    try:
        for part, goal in pairs:
            placed += [] if os.path.lexists(goal) else [goal]
            part.replace(goal)
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
def told_unwritable(path: FilePath) -> Iterator[None]:
    """What the system has against writing a file, in our words."""
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "nothing was written, make room or name another file"
        raise DecloakError(f"cannot write the file: {reason}", place(path), hint) from None


def write_lines(lines: Iterable[str], path: FilePath, *, longest: int = LONGEST_LINE, remedy: str = "") -> None:
    """Write a text file, a line feed after every line; nothing is written when a line is too long to read."""
    texts = list(lines)
    for number, text in enumerate(texts, 1):
        if len(text) > longest:
            hint = f"at most {longest:,}" + (f": {remedy}" if remedy else "")
            raise DecloakError(f"line {number} would have {len(text)} characters", place(path), hint)
    write_text("".join(text + "\n" for text in texts), path)


def write_text(text: str, path: FilePath, *, private: bool = False) -> None:
    """Write a text file, a `private` one for its owner's eyes alone."""
    with told_unwritable(path):
        content = text.encode()
    write_bytes(content, path, private=private)


def write_bytes(content: bytes, path: FilePath, *, private: bool = False) -> None:
    """Write a file, a `private` one for its owner's eyes alone."""
    with told_unwritable(path), made_whole(path, private=private) as (part,):
        part.write_bytes(content)


def check_new(path: FilePath) -> None:
    """Refuse to write over something, or into a folder that is not there: before the work, not after it."""
    if os.path.lexists(path):
        raise DecloakError("there is something already", place(path), "choose another name")
    folder = Path(path).parent
    if not folder.is_dir():
        raise DecloakError("there is no such folder", place(folder), "make it, or name another")
    if "\0" in Path(path).name:
        raise DecloakError("a zero character in the name", place(path), "remove it")
