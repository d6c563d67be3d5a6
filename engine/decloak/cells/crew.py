"""Processes at work on cells, as their home sees them."""

from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from decloak import ending
from decloak.cells.shapes import Hand, Home, Processes, Work
from decloak.cells.worker import Worker, share
from decloak.errors import DecloakError

__all__ = ["Crew"]

SPARE = 4
"""Processes there are at most beyond those at work, for cells while others wait for an answer."""


class Crew:
    """Processes at work on cells."""

    def __init__(self, work: Work[Any, Any], cells: Sequence[Any], home: Home, processes: Processes) -> None:
        self.home, self.jobs = home, processes.jobs
        self.waiting = deque(range(len(cells)))
        self.count = len(cells)
        self.results_by_cell: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.answers: dict[int, Any] = {}
        self.workers: list[Hand] = []
        spare = min(self.jobs, SPARE) if processes.spare is None else processes.spare
        number = min(len(cells), self.jobs + spare)
        self._hire(number, work, cells, processes)

    def _hire(self, number: int, work: Work[Any, Any], cells: Sequence[Any], processes: Processes) -> None:
        share(list({id(value): value for value in processes.shared}.values()))
        with processes.forking():
            try:
                for _ in range(number):
                    others = [other.pipe for other in self.workers if isinstance(other, Worker)]
                    self.workers.append(Worker(work, cells, processes.most, others))
            except OSError as error:
                self.end()
                hint = "end some processes, or use fewer --jobs"
                raise DecloakError(f"cannot start a process: {error.strerror}", hint=hint) from None

    def results(self) -> Iterator[Any]:
        """What each cell comes to, in order."""
        try:
            for number in range(self.count):
                while number not in self.results_by_cell and number not in self.errors:
                    ending.check()
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
        if not at_work:
            self.answers.update(self.home.look_again())
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
        """Take what is said, as soon as somebody says something."""
        saying = self._saying()
        if not saying:
            self.home.idle()
            self.answers.update(self.home.look_again())
        for worker in saying:
            if worker.cell is not None and worker in self.workers:
                self._take(worker, worker.cell)

    def _saying(self) -> Sequence[Hand]:
        """Whoever says something, nobody where that takes a second."""
        by_pipe = {worker.pipe: worker for worker in self.workers if isinstance(worker, Worker) and worker.at_work}
        return [by_pipe[pipe] for pipe in wait(list(by_pipe), timeout=1) if isinstance(pipe, Connection)]

    def _take(self, worker: Hand, cell: int) -> None:
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
