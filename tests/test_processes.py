"""Forked processes: results, errors in one line, and nothing left behind, however one of them or their home ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, wait

import pytest

from conftest import ROOT
from decloak.errors import DecloakError
from decloak.processes import ForkedProcesses, forked_processes
from processes import PATIENCE, children_of, is_running, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
LOADED = list(range(1000))
own = {}


def begin(name: str) -> None:
    own["name"] = name


def describe(number: int) -> tuple[int, str, int]:
    return number, own["name"], id(LOADED)


def kill_itself(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


class Last:
    """The end of a result: the process is killed soon after it was pickled, while the result is sent."""

    def __reduce__(self):
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return int, ()


def send_much() -> list[object]:
    return [bytes(300_000_000), Last()]


def test_processes_share_what_is_loaded_and_begin_as_they_are_told():
    with forked_processes(3, begin, "worker") as pool:
        done = [pool.submit(describe, number).result() for number in range(9)]
    assert done == [(number, "worker", id(LOADED)) for number in range(9)]
    assert not children_of(os.getpid())
    assert threading.active_count() == 1


@pytest.mark.parametrize("_", range(3))
def test_a_process_that_is_killed_ends_the_others_and_is_named(_):
    with pytest.raises(DecloakError, match=r"was ended \(SIGKILL\)"), forked_processes(3, begin, "") as pool:
        pool.submit(kill_itself, signal.SIGKILL).result()
    assert not children_of(os.getpid())


def wait_for(pool: ForkedProcesses, task: Future[object]) -> None:
    while not wait({task}, 0.1).done:
        pool.check()
    task.result()


def test_a_process_that_is_killed_while_it_sends_a_result_is_noticed():
    with pytest.raises(DecloakError, match=r"was ended \(SIGKILL\)"), forked_processes(2, begin, "") as pool:
        wait_for(pool, pool.submit(send_much))
    assert not children_of(os.getpid())
    assert threading.active_count() == 1


def fail_meanwhile(pool: ForkedProcesses) -> None:
    for _ in range(5):
        pool.submit(time.sleep, 10 * PATIENCE)
    raise ZeroDivisionError


def test_an_error_in_the_block_ends_processes_at_work_at_once():
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError), forked_processes(2, begin, "") as pool:
        fail_meanwhile(pool)
    assert not children_of(os.getpid())
    assert time.monotonic() - begun < PATIENCE


def take(count: int) -> int:
    return len(bytearray(count))


def test_a_process_that_takes_more_memory_than_it_may_raises():
    with forked_processes(1, begin, "", memory=50 << 20) as pool:
        assert pool.submit(take, 1 << 20).result() == 1 << 20
        with pytest.raises(MemoryError):
            pool.submit(take, 200 << 20).result()


def test_where_no_process_can_be_started_the_error_says_so(monkeypatch):
    def refuse():
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(DecloakError, match="cannot start a process: Resource"), forked_processes(2, begin, ""):
        pass
    assert threading.active_count() == 1


ORPHANS = """
import os, time
from decloak.processes import ForkedProcesses, forked_processes
with forked_processes(3, int) as pool:
    for _ in range(2):
        pool.submit(time.sleep, 6000)
    print(*[worker.pid for worker in pool.workers], flush=True)
    time.sleep(6000)
"""


def test_processes_end_with_their_home_even_if_it_is_killed():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    with subprocess.Popen([sys.executable, "-c", ORPHANS], env=environment, stdout=subprocess.PIPE) as home:
        pids = home.stdout.readline().split()
        home.kill()
    assert len(pids) == 3
    assert wait_until(lambda: not any(map(is_running, map(int, pids))))
