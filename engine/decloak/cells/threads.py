"""Threads at work on cells, whose heavy pieces somebody else does: a cluster."""

import threading
from collections.abc import Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

from decloak.cells.crew import Crew
from decloak.cells.shapes import Ask, Hand, HomeGone, Processes, Work

__all__ = ["ThreadCrew"]


class ThreadCrew(Crew):
    """Threads at work on cells."""

    def _hire(self, number: int, work: Work[Any, Any], cells: Sequence[Any], processes: Processes) -> None:
        self._outbox: SimpleQueue[ThreadWorker] = SimpleQueue()
        self.workers += [ThreadWorker(work, cells, self._outbox) for _ in range(number)]

    def _saying(self) -> Sequence[Hand]:
        try:
            return [self._outbox.get(timeout=1)]
        except Empty:
            return []


class ThreadWorker:
    """A thread as its home sees it: what it works on, and whether it does or waits for an answer."""

    def __init__(self, work: Work[Any, Any], cells: Sequence[Any], outbox: SimpleQueue["ThreadWorker"]) -> None:
        self.cell: int | None = None
        self.at_work = self.gone = False
        self._work, self._cells, self._outbox = work, cells, outbox
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._message: tuple[str, Any] = ("", None)
        # A daemon: what it waits for on a cluster keeps nobody from leaving.
        threading.Thread(target=copy_context().run, args=(self._serve,), daemon=True).start()

    def begin(self, cell: int) -> None:
        self.cell = cell
        self.go_on(cell)

    def go_on(self, answer: object) -> None:
        self.at_work = True
        self._inbox.put(answer)

    def message(self) -> tuple[str, Any]:
        """What it says: it asks something, is done with its cell, or something went wrong."""
        self.at_work = False
        if self._message[0] != "asks":
            self.cell = None
        return self._message

    def ask_to_end(self) -> None:
        """Let it come to an end when it asks next."""
        self.gone = True
        self._inbox.put(HomeGone)

    def end(self) -> None:
        self.ask_to_end()

    def _serve(self) -> None:
        ask: Ask = self._ask
        try:
            while True:
                cell = self._hear()
                try:
                    message = ("done", self._work(self._cells[cell], ask))
                except Exception as error:
                    message = ("failed", error)
                self._say(message)
        except HomeGone:
            return

    def _ask(self, question: Any) -> Any:
        self._say(("asks", question))
        return self._hear()

    def _say(self, message: tuple[str, Any]) -> None:
        if self.gone:
            raise HomeGone
        self._message = message
        self._outbox.put(self)

    def _hear(self) -> Any:
        answer = self._inbox.get()
        if answer is HomeGone or self.gone:
            raise HomeGone
        return answer
