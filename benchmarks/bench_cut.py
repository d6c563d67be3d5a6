"""What the fast form of k^m generalisation costs: CPU seconds, peak memory, what came of it, how it grows.

    python benchmarks/bench_cut.py [FILE...]

A file has one record a line, its items apart by blanks; .gz is unpacked. Without files the data is generated, of the
shape of known data sets, and measured for growth as well. k = 5, a balanced hierarchy of fanout 5 over the items in
numerical order. Each measurement is a process of its own; its seconds are those of the cut alone. What importing numba,
reading, publishing and verifying cost is said apart.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from bench_disassociation import exponent, load
from decloak.anonymisers.kernels.fast_cut import cut, refine
from decloak.anonymisers.kernels.raised_cut import Local, generalised, ncp
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy
from shaped import generate

K, FANOUT = 5, 5
POS = (515_597, 1_657, 6.5, 164)
"""Records, items, mean and greatest length of BMS-POS."""
GENERATED = {"like BMS-POS": POS, "1 M records of 20,000 items": (1_000_000, 20_000, 8.0, 500)}
GROWTH = (64_000, 128_000, 256_000, 512_000, 1_000_000, 2_000_000)
PEERS = {
    ("bms_webview2", 3): "public tools 12 s, 2.5 GB; 62 s, 1.5 GB; 80 s, 8.4 GB",
    ("like BMS-POS", 2): "public tools 60 s, 9.4 GB; 222 s, 3.3 GB; 445 s, 1.4 GB",
    ("like BMS-POS", 3): "the best public tool 866 s, 11.5 GB",
}
WAYS = {"products": False, "loops": True}
Records = sparse.csr_array[Any]
Result = TypeVar("Result")


class Measured(NamedTuple):
    spent: float
    peak: int
    loss: float
    labels: int
    refine_spent: float
    refine_loss: float
    refine_labels: int


def apart(job: Callable[..., Result], *arguments: object) -> Result:
    """Run in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, arguments)


def seconds(job: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.process_time()
    return job(), time.process_time() - begun


def tree_over(records: Records) -> Hierarchy:
    return Hierarchy.balanced(map(str, range(records.shape[1])), FANOUT)


def read(path: Path, target: Path) -> str:
    """Keep a file as a matrix; what reading and coding cost."""
    rows, reading = seconds(lambda: load(path))
    items = sorted({item for row in rows for item in row}, key=lambda item: (len(item), item))
    records, coding = seconds(lambda: Hierarchy.balanced(items, FANOUT).code(rows))
    sparse.save_npz(target, records, compressed=False)
    return f"read in {reading:.2f} s, coded in {coding:.2f} s"


def make(shape: tuple[int, int, float, int], target: Path) -> None:
    sparse.save_npz(target, generate(*shape), compressed=False)


def measure(path: Path, m: int, accelerated: bool) -> Measured:
    records = sparse.load_npz(path)
    tree, counts = tree_over(records), np.bincount(records.indices, minlength=records.shape[1])
    cut(tree, records[:1_000], K, 3, accelerated=accelerated)  # imports numba and loads its machine code
    found, spent = seconds(lambda: cut(tree, records, K, m, accelerated=accelerated))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    fine, refining = seconds(lambda: refine(tree, records, K, m, found, accelerated=accelerated))
    losses = [float(ncp(tree, counts, one)) for one in (found, fine)]
    return Measured(spent, peak, losses[0], len(found), refining, losses[1], len(fine))


def publish(path: Path, m: int) -> str:
    """What a user waits for besides: the release made, and verified by code that counts for itself."""
    records = sparse.load_npz(path)
    tree = tree_over(records)
    rows = tuple(tuple(tree.items[at] for at in row) for row in np.split(records.indices, records.indptr[1:-1]))
    data = Dataset(rows, tuple(map(str, range(len(rows)))))
    found = cut(tree, records, K, m)
    whole = Local.with_one_cut(found, len(rows))
    release, publishing = seconds(lambda: generalised(data, tree, records, whole, method="cut", k=K, m=m))
    faults, verifying = seconds(lambda: check_generalised(data, release, K, m))
    assert not faults
    return f"published in {publishing:.2f} s, verified in {verifying:.2f} s"


def prepared(path: Path) -> float:
    """What it takes until compiled loops have counted something small."""
    records = sparse.load_npz(path)
    return seconds(lambda: cut(tree_over(records), records, K, 3, accelerated=True))[1]


def ways() -> Sequence[str]:
    """Both ways of counting where numba is installed; its machine code is made before anything is measured."""
    if not find_spec("numba"):
        print("numba is not installed: products only")
        return ["products"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.npz"
        apart(make, (1_000, 50, 5.0, 50), path)
        first, second = apart(prepared, path), apart(prepared, path)
    print(f"numba is imported, and machine code made or found, in {first:.1f} s; the second time in {second:.1f} s")
    return list(WAYS)


def report(name: str, path: Path, chosen: Sequence[str]) -> None:
    print(f"{'m':>3}  {'counted by':10}  {'s':>6}  {'MB':>5}  {'NCP':>6}  {'labels':>6}  refined: s, NCP, labels")
    for m in (2, 3):
        for way in chosen:
            one = apart(measure, path, m, WAYS[way])
            refined = f"{one.refine_spent:.2f}, {one.refine_loss:.4f}, {one.refine_labels}"
            found = f"{one.spent:6.2f}  {one.peak:5}  {one.loss:6.4f}  {one.labels:6}"
            print(f"{m:3}  {way:10}  {found}  {refined:21}  {PEERS.get((name, m), '')}".rstrip())
    print(f"m = 3: {apart(publish, path, 3)}")


def growth(folder: Path, chosen: Sequence[str]) -> None:
    """The same shape at several sizes, m = 3."""
    points: dict[str, list[tuple[int, float]]] = {way: [] for way in chosen}
    path = folder / "growing.npz"
    for size in GROWTH:
        apart(make, (size, *POS[1:]), path)
        for way in chosen:
            one = apart(measure, path, 3, WAYS[way])
            points[way].append((size, one.spent))
            print(f"{size:9,} records by {way}: {one.spent:.2f} s, {one.peak} MB, {one.labels} labels")
    for way, found in points.items():
        print(f"{way}: time grows as records^{exponent(found):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    chosen = ways()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.npz"
        for file in arguments.files:
            print(f"{file.name}: {apart(read, file, path)}")
            report(file.name.partition(".")[0], path, chosen)
        if not arguments.files:
            for name, shape in GENERATED.items():
                apart(make, shape, path)
                print(f"{name}, generated")
                report(name, path, chosen)
            growth(Path(folder), chosen)


if __name__ == "__main__":
    main()
