"""Whether two checkouts of decloak measure the same: every scenario, run by both, each time into a new store.

    python benchmarks/same_figures.py OLD NEW [SCENARIO...] [--jobs N] [--old-python PATH] [--new-python PATH]

OLD and NEW are roots of checkouts. Without SCENARIO all of OLD's are run, by both. Compared are all figures (pooled and
of each table, with the counts of the ratios), their means and intervals over repetitions, seeds, how many findings
every attack has, exit codes, and what is said on stderr; seconds and progress are not. A line for every scenario says
how many figures it has, what differs, the CPU seconds of both, and NEW's exit code unless it is 0. The script's own
exit code is 1 where anything differs.

Figures that were renamed are compared under their new keys, those that were removed are not compared. OLD runs its own
copy of a scenario, NEW the copy at the same path of NEW, so that a scenario may name figures by their keys of the time.
The program knows the command line and the tables of the store alone, so that modules may move between the two.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = ("cpu_seconds", "seconds", "attack_cpu_seconds", "attack_seconds", "detection_seconds")
"""Measures that no two runs have in common."""
PROGRESS = re.compile(r"\d+ of \d+ done: |\[\d+/\d+\] |after about \d+ ")
RENAMED = {
    "struck": "eliminated",
    "chance": "baseline",
    "gain": "normalised_advantage",
    "f": "f1",
    "brier_chance": "brier_baseline",
    "identified_by_id": "reidentified_by_id",
    "identified_by_order": "reidentified_by_order",
    "identified_by_order_baseline": "reidentified_by_order_baseline",
}
"""Old keys of figures, and their new ones."""
REMOVED = re.compile(r"lift|nontrivial|alone(_right|_blind)?|accuracy_row|attack_seconds|certain_\d+(_right|_people)?")
"""Keys of figures that are no longer measured."""
SHOWN = 8
"""Differences printed of one scenario."""
STORE = "store.db"
FIGURES = """
select 'figure', r.variant, r.repetition, a.label, v.scope, v.name, v.value, v.part, v.whole
from run r join run_attack a on a.run = r.id
join run_measurement x on x.run = r.id
join measurement m on m.id = x.measurement and m.attack = a.attack
join measure v on v.measurement = m.id
where v.name not in (?, ?, ?, ?, ?)
"""
SEEDS = "select 'seed', variant, repetition, seed from run"
FINDINGS = """
select 'findings', r.variant, r.repetition, a.label, (select count(*) from finding f where f.attack = a.attack)
from run r join run_attack a on a.run = r.id
"""


class Checkout(NamedTuple):
    """A checkout of decloak, and a Python that has what it needs."""

    root: Path
    python: Path


class Ended(NamedTuple):
    """How a command ended: its exit code and the CPU seconds it took."""

    exit_code: int
    seconds: float


class Outcome(NamedTuple):
    """All that is compared of one run of a scenario, by what it is, and the CPU seconds it took."""

    values: Mapping[tuple[Any, ...], Any]
    seconds: float


class Comparison(NamedTuple):
    exit_code: int
    figures: int
    differences: list[str]
    seconds: tuple[float, float]


def call(checkout: Checkout, folder: Path, *arguments: object) -> Ended:
    """Run a command of a checkout on the store of a folder; what it prints is in `out` and `err` there."""
    command = [checkout.python, "-m", "decloak", *arguments, "--store", STORE]
    environment = {**os.environ, "PYTHONPATH": str(checkout.root / "engine")}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)  # unlike `wait`, it tells what this one process has used
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, usage.ru_utime + usage.ru_stime)


def outcome(checkout: Checkout, scenario: Path) -> Outcome:
    """Run a scenario with a checkout in a folder of its own, so that paths in what it says are the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exit_code, seconds = call(checkout, folder, "run", scenario, "--json")
        values = {("exit code",): exit_code, **said(folder / "out", folder / "err"), **stored(folder / STORE)}
    return Outcome(values, seconds)


def said(out: Path, err: Path) -> dict[tuple[Any, ...], Any]:
    """What a run printed: figures over repetitions, and every line of talk but those about seconds, and those about how
    far a run is, which are there where it takes long.
    """
    talk = err.read_text(encoding="utf-8").splitlines()
    lines = [line for line in talk if "seconds" not in line and not PROGRESS.match(line)]
    values: dict[tuple[Any, ...], Any] = {("stderr",): "\n".join(lines)}
    if out.stat().st_size:
        for row in json.loads(out.read_text(encoding="utf-8"))["measures"]:
            *whose, measure = (row.pop(name) for name in ("variant", "attack", "measure"))
            if measure not in SECONDS and not REMOVED.fullmatch(measure):
                values["mean", *whose, RENAMED.get(measure, measure)] = row
    return values


def stored(store: Path) -> dict[tuple[Any, ...], Any]:
    """The figures, seeds and counts of findings in a store; nothing where a run ended before it made one."""
    if not store.exists():
        return {}
    with closing(sqlite3.connect(store)) as connection:
        values = {
            (*row[:5], RENAMED.get(row[5], row[5])): row[6:]
            for row in connection.execute(FIGURES, SECONDS)
            if not REMOVED.fullmatch(row[5])
        }
        values |= {row[:-1]: row[-1] for query in (SEEDS, FINDINGS) for row in connection.execute(query)}
    return values


def compare(old: Checkout, new: Checkout, scenario: Path) -> Comparison:
    moved = new.root / scenario.relative_to(old.root) if scenario.is_relative_to(old.root) else scenario
    before, after = outcome(old, scenario), outcome(new, moved if moved.exists() else scenario)
    keys = list(dict.fromkeys([*before.values, *after.values]))
    missing = "nothing"
    differences = [
        f"{', '.join(map(str, key))}: {before.values.get(key, missing)} before, {after.values.get(key, missing)} now"
        for key in keys
        if before.values.get(key, missing) != after.values.get(key, missing)
    ]
    figures = sum(key[0] == "figure" for key in keys)
    return Comparison(after.values["exit code",], figures, differences, (before.seconds, after.seconds))


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    old = Checkout(options.old.absolute(), (options.old_python or options.old / ".venv/bin/python").absolute())
    new = Checkout(options.new.absolute(), (options.new_python or options.new / ".venv/bin/python").absolute())
    scenarios = [path.absolute() for path in options.scenarios] or sorted((old.root / "scenarios").rglob("*.yaml"))
    figures = differing = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(compare, old, new, scenario): scenario for scenario in scenarios}
        for job in as_completed(jobs):
            compared, name = job.result(), jobs[job]
            name = name.relative_to(old.root) if name.is_relative_to(old.root) else name
            figures += compared.figures
            differing += len(compared.differences)
            before, now = compared.seconds
            ended = f", exit code {compared.exit_code}" if compared.exit_code else ""
            print(
                f"{name}: {compared.figures:,} figures, {len(compared.differences)} differ, "
                f"{before:.1f} s before, {now:.1f} s now{ended}",
                *compared.differences[:SHOWN],
                sep="\n    ",
                flush=True,
            )
    noun = "scenario" if len(scenarios) == 1 else "scenarios"
    print(f"{len(scenarios)} {noun}, {figures:,} figures, {differing:,} differ")
    return 1 if differing else 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the figures of two checkouts of decloak.")
    parser.add_argument("old", type=Path, help="root of the checkout to compare with")
    parser.add_argument("new", type=Path, help="root of the checkout to compare")
    parser.add_argument("scenarios", type=Path, nargs="*", help="scenario files; all of OLD's when there are none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="scenarios at a time")
    parser.add_argument("--old-python", type=Path, help="Python for OLD, else its .venv/bin/python")
    parser.add_argument("--new-python", type=Path, help="Python for NEW, else its .venv/bin/python")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
