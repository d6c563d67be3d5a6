"""SQL of strangers hurts nobody: it ends when asked, takes no more than it may, and leaves nothing behind."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conftest import ROOT
from hostile_sql import DEAF, HOSTILE
from processes import PATIENCE, is_running, processor_seconds, wait_until, working_children
from test_store import content

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see what runs")

FAST = {("sql", "replace"), ("run", "rows of 9 MB")}
"""What `make test` takes of all pairs."""


def pairs(ways, names):
    return [
        pytest.param(way, name, id=f"{way}-{name}", marks=() if (way, name) in FAST else pytest.mark.slow)
        for way in ways
        for name in names
        if way in ("sql", "run") or "from txn" not in HOSTILE[name]  # of which rules have no rows when they are checked
    ]


def rule_file(folder: Path, part: str, sql: str) -> Path:
    """A rule whose facts, or whose step before these, are the SQL."""
    steps = f"let:\n  step: {sql}\nfacts: select x from step" if part == "let" else f"facts: {sql}"
    path = folder / "evil.yaml"
    path.write_text(
        f"rule: evil\nform: query\nabout: One.\nderives: evil(x)\n{steps}\nbecause: x\n"
        "reference: ours\nwrong_when: never\n"
    )
    return path


@pytest.fixture
def arguments(example, store):
    """The command that runs hostile SQL one way or another."""

    def made(way: str, sql: str) -> list[str]:
        if way == "sql":
            return ["sql", sql, "--store", str(store), "--format", "csv"]
        rule_file(example, "let" if way in ("validate", "test") else "facts", sql)
        scenario = example / "scenario.yaml"
        text = scenario.read_text()
        scenario.write_text(text.replace("attack: [mda", "attack: [./evil.yaml, mda"))
        return {
            "validate": ["validate", str(scenario)],
            "test": ["rules", "test", str(example / "evil.yaml")],
            "run": ["run", str(scenario), "--store", str(store)],
        }[way]

    return made


WAITED = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "decloak", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""
"""Runs a command of decloak; prints its exit code and the kilobytes of the largest of its processes. The system says of
a process that it took no less than the one that started it, so a small one starts this, not the one of the tests."""


@contextmanager
def started(arguments: list[str], program: tuple[str, ...] = ("-m", "decloak"), **environment: str):
    """A command of decloak in a process of its own, its output in files so that it never waits for a reader."""
    with subprocess.Popen(
        [sys.executable, *program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "engine"), **environment},
        stdout=subprocess.DEVNULL if program[0] == "-m" else subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores Ctrl-C
    ) as process:
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        try:
            yield process
        finally:
            late.cancel()
            process.kill()


def gone(pid: int) -> bool:
    """Whether a process ends before it has worked for two seconds more, however long those take."""
    before = processor_seconds(pid)
    wait_until(lambda: not is_running(pid) or processor_seconds(pid) - before > 2)
    return not is_running(pid)


def untouched(store: Path, before: list[str]) -> None:
    """What was finished is there, in one sound file, and nothing of the attack that was not."""
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("pragma journal_mode").fetchone() == ("delete",)
        assert connection.execute("select count(*) from run").fetchone() == (1,)
        assert connection.execute("select count(*) from sqlite_master where name like '%evil%'").fetchone() == (0,)
    growing = (
        "INSERT INTO \"seal\" VALUES('item',",
        "INSERT INTO \"seal\" VALUES('number',",
    )  # one row, up to the last
    assert {line for line in before if not line.startswith(growing)} <= set(content(store))


def one_line(text: bytes) -> str:
    assert text.startswith(b"decloak: "), text
    assert text.count(b"\n") == 1, text
    return text.decode().removeprefix("decloak: ").rstrip("\n")


@pytest.mark.parametrize(("way", "name"), pairs(("sql", "run", "validate", "test"), DEAF))
def test_ctrl_c_ends_sql_that_is_deaf_to_it_within_a_second(arguments, store, way, name):
    before = content(store)
    took = []
    for by in (signal.SIGINT, signal.SIGTERM):
        with started(arguments(way, HOSTILE[name])) as process:
            children = working_children(process)
            asked = time.monotonic()
            process.send_signal(by)
            assert process.stderr is not None
            said = process.stderr.read()
            code = process.wait()
            took.append(time.monotonic() - asked)
        assert one_line(said.lstrip()) == "interrupted; finished stages are kept, run it again to continue"
        assert code == 130
        assert all(map(gone, children))
    untouched(store, before)
    assert min(took) < max(1, os.getloadavg()[0] / len(os.sched_getaffinity(0)))  # others may be using the machine


@pytest.mark.parametrize("name", [pytest.param(one, marks=() if one == "instr" else pytest.mark.slow) for one in DEAF])
def test_sql_ends_with_decloak_even_when_that_is_killed(arguments, name):
    with started(arguments("sql", HOSTILE[name])) as process:
        children = working_children(process)
        process.kill()
        process.wait()
        assert children
        assert all(map(gone, children))


TAKES = r"takes over (2 s of the processor|4 s|600 MB of memory)|gives rows of over 300 MB"
TOLD = re.compile(
    rf"the SQL( of the rule evil)? ({TAKES}); (let it|ask for) .*|"
    r"the SQL takes too long, or too much memory; let it come to an end|"
    r"the SQL gives over 10000000 rows; let it come to an end|"
    r"SQL: (string or blob too big|LIKE or GLOB pattern too .*);.*"
)


@pytest.mark.parametrize(("way", "name"), pairs(("sql", "run", "validate"), HOSTILE))
def test_hostile_sql_takes_no_more_than_it_may_and_is_told_in_a_line(arguments, store, example, way, name):
    before = content(store)
    command = arguments(way, HOSTILE[name])
    if way == "sql":
        command[-1] = "table"  # the form that needs all rows at a time
    with started(command, ("-c", WAITED), DECLOAK_SQL_SECONDS="2") as process:
        measured, said = process.communicate()
    code, kilobytes = map(int, measured.split())
    assert kilobytes < 1_000_000
    if code == 0:  # it came to an end
        assert way != "sql" or name in DEAF or "limit" in HOSTILE[name]
        return
    assert code == 2
    line = one_line(said)
    if way != "sql":
        place, line = line.split(": ", 1)
        assert re.fullmatch(rf"{re.escape(str(example / 'evil.yaml'))}:\d+:\d+", place)
    assert TOLD.fullmatch(line), line
    untouched(store, before)
