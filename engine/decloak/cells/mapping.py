"""The same work on many cells: one after the other here, or in processes beside this one.

    cell     what the work is done on; the work is `work(cell, ask)`
    ask      puts a question to the home of the work, which alone writes, and waits for the answer
    home     this process; an answer that depends on other cells may come later

Whoever waits for an answer is not at work: in the meantime another cell is begun. What the cells come to stands in
their order, and so does what goes wrong: all cells before the one whose error is raised are done.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol, TypeVar

from decloak.cells.worker import Worker
from decloak.errors import DecloakError

__all__ = ["Ask", "Home", "Processes", "can_fork", "cores", "map_cells"]

Cell = TypeVar("Cell")
Result = TypeVar("Result")
Ask = Callable[[Any], Any]
Work = Callable[[Cell, Ask], Result]

SPARE = 4
"""Processes there are at most beyond those at work, for cells while others wait for an answer."""


class Home(Protocol):
    """Whoever answers questions."""

    def answer(self, cell: int, question: Any) -> Iterable[tuple[int, Any]]:
        """The answers there are now that the cell of a number asks this: each with the number of who asked for it."""


class Processes(NamedTuple):
    """How many cells are worked on at a time, and what they go by.

    `shared` are objects that both sides have: they are sent by their place. `forking` surrounds the start of the
    processes, `most` are the bytes that each may add to what it has then. `spare` processes work on further cells while
    others wait.
    """

    jobs: int
    shared: Sequence[object] = ()
    forking: Callable[[], AbstractContextManager[None]] = nullcontext
    most: int | None = None
    spare: int | None = None


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
    if processes is not None and can_fork() and cells:
        yield from _Crew(work, cells, home, processes).results()
        return
    for number, cell in enumerate(cells):

        def ask(question: Any, number: int = number) -> Any:
            return dict(home.answer(number, question))[number]

        yield work(cell, ask)


class _Crew:
    """Processes at work on cells."""

    def __init__(self, work: Work[Any, Any], cells: Sequence[Any], home: Home, processes: Processes) -> None:
        self.home, self.jobs = home, processes.jobs
        self.waiting = deque(range(len(cells)))
        self.count = len(cells)
        self.results_by_cell: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.answers: dict[int, Any] = {}
        self.workers: list[Worker] = []
        spare = min(self.jobs, SPARE) if processes.spare is None else processes.spare
        number = min(len(cells), self.jobs + spare)
        with processes.forking():
            try:
                for _ in range(number):
                    self.workers.append(Worker(work, cells, processes.shared, processes.most, self.workers))
            except OSError as error:
                self.end()
                hint = "end some processes, or use fewer --jobs"
                raise DecloakError(f"cannot start a process: {error.strerror}", hint=hint) from None

    def results(self) -> Iterator[Any]:
        """What each cell comes to, in order."""
        try:
            for number in range(self.count):
                while number not in self.results_by_cell and number not in self.errors:
                    self._hand_out()
                    self._take_in()
                if number in self.errors:
                    raise self.errors[number]
                yield self.results_by_cell.pop(number)
        finally:
            self.end()

    def end(self) -> None:
        """End the processes, and with them whatever they have started."""
        for worker in self.workers:
            worker.ask_to_end()
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    @property
    def _last(self) -> int:
        """The last cell that matters: there is none behind the first error."""
        return min(self.errors, default=self.count)

    def _hand_out(self) -> None:
        """Let as many processes work as may: those first whose answer is there, on the earliest cell."""
        at_work = sum(worker.at_work for worker in self.workers)
        by_cell = {worker.cell: worker for worker in self.workers if worker.cell is not None}
        for cell in sorted(self.answers.keys() & by_cell.keys())[: self.jobs - at_work]:
            by_cell[cell].go_on(self.answers.pop(cell))
            at_work += 1
        for worker in self.workers:
            if at_work < self.jobs and worker.cell is None and self.waiting and self.waiting[0] < self._last:
                worker.begin(self.waiting.popleft())
                at_work += 1
        assert at_work, "every process waits for another"

    def _take_in(self) -> None:
        """Take what processes say, as soon as one of them says something."""
        by_pipe: dict[Any, Worker] = {worker.pipe: worker for worker in self.workers if worker.at_work}
        for pipe in wait(list(by_pipe)):
            assert isinstance(pipe, Connection)
            worker = by_pipe[pipe]
            if worker.cell is not None and worker in self.workers:
                self._take(worker, worker.cell)

    def _take(self, worker: Worker, cell: int) -> None:
        kind, value = worker.message()
        if kind == "asks":
            self.answers.update(self.home.answer(cell, value))
        elif kind == "done":
            self.results_by_cell[cell] = value
        else:
            self.errors[cell] = value
            for other in [other for other in self.workers if other.gone or (other.cell or 0) > self._last]:
                other.end()
                self.workers.remove(other)
