"""Loops that numba compiles, for the extra `fast`. Everything works without it.

Machine code is kept beside the module, or in the user's cache folder where that cannot be written; where neither can,
every process compiles anew. It is made anew when its module changes, not when another does whose loops it calls: who
calls others keeps a digest of their modules, which changes with them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["compiled", "inner"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, **options: bool) -> Function:
    """The same function in machine code; numba must be there."""
    jit: Any = import_module("numba").njit
    try:
        kernel: Function = jit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written
        kernel = jit(**options)(function)
    return kernel


def inner(function: Function) -> Function:
    """The same for functions that only compiled ones call: they are made in less time."""
    return compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
