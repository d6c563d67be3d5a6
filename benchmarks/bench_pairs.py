"""What the distances of all pairs of items that occur together cost, beside a program of scipy alone.

    python benchmarks/bench_pairs.py [FILE...]

A file has one record a line, its items apart by blanks. Without files 88,162 records of 16,470 items are generated.
"""

import argparse
import resource
from pathlib import Path

import numpy as np
from scipy import sparse

import shaped
from decloak.counting.itemsets import coded_items
from decloak.data.formats.plain_files import read
from decloak.data.pairs import Pairs
from decloak.data.rows import CodedRows
from decloak.relate.ngd import distances
from decloak.relate.ngd_sources import ObservedCounts
from floors import ngd_of_all_pairs
from timing import cpu

GENERATED = (88_162, 16_470, 10.3)


def times_scipy(rows: CodedRows[str]) -> tuple[float, float, float]:
    """Return the CPU seconds of decloak for all pairs, those of scipy alone, and the megabytes of this process."""
    records, items = coded_items(rows)
    together = sparse.triu(records.T.tocsr().astype(np.int32) @ records.astype(np.int32), 1).tocoo()
    keys = together.row.astype(np.int64) * len(items) + together.col
    found: list[np.ndarray] = []

    def score() -> None:
        found[:] = [distances(ObservedCounts(rows), Pairs.of_keys(items, keys), cap="none").distances.numbers]

    ours, least = cpu(score), cpu(lambda: ngd_of_all_pairs(records))
    assert np.allclose(np.sort(found[0]), np.sort(ngd_of_all_pairs(records)))
    return ours, least, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(name: str, rows: CodedRows[str]) -> None:
    ours, least, memory = times_scipy(rows)
    print(f"{name}: {ours:.2f} s, {ours / least:.1f} times scipy alone; {memory:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files
    for file in files:
        compare(file.name, read(file, "spmf", repeats=True).rows)
    if not files:
        compare("generated", CodedRows.of(shaped.lists(shaped.generate(*GENERATED))))


if __name__ == "__main__":
    main()
