"""What `decloak check` of raw data costs: CPU seconds, peak memory, and when the first violations are printed.

Beside it: the start of Python and reading, and a compiled program that only counts the triples (m = 3, with numba).

    python benchmarks/bench_check.py [FILE...] [--k K] [--m M]

A file has one record a line, its items apart by blanks. Without files 77,512 records of 3,340 items are generated, as
many and as long as those of BMS-WebView-2. Each check is a process of its own, from the start of Python on.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import shaped
from decloak.commands.options import EXIT_EXPECTATION
from decloak.counting.itemsets import coded_items
from decloak.data.formats.plain_files import read
from floors import count_rare_triples
from timing import cpu

GENERATED = (77_512, 3_340, 4.6)


class Checked(NamedTuple):
    """CPU seconds, megabytes, the share of the time after which something was printed, and what was said at last."""

    seconds: float
    memory: float
    first: float
    said: str


def checked(file: Path, k: int, m: int) -> Checked:
    """Check a file."""
    command = [sys.executable, "-m", "decloak", "check", file, "--input", "spmf", "--k", str(k), "--m", str(m)]
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as talk:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=talk)
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - begun
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # unlike `wait`, it tells what this one process has used
        whole = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        talk.seek(0)
        said = talk.read().decode().strip()
    if process.returncode not in (0, EXIT_EXPECTATION):
        sys.exit(said)
    return Checked(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, first / whole, said.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--m", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder) / "generated.dat"
        if not options.files:
            lists = shaped.lists(shaped.generate(*GENERATED))
            generated.write_text("".join(f"{' '.join(name.split()[-1] for name in row)}\n" for row in lists if row))
        for file in options.files or [generated]:
            cost = checked(file, options.k, options.m)
            records = coded_items(read(file, "spmf", repeats=True).rows).records
            floor = count_rare_triples(records, options.k) if options.m == 3 else None
            least = "" if floor is None else f"; counting alone {cpu(floor):.2f} s, start and m = 1 "
            least += "" if floor is None else f"{checked(file, options.k, 1).seconds:.2f} s"
            print(
                f"{file.name}, k = {options.k}, m = {options.m}: {cost.seconds:.1f} s, {cost.memory:.0f} MB, "
                f"something printed after {cost.first:.0%} of the time; {cost.said}{least}"
            )


if __name__ == "__main__":
    main()
