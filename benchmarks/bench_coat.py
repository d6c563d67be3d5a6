"""What COAT costs: CPU seconds, of the check as well, peak memory, and what came of it.

    python benchmarks/bench_coat.py [FILE...]

A file has one record a line, its items apart by blanks; .gz is unpacked. Without files the data is generated, of the
shape of a known click stream. Privacy constraints are 200 random sets of 3 to 6 items, and every item alone; any item
may stand for any other. k = 5 and 50. Each measurement is a process of its own.
"""

import argparse
import multiprocessing
import resource
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from bench_disassociation import Records, generate, load
from decloak.anonymisers.kernels.coat import Coat, coat
from decloak.anonymisers.kernels.constraints import all_items, nested_sets, random_items
from decloak.counting.generalisation_guarantee import broken_privacy
from decloak.data.dataset import Dataset
from timing import cpu

SHAPE = (59_602, 497, 2.5)
"""Records, items and mean length of BMS-WebView-1."""
FEW = 1_000


def dataset(records: Records) -> Dataset:
    return Dataset(tuple(map(tuple, records)), tuple(map(str, range(len(records)))))


def measure(source: Path | None, size: int | None, kind: str, k: int) -> str:
    """One line: COAT on the first records of a source."""
    data = dataset((load(source) if source else generate(*SHAPE))[:size])
    sets = nested_sets(data.items, 50, seed=1) if kind == "random sets" else random_items(data.items, 1.0, seed=1)
    made: list[Coat] = []
    spent = cpu(lambda: made.append(coat(data, sets, all_items(data.items), k=k)))
    checked = cpu(lambda: broken_privacy(made[0].published, sets, k=k))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    given = f"{len(data.transactions):,} records, {len(data.items):,} items, {len(sets):,} {kind}, k = {k}"
    steps = f"{len(made[0].trace):,} steps, {len(made[0].suppressed)} items suppressed"
    return f"{given}: {spent:.2f} s CPU, checked in {checked:.2f} s, {peak} MB peak, {steps}"


def lines(source: Path | None) -> Iterator[str]:
    for size, kind, k in product((FEW, None), ("random sets", "single items"), (5, 50)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield pool.apply(measure, (source, size, kind, k))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    if not arguments.files:
        print("no files given: generated data of the same shape, not a real stream")
    for source in arguments.files or [None]:
        for line in lines(source):
            print(f"{source or 'like BMS-WebView-1'}: {line}", flush=True)


if __name__ == "__main__":
    main()
