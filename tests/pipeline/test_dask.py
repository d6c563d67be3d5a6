"""Runs on a Dask cluster: the same results to the bit, nothing lost with a worker, and who records are sent to."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from decloak.errors import DecloakError
from decloak.pipeline.cluster import check_address
from processes import PATIENCE, wait_until
from slowly import slow_but
from test_jobs import CHUNKS, COAT, CUT, ONE, rows, runs_of, written

pytest.importorskip("distributed", reason="the extra dask is not installed")

PARTS = """\
scenario: parts
data: {generate: baskets, transactions: 300, items: 40, length: 4}
anonymise: {method: lra, k: 3, m: 2, hierarchy: {by: names}, parts: 3}
attack: [km_violation]
measure: [loss]
vary: {anonymise.method: [lra, vpa]}
"""
SETS = COAT.replace("  utility: {relate: {measure: ngd, source: clinic-counts}, within: 0.9}\n", "")
"""COAT that goes by no counts, which is sent."""
IN_ONE = """\
import sys, time
from distributed import LocalCluster
with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
                  dashboard_address=None) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen]:
    """A process that is ended with the test."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "engine")}
    command = [sys.executable, *arguments]
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, **quiet) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with two workers, all in one process."""
    with process("-c", IN_ONE) as running:
        yield running.stdout.readline().strip()


def run(path: Path, store: Path, *further: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(path, store, *further), capture_output=True, text=True, timeout=PATIENCE, check=False)


def command(path: Path, store: Path, *further: str) -> list[str]:
    script = "import sys; from decloak.cli import main; main(sys.argv[1:])"
    return [sys.executable, "-c", script, "run", str(path), "--store", str(store), *further]


@pytest.mark.parametrize(
    "text",
    slow_but([PARTS], [SETS, COAT, CHUNKS, CUT, PARTS, ONE]),
    ids=["sent", "counts", "chunks", "labels", "parts", "one"],
)
def test_a_cluster_gives_the_same_store_and_the_same_output(text, cluster, tmp_path):
    path = written(tmp_path, text)
    here = run(path, tmp_path / "one.db", "--json", "--jobs", "1")
    there = run(path, tmp_path / "two.db", "--json", "--dask", cluster)
    assert here.returncode == there.returncode == 0, there.stderr
    assert there.stdout.replace("two.db", "one.db") == here.stdout
    assert rows(tmp_path / "two.db") == rows(tmp_path / "one.db")


@pytest.mark.slow
def test_what_goes_wrong_on_a_worker_is_told_as_ever(cluster, tmp_path):
    path = written(tmp_path, CUT.replace("k: 3, m: 2,", "k: 301, m: 2,"))
    here, there = run(path, tmp_path / "one.db"), run(path, tmp_path / "two.db", "--dask", cluster)
    assert here.returncode == there.returncode
    assert there.stderr.replace("two.db", "one.db") == here.stderr


class Sent:
    """Stands for a cluster, and keeps what is sent."""

    threads = 2

    def __init__(self) -> None:
        self.tasks: list[tuple[object, ...]] = []

    def call(self, function, *arguments):
        self.tasks.append((function, *arguments))
        return function(*arguments)

    def results(self, function, tasks):
        return (self.call(function, *task) for task in tasks)

    def close(self):
        pass


def test_neither_ids_nor_the_store_nor_the_truth_is_sent_with_an_attack(tmp_path, monkeypatch):
    import decloak
    from decloak.data.dataset import Dataset
    from decloak.pipeline import run as runner

    @contextmanager
    def pretended(address, allow_send):
        yield sent

    sent = Sent()
    monkeypatch.setattr(runner, "cluster_at", pretended)
    data = "".join(f"id of {number},a{number % 3},b{number % 5},c\n" for number in range(30))
    (tmp_path / "records.txt").write_text(data, encoding="utf-8")
    text = "scenario: ids\ndata: {file: records.txt, format: basket, ids: true}\nanonymise: {method: sets, size: 2}\n"
    text += "relate: {measure: ngd, source: release}\nmeasure: [recovery]\n"
    text += "attack: [ra, rba, {rule: km_violation, k: 2, m: 2}]\n"
    decloak.run(written(tmp_path, text), store=tmp_path / "s.db", dask="localhost:1")
    assert len(sent.tasks) == 4
    records = [argument for task in sent.tasks for argument in task if isinstance(argument, Dataset)]
    assert len(records) == 1
    import cloudpickle

    for task in sent.tasks:
        content = cloudpickle.dumps(task)
        assert b"id of" not in content
        assert b"s.db" not in content
    attacks = [dict(task[2]) for task in sent.tasks if not isinstance(task[1], Dataset)]
    assert sorted(sorted(values) for values in attacks) == [["distances"], ["distances"], ["transactions"]]


@pytest.mark.parametrize(
    ("address", "allow", "read"),
    [
        ("127.0.0.1:8786", (), "tcp://127.0.0.1:8786"),
        ("tcp://localhost:1", (), "tcp://localhost:1"),
        ("tls://[::1]:8786", (), "tls://[::1]:8786"),
        ("tls://cluster.example:8786", ("cluster.example",), "tls://cluster.example:8786"),
        ("tls://cluster.example:8786", ("cluster.example:8786",), "tls://cluster.example:8786"),
        ("cluster.example:8786", ("tcp://cluster.example:8786",), "tcp://cluster.example:8786"),
    ],
)
def test_addresses_of_this_machine_and_those_that_are_allowed(address, allow, read):
    assert check_address(address, allow) == read


@pytest.mark.parametrize(
    ("address", "allow", "told"),
    [
        ("tls://cluster.example:8786", (), "would send records to cluster.example:8786; --allow-send"),
        ("tls://cluster.example:8786", ("cluster.example:1",), "would send records to"),
        ("tcp://cluster.example:8786", ("cluster.example:8786",), "send records unencrypted to cluster.example:8786; "),
        ("cluster.example:8786", (), "use tls://, or accept the risk with --allow-send tcp://cluster.example:8786"),
        ("tcp://169.254.169.254:80", ("tcp://169.254.169.254:80",), "is never sent to"),
        ("tcp://2852039166:80", ("tcp://2852039166:80",), "is never sent to"),
        ("tls://metadata.google.internal:80", ("metadata.google.internal",), "is never sent to"),
        ("localhost.example:1", (), "would send records unencrypted to localhost.example:1; "),
        ("127.0.0.1", (), "is no address of a scheduler"),
        ("127.0.0.1:0", (), "is no address"),
        ("127.0.0.1:99999", (), "is no address"),
        ("ucx://127.0.0.1:1", (), "is no address"),
        ("inproc://127.0.0.1:1", (), "is no address"),
        ("http://127.0.0.1:1/", (), "is no address"),
        ("user@127.0.0.1:1", (), "is no address"),
        ("", (), "is no address"),
        ("\x1b[2Ja:1", (), "is no address"),
        ("a" * 400 + ":1", (), "is no address"),
        ("127.0.0.1:1\n", (), "is no address"),
    ],
)
def test_other_addresses_are_refused_in_a_line(address, allow, told):
    with pytest.raises(DecloakError) as caught:
        check_address(address, allow)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def test_nobody_at_an_address_is_told_in_a_line_and_no_store_is_made(tmp_path):
    script = (
        "import decloak.pipeline.cluster as c, sys; c.PATIENCE = 1; from decloak.cli import main; main(sys.argv[1:])"
    )
    arguments = ["run", str(written(tmp_path, ONE)), "--store", str(tmp_path / "s.db"), "--dask"]
    address = f"127.0.0.1:{free_port()}"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments, address],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"decloak: --dask: no scheduler of Dask answers at tcp://{address}")
    assert "Traceback" not in done.stderr


def sum_and_change(array: np.ndarray, factor: int) -> float:
    array *= factor  # an array comes as writable as it went
    return float(array.sum())


LARGE = """\
import sys
import cloudpickle
import numpy as np
from decloak.pipeline.cluster import DaskCluster
import test_dask
cloudpickle.register_pickle_by_value(test_dask)  # the workers have no tests
connection = DaskCluster(sys.argv[1])
array = np.arange(3_000_000.0)  # above the 10 MB from which Dask warns
assert list(connection.results(test_dask.sum_and_change, [(array, 1), (array, 2)])) == [array.sum(), 2 * array.sum()]
assert array[1] == 1
connection.close()
"""


@pytest.mark.slow
def test_large_arrays_go_whole_and_without_a_warning(cluster):
    # Dask keeps a thread for large arrays until its process ends, so this is a process of its own.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", LARGE, cluster],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def answers(port: int) -> bool:
    with socket.socket() as opened:
        return opened.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def real_cluster() -> Iterator[tuple[str, subprocess.Popen, list[subprocess.Popen]]]:
    """A scheduler and two workers, each in a process."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    with process(*scheduler) as first, process(*worker) as second, process(*worker) as third:
        assert wait_until(lambda: answers(port))
        yield address, first, [second, third]


HELD = """
import sys, threading
from functools import partial
from pathlib import Path
import decloak.pipeline.scheduler as scheduler
from decloak.cli import main
from decloak.pipeline.cluster import DaskCluster

def wait(folder, function, *arguments):
    import os, time
    from pathlib import Path
    Path(folder, f"at work {os.getpid()}").touch()
    while not Path(folder, "go on").exists():
        time.sleep(0.01)
    return function(*arguments)

folder, here, one_is_written = sys.argv.pop(1), threading.local(), threading.Event()
compute, is_finished, map_calls = scheduler.compute_stages, scheduler.Schedule.is_finished, DaskCluster.results

def compute_later(task):
    here.plan = task.plan
    if task.plan:
        one_is_written.wait()
    return compute(task)

def is_finished_after(self, index):
    if index:
        one_is_written.set()
    return is_finished(self, index)

def map_waiting(self, function, tasks):
    return map_calls(self, partial(wait, folder, function) if getattr(here, "plan", 0) else function, tasks)

scheduler.compute_stages, scheduler.Schedule.is_finished = compute_later, is_finished_after
DaskCluster.results = map_waiting
main(sys.argv[1:])
"""
"""A run that writes the first of its plans; every call for another one waits in its worker for the file `go on`."""


@contextmanager
def begun(path: Path, store: Path, address: str) -> Iterator[subprocess.Popen]:
    """A run that has written one of its plans, while both workers work for others."""
    arguments = [sys.executable, "-c", HELD, path.parent, "run", path, "--store", store, "--dask", address]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(list(map(str, arguments)), text=True, **pipes) as running:
        at_work = lambda: list(path.parent.glob("at work *"))  # noqa: E731
        try:
            assert wait_until(lambda: running.poll() is not None or len(at_work()) == 2)
            assert runs_of(store) == 1
            yield running
        finally:
            running.kill()


def go_on(path: Path) -> None:
    (path.parent / "go on").touch()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, list[tuple]]:
    """The rows of a run that nothing ended."""
    path = written(tmp_path_factory.mktemp("undisturbed"), SETS)
    assert run(path, path.parent / "s.db", "--jobs", "1").returncode == 0
    return rows(path.parent / "s.db")


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(undisturbed, tmp_path):
    path = written(tmp_path, SETS)
    with real_cluster() as (address, _, workers), begun(path, tmp_path / "s.db", address) as running:
        workers[0].send_signal(signal.SIGKILL)
        go_on(path)
        _, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, stderr
    assert rows(tmp_path / "s.db") == undisturbed


IN_FILES = """\
scenario: records in files
data: {file: records.txt, format: basket, parts: true}
anonymise: {method: cut, k: 3, m: 2, hierarchy: {by: names, fanout: 3}}
"""
MEASURED = "select name, value, part, whole from measure where name not like '%seconds%' order by name"


@pytest.mark.slow
def test_records_in_files_are_counted_by_a_cluster_as_here(cluster, tmp_path):
    rows_of_text = "".join(f"a{number % 5},b{number % 7},c{number % 3}\n" for number in range(200))
    (tmp_path / "records.txt").write_text(rows_of_text, encoding="utf-8")
    path, found = written(tmp_path, IN_FILES), []
    for store, options in ((tmp_path / "here.db", ("--jobs", "1")), (tmp_path / "there.db", ("--dask", cluster))):
        done = run(path, store, *options)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(store) as connection:
            found.append(connection.execute(MEASURED).fetchall())
            found.append(connection.execute("select digest from part order by id").fetchall())
    assert found[:2] == found[2:]
    assert len(found[0]) > 20


def double(folder: str, number: int) -> int:
    """Return twice a number; the worker that gets number 3 first is killed."""
    flag = Path(folder) / "killed"
    if number == 3 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


KILLED = """\
import sys
import cloudpickle
from decloak.parallel import merge_tasks, tasks_on
from decloak.pipeline.cluster import DaskCluster
import test_dask
cloudpickle.register_pickle_by_value(test_dask)
connection, merged = DaskCluster(sys.argv[1]), []
with tasks_on(connection):
    merge_tasks(test_dask.double, [(sys.argv[2], number) for number in range(8)], merged.append)
assert sorted(merged) == list(range(0, 16, 2)), merged
connection.close()
"""


@pytest.mark.slow
def test_a_worker_that_is_killed_has_each_result_merged_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with real_cluster() as (address, *_):
        command = [sys.executable, "-c", KILLED, address, str(tmp_path)]
        pipes = {"capture_output": True, "text": True, "timeout": PATIENCE, "check": False}
        done = subprocess.run(command, env=environment, **pipes)
    assert (tmp_path / "killed").exists()
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_scheduler_that_is_lost_ends_a_run_in_a_line_and_the_run_goes_on(undisturbed, tmp_path):
    path = written(tmp_path, SETS)
    with real_cluster() as (address, scheduler, _), begun(path, tmp_path / "s.db", address) as running:
        scheduler.send_signal(signal.SIGKILL)
        _, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 2
    assert stderr.splitlines()[-1] == (
        f"decloak: --dask: the scheduler at {address} is gone; what was finished is kept: start the cluster again, "
        "and run it again to go on"
    )
    assert "Traceback" not in stderr
    assert runs_of(tmp_path / "s.db") == 1
    assert run(path, tmp_path / "s.db", "--jobs", "2").returncode == 0
    assert rows(tmp_path / "s.db") == undisturbed


@pytest.mark.slow
def test_a_run_by_a_cluster_that_is_interrupted_leaves_nothing_half_done(undisturbed, tmp_path):
    path = written(tmp_path, SETS)
    with real_cluster() as (address, *_), begun(path, tmp_path / "s.db", address) as running:
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=PATIENCE)
        assert running.returncode == 130
        assert stderr.splitlines()[-1].startswith("decloak: interrupted; finished stages are kept")
        go_on(path)
        again = run(path, tmp_path / "s.db", "--dask", address, "--json")
    fresh = [variant["fresh"] for variant in json.loads(again.stdout)["runs"]]
    assert not fresh[0]
    assert fresh[-1]
    assert rows(tmp_path / "s.db") == undisturbed
