"""Who works on the parts that a kernel has cut: nobody unless somebody says so, for a while."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Spread", "spread", "spreading"]

Spread = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
"""Gives what a function of a module comes to for the arguments of each task, in their order."""

_SPREAD: ContextVar[Spread | None] = ContextVar("spread", default=None)


def spread() -> Spread | None:
    """Who works on parts now."""
    return _SPREAD.get()


@contextmanager
def spreading(by: Spread) -> Iterator[None]:
    """Inside, parts are worked on by somebody."""
    token = _SPREAD.set(by)
    try:
        yield
    finally:
        _SPREAD.reset(token)
