"""Run decloak, and let copies of the process be asked to end at some events of its start.

    python interrupting.py STEP FIRST ARGUMENTS...

An event is a call or a return, of Python or of C, as `sys.setprofile` counts them, from the first line of the command
line to the opening of the store. At every STEP-th event from FIRST on the process forks; in the copy the handler of
SIGINT or SIGTERM is called, and the copy goes on by itself. Prints what came of it as JSON: how many events and copies
there were, and every copy that did not end with 130.
"""

import json
import os
import signal
import sys
import time
from importlib.machinery import PathFinder, SourceFileLoader

import decloak.__main__ as program

PATIENCE = 20
step, first = int(sys.argv[1]), int(sys.argv[2])
sys.argv = ["decloak", *sys.argv[3:]]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
home, nowhere = os.getpid(), os.open(os.devnull, os.O_RDWR)
events, copies, is_due, lost = 0, 0, False, []


def ended(pid):
    """The exit code of a copy, or "never"."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "never"


def place_in(descriptor):
    """How far a file has been read, None where that cannot be said."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def is_inside_sqlite(frame):
    """Tell whether SQLite called what runs: it holds a lock that a copy of the process could not open."""
    while frame is not None:
        if frame.f_code.co_name in ("_authorize", "_step", "note"):
            return True
        frame = frame.f_back
    return False


def profile(frame, event, argument):
    """Count an event, and let a copy of the process meet a signal there."""
    global events, copies, is_due
    events += 1
    is_due = is_due or (events >= first and (events - first) % step == 0)
    if not is_due or is_inside_sqlite(frame):
        return
    is_due = False
    number = (signal.SIGINT, signal.SIGTERM)[copies % 2]
    copies += 1
    places = {each: place for each in range(64) if (place := place_in(each)) is not None}
    pid = os.fork()
    if pid:
        code = ended(pid)
        for descriptor, place in places.items():  # the copy may have read on in a file that both have open
            os.lseek(descriptor, place, os.SEEK_SET)
        if code != 130:
            lost.append((events, number, code, f"{frame.f_code.co_filename}:{frame.f_lineno} {event} {argument}"))
        return
    sys.setprofile(None)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    signal.getsignal(number)(number, frame)


def started(*arguments, **options):
    """Stand for the opening of the store: the start has ended, and copies go on."""
    if os.getpid() == home:
        sys.setprofile(None)
        print(json.dumps({"events": events, "copies": copies, "lost": lost}), flush=True)
        os._exit(0)
    from decloak.store.opening import open_store

    return open_store(*arguments, **options)


class Loader(SourceFileLoader):
    """Loads the runner with `started` in the place of what opens the store."""

    def exec_module(self, module):
        super().exec_module(module)
        module.open_store = started


class Finder:
    """Finds the runner for `Loader`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "decloak.pipeline.run":
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, Finder)
try:
    sys.setprofile(profile)
    program.main()
except SystemExit as end:
    sys.setprofile(None)
    if os.getpid() == home:
        print(json.dumps({"events": events, "copies": copies, "lost": lost, "code": end.code}), flush=True)
    os._exit(end.code if isinstance(end.code, int) else 1)
except BaseException:
    os._exit(99)
