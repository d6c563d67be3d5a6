"""What it costs to read a release back from a store, by how many releases the store holds: it should not matter.

    python benchmarks/bench_store.py

Releases of generated baskets under `sets`, each of its own data. CPU seconds, the best of three, in one process.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from decloak.anonymisers.kernels.sets import by_sets
from decloak.data.generators.baskets import baskets
from decloak.store.opening import open_store
from decloak.store.reading import read_set_generalised
from decloak.store.releases import write_release
from timing import cpu

RECORDS, ITEMS, LENGTH, WIDTH = 5_000, 300, 6.5, 10
RELEASES = (4, 40)


def main() -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
        numbers: list[int] = []
        for most in RELEASES:
            for seed in range(len(numbers), most):
                data = baskets(RECORDS, ITEMS, LENGTH, seed)
                sets = [data.items[first : first + WIDTH] for first in range(0, ITEMS, 2 * WIDTH)]
                with store.stage() as connection:
                    numbers.append(write_release(connection, str(seed), by_sets(data, sets), "sets", {}))
            spent = cpu(lambda: read_set_generalised(store.connection, numbers[0]))
            print(f"{most:3} releases of {RECORDS:,} transactions in the store: one read in {spent:.3f} s")


if __name__ == "__main__":
    main()
