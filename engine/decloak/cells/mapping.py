"""The same work on many cells: one after the other here, in processes beside this one, or in threads for a cluster.

    cell     what the work is done on; the work is `work(cell, ask)`
    ask      puts a question to the home of the work, which alone writes, and waits for the answer
    home     this process; an answer that depends on other cells may come later

Whoever waits for an answer is not at work: in the meantime another cell is begun. What the cells come to stands in
their order, and so does what goes wrong: all cells before the one whose error is raised are done.
"""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from decloak.cells.shapes import Home, Processes, Work

__all__ = ["can_fork", "cores", "map_cells"]

Cell = TypeVar("Cell")
Result = TypeVar("Result")


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Whether processes can begin as a copy of this one: what another thread holds would be held for ever in them."""
    return sys.platform == "linux" and threading.active_count() == 1


def map_cells(
    work: Work[Cell, Result], cells: Sequence[Cell], home: Home, processes: Processes | None = None
) -> Iterator[Result]:
    """What the work comes to on each cell, in their order, as soon as it is there."""
    if processes is not None and processes.threads and cells:
        from decloak.cells.threads import ThreadCrew

        yield from ThreadCrew(work, cells, home, processes).results()
        return
    if processes is not None and can_fork() and cells:
        from decloak.cells.crew import Crew  # most runs are too short for processes

        yield from Crew(work, cells, home, processes).results()
        return
    for number, cell in enumerate(cells):

        def ask(question: Any, number: int = number) -> Any:
            return dict(home.answer(number, question))[number]

        yield work(cell, ask)
