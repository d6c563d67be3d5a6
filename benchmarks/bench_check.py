"""What `decloak check` of raw data and the distances of all pairs cost, beside the least they need and other tools.

    python benchmarks/bench_check.py [--data FOLDER] [--only NAMES] [--turns N] [--no-peers] [--write | --check]

Each program is a process of its own, from the start of Python on: CPU seconds of user and system, the best of all
turns, in which the programs take turns. The least for m = 3 is the start of `decloak check` and three times a compiled
program that only counts triples; for the distances, three times a program of scipy. DuckDB, polars and pyfim count the
same itemsets where they are installed, with one thread, 4 GB and LIMIT seconds. `--data` names a folder with the files
of `shaped.py`; records are generated in place of those that it lacks.

`--write` puts the table into checks.md. `--check` fails where a ratio is a quarter more than checks.md says.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import shaped
from bench_pairs import times_scipy
from decloak.commands.options import EXIT_EXPECTATION
from decloak.counting.itemsets import coded_items
from decloak.data.formats.plain_files import read
from floors import count_rare_triples
from timing import cpu

TABLE = Path(__file__).with_name("checks.md")
CHECKED = ("bms_webview2", "bms_pos", "T10I4D100K", "retail")
K, SIZES, WORSE, LIMIT, LONG = 5, (2, 3), 1.25, 15, 3
PEERS = {"DuckDB": ("duckdb", """
import duckdb
base = duckdb.connect()
base.execute("set threads = 1")
form = "columns = {line: 'varchar'}, header = false, delim = ',', quote = ''"
lines = f"select row_number() over () tid, line from read_csv('{path}', {form})"
base.execute(f"create table t as select distinct tid, unnest(string_split(trim(line), ' '))::int item from ({lines})")
found = 0
for n in range(1, m + 1):
    joins = "".join(f" join t {y} on {x}.tid = {y}.tid and {x}.item < {y}.item" for x, y in zip("abc"[:n], "abc"[1:n]))
    items = ", ".join(f"{x}.item" for x in "abc"[:n])
    query = f"select count(*) from (select 1 from t a{joins} group by {items} having count(*) < {k})"
    found += base.execute(query).fetchone()[0]
"""), "polars": ("polars", """
import os
os.environ["POLARS_MAX_THREADS"] = "1"
import polars as pl
lines = pl.read_csv(path, has_header=False, new_columns=["line"], separator="\\t", schema_overrides=[pl.String])
t = lines.with_row_index("tid").with_columns(pl.col("line").str.strip_chars().str.split(" ")).explode("line")
t = t.select("tid", pl.col("line").cast(pl.Int32).alias("a")).unique()
found, sets = 0, t
for n in range(1, m + 1):
    if n > 1:
        last, new = "abc"[n - 2], "abc"[n - 1]
        sets = sets.join(t.rename({"a": new}), on="tid").filter(pl.col(last) < pl.col(new))
    found += sets.group_by(list("abc"[:n])).len().filter(pl.col("len") < k).height
"""), "pyfim": ("fim", """
import fim
rows = [set(line.split()) for line in open(path)]
found = sum(s < k for _, s in fim.eclat(rows, target="s", supp=-1, zmin=1, zmax=m, report="a"))
""")}  # fmt: skip
"""The module of each tool, and its program: `found` is the number of itemsets of up to m items below k."""
BEGIN = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({LIMIT}, {LIMIT}))
resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
path, k, m = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
"""


WAIT = """
import os, subprocess, sys
_, status, usage = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A small process that starts another: memory begins at that of the process that starts it."""


class Ran(NamedTuple):
    """CPU seconds and megabytes of a process, and the number that it found; None if it failed."""

    seconds: float
    memory: float
    found: int | None


def ran(command: list[str]) -> Ran:
    """Run a program that prints the number of itemsets last."""
    done = subprocess.run([sys.executable, "-c", WAIT, sys.executable, *command], capture_output=True, text=True)
    status, seconds, kilobytes = done.stdout.split()
    numbers = re.findall(r"^([\d,]+)(?: violations.*)?$", done.stderr, re.MULTILINE)
    ended = int(status) in (0, EXIT_EXPECTATION) and numbers
    return Ran(float(seconds), int(kilobytes) / 1024, int(numbers[-1].replace(",", "")) if ended else None)


def decloak(path: Path, m: int) -> list[str]:
    return ["-m", "decloak", "check", str(path), "--input", "spmf", "--k", str(K), "--m", str(m)]


def row(path: Path, m: int, tiny: Path, turns: int, peers: bool) -> str:
    """Measure the check of a file, and return its row of the table."""
    programs = {"start": decloak(tiny, m), "decloak": decloak(path, m)}
    for name, (module, program) in PEERS.items() if peers else ():
        if importlib.util.find_spec(module):
            code = f"{BEGIN}{program}print(found, file=sys.stderr)"
            programs[name] = ["-c", code, str(path), str(K), str(m)]
    best: dict[str, Ran] = {}
    for _ in range(turns):
        for name, command in programs.items():
            if name not in PEERS or name not in best or best[name].seconds < LONG:
                best[name] = min(ran(command), best.get(name, Ran(1e9, 0, 0)))
    ours = best["decloak"]
    assert all(one.found in (ours.found, None) for name, one in best.items() if name != "start")
    bound = ratio = "–"
    if m == 3 and (floor := count_rare_triples(coded_items(read(path, "spmf", repeats=True).rows).records, K)):
        least = best["start"].seconds + 3 * cpu(floor)
        bound, ratio = f"{least:.2f}", f"{ours.seconds / least:.2f}"
    others = [
        "–" if name not in best else f"{best[name].seconds:.2f}" if best[name].found is not None else "not done"
        for name in PEERS
    ]
    return line(f"check {path.stem}, k = {K}, m = {m}", ours.seconds, ours.memory, bound, ratio, *others)


def line(name: str, seconds: float, memory: float, *cells: str) -> str:
    return f"| {name} | {seconds:.2f} | {memory:.0f} | {' | '.join(cells)} |"


def ratios(text: str) -> dict[str, float]:
    """The ratio of each row that has one, by name."""
    cells = [[cell.strip() for cell in row.strip("| ").split("|")] for row in text.splitlines() if row.startswith("| ")]
    return {row[0]: float(row[4]) for row in cells if re.fullmatch(r"[\d.]+", row[4])}


def page(rows: list[str]) -> str:
    return (
        "# Checks and distances\n\nWritten by `python benchmarks/bench_check.py --write`; its docstring says what is "
        f"measured. {os.getloadavg()[1]:.1f} processes wanted one of {os.cpu_count()} processors then.\n\n"
        f"| work | CPU s | MB | bound s | ratio | {' | '.join(PEERS)} |\n|{'---|' * (5 + len(PEERS))}\n"
        + "\n".join(rows)
        + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="a folder with real data")
    parser.add_argument("--only", nargs="*", choices=CHECKED, default=CHECKED, help="data sets")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--write", action="store_true", help="put the table into checks.md")
    parser.add_argument("--check", action="store_true", help="compare with checks.md")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny = folder / "tiny.dat"
        tiny.write_text("1 2 3\n2 3 4\n1 4\n")
        for data in chosen.only:
            path = shaped.lists_of(data, chosen.data, folder)
            for m in SIZES:
                rows.append(row(path, m, tiny, chosen.turns, not (chosen.no_peers or chosen.check)))
                print(rows[-1], flush=True)
            if data == "retail":
                ours, scipy, memory = times_scipy(read(path, "spmf", repeats=True).rows)
                cells = [f"{3 * scipy:.2f}", f"{ours / scipy / 3:.2f}", *["–"] * len(PEERS)]
                rows.append(line(f"distances of all pairs of {path.stem}", ours, memory, *cells))
                print(rows[-1], flush=True)
    if chosen.write:
        TABLE.write_text(page(rows), encoding="utf-8")
    before = ratios(TABLE.read_text(encoding="utf-8")) if chosen.check else {}
    worse = [name for name, now in ratios("\n".join(rows)).items() if now > WORSE * before.get(name, now)]
    for name in worse:
        print(f"{name}: the ratio was {before[name]}: worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
