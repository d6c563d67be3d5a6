"""How fast eliminations are: against the naive form, on many tables, and as a table grows.

    python benchmarks/bench_eliminate.py [--quick] [--plot growth.svg]

All times are of the processor (time.process_time), all tables random with a fixed seed. The naive form is the one the
tests compare with: plain Python that computes every weight and every gap anew in every round. `--quick` leaves out its
100 x 100 table, which takes a minute or two, and tables of 200,000 rows, and uses fewer tables. Large tables are gone
through by compiled loops where numba is installed; without it, long ones take hours.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "naive"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import decloak
import naive_eliminate as naive
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.load import Catalogue
from published_attacks import ATTACKS

Table = NDArray[np.float64]
Growth = dict[str, list[float]]

MANY, SOME = 5_000, 127
SIDES = (3, 6, 10, 18, 32, 56, 100)
ROWS = (3_125, 12_500, 50_000, 200_000)
COLUMNS = 5
LOOPED = ("wba", "gba", "rba")
"""Elimination from large tables by compiled loops, with numba."""


def seconds(job: Callable[[], object]) -> float:
    """Time of the processor that a job takes."""
    start = time.process_time()
    job()
    return time.process_time() - start


def best(job: Callable[[], object], budget: float = 0.5) -> float:
    """The least of several measurements: as many as fit the budget, and at least one."""
    times = [seconds(job)]
    while sum(times) < budget and len(times) < 50:
        times.append(seconds(job))
    return min(times)


def attack(name: str, tables: list[Table]) -> Callable[[], object]:
    return lambda: eliminate(tables, ATTACKS[name], seeds=range(len(tables)))


def shaped_like_the_papers(rng: np.random.Generator, number: int) -> list[Table]:
    """4 to 40 transactions hold a generalised item of 8 to 16 members."""
    return [rng.random((rng.integers(4, 41), rng.integers(8, 17))) for _ in range(number)]


def against_naive(rng: np.random.Generator, sides: tuple[int, ...]) -> None:
    print("RBA on one random table, naive and kernel")
    for side in sides:
        table = rng.random((side, side))
        slow, fast = seconds(lambda d=table: naive.in_rounds(d.tolist(), naive.RBA)), best(attack("rba", [table]), 2)
        print(f"  {side:3} x {side:<3}  {slow:8.2f} s  {fast:7.3f} s  {slow / fast:6.1f} times faster")


def all_attacks(rng: np.random.Generator) -> None:
    tables = shaped_like_the_papers(rng, SOME)
    times = {name: best(attack(name, tables)) for name in ATTACKS}
    print(f"{SOME} tables of 4-40 x 8-16, all attacks: {sum(times.values()):.2f} s")
    print("  " + ", ".join(f"{name} {x:.3f}" for name, x in times.items()))


def many_tables(rng: np.random.Generator, number: int) -> None:
    tables = shaped_like_the_papers(rng, number)
    print(f"{number} tables, {sum(table.size for table in tables):,} cells")
    for name in ATTACKS:
        print(f"  {name} {seconds(attack(name, tables)):6.2f} s")
    print(f"  most memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def direct(rng: np.random.Generator) -> None:
    """What finding the rule costs: one small table a call, by its name, and by the strategy itself."""
    tables = [rng.random((10, 8)) for _ in range(100)]
    print("100 tables of 10 x 8, one a call: decloak.eliminate and the kernel")
    for name in ("rba", "mda"):
        strategy = Catalogue().rule(name).compiled
        named = best(lambda name=name: [decloak.eliminate(table, name) for table in tables])
        bare = best(lambda strategy=strategy: [eliminate([table], strategy) for table in tables])
        print(f"  {name} {named:6.3f} s  {bare:6.3f} s  {named / bare:.2f} times")


def growth(rng: np.random.Generator) -> Growth:
    tables = [rng.random((side, side)) for side in SIDES]
    times = {name: [best(attack(name, [table]), 0.2) for table in tables] for name in ATTACKS}
    print("Growth with n = rows x columns, one table")
    print("  n     " + "".join(f"{side * side:>10}" for side in SIDES) + "   exponent of the last four")
    for name, column in times.items():
        slope = np.polyfit(2 * np.log(SIDES[-4:]), np.log(column[-4:]), 1)[0]
        print(f"  {name:6}" + "".join(f"{x:10.5f}" for x in column) + f"   {slope:.2f}")
    return times


def drawn(rng: np.random.Generator, rows: int, tied: bool) -> Table:
    """A tall table of random distances, or of distances that are mostly equal to others."""
    d = rng.random((rows, COLUMNS))
    return np.round(d * rng.integers(1, 30, (rows, 1))) / 30 if tied else d


def long_tables(rng: np.random.Generator, rows: tuple[int, ...]) -> None:
    """As a table gets longer, from each size to the next, and from the first to the last."""
    for name in LOOPED:
        attack(
            name, [drawn(rng, rows[0], tied=False)]
        )()  # what is read, or compiled, for the first time is not measured
    for shape in ("tall", "wide", "tall, of few different distances"):
        tables = [drawn(rng, number, tied="few" in shape) for number in rows]
        tables = [table.T if shape == "wide" else table for table in tables]
        print(f"Growth with rows, {shape}, {COLUMNS} columns" if shape != "wide" else "The same lying, with columns")
        print("  n     " + "".join(f"{number:>10}" for number in rows) + "   exponents, the last of all")
        for name in LOOPED:
            column = [best(attack(name, [table]), 0.2) for table in tables]
            steps = [*zip(rows, rows[1:], column, column[1:], strict=False), (rows[0], rows[-1], column[0], column[-1])]
            slopes = [np.log(more / less) / np.log(long / short) for short, long, less, more in steps]
            numbers = "".join(f"{x:10.3f}" for x in column)
            print(f"  {name:6}{numbers}   " + " ".join(f"{slope:.2f}" for slope in slopes))


def plot(times: Growth, path: Path) -> None:
    """Time over n, both logarithmic; the same measurements give the same file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "decloak"
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, column in times.items():
        axes.loglog([side * side for side in SIDES], column, marker="o", markersize=3, label=name.upper())
    axes.set(xlabel="cells of the table, n", ylabel="seconds")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer tables, and no large one for the naive form")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw how the times grow")
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    against_naive(rng, (50,) if chosen.quick else (50, 100))
    all_attacks(rng)
    many_tables(rng, MANY // 10 if chosen.quick else MANY)
    direct(rng)
    long_tables(rng, ROWS[:-1] if chosen.quick else ROWS)
    times = growth(rng)
    if chosen.plot:
        plot(times, chosen.plot)


if __name__ == "__main__":
    main()
