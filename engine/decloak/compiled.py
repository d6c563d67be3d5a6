"""Loops that numba compiles, for the extra `fast`. Everything works without it.

Machine code is kept beside the module, or in the user's cache folder where that cannot be written; where neither can,
every process compiles anew. It is made anew when its module changes, not when another does whose loops it calls: who
calls others keeps a digest of their modules, which changes with them.

Compiling takes a quarter of a minute, once in an installation. It is no part of what a method or an attack takes, and
whoever waits for it is told.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["COMPILING", "compiled", "compiling", "inner", "spent_compiling", "telling"]

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILING = "compiling loops, "


def compiled(function: Function) -> Function:
    """The same function in machine code; numba must be there."""
    _watched()
    jit: Any = import_module("numba").njit
    try:
        kernel: Function = jit(cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        kernel, _WATCH.kept = jit(function), False
    return kernel


def inner(function: Function) -> Function:
    """The same for functions that only compiled ones call, and are kept with: by themselves some would be kept with
    what others were that they call.
    """
    kernel: Function = import_module("numba").njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return kernel


def compiling() -> str:
    """What is told whoever waits."""
    return COMPILING + (
        "once for all runs to come" if _WATCH.kept else "as every run has to that may write them nowhere"
    )


class _Watch:
    """Seconds that compiling took in this process so far, and whether what comes of it is kept."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0
        self.kept = True
        self.depth = 0  # functions are compiled inside others

    def notify(self, event: Any) -> None:
        """A function that no cache has begins to be compiled, or has been."""
        self.depth += 1 if event.is_start else -1
        if event.is_start and self.depth == 1:
            self._cpu, self._wall = time.process_time(), time.perf_counter()
            _TELL.get()(True)
        elif self.depth == 0:
            self.cpu += time.process_time() - self._cpu
            self.wall += time.perf_counter() - self._wall
            _TELL.get()(False)


_WATCH = _Watch()
# Of each thread its own: whoever tells may be of a thread that has nobody to tell any more.
_TELL: ContextVar[Callable[[bool], None]] = ContextVar("tell", default=lambda _: None)


@cache
def _watched() -> None:
    """Let numba tell when it compiles."""
    event = import_module("numba.core.event")
    event.Listener.register(_Watch)
    event.register("numba:compile", _WATCH)


def spent_compiling() -> tuple[float, float]:
    """The seconds of CPU, and by the clock, that this process has compiled so far."""
    return _WATCH.cpu, _WATCH.wall


@contextmanager
def telling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Inside, tell when compiling begins (True) and when it has ended."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)
