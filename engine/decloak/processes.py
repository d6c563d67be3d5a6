"""Forked local processes as an executor of `concurrent.futures`: they share loaded data, and end with this process."""

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from decloak import ending
from decloak.errors import DecloakError
from decloak.memory import data_bytes
from decloak.parallel import LOCAL, Result, can_fork

PATIENCE = 3.0
"""Seconds that a process has to end, and to end the processes that it has started."""
_DIE_WITH_PARENT = 1
"""`PR_SET_PDEATHSIG` of Linux."""
_ASKED = {signal.SIGINT, signal.SIGTERM}


class ForkedProcesses(ProcessPoolExecutor):
    """A pool whose processes end, instead of going on to the next task, when they are asked to end in a task."""

    workers: Sequence[BaseProcess] = ()

    def submit(self, function: Callable[..., Result], /, *arguments: object, **named: object) -> "Future[Result]":
        """Let a process call `function` with its arguments."""
        return super().submit(_work, function, *arguments, **named)

    def check(self) -> None:
        """Raise an error if a process has ended: the pool never sees one that ended while it sent a large result."""
        ending.check()
        if any(worker.exitcode is not None for worker in self.workers):
            raise BrokenProcessPool

    def end(self) -> list[BaseProcess]:
        """Ask the processes to end, kill the ones that are late, and return these."""
        for worker in self.workers:
            worker.terminate()
        left, limit = {worker.sentinel: worker for worker in self.workers}, time.monotonic() + PATIENCE
        while left and (seconds := limit - time.monotonic()) > 0:
            for sentinel in wait(list(left), seconds):
                del left[sentinel]  # type: ignore[arg-type]
        for worker in left.values():
            worker.kill()
        with suppress(AttributeError):  # else a thread of the pool would wait for the rest of a cut result
            self._result_queue._writer.close()  # type: ignore[attr-defined]
        self.shutdown(cancel_futures=True)
        return list(left.values())


@contextmanager
def forked_processes(
    number: int, initialize: Callable[..., object], *arguments: object, memory: int | None = None
) -> Iterator[ForkedProcesses]:
    """Give an executor of `number` forked processes, which end with the block.

    Each process begins with `initialize(*arguments)`, and may add `memory` bytes to what it has then. Arguments and
    loaded data are not copied: a forked process has what this process has.
    """
    # A signal must not meet a new process while it still has the handlers of this one.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ASKED)
    before, values = active_children(), (os.getpid(), mask, memory, initialize, arguments)
    executor = ForkedProcesses(number, get_context("fork"), _begin, values)
    try:
        executor.submit(int)  # the pool forks all processes now, and starts its threads after that
    except OSError as error:
        executor.workers = [child for child in active_children() if child not in before]
        executor.end()
        hint = "end some processes, or use fewer --jobs"
        raise DecloakError(f"cannot start a process: {error.strerror}", hint=hint) from None
    finally:
        executor.workers = [child for child in active_children() if child not in before]
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        yield executor
    except BrokenProcessPool:
        killed = executor.end()
        raise _death([worker for worker in executor.workers if worker not in killed]) from None
    except BaseException:
        executor.end()
        raise
    executor.shutdown()


@contextmanager
def local_pool(number: int) -> Iterator[None]:
    """Let `merge_tasks` use `number` forked processes inside the block, if processes can be forked here.

    They are forked now: later this process has the connection to a store, which no other may have.
    """
    if not can_fork():
        yield
        return
    with forked_processes(number, gc.collect) as processes:
        token = LOCAL.set(processes)
        try:
            yield
        finally:
            LOCAL.reset(token)


def _death(workers: Sequence[BaseProcess]) -> DecloakError:
    """Return an error that says how the first process ended; the pool has asked the others to end."""
    asked = (None, 0, ending.EXIT_INTERRUPTED, -signal.SIGTERM)
    code = next((worker.exitcode for worker in workers if worker.exitcode not in asked), -signal.SIGTERM)
    how = {-number: name for name, number in signal.Signals.__members__.items()}.get(code) or f"exit code {code}"
    hint = "what was finished is kept: run it again, with fewer --jobs if memory was short"
    return DecloakError(f"a process that worked on a part of this was ended ({how})", hint=hint)


def _begin(
    home: int, mask: set[int], memory: int | None, initialize: Callable[..., object], arguments: Sequence[object]
) -> None:
    """Make a worker of a forked copy of the process `home`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the home as well, which ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(home)
    gc.freeze()  # garbage collection would copy the pages of shared objects by writing to them
    if memory is not None:
        import resource

        limit = data_bytes() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    initialize(*arguments)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _die_with(home: int) -> None:
    """Have the system end this process when the process `home` ends, however it does."""
    import ctypes

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)
    if os.getppid() != home:
        os._exit(ending.EXIT_INTERRUPTED)


def _work(function: Callable[..., Result], /, *arguments: object, **named: object) -> Result:
    """Call a function in a worker, which ends where the function can be left if it is asked to end meanwhile.

    A worker that waits for a task ends immediately. It has no handler then: Python would run the handler too late if
    the signal came just before the worker waits.
    """
    try:
        signal.signal(signal.SIGTERM, ending.request)
        return function(*arguments, **named)
    except KeyboardInterrupt:
        os._exit(ending.EXIT_INTERRUPTED)  # nothing of the home is tidied up here: its files, its store
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
