"""Sandboxes for rules, in this process for those that come with decloak, in one of its own for all others.

SQL can hold SQLite in one step for minutes, where neither a Ctrl-C nor the sandbox's count of steps reaches it, and
can fill the memory. So what strangers wrote runs in a process with limits (`sandbox_child`), which is ended at once
when decloak is asked to end.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import decloak
from decloak.errors import DecloakError, shown
from decloak.store import sandbox_frames as frames
from decloak.store.relations import Scope
from decloak.store.sandbox import Sandbox

__all__ = ["GuardedSandbox", "Limits", "ask", "empty_sandbox", "one_process", "open_sandbox"]

_SECONDS, _MEMORY = 600, 900
_SECONDS_EMPTY = 10
"""What a statement may take: seconds of the processor (the last: without data, where rules are checked), megabytes."""
_START = (
    "import sys; sys.path.append(sys.argv[1]); from decloak.store import sandbox_child as c; c.serve(int(sys.argv[2]))"
)


class Limits(NamedTuple):
    """What SQL of strangers may take: seconds of the processor's time for a statement, megabytes in all."""

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
        raise DecloakError(f"{variable} is {shown(text)}", hint=f"give a whole number from {least}; {usual} is usual")
    return int(text)


def open_sandbox(path: str | Path, scope: Scope, stranger: str | None) -> Sandbox:
    """Open a store for a rule; `stranger` is what errors call it, None when it came with decloak."""
    if stranger is None:
        return Sandbox.of(path, scope)
    limits = Limits.current()
    return GuardedSandbox(stranger, limits, limits.seconds, "of", str(path), scope)


def empty_sandbox(relations: Mapping[str, Sequence[str]], stranger: str | None) -> Sandbox:
    """Open a store of nothing, where a rule is checked and tested."""
    if stranger is None:
        return Sandbox.empty(relations)
    limits = Limits.current()
    seconds = min(limits.seconds, _SECONDS_EMPTY)
    return GuardedSandbox(stranger, limits, seconds, "empty", dict(relations))


@contextmanager
def ask(path: str | Path, sql: str, *, held: bool) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]]:
    """Run a user's SELECT on a store; its columns and rows. `held` tells that the rows are all kept in memory."""
    limits = Limits.current()
    process = _Process(limits)
    try:
        statement = _Statement(None, limits, limits.seconds, None, held)
        answer = process.answer(statement, "ask", str(path), sql)
        columns: tuple[str, ...] = next(answer)
        yield columns, chain.from_iterable(answer)
    finally:
        process.end()


class _Statement(NamedTuple):
    """Whose SQL it is, where it is written, and what it may take."""

    stranger: str | None
    limits: Limits
    seconds: float
    place: str | None
    held: bool = True

    @property
    def owner(self) -> str:
        return f"the SQL of {self.stranger}" if self.stranger else "the SQL"

    def exceeds(self, what: str) -> DecloakError:
        """The error for one that takes too much."""
        limits, hint = self.limits, "let it come to an end"
        if what == "memory":
            message = f"takes over {limits.process} MB of memory"
            hint = f"let it keep less, or set DECLOAK_SQL_MEMORY={2 * limits.memory}"
        elif what == "room":
            message = f"gives rows of over {limits.room} MB"
            ways = (
                "let it give fewer or shorter ones"
                if self.stranger
                else "ask for --format csv, which prints them singly"
            )
            hint = f"{ways}, or set DECLOAK_SQL_MEMORY={2 * limits.memory}"
        else:
            message = f"takes over {self.seconds:g} s"
            if self.seconds == limits.seconds:
                hint += f", or set DECLOAK_SQL_SECONDS={2 * limits.seconds:g}"
        return DecloakError(f"{self.owner} {message}", self.place, hint)

    def fails(self, code: int) -> DecloakError:
        """The error for one with which the process ended."""
        if code in _OUT_OF_TIME:
            return self.exceeds("time")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        hint = f"let it take less memory than {self.limits.process} MB"
        return DecloakError(f"{self.owner} ended the process it runs in ({how})", self.place, hint)


_OUT_OF_TIME = {-getattr(signal, name, 0) for name in ("SIGPROF", "SIGALRM")} - {0} | {75}


class _Process:
    """A running `sandbox_child`. Whatever goes wrong with it, it is ended, and the next one starts anew."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        engine = str(Path(decloak.__file__).parents[1])
        # Alone in its group, so that a Ctrl-C of the terminal comes here and not to it; -I and -S, so that nothing in
        # the folder decloak works in, in the environment or in site-packages is imported.
        flags = ["-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}"]
        try:
            self._popen = subprocess.Popen(
                [sys.executable, *flags, "-c", _START, engine, str(limits.process)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("DECLOAK_DEBUG") else subprocess.DEVNULL,
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
                process_group=0,
            )
        except OSError as error:
            raise DecloakError(
                f"cannot start a process for SQL: {error.strerror}", hint="end some processes, then run it again"
            ) from None

    @property
    def usable(self) -> bool:
        """Whether it takes requests."""
        return self._popen.poll() is None

    def answer(self, statement: _Statement, call: str, *arguments: Any) -> Generator[Any, None, dict[str, Any]]:
        """Columns and then lists of rows where there are some; returned is the message that ends them.

        The words of the process are not trusted: they are plain values, and what of them is printed is escaped.
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
                        raise _told(statement, *message["error"])
                    return message
        finally:
            if not in_step:  # interrupted, or what was exceeded may have left it with no room to work in
                self.end()

    def _send(self, statement: _Statement, call: str, arguments: Sequence[Any]) -> None:
        assert self._popen.stdin is not None
        room = statement.limits.room if statement.held else 0
        request = {"call": call, "arguments": arguments, "seconds": statement.seconds, "room": room}
        with suppress(BrokenPipeError):  # it has ended: reading tells how
            frames.write(self._popen.stdin, request)

    def _next(self, statement: _Statement) -> frames.Rows | dict[str, Any]:
        assert self._popen.stdout is not None
        try:
            message = frames.read(self._popen.stdout)
        except ValueError:
            message = None
        if isinstance(message, (list, dict)):
            return message
        self._popen.kill()
        raise statement.fails(self._popen.wait())

    def end(self) -> None:
        """End the process at once."""
        self._popen.kill()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with suppress(OSError):  # it may still hold what could not be sent
                    pipe.close()
        self._popen.wait()


def _told(statement: _Statement, message: str, place: str | None, hint: str | None) -> DecloakError:
    """An error the process tells, which says at least which rule it is about."""
    plain = [text and shown(text, 2_000)[1:-1] for text in (message, place, hint)]
    return DecloakError(str(plain[0]), plain[1] or statement.place or statement.stranger, plain[2])


_KEPT: ContextVar[list[_Process] | None] = ContextVar("kept", default=None)
"""The idle processes of a run; None where each sandbox has its own."""


@contextmanager
def one_process() -> Iterator[None]:
    """Inside, sandboxes one after the other share a process, which starts with the first that needs it."""
    if _KEPT.get() is not None:
        yield
        return
    idle: list[_Process] = []
    token = _KEPT.set(idle)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for process in idle:
            process.end()


def _taken(limits: Limits) -> _Process:
    idle = _KEPT.get() or []
    while idle:
        process = idle.pop()
        if process.usable and process.limits == limits:
            return process
        process.end()
    return _Process(limits)


class GuardedSandbox(Sandbox):
    """A sandbox in a process of its own: the same methods with the same results, and an end when asked for."""

    def __init__(self, stranger: str, limits: Limits, seconds: float, call: str, *arguments: Any) -> None:
        self._statement = _Statement(stranger, limits, seconds, None)
        self._process = _taken(limits)
        self.read = set()
        try:
            self._value(call, *arguments)
        except BaseException:
            self._process.end()
            raise

    def show(self, name: str, columns: Iterable[str], sql: str) -> None:
        self._value("show", name, list(columns), sql)

    def fill(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._value("fill", name, list(columns), list(rows))

    def keep(self, name: str, sql: str) -> None:
        self._value("keep", name, sql)

    def stream(self, sql: str, place: str | None = None) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
        answer = self._answer("select", sql, place, place=place)
        return next(answer), chain.from_iterable(answer)

    def columns(self, sql: str, place: str | None = None) -> tuple[str, ...]:
        return tuple(self._value("columns", sql, place, place=place))

    def make(self, name: str, sql: str, place: str | None = None) -> None:
        self._value("make", name, sql, place, place=place)

    def index(self, name: str) -> None:
        self._value("index", name)

    def engine_stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        answer = self._answer("engine", sql, list(values))
        next(answer)
        return chain.from_iterable(answer)

    def close(self) -> None:
        idle = _KEPT.get()
        if idle is not None and self._process.usable:
            with suppress(DecloakError):
                self._value("close")
                idle.append(self._process)
                return
        self._process.end()

    def _value(self, call: str, *arguments: Any, place: str | None = None) -> Any:
        """Ask for what has no rows."""
        for _ in self._answer(call, *arguments, place=place):
            pass
        return self._last

    def _answer(self, call: str, *arguments: Any, place: str | None = None) -> Iterator[Any]:
        """Columns and lists of rows; a step of the engine counts to the place of the rule's step before it."""
        if place is not None:
            self._statement = self._statement._replace(place=place)
        last = yield from self._process.answer(self._statement, call, *arguments)
        self._last, self.read = last["value"], set(last["read"])
