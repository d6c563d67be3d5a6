"""One seam for parallel work: executors of `concurrent.futures`, over local processes or a Dask cluster.

processes      forked local processes, which share the data that this process has loaded (`processes.py`)
cluster        a Dask cluster, which calls functions on values and never sees the store (`pipeline/cluster.py`)
threads        local threads, each of which waits for a cluster
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol, TypeVar

from decloak.errors import DecloakError

__all__ = ["Cluster", "ClusterError", "can_fork", "cluster_threads", "cores", "map_tasks", "tasks_on"]

Result = TypeVar("Result")


class ClusterError(DecloakError):
    """A fault of the cluster itself, not of the work that it was given."""


class Cluster(Protocol):
    """A cluster that calls functions on values."""

    @property
    def threads(self) -> int:
        """Return how many calls the cluster works on at a time."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what `function` returns for `arguments` on some worker."""

    def map(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what `function` returns for the arguments of each task, in their order."""

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
def cluster_threads(cluster: Cluster, initialize: Callable[..., None], *arguments: object) -> Iterator[Executor]:
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


@contextmanager
def tasks_on(cluster: Cluster | None) -> Iterator[None]:
    """Let `map_tasks` use `cluster` inside the block."""
    token = _CLUSTER.set(cluster)
    try:
        yield
    finally:
        _CLUSTER.reset(token)


def map_tasks(function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int) -> list[Result]:
    """Return what a function of a module returns for the arguments of each task, in their order.

    The cluster of `tasks_on` calls it, else `processes` local processes, else this process.
    """
    cluster = _CLUSTER.get()
    if cluster is not None and len(tasks) > 1:
        return cluster.map(function, tasks)
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
