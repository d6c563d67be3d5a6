"""Requests to end the process (Ctrl-C or SIGTERM), none of which is ever lost.

The signal raises KeyboardInterrupt wherever the program is. Python drops that exception in code without a caller: when
garbage collection closes a generator, in finalisers, in callbacks. So the request is also stored as a flag. Each stage
calls `check`, and an exception that Python reports as dropped is raised again a moment later. Python also holds locks,
for example while it looks for a module. The exception would leave them locked, so there it is raised a moment later
too. Only the command line listens; a library leaves signals to the program that uses it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

EXIT_INTERRUPTED = 130
AGAIN = 0.02
"""Seconds until an exception that was dropped, or could not be raised, is raised again."""
LOCKING = {
    "_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap", "importlib._bootstrap_external",
    "contextlib", "logging", "threading", "weakref", "_weakrefset",
}  # fmt: skip
"""Modules of Python that hold locks, or use code that does."""

_requested = _is_waiting = False
Report = Callable[["sys.UnraisableHookArgs"], object]


def listen() -> None:
    """Let Ctrl-C and SIGTERM request the end of this process, even where Python drops the exception."""
    signal.signal(signal.SIGTERM, request)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's background job is not to hear of Ctrl-C
        signal.signal(signal.SIGINT, request)
    if hasattr(signal, "setitimer"):
        sys.unraisablehook = partial(_dropped, sys.unraisablehook)


@contextmanager
def listening() -> Iterator[None]:
    """Listen inside the context; afterwards restore the previous handlers."""
    global _requested
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    hook = sys.unraisablehook
    try:
        listen()
        yield
    finally:
        _stop_timer()
        _requested, sys.unraisablehook = False, hook
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def every(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Make a `call` every so many `seconds` inside the context; a thread would keep processes from being forked.

    No call is made without timers, outside the main thread, or where the timer is already in use.
    """
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not here or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        # What is being printed just now is a sign of life, too: the standard stream takes no text inside a text.
        with suppress(RuntimeError):
            call()

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGALRM) is handle:  # a request to end takes the timer over
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


def request(number: int, frame: FrameType | None) -> None:
    """Note that the end is requested, and raise KeyboardInterrupt. This is the handler of the signals; `number` and
    `frame` are its arguments.
    """
    global _requested
    _requested = True
    if frame is not None and frame.f_globals.get("__name__") in LOCKING and hasattr(signal, "setitimer"):
        _start_timer()
    else:
        raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if the end was requested."""
    if _requested:
        _stop_timer()
        raise KeyboardInterrupt


def forget() -> None:
    """Take a request as answered: the program goes on, and the next request counts again."""
    global _requested
    _stop_timer()
    _requested = False


def ignore() -> None:
    """Ignore requests from here on: the exit code is decided."""
    _stop_timer()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # If a Ctrl-C left an exec (a dataclass in the making) and no exec followed, Python would end by the signal.
    exec("")


def _start_timer() -> None:
    global _is_waiting
    # This takes the timer over from `every`.
    signal.signal(signal.SIGALRM, request)
    _is_waiting = True
    signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _stop_timer() -> None:
    global _is_waiting
    if _is_waiting:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _is_waiting = False


def _dropped(report: Report, unraisable: "sys.UnraisableHookArgs") -> None:
    """Raise a request again whose exception Python drops. Other dropped exceptions are reported as before."""
    if _requested and isinstance(unraisable.exc_value, KeyboardInterrupt):
        _start_timer()
    else:
        report(unraisable)
