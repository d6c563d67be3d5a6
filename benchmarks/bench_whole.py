"""What whole runs cost: CPU seconds, peak memory, the size of the store, and what share of the CPU every stage takes.

    python benchmarks/bench_whole.py [--works WORDS] [--large] [--data FOLDER] [--write | --check | --jobs N]

Each work is a scenario run into a new store, in a process of its own; all that a user waits for is in it, from the
start of Python on (Linux alone tells the memory). A unit is a fixed work of Python, numpy and SQLite, measured before
and after: CPU in units can be compared between machines. Without a choice all works are run but the LARGEST, which
`--large` adds: some ten minutes of CPU. `--works` takes those whose names hold all of the words. `--data` names a
folder with the files of `shaped.py`; in place of those that it lacks records like theirs are generated, and the work is
called "like" them.

`--write` puts the results into results.md, those of works that were not run stay. `--check` runs the works of
results.md that take less than FEW units there, and fails where one takes 25% more units than it did, the best of two.
`--jobs` runs the works with `decloak run --jobs 1` and with N by turns, and prints the seconds by the clock, the best
of three, the ratio, the CPU, that of the first process, and how many programs wanted the cores: the clock tells
something on idle cores alone.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from compileall import compile_dir
from contextlib import closing
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shaped import SHAPES

RESULTS = Path(__file__).with_name("results.md")
WORSE = 1.25
FEW = 60
"""Units of the works that a check repeats."""
KM = "attack: [km_violation]\nmeasure: [loss]"
SIX = "relate: {measure: ngd, source: release}\nattack: [ra, mda, tba, wba, gba, rba]\nmeasure: [recovery]"
EXPOSURE = "attack: [%s]\nrelate: {measure: ngd, source: release}\nmeasure: [{exposure: {control: held_out}}]"
CHUNKS = "relate: {measure: ngd, source: release}\nattack: [random, aba, rga, mra, cover]\nmeasure: [accuracy]"
METHODS = {
    "cut, m = 3": ("{method: cut, k: 5, m: 3, hierarchy: {by: names}}", KM, (1_000, 10_000, 100_000, 515_597)),
    "disassociation": (
        "{method: disassociation, k: 3, m: 2, max_cluster: 50}",
        CHUNKS,
        (1_000, 10_000, 100_000, 500_000),
    ),
    "sets of 16, six attacks": ("{method: sets, size: 16}", SIX, (1_000, 5_000, 20_000, 60_000)),
    "exposure, sets of 16": ("{method: sets, size: 16}", EXPOSURE % "ra", (1_000, 5_000)),
    "exposure, disassociation": (
        "{method: disassociation, k: 3, m: 2, max_cluster: 50}",
        EXPOSURE % "random",
        (1_000, 5_000),
    ),
}
"""What is done to baskets of 1,657 items of the shape of BMS-POS, and for how many records."""
LARGE = {
    "cut, m = 3, 1,000,000 × 20,000": (
        "{generate: baskets, transactions: 1000000, items: 20000, length: 8}",
        "{method: cut, k: 5, m: 3, hierarchy: {by: names}}",
    ),
    "cut, m = 2, 10,000,000 × 2,000": (
        "{generate: baskets, transactions: 10000000, items: 2000, length: 6.5}",
        "{method: cut, k: 5, m: 2, hierarchy: {by: names}}",
    ),
}
LARGEST = ("disassociation, 500,000", "sets of 16, six attacks, 60,000", "cut, m = 2, 10,000,000")
"""The beginnings of the names of works that are run only with `--large`."""
LONG = "{generate: baskets, transactions: 2000, items: 2000, length: 200}"
LONG_RECORDS = {
    "sets of 16, six attacks, 2,000 records of 200 items": ("{method: sets, size: 16}", SIX),
    "disassociation, 2,000 records of 200 items": (
        "{method: disassociation, k: 3, m: 2, max_cluster: 50}", CHUNKS,
    ),
}  # fmt: skip
SWEEP = """\
scenario: a sweep of 40
data: {generate: clinic, transactions: 800, seed: 7}
anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}
relate: {measure: ngd, source: clinic-counts}
attack: [mda, tba, wba, rba]
measure: [recovery]
vary: {anonymise.k: [3, 4, 5, 6, 8, 10, 12, 14, 17, 20]}
repeat: {times: 4, seed: 1}
"""
CUT = "{method: %s, k: 5, m: %d, hierarchy: {by: names}}"
ONE = "relate: {measure: ngd, source: release}\nattack: [mda]\nmeasure: [recovery]"
REAL = {
    "kosarak, cut, m = 3": ("kosarak", CUT % ("cut", 3), KM),
    "retail, sets of 16, one attack": ("retail", "{method: sets, size: 16}", ONE),
    "retail, aa, m = 3": ("retail", CUT % ("aa", 3), KM),
    "T10I4D100K, cut, m = 3": ("T10I4D100K", CUT % ("cut", 3), KM),
    "recipes, cut, m = 3": ("recipes", CUT % ("cut", 3), KM),
    "bms_pos, cut, m = 4": ("bms_pos", CUT % ("cut", 4), KM),
    "bms_webview1, aa, m = 3": ("bms_webview1", CUT % ("aa", 3), KM),
    "bms_webview2, aa, m = 3": ("bms_webview2", CUT % ("aa", 3), KM),
    "bms_webview1, disassociation": (
        "bms_webview1", "{method: disassociation, k: 3, m: 2, max_cluster: 50}", CHUNKS,
    ),
    "bms_webview2, disassociation": (
        "bms_webview2", "{method: disassociation, k: 3, m: 2, max_cluster: 50}", CHUNKS,
    ),
}  # fmt: skip
"""What is done to real records or generated ones like them, and to generated ones with independent items."""
LIKE, INDEPENDENT, MOST = "like ", ", independent items", 3
"""The beginning of the name of a work with records like real ones, the end of that with independent items of equal
occurrences, and how many times the latter the former should take at most.
"""
RUN = """
import json, sys, time
from decloak.cli import configure_process
configure_process()  # as the command line begins
from decloak import run
from decloak.measure.registry import family_named
from decloak.pipeline.progress import Progress
class Stages(Progress):
    def __init__(self):
        self.spent, self.now, self.since = {}, "start", 0.0
    def stage(self, name):
        now = time.process_time()
        self.spent[self.now] = self.spent.get(self.now, 0.0) + now - self.since
        self.now, self.since = name.partition(":")[0].partition(" ")[0], now
stages = Stages()
family = family_named("exposure")
measure, cards = family.measure, []
# Apart from other measures: what these have in common with it is put down to the first, to it.
def card(*attacked, **settings):
    begun = time.process_time()
    figures = measure(*attacked, **settings)
    cards.append(time.process_time() - begun)
    return figures
object.__setattr__(family, "measure", card)
run(sys.argv[1], store=sys.argv[2], progress=stages)
stages.stage("")
stages.spent["card"] = sum(cards)
stages.spent["measurement"] -= sum(cards)
# What the system says of the process is no less than that of the one it was forked from; this begins anew.
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
json.dump({"peak": peak, "stages": stages.spent}, sys.stdout)
"""
HOME = """
import sys, time
from pathlib import Path
from decloak.__main__ import main
try:
    main()
finally:
    Path("home").write_text(str(time.process_time()))
"""


class Cost(NamedTuple):
    """Of one work: CPU in seconds and in units, megabytes of memory and of the store, shares of stages in words."""

    seconds: float
    units: float
    memory: float
    store: float
    shares: str


def works(data: Path | None) -> Iterator[tuple[str, str]]:
    """Every work: its name, and its scenario."""
    for name, (method, rest, sizes) in METHODS.items():
        for size in sizes:
            baskets = f"{{generate: baskets, transactions: {size}, items: 1657, length: 6.5}}"
            yield f"{name}, {size:,} × 1,657", scenario(baskets, method, rest)
    yield "sweep of 40 variants of COAT", SWEEP
    for name, (baskets, method) in LARGE.items():
        yield name, scenario(baskets, method, KM)
    for name, (method, rest) in LONG_RECORDS.items():
        yield name, scenario(LONG, method, rest)
    for name, (of, method, rest) in REAL.items():
        shape = SHAPES[of]
        path = None if data is None else (data / shape.file).absolute()
        if path is not None and path.exists():
            form = 'ids: true, separator: "\\t", within: "|"' if ".tsv" in shape.file else 'separator: " "'
            yield name, scenario(f"{{file: {json.dumps(str(path))}, format: basket, {form}}}", method, rest)
        else:
            yield LIKE + name, scenario(shape.generator(), method, rest)
        yield name + INDEPENDENT, scenario(shape.generator(independent=True), method, rest)


def order() -> Iterator[str]:
    """The names of all works, with and without the files of real records."""
    for name in dict(works(None)):
        if name.startswith(LIKE):
            yield name.removeprefix(LIKE)
        yield name


def scenario(data: str, method: str, rest: str) -> str:
    return f"scenario: a whole run\ndata: {data}\nanonymise: {method}\n{rest}\n"


def unit() -> float:
    """The CPU seconds of a fixed work of Python, numpy and SQLite."""
    begun = time.process_time()
    rows = [(number, number * 7919 % 10_007) for number in range(200_000)]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (a integer primary key, b integer)")
        connection.executemany("insert into t values (?, ?)", rows)
    values = np.random.default_rng(1).integers(0, 1 << 30, 2_000_000)
    for _ in range(3):
        np.unique(np.sort(values) % 100_003)
    counts: dict[int, int] = {}
    for _, key in rows * 2:
        counts[key] = counts.get(key, 0) + 1
    return time.process_time() - begun


def measured(text: str) -> Cost:
    """Run a scenario in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work.yaml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", RUN, folder / "work.yaml", folder / "store.db"]
        before = [unit() for _ in range(2)]
        with (folder / "out").open("wb") as out:
            process = subprocess.Popen(command, cwd=folder, stdout=out)
            _, status, usage = os.wait4(process.pid, 0)  # unlike `wait`, it tells what this one process has used
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"the run ended with {process.returncode}:\n{text}")
        told = json.loads((folder / "out").read_text(encoding="utf-8"))
        size = (folder / "store.db").stat().st_size / 1e6
        yardstick = min(*before, *(unit() for _ in range(2)))
    seconds = usage.ru_utime + usage.ru_stime
    return Cost(seconds, seconds / yardstick, told["peak"] / 1024, size, shares(told["stages"]))


class Lasted(NamedTuple):
    """Seconds by the clock, of CPU with all processes, and of the CPU of the process that was started."""

    wall: float
    cpu: float
    home: float


def lasted(text: str, jobs: int) -> Lasted:
    """Run a scenario as users do, with a number of processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work.yaml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", HOME, "run", "work.yaml", "--jobs", str(jobs)]
        begun = time.perf_counter()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=folder, **quiet)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"the run ended with {process.returncode}:\n{text}")
        home = float((folder / "home").read_text(encoding="utf-8"))
    return Lasted(wall, usage.ru_utime + usage.ru_stime, home)


def compare_jobs(chosen: Mapping[str, str], jobs: int) -> None:
    """Print what several processes gain."""
    for name, text in chosen.items():
        pairs = [(lasted(text, 1), lasted(text, jobs)) for _ in range(3)]
        one, several = (min(side) for side in zip(*pairs, strict=True))
        clock = f"{one.wall:.1f} s by one process, {several.wall:.1f} s by {jobs}: {one.wall / several.wall:.2f} times"
        load = f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores"
        cpu = f"CPU {one.cpu:.1f} and {several.cpu:.1f} s, of which {several.home:.1f} s in the first process"
        print(f"{name}: {clock}; {cpu}; {load}", flush=True)


def shares(stages: Mapping[str, float]) -> str:
    """The stages that took a twentieth or more, the largest first."""
    total = sum(stages.values())
    large = sorted(((spent / total, name) for name, spent in stages.items()), reverse=True)
    return ", ".join(f"{name} {share:.0%}" for share, name in large if share >= 0.05)


def line(name: str, cost: Cost) -> str:
    return f"| {name} | {cost.seconds:.1f} | {cost.units:.1f} | {cost.memory:,.0f} | {cost.store:.1f} | {cost.shares} |"


def read_lines(text: str) -> dict[str, str]:
    """The lines of the table by name."""
    rows = [row for row in text.splitlines() if re.match(r"\| [^|]+ \| [\d.]+ \|", row)]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def units_of(row: str) -> float:
    return float(row.split(" | ")[2])


def growth(rows: Mapping[str, str]) -> Iterator[str]:
    """How CPU grows with records, from each size to the next."""
    for method, (*_, sizes) in METHODS.items():
        names = {size: f"{method}, {size:,} × 1,657" for size in sizes}
        for fewer, more in pairwise(size for size in sizes if names[size] in rows):
            ratio = units_of(rows[names[more]]) / units_of(rows[names[fewer]])
            yield f"- {method}, {fewer:,} to {more:,} records: n^{np.log(ratio) / np.log(more / fewer):.2f}"


def against_independent(rows: Mapping[str, str]) -> Iterator[str]:
    """How many times the CPU of independent items, of equal occurrences, the real ones take."""
    for name in order():
        independent = name.removeprefix(LIKE) + INDEPENDENT
        if name in rows and independent in rows:
            times = units_of(rows[name]) / units_of(rows[independent])
            yield f"- {name}: {times:.1f} times{', too many' if times > MOST else ''}"


def page(rows: Mapping[str, str], order: Iterable[str]) -> str:
    ordered = [rows[name] for name in order if name in rows]
    head = "| work | CPU s | units | MB of memory | MB of store | stages |\n|---|---|---|---|---|---|"
    return (
        "# Whole runs\n\n"
        "Written by `python benchmarks/bench_whole.py --write`; its docstring says what is measured. "
        f"{os.getloadavg()[1]:.1f} processes wanted one of {os.cpu_count()} processors when it was last written: "
        "where they are more, CPU comes out larger.\n\n"
        + "\n".join([head, *ordered])
        + "\n\nGrowth of CPU, start-up included:\n\n"
        + "\n".join(growth(rows))
        + f"\n\nCPU beside independent items of equal occurrences, at most {MOST} times:\n\n"
        + "\n".join(against_independent(rows))
        + "\n"
    )


def check(chosen: Mapping[str, str]) -> int:
    """Whether no work takes much more than results.md says."""
    worse = 0
    for name, row in read_lines(RESULTS.read_text(encoding="utf-8")).items():
        if name not in chosen or units_of(row) > FEW:
            continue
        now = measured(chosen[name]).units
        if now > WORSE * units_of(row):  # somebody else may have had the machine
            now = min(now, measured(chosen[name]).units)
        failed = now > WORSE * units_of(row)
        worse += failed
        print(f"{name}: {units_of(row):.1f} units before, {now:.1f} now{': worse' if failed else ''}", flush=True)
    return 1 if worse else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", nargs="*", default=[], help="words that the names of works must hold")
    parser.add_argument("--large", action="store_true", help="run the largest works too")
    parser.add_argument("--data", type=Path, help="a folder with real data")
    parser.add_argument("--write", action="store_true", help="put the results into results.md")
    parser.add_argument("--check", action="store_true", help="compare with results.md")
    parser.add_argument("--jobs", type=int, help="compare one process with so many")
    options = parser.parse_args(arguments)
    compile_dir(files("decloak"), quiet=1)  # as it is where it was installed: nobody waits for that in every run
    everything = dict(works(options.data))
    chosen = {
        name: text
        for name, text in everything.items()
        if all(word in name for word in options.works) and (options.large or not name.startswith(LARGEST))
    }
    if options.check:
        return check(chosen)
    if options.jobs is not None:
        compare_jobs(chosen, options.jobs)
        return 0
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    rows, others = read_lines(text), "".join(re.findall(r"\n## Records that stay .*", text, re.DOTALL))
    for name, text in chosen.items():
        rows[name] = line(name, measured(text))
        print(rows[name], flush=True)
        if options.write:
            RESULTS.write_text(page(rows, order()) + others, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
