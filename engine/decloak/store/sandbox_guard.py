"""Sandboxes for rules: in this process for the rules of decloak, in a separate process for all others.

SQL can hold SQLite in one step for minutes, where neither a Ctrl-C nor the sandbox's count of steps reaches it, and can
fill the memory. So untrusted SQL runs in a process with limits (`sandbox_child`), which ends immediately when decloak
ends.

The running process that executes untrusted SQL, and its limits.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.store import sandbox_frames as frames
from decloak.store.opening import unusable
from decloak.store.relations import Row, SqlValue
from decloak.store.sandbox import Sandbox

if TYPE_CHECKING:
    from decloak.store.attackers_database import AttackersDatabase, Earlier


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
        """Return the default limits, or those that the environment sets."""
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
        """Return the error for SQL with too much memory or output."""
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
        """Return the error for SQL that takes too long."""
        hint = "let it come to an end"
        if self.seconds == self.limits.seconds:
            hint += f", or set DECLOAK_SQL_SECONDS={2 * self.seconds:g}"
        return DecloakError(f"{self.owner} {message}", self.place, hint)

    def fails(self, code: int) -> DecloakError:
        """Return the error for SQL that ended the process, given its exit `code`."""
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
        import subprocess  # takes time to import, and no rule may be left to run

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

    def answer(self, statement: Statement, call: str, *arguments: Any) -> Generator[Any, None, tuple[Any, set[str]]]:
        """Yield columns and then lists of rows where there are some; return a value, and the relations read so far.

        The replies of the process are untrusted: they are plain values, and printed text is escaped.
        """
        in_step = False
        try:
            self._send(statement, call, arguments)
            try:
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
                        value = message["value"]
                        return tuple(map(str, value)) if call == "columns" else value, set(message["read"])
            # SQL that has taken the process over may send anything.
            except (KeyError, TypeError):
                self._popen.kill()
                raise statement.fails(self._popen.wait()) from None
        finally:
            if not in_step:  # interrupted, or what was exceeded may have left it with no room to work in
                self.end()

    def _send(self, statement: Statement, call: str, arguments: Sequence[Any]) -> None:
        assert self._popen.stdin is not None
        room = statement.limits.room if statement.held else 0
        request = {"call": call, "arguments": arguments, "seconds": statement.seconds, "room": room}
        with suppress(BrokenPipeError):  # it has ended: reading gives the reason
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
    """Return an error of the process, with the rule as its place if it has none."""
    plain = [text and quote(text, 2_000)[1:-1] for text in (message, place, hint)]
    return DecloakError(str(plain[0]), plain[1] or statement.place or statement.untrusted_name, plain[2])


_SECONDS_EMPTY = 10
"""Processor time of a statement over empty relations, which check and test rules."""


def open_sandbox(
    database: "AttackersDatabase", relations: Collection[str], earlier: Sequence["Earlier"], untrusted_name: str | None
) -> Sandbox:
    """Open the attacker's database for a rule that reads these relations and the relations of earlier attacks.

    `untrusted_name` is what errors call the rule, None when it came with decloak. The process of an untrusted rule is
    given a file with the database. The file is gone once the process has opened it.
    """
    names = [*relations, *(one.derives.name for one in earlier)]
    if untrusted_name is None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        database.write(connection, relations, earlier)
        return Sandbox(connection, names)
    limits = Limits.current()
    with TemporaryDirectory(prefix="decloak-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "attacker.db"
        with closing(_empty_database(file)) as connection:
            database.write(connection, relations, earlier)
        return GuardedSandbox(untrusted_name, limits, limits.seconds, "of", str(file), names)


def _empty_database(file: Path) -> sqlite3.Connection:
    """Make an empty database in a new file, without a journal."""
    try:
        connection = sqlite3.connect(file, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise unusable(error) from None
    # The file is written once and soon gone: no crash can matter.
    connection.execute("pragma journal_mode = off")
    connection.execute("pragma synchronous = off")
    return connection


def empty_sandbox(relations: Mapping[str, Sequence[str]], untrusted_name: str | None) -> Sandbox:
    """Open a store of nothing, where a rule is checked and tested."""
    if untrusted_name is None:
        return Sandbox.empty(relations)
    limits = Limits.current()
    seconds = min(limits.seconds, _SECONDS_EMPTY)
    return GuardedSandbox(untrusted_name, limits, seconds, "empty", dict(relations))


@contextmanager
def ask(path: str | Path, sql: str, *, held: bool) -> Iterator[tuple[tuple[str, ...], Iterator[Row]]]:
    """Run a user's SELECT on a store; its columns and rows. `held` is true if all rows are in memory."""
    limits = Limits.current()
    process = Process(limits)
    try:
        statement = Statement(None, limits, limits.seconds, None, held)
        # The process works in another folder, where a relative path would lead elsewhere.
        answer = process.answer(statement, "ask", str(Path(path).absolute()), sql)
        columns: tuple[str, ...] = next(answer, ())
        yield columns, chain.from_iterable(answer)
    finally:
        process.end()


_KEPT: ContextVar[list[Process] | None] = ContextVar("kept", default=None)
"""The idle processes of a run; None where each sandbox has its own."""


@contextmanager
def one_process() -> Iterator[None]:
    """Inside, sandboxes one after the other share a process, which starts with the first that needs it."""
    if _KEPT.get() is not None:
        yield
        return
    idle: list[Process] = []
    token = _KEPT.set(idle)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for process in idle:
            process.end()


def forget_processes() -> None:
    """Start new processes from now on: the existing ones belong to the parent of this fork."""
    if _KEPT.get() is not None:
        _KEPT.set([])


def _idle_process(limits: Limits) -> Process:
    idle = _KEPT.get() or []
    while idle:
        process = idle.pop()
        # The environment may have changed the limits since.
        if process.usable and process.limits == limits:
            return process
        process.end()
    return Process(limits)


class GuardedSandbox(Sandbox):
    """A sandbox in a process of its own: the same methods with the same results, and an end when asked for."""

    def __init__(self, untrusted_name: str, limits: Limits, seconds: float, call: str, *arguments: Any) -> None:
        self._statement = Statement(untrusted_name, limits, seconds, None)
        self._process = _idle_process(limits)
        self.read = set()
        try:
            self._value(call, *arguments)
        # Only this object knows the process: after a Ctrl-C, it would be left running.
        except BaseException:
            self._process.end()
            raise

    def fill(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[SqlValue]]) -> None:
        self._value("fill", name, list(columns), list(rows))

    def keep(self, name: str, sql: str) -> None:
        self._value("keep", name, sql)

    def stream(self, sql: str, place: str | None = None) -> tuple[tuple[str, ...], Iterator[Row]]:
        answer = self._answer("select", sql, place=place)
        return next(answer, ()), chain.from_iterable(answer)

    def columns(self, sql: str, place: str | None = None) -> tuple[str, ...]:
        columns: tuple[str, ...] = self._value("columns", sql, place=place)
        return columns

    def make(self, name: str, sql: str, place: str | None = None) -> None:
        self._value("make", name, sql, place=place)

    def index(self, name: str) -> None:
        self._value("index", name)

    def engine_stream(self, sql: str, values: Sequence[SqlValue] = ()) -> Iterator[Row]:
        # The first message has no columns: it says that the SQL has run.
        answer = self._answer("engine", sql, list(values))
        next(answer, None)
        return chain.from_iterable(answer)

    def close(self) -> None:
        idle = _KEPT.get()
        if idle is not None and self._process.usable:
            with suppress(DecloakError):
                # The tables of this rule go, before another rule gets the process.
                self._value("close")
                idle.append(self._process)
                return
        self._process.end()

    def _value(self, call: str, *arguments: Any, place: str | None = None) -> Any:
        """Send a request that returns no rows."""
        for _ in self._answer(call, *arguments, place=place):
            pass
        return self._last

    def _answer(self, call: str, *arguments: Any, place: str | None = None) -> Iterator[Any]:
        """Columns and lists of rows; a step of the engine counts to the place of the rule's step before it.

        The process does not get the place, which has the name of a file.
        """
        if place is not None:
            self._statement = self._statement._replace(place=place)
        self._last, self.read = yield from self._process.answer(self._statement, call, *arguments)
