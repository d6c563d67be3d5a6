"""Compilation of loops with numba. Everything works without it.

`pip install .` compiles all loops and installs the machine code with the package: see `hatch_build.py`. It fits one
processor and one version of numba. For others, and in a checkout, numba caches machine code next to the module, or in
the user's cache folder if that is read-only. Without either, every process compiles again. Both are renewed if their
module changes, but not if another module changes whose loops it calls. So a module that calls others stores a digest of
them, which changes with them.

Compiling takes half a minute, and `decloak compile` does it before any run. Its time is excluded from the time of a
method or an attack, and a message reports it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

__all__ = [
    "COMPILING",
    "INSTALLED",
    "compile_seconds",
    "compiled",
    "compiling_message",
    "inner",
    "is_kept",
    "keep_in_package",
    "reporting",
    "try_import",
]

Function = TypeVar("Function", bound=Callable[..., object])
Found = TypeVar("Found")

COMPILING = "compiling loops, "
INSTALLED = Path(__file__).parent / "_compiled"
"""The folder of the installed machine code. Only a build writes it. Its owner could change the sources too."""


def compiled(function: Function) -> Function:
    """Return `function` compiled to machine code. numba must be installed, and compile."""
    _watched()
    numba = import_module("numba")
    if numba.config.DISABLE_JIT:  # as plain Python the loops would be slow, and read records that numpy has not
        raise ImportError("NUMBA_DISABLE_JIT is set")
    jit = numba.njit
    installed = _installed(function)
    try:
        kernel: Any = jit(cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        kernel, _WATCH.kept = jit(function), False
    if installed is not None and hasattr(kernel, "_cache"):
        kernel._cache = installed if _WATCH.building else _InstalledFirst(installed, kernel._cache)
    result: Function = kernel
    return result


def try_import(find: Callable[[], Found]) -> "_lru_cache_wrapper[Found | None]":
    """Return a function that calls `find` once, which imports compiled loops: None where these cannot be imported.

    `find` has an import statement, because the fingerprints of stages look for these.
    """

    def found() -> Found | None:
        try:
            return find()
        except Exception:  # not only ImportError: a numba that does not fit numpy fails in ways of its own
            return None

    return cache(found)


def keep_in_package() -> None:
    """Write the machine code of loops that are imported from now on into the package."""
    INSTALLED.mkdir(exist_ok=True)
    _WATCH.building = True


class _Place:
    """The place of the machine code of a function in the package, as numba asks for it."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        self._function, self._py_file = function, file

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> "_Place":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(INSTALLED / self._function.__module__)

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(exist_ok=True)

    def get_source_stamp(self) -> str:
        # Not the time of the file, as numba does: installing changes it, and no loop.
        return sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)


def _installed(function: Callable[..., object]) -> Any:
    """Return numba's cache of `function` in the package; None if nothing is installed there, or numba has changed."""
    if not INSTALLED.is_dir():
        return None
    try:
        # Classes are made here, because their bases need numba.
        caching = import_module("numba.core.caching")
        places = type("_Places", (caching.CompileResultCacheImpl,), {"_locator_classes": [_Place]})
        return type("_Installed", (caching.Cache,), {"_impl_class": places})(function)
    except Exception:
        if _WATCH.building:
            raise
        return None


class _InstalledFirst:
    """A cache of numba that looks into the package first, and never writes there."""

    def __init__(self, installed: Any, other: Any) -> None:
        self._installed, self._other = installed, other

    def load_overload(self, signature: Any, target: Any) -> Any:
        with suppress(Exception):  # a damaged file: compile again
            if (found := self._installed.load_overload(signature, target)) is not None:
                return found
        return self._other.load_overload(signature, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


def inner(function: Function) -> Function:
    """Return `function` compiled, for functions that only compiled ones call. They are cached with their callers:
    alone, some would be cached with outdated callees.
    """
    # The wrappers are for calls from Python, and there are none.
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
        self.building = False
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
