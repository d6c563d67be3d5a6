"""What disassociation costs: CPU seconds, peak memory, and how the time grows with the records.

    python benchmarks/bench_disassociation.py [FILE...] [--refine]

A file has one record a line, its items apart by blanks; .gz is unpacked. Without files the data is generated: as
many records and items as two known click streams have, records as long, items as unevenly common, but without
their correlations. k = 3, m = 2, clusters of 50. Each measurement is a process of its own.
"""

import argparse
import gzip
import math
import multiprocessing
import random
import resource
import time
from pathlib import Path

import shaped
from decloak.anonymisers.kernels.disassociation import disassociate

SHARES = (0.125, 0.25, 0.5, 1.0)
GENERATED = {"like BMS-WebView-1": (59_602, 497, 2.5), "like BMS-WebView-2": (77_512, 3_340, 4.6)}
Records = list[list[str]]


def load(path: Path) -> Records:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [line.split() for line in text.splitlines() if line.strip()]


def generate(records: int, items: int, length: float) -> Records:
    return shaped.lists(shaped.generate(records, items, length))


def measure(source: Path | str, share: float, refine: bool) -> tuple[int, float, int, int]:
    """Records, CPU seconds, peak kilobytes of this process with its data, clusters."""
    records = load(source) if isinstance(source, Path) else generate(*GENERATED[source])
    drawn = random.Random(2).sample(records, int(share * len(records)))
    begun = time.process_time()
    release = disassociate(drawn, k=3, m=2, max_cluster=50, refine=refine).release
    spent = time.process_time() - begun
    return len(drawn), spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(release.clusters)


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of log time on log records, by least squares."""
    x, y = [math.log(size) for size, _ in points], [math.log(spent) for _, spent in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - mean_x) ** 2 for a in x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--refine", action="store_true", help="join clusters as well")
    arguments = parser.parse_args()
    sources = arguments.files or list(GENERATED)
    if not arguments.files:
        print("no files given: generated data of the same shape, not the real streams")
    for source in sources:
        points = []
        for share in SHARES:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                size, spent, peak, clusters = pool.apply(measure, (source, share, arguments.refine))
            points.append((size, spent))
            print(f"{source}: {size:,} records, {spent:.2f} s CPU, {peak // 1024} MB peak, {clusters:,} clusters")
        print(f"{source}: time grows as records^{exponent(points):.2f}")


if __name__ == "__main__":
    main()
