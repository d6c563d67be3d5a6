"""A request to end is never lost: whatever it meets, the exit code is 130."""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ROOT
from decloak import ending
from processes import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
SEED = int(os.environ.get("DECLOAK_SEED", random.randrange(1 << 30)))


def lost(step: int, first: int, folder: Path) -> tuple[int, int, list[object]]:
    """Ask copies of a run to end at every so-manieth event of its start: events, copies, and what did not end."""
    script = Path(__file__).parent / "support" / "interrupting.py"
    scenario = ROOT / "scenarios" / "quickstart.yaml"
    command = [sys.executable, script, step, first, "run", scenario, "--store", folder / "s.db"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return found["events"], found["copies"], found["lost"]


def test_a_request_at_any_of_many_events_of_a_start_ends_the_run_with_130(tmp_path):
    first = 1 + SEED % 20_000
    events, copies, found = lost(20_011, first, tmp_path)
    assert copies > 20
    assert abs(copies - (events - first) / 20_011) <= 1
    assert found == [], f"DECLOAK_SEED={SEED}"


def test_a_request_while_python_starts_ends_the_process_and_leaves_nothing(tmp_path):
    """Before decloak listens the system itself ends the process; there is no moment at which it goes on."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    scenario = ROOT / "scenarios" / "quickstart.yaml"
    command = [sys.executable, "-m", "decloak", "run", str(scenario), "--store", str(tmp_path / "s.db")]
    for at in range(8):
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep((at + random.random()) / 100)
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=60)[1].decode()
        assert process.returncode in (ending.EXIT_INTERRUPTED, -signal.SIGTERM)
        assert "Traceback" not in said
        assert not list(tmp_path.glob(".s.db*"))


def test_a_request_inside_an_exec_of_an_import_ends_with_130(tmp_path):
    """Python ends by the signal where a KeyboardInterrupt left an exec, even if it was caught later."""
    (tmp_path / "program.py").write_text(
        "import sys, types\n"
        "from decloak.__main__ import main\n"
        "cli = sys.modules['decloak.cli'] = types.ModuleType('cli')\n"
        "cli.main = lambda: exec('raise KeyboardInterrupt')\n"
        "main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'engine'}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "program"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.slow
def test_a_request_at_any_of_very_many_events_of_a_start_ends_the_run_with_130(tmp_path):
    step = int(os.environ.get("DECLOAK_EVENT_STEP", "997"))  # 1 is every event: hours
    _, copies, found = lost(step, 1 + SEED % step, tmp_path)
    assert copies > 100
    assert found == [], f"DECLOAK_SEED={SEED}"


def test_a_request_that_is_dropped_is_raised_again():
    def endless():
        try:
            yield
        finally:
            ending.request(signal.SIGTERM, sys._getframe())

    def run():
        generator = endless()
        next(generator)
        del generator  # garbage collection closes it, and drops what it raises
        gc.collect()
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt), ending.listening():
        run()


def test_a_request_while_python_holds_a_lock_is_raised_when_it_does_not():
    frame = type("Frame", (), {"f_globals": {"__name__": "threading"}})

    def run():
        ending.request(signal.SIGINT, frame)  # it returns: the lock can be opened
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt), ending.listening():
        run()


def test_a_request_whose_exception_somebody_catches_ends_the_next_stage():
    with ending.listening():
        ending.check()
        with pytest.raises(KeyboardInterrupt):
            ending.request(signal.SIGTERM, None)
        with pytest.raises(KeyboardInterrupt):
            ending.check()
    ending.check()  # it was for that program alone


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_calls_are_made_while_the_block_runs_and_a_request_takes_the_timer():
    called = []
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # an earlier request may have taken it
    with ending.every(1e6, lambda: called.append("beat")):
        signal.raise_signal(signal.SIGALRM)
        with ending.every(1e6, lambda: called.append("inside")):
            signal.raise_signal(signal.SIGALRM)
        assert signal.getitimer(signal.ITIMER_REAL)[1] == 1e6
    assert called == ["beat", "beat"]
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_listening_leaves_everything_as_it_was():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    hook = sys.unraisablehook
    with ending.listening():
        assert signal.getsignal(signal.SIGTERM) is ending.request
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert sys.unraisablehook is hook


def test_what_else_python_drops_is_reported_as_ever(capsys):
    class Faulty:
        def __del__(self):
            raise ValueError("dropped")

    reported = []
    before = sys.unraisablehook
    sys.unraisablehook = reported.append
    try:
        with ending.listening():
            Faulty()
    finally:
        sys.unraisablehook = before
    assert len(reported) == 1


ANSWERED = """
import sys
import decloak.ending as ending
import decloak.cli as cli
from decloak.errors import DecloakError

def asked(*arguments, **options):
    try:
        ending.request(15, None)
    except KeyboardInterrupt:
        pass
    {then}

cli.cli.main = asked
cli.main([])
"""


@pytest.mark.parametrize(
    "then", ["return 0", "raise DecloakError('x')", "raise ValueError", "raise SystemExit(1)", "raise cli.click.Abort"]
)
def test_a_command_that_swallowed_a_request_exits_with_130_whatever_it_ends_in(then):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    command = [sys.executable, "-c", ANSWERED.format(then=then)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 130
    assert done.stderr == "decloak: interrupted; finished stages are kept, run it again to continue\n"
