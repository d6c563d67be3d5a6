"""A request to end this process (Ctrl-C or SIGTERM), which is never lost.

The signal raises KeyboardInterrupt where it meets the program. Python drops that exception in code that has no caller:
when garbage collection closes a generator, in finalisers, in callbacks. So the request is also kept as a flag. Each
stage calls `check`, and an exception that Python reports as dropped is raised again a moment later. Python also holds
locks, as while it looks for a module; the exception would leave them closed, so there it is raised a moment later too.
The command line listens; a library leaves signals to the program that uses it.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "check", "ignore", "listen", "listening", "request"]

EXIT_INTERRUPTED = 130
AGAIN = 0.02
"""Seconds after which an exception that was dropped, or could not be raised, is raised again."""
LOCKING = {
    "_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap", "importlib._bootstrap_external",
    "contextlib", "logging", "threading", "weakref", "_weakrefset",
}  # fmt: skip
"""The modules of Python that hold locks, or enter and leave what others hold."""

_requested = _is_waiting = False
Report = Callable[["sys.UnraisableHookArgs"], object]


def listen() -> None:
    """Let Ctrl-C and SIGTERM request the end of this process, also where Python drops the exception."""
    signal.signal(signal.SIGTERM, request)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's background job is not to hear of Ctrl-C
        signal.signal(signal.SIGINT, request)
    if hasattr(signal, "setitimer"):
        sys.unraisablehook = partial(_dropped, sys.unraisablehook)


@contextmanager
def listening() -> Iterator[None]:
    """Listen inside; afterwards everything is as it was before."""
    global _requested
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    hook = sys.unraisablehook
    try:
        listen()
        yield
    finally:
        _wait_no_more()
        _requested, sys.unraisablehook = False, hook
        for number, handler in before:
            signal.signal(number, handler)


def request(number: int, frame: FrameType | None) -> None:
    """Note that the end is requested, and raise KeyboardInterrupt: the handler of the signals."""
    global _requested
    _requested = True
    if frame is not None and frame.f_globals.get("__name__") in LOCKING and hasattr(signal, "setitimer"):
        _wait()
    else:
        raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if the end was requested."""
    if _requested:
        _wait_no_more()
        raise KeyboardInterrupt


def ignore() -> None:
    """Ignore requests from here on: the exit code is decided."""
    _wait_no_more()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _wait() -> None:
    global _is_waiting
    signal.signal(signal.SIGALRM, request)
    _is_waiting = True
    signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _wait_no_more() -> None:
    global _is_waiting
    if _is_waiting:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _is_waiting = False


def _dropped(report: Report, unraisable: "sys.UnraisableHookArgs") -> None:
    """Have a request raised again whose exception Python drops; whatever else it drops is reported as before."""
    if _requested and isinstance(unraisable.exc_value, KeyboardInterrupt):
        _wait()
    else:
        report(unraisable)
