"""Time LRA and VPA with processes that are already there, on as many records as BMS-POS has: Figure 19.

    python benchmarks/bench_parallel.py [--records N | --data FILE] [--repeats N]

FILE has a record in each line, with blanks between the items, such as BMS-POS. Without it, the records are generated.
A new process takes longer to start than the work on a small part. Here the processes have started and have imported
decloak before the clock runs, and only the parts are sent to them. Seconds are elapsed time, the mean of the repeats
with its 95% interval. `largest` is the share of the work on parts that the longest part takes: 1 / largest bounds the
gain from any number of processes. The last walk of VPA over all items is not in a part.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from decloak.anonymisers.kernels.lra_vpa import lra, vpa
from decloak.data.formats.plain_files import read
from decloak.data.generators.baskets import baskets
from decloak.data.hierarchy import Hierarchy
from decloak.measure.kernels.statistics import interval
from decloak.parallel import tasks_on

RECORDS, ITEMS, LENGTH, HABIT = 515_597, 1_657, 6.5, 0.3
K, M, PARTS = 5, 3, 3


def timed(function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[Any, float]:
    """Return the result of `function` for the arguments in `task`, and its seconds."""
    start = time.perf_counter()
    return function(*task), time.perf_counter() - start


class Warm:
    """Processes that have started; with one, this process does the work. `seconds` are those of the last parts."""

    def __init__(self, processes: int) -> None:
        self.threads, self.seconds = processes, list[float]()
        self._pool = ProcessPoolExecutor(processes, get_context("spawn")) if processes > 1 else None
        # Sleeping tasks keep all processes busy, so that each of them starts and imports decloak.
        list(self.results(time.sleep, [(1.0,)] * processes if self._pool else []))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def results(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        run = self._pool.map if self._pool else map
        self.seconds = []
        for result, seconds in run(timed, [function] * len(tasks), tasks):
            self.seconds.append(seconds)
            yield result

    def close(self) -> None:
        if self._pool:
            self._pool.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--records", type=int, default=RECORDS)
    source.add_argument("--data", type=Path, help="real records, such as those of BMS-POS")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.data:
        data = read(arguments.data, "basket", separator=" ")
    else:
        data = baskets(arguments.records, ITEMS, LENGTH, seed=1, habit=HABIT)
    tree = Hierarchy.balanced(sorted(data.items, key=int), 5)
    records = tree.code(data)
    print(f"{len(data.transactions):,} records, {PARTS} parts, k = {K}, m = {M}")
    print("| method | processes | seconds | 95% interval | largest |\n|---|---|---|---|---|")
    for processes in (1, 2, 3):
        cluster = Warm(processes)
        try:
            with tasks_on(cluster):
                for method in (lra, vpa):
                    taken, largest = [], 0.0
                    for _ in range(arguments.repeats + 1):
                        start = time.perf_counter()
                        method(tree, records, K, M, parts=PARTS)
                        taken.append(time.perf_counter() - start)
                        largest = max(cluster.seconds) / sum(cluster.seconds)
                    mean, low, high, *_ = interval(taken[1:])  # the first loads compiled loops
                    between = "" if low is None or high is None else f"{low:.1f} to {high:.1f}"
                    print(f"| {method.__name__} | {processes} | {mean:.1f} | {between} | {largest:.0%} |", flush=True)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
