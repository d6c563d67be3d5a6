"""A process that works on cells: forked, so that it begins with all that its home has, and ended with its home.

What the two tell each other are messages of a word and a value. Objects that both have are sent by their place.
"""

import gc
import io
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from decloak import ending
from decloak.cells.memory import data_bytes, size_of
from decloak.cells.shapes import HomeGone, Work
from decloak.errors import DecloakError

__all__ = ["Worker", "share"]

PATIENCE = 3.0
"""Seconds that a process has to end by itself, and what it has started with it."""
_DIE_WITH_PARENT = 1
"""`PR_SET_PDEATHSIG` of Linux."""
_COMMON: list[object] = []
"""The objects that both sides have, of the work that is going on."""
_PLACES: dict[int, int] = {}
"""Their places, by what Python calls them."""


def share(values: Sequence[object]) -> None:
    """Let messages name these objects from now on; processes that are forked then know them as well."""
    _COMMON[:] = values
    _PLACES.clear()
    _PLACES.update((id(value), place) for place, value in enumerate(values))


def _common(place: int) -> object:
    return _COMMON[place]


class _Pickler(pickle.Pickler):
    """Writes what both sides have as its place."""

    def reducer_override(self, value: Any) -> Any:
        """What stands for a value, NotImplemented where nothing does."""
        place = _PLACES.get(id(value))
        return NotImplemented if place is None else (_common, (place,))


def _written(message: object) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(message)
    return file.getvalue()


class Worker:
    """A process as its home sees it: what it works on, and whether it does or waits for an answer."""

    def __init__(
        self, work: Work[Any, Any], cells: Sequence[Any], most: int | None, others: Iterable[Connection]
    ) -> None:
        self.pipe, far = Pipe()
        self.cell: int | None = None
        self.at_work = self.gone = False
        home = os.getpid()
        # A signal must not meet the new process while it still looks like its home.
        open_to = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        self._pid = os.fork()
        if self._pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, open_to)
            far.close()
            return
        code = 1
        try:
            # Ends of pipes that stay open here would hide from the others that their home has ended.
            for pipe in (self.pipe, *others):
                pipe.close()
            _settle(home, most)
            signal.pthread_sigmask(signal.SIG_SETMASK, open_to)
            _serve(far, work, cells, most)
            code = 0
        except (KeyboardInterrupt, HomeGone):
            pass
        finally:
            os._exit(code)  # nothing of the home is tidied up here: its files, its store, its tests

    def begin(self, cell: int) -> None:
        self.cell = cell
        self._send(cell)

    def go_on(self, answer: object) -> None:
        self._send(answer)

    def _send(self, value: object) -> None:
        self.at_work = True
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended: reading tells how
            self.pipe.send_bytes(_written(value))

    def message(self) -> tuple[str, Any]:
        """What it says: it asks something, is done with its cell, or something went wrong."""
        self.at_work = False
        try:
            kind, value = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, ConnectionResetError):
            self.gone = True
            return "failed", _ended(self._wait())
        if kind != "asks":
            self.cell = None
        return kind, value

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def ask_to_end(self) -> None:
        """Let it come to an end, with what it has started."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    def end(self) -> None:
        """End it, and wait until it has."""
        self.gone = True
        self.ask_to_end()
        # Its end of the pipe is closed when it has ended; until then it may still be saying something.
        with suppress(EOFError, OSError):
            while self._pid and self.pipe.poll(PATIENCE):
                self.pipe.recv_bytes()
        self.pipe.close()
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait()


def _ended(code: int) -> DecloakError:
    by = {-number: name for name, number in signal.Signals.__members__.items()}.get(code)
    how = by or f"exit code {code}"
    hint = "what was finished is kept: run it again, with fewer --jobs if memory was short"
    return DecloakError(f"a process that worked on a part of this was ended ({how})", hint=hint)


def _settle(home: int, most: int | None) -> None:
    """Make a process of its own of a copy of its home."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C goes to the home, which ends the others
    signal.signal(signal.SIGTERM, ending.request)
    _die_with(home)
    gc.freeze()  # what was there before stays where it is, and is not copied for being looked at
    if most is not None:
        _limit(most)
    with suppress(OSError, ValueError):
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123


def _die_with(home: int) -> None:
    """Have the system end this process when its home ends, however it does."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)
        if os.getppid() != home:
            raise KeyboardInterrupt


def _limit(most: int) -> None:
    """Let this process have so many bytes more than it has."""
    import resource

    limit = data_bytes() + most
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _serve(pipe: Connection, work: Work[Any, Any], cells: Sequence[Any], most: int | None) -> None:
    """Work on the cells whose numbers come, until nobody sends one any more."""

    def say(message: bytes) -> None:
        try:
            pipe.send_bytes(message)
        except (BrokenPipeError, ConnectionResetError):
            raise HomeGone from None

    def hear() -> Any:
        try:
            return pickle.loads(pipe.recv_bytes())
        except (EOFError, ConnectionResetError):
            raise HomeGone from None

    def ask(question: Any) -> Any:
        say(_written(("asks", question)))
        return hear()

    while True:
        cell = hear()
        try:
            message = _written(("done", work(cells[cell], ask)))
        except Exception as error:
            message = _failure(error, most)
        say(message)


def _failure(error: Exception, most: int | None) -> bytes:
    """What went wrong, for the home to raise."""
    if isinstance(error, MemoryError) and most is not None:
        message = f"a part of this run takes over {size_of(most)}, its share of the memory that is allowed"
        hint = "allow more, or use fewer --jobs; what was finished is kept"
        return _written(("failed", DecloakError(message, "--memory", hint)))
    if not isinstance(error, DecloakError):
        error.add_note(traceback.format_exc())
    try:
        return _written(("failed", error))
    except Exception:
        return _written(("failed", RuntimeError(f"{type(error).__name__}: {error}")))
