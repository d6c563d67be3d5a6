"""Compilation of loops with numba. Everything works without it.

Machine code is cached next to the module, or in the user's cache folder if that is read-only; without either, every
process compiles again. The cache is renewed if its module changes, but not if another module changes whose loops it
calls. So a module that calls others stores a digest of them, which changes with them.

Compiling takes half a minute once per installation, and `decloak compile` does it before any run. Its time is excluded
from the time of a method or an attack, and a message reports it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["COMPILING", "compile_seconds", "compiled", "compiling_message", "inner", "is_kept", "reporting"]

Function = TypeVar("Function", bound=Callable[..., object])

COMPILING = "compiling loops, "


def compiled(function: Function) -> Function:
    """Return `function` compiled to machine code. numba must be installed."""
    _watched()
    jit = import_module("numba").njit
    try:
        kernel: Function = jit(cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        kernel, _WATCH.kept = jit(function), False
    return kernel


def inner(function: Function) -> Function:
    """Return `function` compiled, for functions that only compiled ones call. They are cached with their callers:
    alone, some would be cached with outdated callees.
    """
    kernel: Function = import_module("numba").njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return kernel


def compiling_message() -> str:
    """Return the message for the user during compilation."""
    return COMPILING + (
        "once for all runs to come, as `decloak compile` does before a run"
        if _WATCH.kept
        else "as every run has to that may write them nowhere"
    )


class _Watch:
    """Seconds that this process has compiled so far, and True if the result is cached."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0
        self.kept = True
        self.depth = 0  # functions are compiled inside others

    def notify(self, event: Any) -> None:
        """Note that numba begins or ends to compile a function that is not cached, given the `event`."""
        self.depth += 1 if event.is_start else -1
        if event.is_start and self.depth == 1:
            self._cpu, self._wall = time.process_time(), time.perf_counter()
            _TELL.get()(True)
        elif self.depth == 0:
            self.cpu += time.process_time() - self._cpu
            self.wall += time.perf_counter() - self._wall
            _TELL.get()(False)


_WATCH = _Watch()
# Each thread has its own listener: the listener of another thread may have ended.
_TELL: ContextVar[Callable[[bool], None]] = ContextVar("tell", default=lambda _: None)


@cache
def _watched() -> None:
    """Register for events of numba."""
    event = import_module("numba.core.event")
    event.Listener.register(_Watch)
    event.register("numba:compile", _WATCH)


def compile_seconds() -> tuple[float, float]:
    """Return CPU and wall-clock seconds that this process has compiled so far."""
    return _WATCH.cpu, _WATCH.wall


def is_kept() -> bool:
    """Return whether the machine code that this process compiled is cached."""
    return _WATCH.kept


@contextmanager
def reporting(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call `tell` with True when a compilation inside begins, and with False when it ends."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)
