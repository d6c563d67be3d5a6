"""What /proc knows of processes: who started whom, and what they took; and waiting for what they do."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

PATIENCE = 600
"""Seconds after which a test gives up a process. What it finds never depends on them, however busy the machine is."""


def wait_until(event: Callable[[], object]) -> bool:
    """Wait for an event; return False if it has not come in `PATIENCE` seconds of short pauses."""
    for _ in range(PATIENCE * 50):
        if event():
            return True
        signal.sigtimedwait([], 0.02)
    return False


def working_children(process: subprocess.Popen) -> list[int]:
    """Wait until one of the processes that a process has started has worked a while; all that there are then."""

    def at_work() -> bool:
        return process.poll() is not None or max(map(processor_seconds, descendants_of(process.pid)), default=0) > 0.4

    assert wait_until(at_work)
    assert process.returncode is None, f"ended before: {process.returncode}"
    return descendants_of(process.pid)


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    return _stat(Path(f"/proc/{pid}/stat"))[:1] not in ([], ["Z"])


TRACKER = b"multiprocessing.resource_tracker"
"""A process of Python itself: the first spawned pool starts it, and it ends with the process that has used the pool."""


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that are there still, without Python's own tracker."""
    parents = map(_stat_parent, Path("/proc").glob("[0-9]*/stat"))
    return [int(child) for child, parent in parents if parent == str(pid) and not _is_tracker(child)]


def descendants_of(pid: int) -> list[int]:
    """The same with those that they have started themselves."""
    children = children_of(pid)
    return [*children, *(other for child in children for other in descendants_of(child))]


def processor_seconds(pid: int) -> float:
    """The time of the processor a process has used, none when it has ended."""
    fields = _stat(Path(f"/proc/{pid}/stat"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def most_megabytes(pid: int) -> float:
    """The most memory a process has had at a time, none when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return max([int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")], default=0.0)


def _is_tracker(pid: str) -> bool:
    try:
        return TRACKER in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _stat_parent(path: Path) -> tuple[str, str | None]:
    fields = _stat(path)
    return path.parent.name, fields[1] if fields else None


def _stat(path: Path) -> list[str]:
    """The fields behind the name of a process, which may have anything in it."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []
