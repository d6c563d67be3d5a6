"""Whatever a file claims: reading it takes less than 1 GB and 5 seconds, and what is too much is told in one line."""

import os
import random
import subprocess
import sys
import time

import pytest

import decloak
from decloak.data.read_budget import MEMORY, SECONDS
from decloak.errors import DecloakError
from hostile_files import MAKERS, far_row, flags, made, runs, store, word

BYTES, CPU = 1_000_000_000, 5.0
FORMATS = {"text": ("basket", "long", "onehot", "jsonl", "spmf", "published")}
READ = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
from decloak.cli import main
try:
    main(sys.argv[1:])
finally:
    # What the system says of the process is no less than that of the one it was forked from; this begins anew.
    with open("/proc/self/status") if sys.platform == "linux" else open(os.devnull) as status:
        print("peak", *(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


def took(*arguments, **environment):
    """The exit code, the last words, the megabytes and the seconds of the processor of a command."""
    with subprocess.Popen(
        [sys.executable, "-c", READ, *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | environment,
    ) as child:  # fmt: skip
        said, _, peak = child.stderr.read().rpartition("peak")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    memory = int(peak) * 1024 if peak.strip() else usage.ru_maxrss
    return child.returncode, said, memory, usage.ru_utime + usage.ru_stime


def check_bounded(path, *options):
    code, said, memory, seconds = took("check", path, *options, "--k", 2, "--m", 2)
    told = [line for line in said.splitlines() if not line.startswith(("note: ", "WARNING: "))]
    assert code in (0, 2, 3), said
    assert len(told) == 1, said
    assert memory < BYTES, (memory, said)
    assert seconds < CPU, (seconds, said)
    return code, told[0]


@pytest.mark.parametrize(
    ("maker", "name", "options", "size"),
    [
        (word, "a.parquet", ("--input", "parquet"), 100),
        (runs, "a.arrow", ("--input", "arrow"), 1),
        pytest.param(flags, "a.parquet", ("--input", "parquet"), 100, marks=pytest.mark.slow),
        (far_row, "a.xlsx", ("--input", "xlsx"), 1),
        (store, "a.db", (), 100),
    ],
)
def test_a_small_file_that_claims_much_is_refused_in_one_line(tmp_path, maker, name, options, size):
    path = made(tmp_path / name, random.Random(3), maker, size)
    assert path.stat().st_size < 5_000_000
    code, said = check_bounded(path, *options)
    assert code == 2
    assert said.startswith(f"decloak: {path}: ")
    assert "set DECLOAK_READ_" in said or "at most 1,000,000 characters" in said


@pytest.mark.slow
def test_no_file_takes_more_than_its_budget(tmp_path, tries):
    seed = time.time_ns()
    for number in tries(6):
        rng = random.Random(f"{seed} {number}")
        kind = rng.choice(list(MAKERS))
        maker, size = rng.choice(MAKERS[kind]), rng.choice((1, 10, 100))
        path = made(tmp_path / f"{number}.{kind}", rng, maker, size)
        chosen = rng.choice(FORMATS.get(kind, (kind,)))
        options = ("--input", chosen) if kind != "store" and rng.random() < 0.7 else ()
        try:
            check_bounded(path, *options)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, try {number}: {maker.__name__} {size} as {options}: {error}") from None
        path.unlink()


@pytest.mark.parametrize(("variable", "low", "high"), [(MEMORY, "64M", "4G"), (SECONDS, "0.000001", "60")])
def test_the_budget_is_set_by_the_variable_that_the_error_names(tmp_path, monkeypatch, variable, low, high):
    path = tmp_path / "long.txt"
    path.write_text("".join(f"item {number},other {number}\n" for number in range(200_000)))
    monkeypatch.setenv(variable, low)
    with pytest.raises(DecloakError, match=f"set {variable}=") as told:
        decloak.read(path, format="basket")
    assert told.value.place == str(path)
    monkeypatch.setenv(variable, high)
    assert len(decloak.read(path, format="basket").transactions) == 200_000
    monkeypatch.setenv(variable, "much")
    with pytest.raises(DecloakError, match=variable):
        decloak.read(path, format="basket")


def test_a_limit_ends_with_the_reading(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    path = tmp_path / "a.txt"
    path.write_text("a,b\n")
    decloak.read(path, format="basket")
    (tmp_path / "b.txt").write_text("\n")
    with pytest.raises(DecloakError):
        decloak.read(tmp_path / "b.txt", format="basket")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
