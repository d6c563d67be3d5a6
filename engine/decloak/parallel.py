"""One seam for parallel work: executors of `concurrent.futures`, over local processes or a Dask cluster.

processes      forked local processes, which share the data that this process has loaded (`processes.py`)
cluster        a Dask cluster, which calls functions on values and never sees the store (`pipeline/cluster.py`)
threads        local threads, each of which waits for a cluster
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from decloak import ending
from decloak.errors import DecloakError

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Result = TypeVar("Result")


class ClusterError(DecloakError):
    """A fault of the cluster itself, not of the work that it was given."""


class Cluster(Protocol):
    """A cluster that calls functions on values."""

    @property
    def threads(self) -> int:
        """Return how many calls the cluster works on at a time."""

    def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return what `function` returns for `arguments` on some worker."""

    def results(self, function: Callable[..., Result], tasks: Sequence[tuple[object, ...]]) -> Iterator[Result]:
        """Yield what `function` returns for the arguments of each task, in their order."""

    def close(self) -> None:
        """End the connection; calls that wait for a result raise `ClusterError`."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Return whether processes can be forked: a lock that another thread holds would stay locked in them for ever."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def cluster_threads(cluster: Cluster, initialize: Callable[..., None], *arguments: object) -> "Iterator[Executor]":
    """Give an executor of threads that wait for `cluster`; each begins with `initialize(*arguments)`.

    One thread more than the cluster has: while results are written, every worker of the cluster has work.
    """
    from concurrent.futures import ThreadPoolExecutor

    values = (copy_context(), initialize, arguments)
    executor = ThreadPoolExecutor(cluster.threads + 1, initializer=_begin_thread, initargs=values)
    try:
        yield executor
    except BaseException:
        cluster.close()  # else the threads would wait for their results
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _begin_thread(context: Context, initialize: Callable[..., None], arguments: Sequence[object]) -> None:
    """Give a thread the context variables of the thread that started it."""
    for variable, value in context.items():
        variable.set(value)
    initialize(*arguments)


_CLUSTER: ContextVar[Cluster | None] = ContextVar("cluster", default=None)

OFTEN = 0.1
"""Seconds between two looks at local processes."""


class Workers(Protocol):
    """Local processes that compute tasks."""

    @property
    def workers(self) -> Sequence[object]:
        """Return the processes."""

    def submit(self, function: Callable[..., Result], /, *arguments: object) -> "Future[Result]":
        """Let a process call `function` with its arguments."""

    def check(self) -> None:
        """Raise BrokenProcessPool if a process has ended."""

    def end(self) -> object:
        """End all processes."""


LOCAL: ContextVar["Workers | None"] = ContextVar("local", default=None)
"""The local processes for `merge_tasks`; None once one of them was killed, so that this process works alone."""


@contextmanager
def tasks_on(cluster: Cluster | None) -> Iterator[None]:
    """Let `map_tasks` and `merge_tasks` use `cluster` inside the block."""
    token = _CLUSTER.set(cluster)
    try:
        yield
    finally:
        _CLUSTER.reset(token)


def workers() -> int:
    """Return the number of tasks that `merge_tasks` works on at a time."""
    cluster, local = _CLUSTER.get(), LOCAL.get()
    return cluster.threads if cluster is not None else 1 if local is None else len(local.workers)


def merge_tasks(
    function: Callable[..., Result], tasks: Sequence[tuple[object, ...]], merge: Callable[[Result], object]
) -> None:
    """Call `merge` once for the result of `function` for each of `tasks`, in any order: a sum may not take one twice.

    The cluster of `tasks_on` computes the tasks, else the processes of `LOCAL`, else this process. If a process is
    killed, this process computes the tasks that are not merged yet.
    """
    cluster, local, left = _CLUSTER.get(), LOCAL.get(), dict(enumerate(tasks))
    if cluster is not None:
        for result in cluster.results(function, tasks):
            ending.check()
            merge(result)
        return
    if local is not None and len(left) > 1:
        _merge_from(local, function, left, merge)
    for number in list(left):
        ending.check()
        merge(function(*left.pop(number)))


def gather_tasks(function: Callable[..., Result], tasks: Iterable[tuple[object, ...]]) -> list[Result]:
    """Return the results of `function` for `tasks` in their order; they are computed as by `merge_tasks`."""
    found: list[tuple[int, Result]] = []
    merge_tasks(partial(_numbered, function), [(number, *task) for number, task in enumerate(tasks)], found.append)
    return [result for _, result in sorted(found, key=lambda one: one[0])]


def _numbered(function: Callable[..., Result], number: int, *task: object) -> tuple[int, Result]:
    return number, function(*task)


def _merge_from(
    local: Workers,
    function: Callable[..., Result],
    left: dict[int, tuple[object, ...]],
    merge: Callable[[Result], object],
) -> None:
    """Merge results of processes, and take each merged task out of `left`."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    running, waiting = dict[Future[Result], int](), list(left)
    try:
        while left:
            # Few results wait at a time, because they may be large.
            while waiting and len(running) < 2 * len(local.workers):
                number = waiting.pop(0)
                running[local.submit(function, *left[number])] = number
            done, _ = wait(running, OFTEN, FIRST_COMPLETED)
            for future in done:
                result, number = future.result(), running.pop(future)
                # Out of `left` first: a result is never merged twice, not even if `merge` fails.
                del left[number]
                merge(result)
            local.check()
    except BrokenProcessPool:
        local.end()
        LOCAL.set(None)


def map_tasks(function: Callable[..., Result], tasks: Sequence[tuple[object, ...]], processes: int) -> list[Result]:
    """Return what a function of a module returns for the arguments of each task, in their order.

    The cluster of `tasks_on` calls it, else `processes` local processes, else this process.
    """
    cluster = _CLUSTER.get()
    if cluster is not None and len(tasks) > 1:
        return list(cluster.results(function, tasks))
    number = min(processes, len(tasks))
    if number < 2:
        return [function(*task) for task in tasks]
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Processes are spawned: a forked one can hang where threads run, and not every system forks.
    with ProcessPoolExecutor(number, get_context("spawn")) as pool:
        try:
            return list(pool.map(function, *zip(*tasks, strict=True)))
        except BrokenProcessPool:
            hint = 'use processes 1, or start from a file that does its work under `if __name__ == "__main__":`'
            raise DecloakError("a parallel process could not start or was killed", hint=hint) from None
