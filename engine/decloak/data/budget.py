"""One budget of memory and time for reading a file: a small file may claim any number of rows, and unpack to anything.

Readers `charge` the bytes that what they read takes in memory, before they make it where they can. Time is that of the
processor, so that a busy machine refuses nothing. Both grow with the file: a large file may need more than a small one.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import active_count

from decloak.cells.memory import data_bytes, read_size, size_of
from decloak.errors import DecloakError, shown

try:
    import resource
except ImportError:  # no limits on Windows: there the charges are all
    resource = None  # type: ignore[assignment]

__all__ = ["ARROW_POOL", "SYSTEM_POOL", "Budget", "charge", "reading"]

MEMORY, SECONDS = "DECLOAK_READ_MEMORY", "DECLOAK_READ_SECONDS"
"""Environment variables that set what reading a file may take: bytes (or 4G, 500M), seconds of the processor."""
BYTES_FREE, BYTES_EACH = 400_000_000, 50
"""Bytes of memory that any file may take, and those for each byte of the file."""
SECONDS_FREE, SECONDS_EACH = 2.5, 4e-6
"""The same of seconds."""
SLACK = 350_000_000
"""Bytes beyond the charges that the system lets a reader have: readers of other packages charge nothing."""
ARROW_POOL, SYSTEM_POOL = "ARROW_DEFAULT_MEMORY_POOL", "system"
RESERVED = 1_200_000_000
"""Bytes that Arrow reserves and does not use, unless it was imported with the pool of the system."""


class Budget:
    """What is left of the memory and the time for reading one file."""

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self.memory = _set_memory() or BYTES_FREE + BYTES_EACH * size
        self.seconds = _set_seconds() or SECONDS_FREE + SECONDS_EACH * size
        self.used, self.end = 0, time.thread_time() + self.seconds

    def charge(self, count: int) -> None:
        """Take bytes from the budget; an error where it is exceeded, or the time is over."""
        self.used += count
        if self.used > self.memory:
            raise self.exceeded()
        if time.thread_time() > self.end:
            message = f"reading the file takes more than {self.seconds:.3g} seconds of the processor"
            raise DecloakError(message, self.path, f"set {SECONDS}={4 * self.seconds:.0f} if you trust the file")

    def exceeded(self) -> DecloakError:
        """The error that a file needs more memory than it may take."""
        message = f"reading the file takes more than {self.memory / 1e6:,.0f} MB of memory"
        hint = f"set {MEMORY}={size_of(4 * self.memory)} if you trust the file and have the memory"
        return DecloakError(message, self.path, hint)


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


def charge(count: int) -> None:
    """Take bytes from the budget of the file that is being read, if there is one."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.charge(count)


@contextmanager
def reading(path: str, size: int) -> Iterator[None]:
    """Inside, whatever reads is charged to the budget of a file of so many bytes; an outer budget stays."""
    if _CURRENT.get() is not None:
        yield
        return
    budget = Budget(shown(path, 4096)[1:-1], size)
    token = _CURRENT.set(budget)
    try:
        with _limited(budget.memory + SLACK):
            yield
    except MemoryError:
        raise budget.exceeded() from None
    finally:
        _CURRENT.reset(token)


@contextmanager
def _limited(count: int) -> Iterator[None]:
    """Let the process have so many bytes more, where it has one thread alone: others may need what they need."""
    if resource is None or not sys.platform.startswith("linux") or active_count() > 1:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    reserved = RESERVED if "pyarrow" in sys.modules and os.environ.get(ARROW_POOL) != SYSTEM_POOL else 0
    bounds = [bound for bound in (data_bytes() + count + reserved, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _set_memory() -> int | None:
    text = os.environ.get(MEMORY)
    return read_size(text, MEMORY) if text else None


def _set_seconds() -> float | None:
    text = os.environ.get(SECONDS)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e9:
        raise DecloakError(f"{shown(text)} is no number of seconds", SECONDS, "write such as 60")
    return seconds
