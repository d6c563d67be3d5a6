"""The running process that executes untrusted SQL, and its limits."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.store import sandbox_frames as frames

__all__ = ["Limits", "Process", "Statement"]

_SECONDS, _MEMORY = 600, 900
"""The default limits of a statement; the environment can override them."""
_START = """
import sys; sys.path.append(sys.argv[1])
from decloak.store import sandbox_child
sandbox_child.serve(int(sys.argv[2]))
"""

_PASSED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "SQLITE_TMPDIR", "TMPDIR", "TEMP", "TMP")
"""The environment variables that the process inherits: the places of libraries and of temporary files."""


class Limits(NamedTuple):
    """The limits of untrusted SQL: seconds of processor time for a statement, megabytes in all."""

    seconds: float
    memory: int

    @classmethod
    def current(cls) -> "Limits":
        """The limits there are unless the environment says otherwise."""
        return cls(_number("DECLOAK_SQL_SECONDS", _SECONDS, 1), _number("DECLOAK_SQL_MEMORY", _MEMORY, 100))

    @property
    def process(self) -> int:
        """The megabytes of the process that runs the SQL."""
        return self.memory * 2 // 3

    @property
    def room(self) -> int:
        """The megabytes of the rows it gives, which are held here."""
        return self.memory - self.process


def _number(variable: str, usual: int, least: int) -> int:
    text = os.environ.get(variable, "").strip() or str(usual)
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) >= least):
        raise DecloakError(f"{variable} is {quote(text)}", hint=f"give a whole number from {least}; {usual} is usual")
    return int(text)


class Statement(NamedTuple):
    """Owner, place and limits of an SQL statement."""

    untrusted_name: str | None
    limits: Limits
    seconds: float
    place: str | None
    held: bool = True

    @property
    def owner(self) -> str:
        return f"the SQL of {self.untrusted_name}" if self.untrusted_name else "the SQL"

    def exceeds(self, what: str) -> DecloakError:
        """The error for one that takes too much memory, or gives too much."""
        limits = self.limits
        if what == "memory":
            message = f"takes over {limits.process} MB of memory"
            hint = f"let it keep less, or set DECLOAK_SQL_MEMORY={2 * limits.memory}"
        else:
            message = f"gives rows of over {limits.room} MB"
            way = (
                "let it give fewer or shorter ones" if self.untrusted_name else "ask for --format csv, which holds none"
            )
            hint = f"{way}, or set DECLOAK_SQL_MEMORY={2 * limits.memory}"
        return DecloakError(f"{self.owner} {message}", self.place, hint)

    def lasts(self, message: str) -> DecloakError:
        """The error for one that takes too long."""
        hint = "let it come to an end"
        if self.seconds == self.limits.seconds:
            hint += f", or set DECLOAK_SQL_SECONDS={2 * self.seconds:g}"
        return DecloakError(f"{self.owner} {message}", self.place, hint)

    def fails(self, code: int) -> DecloakError:
        """The error for one with which the process ended."""
        by = {-number: name for name, number in signal.Signals.__members__.items()}.get(code)
        if by == "SIGPROF":
            return self.lasts(f"takes over {self.seconds:g} s of the processor")
        if by == "SIGALRM" or code == frames.OUT_OF_TIME:
            return self.lasts(f"takes over {frames.SLACK * self.seconds:g} s")
        how = by or f"exit code {code}"
        hint = f"let it take less memory than {self.limits.process} MB"
        return DecloakError(f"{self.owner} ended the process it runs in ({how})", self.place, hint)


class Process:
    """A running `sandbox_child`. After any error the process ends, and a new one replaces it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        engine = str(Path(__file__).parents[2])
        # Alone in its group, so that a Ctrl-C of the terminal comes here and not to it; -I and -S, so that nothing in
        # the folder decloak works in, in the environment or in site-packages is imported. Neither that folder nor the
        # environment is handed on: both may name the store.
        flags = ["-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}"]
        try:
            self._popen = subprocess.Popen(
                [sys.executable, *flags, "-c", _START, engine, str(limits.process)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("DECLOAK_DEBUG") else subprocess.DEVNULL,
                cwd=Path(engine).anchor,
                env={name: os.environ[name] for name in _PASSED if name in os.environ} | {"MALLOC_ARENA_MAX": "1"},
                process_group=0,
            )
        except OSError as error:
            raise DecloakError(
                f"cannot start a process for SQL: {error.strerror}", hint="end some processes, then run it again"
            ) from None

    @property
    def usable(self) -> bool:
        return self._popen.poll() is None

    def answer(self, statement: Statement, call: str, *arguments: Any) -> Generator[Any, None, JsonObject]:
        """Columns and then lists of rows where there are some; returned is the message that ends them.

        The replies of the process are untrusted: they are plain values, and printed text is escaped.
        """
        in_step = False
        try:
            self._send(statement, call, arguments)
            while True:
                message = self._next(statement)
                if isinstance(message, list):
                    yield message
                elif "columns" in message:
                    yield tuple(map(str, message["columns"]))
                elif "exceeded" in message:
                    raise statement.exceeds(message["exceeded"])
                else:
                    in_step = True
                    if "error" in message:
                        raise _error_of(statement, *message["error"])
                    return message
        finally:
            if not in_step:  # interrupted, or what was exceeded may have left it with no room to work in
                self.end()

    def _send(self, statement: Statement, call: str, arguments: Sequence[Any]) -> None:
        assert self._popen.stdin is not None
        room = statement.limits.room if statement.held else 0
        request = {"call": call, "arguments": arguments, "seconds": statement.seconds, "room": room}
        with suppress(BrokenPipeError):  # it has ended: reading tells how
            frames.write_frame(self._popen.stdin, request)

    def _next(self, statement: Statement) -> frames.Rows | JsonObject:
        assert self._popen.stdout is not None
        try:
            message = frames.read_frame(self._popen.stdout)
        except ValueError:
            message = None
        if isinstance(message, (list, dict)):
            return message
        self._popen.kill()
        raise statement.fails(self._popen.wait())

    def end(self) -> None:
        self._popen.kill()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with suppress(OSError):  # it may still hold what could not be sent
                    pipe.close()
        self._popen.wait()


def _error_of(statement: Statement, message: str, place: str | None, hint: str | None) -> DecloakError:
    """An error the process tells, which says at least which rule it is about."""
    plain = [text and quote(text, 2_000)[1:-1] for text in (message, place, hint)]
    return DecloakError(str(plain[0]), plain[1] or statement.place or statement.untrusted_name, plain[2])
