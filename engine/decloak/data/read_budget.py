"""A budget of memory and time for reading a file. A small file may claim any number of rows, and unpack to any size.

Readers `charge` the bytes that parsed values need, before they allocate them where possible. Time is CPU time, so that
a busy machine refuses nothing. Both budgets grow with the size of the file.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import active_count

from decloak.errors import DecloakError, quote
from decloak.memory import data_bytes, read_size, size_of

try:
    import resource
except ImportError:  # no limits on Windows: there the charges are all
    resource = None  # type: ignore[assignment]

MEMORY, SECONDS = "DECLOAK_READ_MEMORY", "DECLOAK_READ_SECONDS"
"""Environment variables that set the budget: bytes (or 4G, 500M), and CPU seconds."""
BYTES_FREE, BYTES_EACH = 400_000_000, 50
"""Bytes of memory that any file may need, and bytes for each byte of the file."""
SECONDS_FREE, SECONDS_EACH = 2.5, 4e-6
"""CPU seconds that any file may need, and seconds for each byte of the file."""
SLACK = 350_000_000
"""Bytes beyond the charges that the system limit allows: readers of other packages charge nothing."""
ARROW_POOL, SYSTEM_POOL = "ARROW_DEFAULT_MEMORY_POOL", "system"
RESERVED = 1_200_000_000
"""Bytes that Arrow reserves and does not use, unless it was imported with the system's memory pool."""


class Budget:
    """The remaining memory and time for reading one file."""

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        memory = os.environ.get(MEMORY)
        self.memory = read_size(memory, MEMORY) if memory else BYTES_FREE + BYTES_EACH * size
        self.seconds = _set_seconds() or SECONDS_FREE + SECONDS_EACH * size
        # CPU time of this thread: other threads and a busy machine do not count.
        self.used, self.end = 0, time.thread_time() + self.seconds

    def charge(self, count: int) -> None:
        """Take `count` bytes from the budget; raise an error if it is exceeded or the time is over."""
        self.used += count
        if self.used > self.memory:
            raise self.exceeded()
        if time.thread_time() > self.end:
            message = f"reading the file takes more than {self.seconds:.3g} seconds of the processor"
            raise DecloakError(message, self.path, f"set {SECONDS}={4 * self.seconds:.0f} if you trust the file")

    def exceeded(self) -> DecloakError:
        """Return the error for a file that needs more memory than the budget."""
        message = f"reading the file takes more than {self.memory / 1e6:,.0f} MB of memory"
        hint = f"set {MEMORY}={size_of(4 * self.memory)} if you trust the file and have the memory"
        return DecloakError(message, self.path, hint)


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


def charge(count: int) -> None:
    """Take `count` bytes from the budget of the file that is being read, if there is one."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.charge(count)


@contextmanager
def reading(path: str, size: int) -> Iterator[None]:
    """Charge all reads inside to a budget for the file at `path` with `size` bytes. An outer budget stays in force."""
    if _CURRENT.get() is not None:
        yield
        return
    budget = Budget(quote(path, 4096)[1:-1], size)
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
    """Limit the memory of the process to `count` more bytes. Only with a single thread: others may need memory too."""
    if resource is None or not sys.platform.startswith("linux") or active_count() > 1:
        yield
        return
    # RLIMIT_DATA also bounds allocations of C libraries, which charge nothing.
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    reserved = RESERVED if "pyarrow" in sys.modules and os.environ.get(ARROW_POOL) != SYSTEM_POOL else 0
    # No limit is the number -1, which would be the least of all.
    bounds = [bound for bound in (data_bytes() + count + reserved, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _set_seconds() -> float | None:
    text = os.environ.get(SECONDS)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e9:
        raise DecloakError(f"{quote(text)} is no number of seconds", SECONDS, "write such as 60")
    return seconds
