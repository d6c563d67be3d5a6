"""The same function over several arguments, in parallel processes."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from decloak.cells.spreading import spread
from decloak.errors import DecloakError

__all__ = ["in_parallel"]

Result = TypeVar("Result")


def in_parallel(function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int) -> list[Result]:
    """What a function of a module gives for the arguments of each task, in their order, however many processes."""
    elsewhere = spread()
    if elsewhere is not None and len(tasks) > 1:
        return elsewhere(function, tasks)
    if min(processes, len(tasks)) < 2:
        return [function(*task) for task in tasks]
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Processes are spawned: one forked where threads run can hang, and not every system forks.
    with ProcessPoolExecutor(min(processes, len(tasks)), get_context("spawn")) as pool:
        try:
            return list(pool.map(function, *zip(*tasks, strict=True)))
        except BrokenProcessPool:
            hint = 'use processes 1, or start from a file that does its work under `if __name__ == "__main__":`'
            raise DecloakError("a parallel process could not start or was killed", hint=hint) from None
