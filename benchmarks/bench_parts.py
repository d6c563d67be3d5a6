"""Time and memory of a run over records that stay in a Parquet file: make the file, run, print a line of a table.

`python benchmarks/bench_parts.py 10 --jobs 2` generates 10 million records once, in the folder of `--folder`. Half of
the draws of a record come from one of 80 topics. Items are unsorted and may repeat. `--method disassociation` makes
clusters, else the release is a cut. `--attack` attacks the clusters with relatedness counted over them. `--write` puts
the line into results_parts.md. CPU is user and system time of all processes. Memory is the largest sum of proportional
set sizes, looked at five times a second.
"""

import argparse
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from decloak.data.formats.blocks import ITEMS
from decloak.data.formats.tables_extra import import_extra

TOPICS, MILLION = 80, 1_000_000
USUAL = 2_000
"""Items where the line names no number."""
RESULTS = Path(__file__).with_name("results_parts.md")
HEAD = "| records in parts | jobs | CPU s | seconds | memory MB | release MB | store MB | stages |"
METHODS = {"cut": "{method: cut, k: 5, m: 2, hierarchy: {by: names, fanout: 5}}",
           "disassociation": "{method: disassociation, k: 5, m: 2}"}  # fmt: skip
SCENARIO = """\
scenario: What does a release of a large file take?
data: {{file: {file}, format: parquet, parts: true}}
anonymise: {method}
"""
ATTACK = "relate: {{measure: ngd, source: release}}\nattack: [{attack}]\n"


def generate(path: Path, millions: int, items: int) -> None:
    """Write a row group of a million records of `items` for each of `millions`."""
    arrow, parquet = import_extra("pyarrow", "Parquet"), import_extra("pyarrow.parquet", "Parquet")
    order = np.random.default_rng(1).permutation(items)
    weight = (np.arange(1, items + 1) ** -1.3)[order]
    below, wide = np.concatenate(([0], np.cumsum(weight / weight.sum()))), items // TOPICS
    topics = np.cumsum(1 / np.arange(1, TOPICS + 1))
    names = arrow.array([f"item {number}" for number in range(items)])
    kind = arrow.schema([(ITEMS, arrow.list_(arrow.string()))])
    with parquet.ParquetWriter(path, kind, compression="zstd", use_dictionary=True) as writer:
        for block in range(millions):
            rng = np.random.default_rng([2, block])
            mean = 6 * np.exp(0.6 * rng.standard_normal(MILLION) - 0.18)
            lengths = np.minimum(1 + rng.poisson(mean), 400)
            topic = np.repeat(np.searchsorted(topics / topics[-1], rng.random(MILLION)), lengths)
            draw, of_topic = rng.random(len(topic)), rng.random(len(topic)) < 0.5
            low, high = below[topic * wide], below[(topic + 1) * wide]
            codes = np.searchsorted(below, np.where(of_topic, low + draw * (high - low), draw), side="right") - 1
            codes = arrow.DictionaryArray.from_arrays(np.minimum(codes, items - 1).astype(np.int32), names)
            start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
            lists = arrow.ListArray.from_arrays(arrow.array(start), codes.cast(arrow.string()))
            writer.write_table(arrow.table({ITEMS: lists}), row_group_size=MILLION)


def memory_of(process: int) -> int:
    """Return the proportional set sizes of a process and its children, in bytes."""
    total = 0
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        total += 1024 * int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(map(memory_of, map(int, (task / "children").read_text().split())))
    except (OSError, TypeError):
        pass  # it has ended
    return total


def size_of(folder: Path, pattern: str) -> float:
    return sum(file.stat().st_size for file in folder.glob(pattern) if file.is_file()) / 1e6


def measure(file: Path, name: str, method: str, attack: str | None, jobs: int) -> str:
    """Run decloak with `method` and `attack` on `file`, and return the line of the table that begins with `name`."""
    with tempfile.TemporaryDirectory(dir=file.parent) as place:
        folder = Path(place)
        scenario, store = folder / "scenario.yaml", folder / "store.db"
        further = ATTACK.format(attack=attack) if attack else ""
        scenario.write_text(SCENARIO.format(file=file, method=METHODS[method]) + further)
        before, begun, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
        command = [sys.executable, "-m", "decloak", "run", str(scenario), "--store", str(store)]
        command += ["--jobs", str(jobs)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while run.poll() is None:
            most = max(most, memory_of(run.pid))
            time.sleep(0.2)
        out, error = run.communicate()
        took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        print(out + error, file=sys.stderr)
        if run.returncode:
            raise SystemExit(run.returncode)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with closing(sqlite3.connect(store)) as connection:
            stages = connection.execute("select kind, sum(cpu_seconds) from stage_time group by kind order by kind")
            listed = ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in stages)
        cells = [name, jobs, f"{cpu:.1f}", f"{took:.1f}", most >> 20]
        cells += [f"{size_of(folder, 'store.db.parts/release-*/*'):.1f}", f"{size_of(folder, 'store.db*'):.1f}"]
        return "| " + " | ".join(map(str, [*cells, listed])) + " |"


def write(line: str) -> None:
    """Put `line` into results_parts.md, in place of the line for the same work."""
    text, key = RESULTS.read_text() if RESULTS.exists() else "", line.split("|")[1:3]
    if HEAD not in text:
        text += (
            f"# Runs over records that stay in files (`bench_parts.py`)\n\n{HEAD}\n|{'---|' * HEAD[1:].count('|')}\n"
        )
    before, _, after = text.partition(HEAD)
    lines = [one for one in after.splitlines() if one.split("|")[1:3] != key]
    while lines and not lines[-1]:
        lines.pop()
    RESULTS.write_text(before + HEAD + "\n".join([*lines, line]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=int, nargs="?", default=10, help="millions of records")
    parser.add_argument("--method", choices=METHODS, default="cut", help="the method of the release")
    parser.add_argument("--attack", help="the attack on clusters")
    parser.add_argument("--items", type=int, default=USUAL, help="items")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="the folder of the file")
    parser.add_argument("--write", action="store_true", help="put the line into results_parts.md")
    chosen = parser.parse_args()
    wide = f", {chosen.items:,} items" if chosen.items != USUAL else ""
    name = f"{chosen.millions} M{wide}" + (f", {chosen.method}" if chosen.method != "cut" else "")
    name += f" with {chosen.attack}" if chosen.attack else ""
    file = chosen.folder.resolve() / f"decloak-records-{chosen.millions}-{chosen.items}.parquet"
    if not file.exists():
        beside = file.with_suffix(f".{os.getpid()}")
        generate(beside, chosen.millions, chosen.items)
        beside.replace(file)
    line = measure(file, name, chosen.method, chosen.attack, chosen.jobs)
    print(f"{HEAD}\n{line}")
    if chosen.write:
        write(line)


if __name__ == "__main__":
    main()
