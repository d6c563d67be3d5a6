"""What work on cells is, who answers its questions, and by how many processes it may be done."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol, TypeVar

from decloak.errors import DecloakError

__all__ = ["Ask", "ClusterError", "Hand", "Home", "HomeGone", "Processes", "Work"]

Cell = TypeVar("Cell")
Result = TypeVar("Result")
Ask = Callable[[Any], Any]
Work = Callable[[Cell, Ask], Result]


class ClusterError(DecloakError):
    """Something is amiss with the cluster, and not with what was asked of it."""


class HomeGone(BaseException):
    """There is nobody left to work for."""


class Home(Protocol):
    """Whoever answers questions."""

    idle: Callable[[], None]
    """Called every second in which nobody asks."""

    def answer(self, cell: int, question: Any) -> Iterable[tuple[int, Any]]:
        """The answers there are now that the cell of a number asks this: each with the number of who asked for it."""

    def look_again(self) -> Iterable[tuple[int, Any]]:
        """The answers there are now though nobody has asked: another process may have made what was missing."""


class Hand(Protocol):
    """Whoever works on one cell after the other, as their home sees them."""

    cell: int | None
    """What they work on, None where on nothing."""
    at_work: bool
    """Whether they do, and do not wait for an answer."""
    gone: bool

    def begin(self, cell: int) -> None:
        """Let them work on a cell."""

    def go_on(self, answer: object) -> None:
        """Give them the answer they wait for."""

    def message(self) -> tuple[str, Any]:
        """What they say: they ask something, are done with the cell, or something went wrong."""

    def ask_to_end(self) -> None:
        """Let them come to an end, with what they have started."""

    def end(self) -> None:
        """See that they have ended."""


class Processes(NamedTuple):
    """How many cells are worked on at a time, and what they go by.

    `shared` are objects that both sides have: they are sent by their place. `forking` surrounds the start of the
    processes, `most` are the bytes that each may add to what it has then. `spare` processes work on further cells while
    others wait. With `threads` there are threads instead, for what is done elsewhere.
    """

    jobs: int
    shared: Sequence[object] = ()
    forking: Callable[[], AbstractContextManager[None]] = nullcontext
    most: int | None = None
    spare: int | None = None
    threads: bool = False
