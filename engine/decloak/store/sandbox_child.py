"""The process that runs untrusted SQL: it answers `sandbox_guard` within limits of memory and time.

An endless step of SQLite ends only with the process. The system ends it after its time, decloak at any time, and the
process itself when decloak is gone.
"""

import contextlib
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.store import sandbox_frames as frames
from decloak.store.opening import connect_readonly
from decloak.store.relations import Row
from decloak.store.sandbox import Sandbox, explained

_MEGABYTE = 1_000_000
_BATCH, _MOST_IN_BATCH = 1_000_000, 8_192
"""Approximate bytes, and maximum number of rows, of one message."""
_LARGEST_FILE = 10_000 * _MEGABYTE
"""Maximum size of a temporary file of SQLite."""


class _TooMany(Exception):
    """The rows of a result take more room than they may."""


def serve(memory: int) -> None:
    """Answer requests until decloak is gone; `memory` is in megabytes."""
    _limit(memory * _MEGABYTE)
    requests: SimpleQueue[dict[str, object]] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    server = _Server()
    while True:
        server.answer(requests.get())


def _listen(requests: "SimpleQueue[JsonObject]") -> NoReturn:
    """Take requests, also while SQLite works, for the end of decloak shows here and nowhere else."""
    while (request := frames.read_frame(sys.stdin.buffer)) is not None:
        requests.put(request)
    os._exit(0)


def _limit(memory: int) -> None:
    """Bound the memory and the files of this process.

    Windows lacks such limits, and macOS ignores RLIMIT_AS: there SQLite's own bound is the only one.
    """
    # Lower than the system's bound, because SQLite reports an error when it reaches its own.
    sqlite3.connect(":memory:").execute(f"pragma hard_heap_limit = {memory * 3 // 4}").close()
    with contextlib.suppress(ImportError):
        import resource

        for kind, most in (("AS", memory), ("FSIZE", _LARGEST_FILE), ("CORE", 0)):
            name = getattr(resource, f"RLIMIT_{kind}")
            hard = resource.getrlimit(name)[1]
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(name, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


class _Server:
    def __init__(self) -> None:
        self._out = sys.stdout.buffer
        self._sandbox = Sandbox.empty({})
        self._clock = _Clock()
        self._room = 0

    def answer(self, request: JsonObject) -> None:
        """Do what is asked for; columns and rows go while they come, the message after them ends the answer."""
        self._room = request["room"] * _MEGABYTE
        self._clock.start(request["seconds"])
        try:
            last = {"value": self._answer(request["call"], request["arguments"]), "read": sorted(self._sandbox.read)}
        except DecloakError as error:
            last = {"error": [error.message, error.place, error.hint]}
        except (sqlite3.Error, OverflowError, ValueError) as error:  # in a step of our own, over a stranger's values
            wrong = explained(error, None)
            last = {"error": [wrong.message, wrong.place, wrong.hint]}
        except MemoryError:
            last = {"exceeded": "memory"}
        except _TooMany:
            last = {"exceeded": "room"}
        self._clock.stop()
        frames.write_frame(self._out, last)

    def _answer(self, call: str, arguments: list[Any]) -> Any:
        if call in ("of", "empty", "close"):
            self._sandbox.close()
            self._sandbox = _opened(call, *arguments)
            return None
        if call == "ask":
            return self._send(*_query_rows(*arguments))
        if call == "select":
            return self._send(*self._sandbox.stream(*arguments))
        if call == "engine":
            return self._send((), self._sandbox.engine_stream(*arguments))
        return _CALLS[call](self._sandbox, *arguments)

    def _send(self, columns: Sequence[str], rows: Iterator[Row]) -> None:
        """Send columns and rows; only once the first batch is there, so that an early error comes alone."""
        batches = self._batches(rows)
        batch = next(batches, None)
        with self._clock.held():
            frames.write_frame(self._out, {"columns": columns})
        while batch is not None:
            with self._clock.held():
                frames.write_rows(self._out, batch)
            batch = next(batches, None)

    def _batches(self, rows: Iterator[tuple[object, ...]]) -> Iterator[Sequence[Sequence[object]]]:
        """Yield the rows in parts, by column, each about the size of a batch for any values."""
        # One row first, because nothing is known of the size of the values.
        left, count = self._room or float("inf"), 1
        while True:
            batch: list[tuple[object, ...]] = []
            size = 0
            while size < _BATCH and len(batch) < _MOST_IN_BATCH and (part := list(islice(rows, count))):
                batch += part
                size += (held := _row_bytes(part))
                if (left := left - held) < 0:
                    raise _TooMany
                count = min(8 * count, max(1, _BATCH * len(part) // held), _MOST_IN_BATCH)
            if not batch:
                return
            yield list(zip(*batch, strict=True))


def _row_bytes(rows: Sequence[tuple[object, ...]]) -> int:
    """Estimate the bytes that rows take in Python."""
    return len(rows) * (56 + 8 * len(rows[0])) + sum(map(_column_bytes, zip(*rows, strict=True)))


def _column_bytes(column: Sequence[object]) -> int:
    if set(map(type, column)) <= {int, float, type(None)}:
        return 32 * len(column)
    return sum(map(sys.getsizeof, column))


def _opened(call: str, *arguments: Any) -> Sandbox:
    if call == "of":
        return Sandbox.of(*arguments)
    return Sandbox.empty(*arguments or ({},))


def _query_rows(path: str | Path, sql: str) -> tuple[tuple[str, ...], Iterator[Row]]:
    """Run a user's SELECT, which may read all of a store; its columns, and its rows, each when it is asked for."""
    connection = connect_readonly(path)
    # The copy of an older store could be written to.
    connection.execute("pragma query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    with _explaining():
        cursor = connection.execute(sql)
    if cursor.description is None:
        raise DecloakError("the SQL gives no rows", hint="write a SELECT: the store is open for reading")
    return tuple(column[0] for column in cursor.description), _rows_of(connection, cursor)


def _rows_of(connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> Iterator[Row]:
    try:
        with _explaining():
            yield from cursor
    finally:
        connection.close()


@contextlib.contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        hint = "write one SELECT: the store is open for reading" if "readonly" in str(error) else None
        hint = hint or "`decloak schema` lists tables and columns"
        raise DecloakError(f"SQL: {quote(error, 200)[1:-1]}", hint=hint) from None


_CALLS: dict[str, Callable[..., object]] = {
    "fill": Sandbox.fill,
    "keep": Sandbox.keep,
    "columns": Sandbox.columns,
    "make": Sandbox.make,
    "index": Sandbox.index,
}


class _Clock:
    """Ends this process when a statement takes too long. Waiting for decloak to take its rows does not count."""

    def __init__(self) -> None:
        self._timers = hasattr(signal, "setitimer")
        self._alarm = threading.Timer(0, os._exit, (frames.OUT_OF_TIME,))
        if self._timers:  # the parent process may ignore or block them
            for number in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))

    def start(self, seconds: float) -> None:
        if self._timers:
            # Two clocks: a statement that waits uses no time of the processor.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.setitimer(signal.ITIMER_REAL, frames.SLACK * seconds)
            return
        self._alarm = threading.Timer(frames.SLACK * seconds, os._exit, (frames.OUT_OF_TIME,))
        self._alarm.daemon = True
        self._alarm.start()

    def stop(self) -> None:
        if self._timers:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        self._alarm.cancel()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        if not self._timers:
            yield
            return
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        yield
        # 0 would turn the timer off.
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))
