"""Sandboxes for rules: in this process for the rules of decloak, in a separate process for all others.

SQL can hold SQLite in one step for minutes, where neither a Ctrl-C nor the sandbox's count of steps reaches it, and can
fill the memory. So untrusted SQL runs in a process with limits (`sandbox_child`), which ends immediately when decloak
ends.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from decloak.errors import DecloakError
from decloak.store.opening import unusable
from decloak.store.relations import Row, SqlValue
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_process import Limits, Process, Statement

if TYPE_CHECKING:  # it imports numpy, which rules are listed and checked without
    from decloak.store.attackers_database import AttackersDatabase, Earlier

__all__ = ["GuardedSandbox", "ask", "empty_sandbox", "forget_processes", "one_process", "open_sandbox"]

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
        answer = process.answer(statement, "ask", str(Path(path).absolute()), sql)
        columns: tuple[str, ...] = next(answer)
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
        except BaseException:
            self._process.end()
            raise

    def fill(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[SqlValue]]) -> None:
        self._value("fill", name, list(columns), list(rows))

    def keep(self, name: str, sql: str) -> None:
        self._value("keep", name, sql)

    def stream(self, sql: str, place: str | None = None) -> tuple[tuple[str, ...], Iterator[Row]]:
        answer = self._answer("select", sql, place=place)
        return next(answer), chain.from_iterable(answer)

    def columns(self, sql: str, place: str | None = None) -> tuple[str, ...]:
        return tuple(self._value("columns", sql, place=place))

    def make(self, name: str, sql: str, place: str | None = None) -> None:
        self._value("make", name, sql, place=place)

    def index(self, name: str) -> None:
        self._value("index", name)

    def engine_stream(self, sql: str, values: Sequence[SqlValue] = ()) -> Iterator[Row]:
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
        """Send a request that returns no rows."""
        for _ in self._answer(call, *arguments, place=place):
            pass
        return self._last

    def _answer(self, call: str, *arguments: Any, place: str | None = None) -> Iterator[Any]:
        """Columns and lists of rows; a step of the engine counts to the place of the rule's step before it.

        The process is not told the place, which has the name of a file.
        """
        if place is not None:
            self._statement = self._statement._replace(place=place)
        last = yield from self._process.answer(self._statement, call, *arguments)
        self._last, self.read = last["value"], set(last["read"])
