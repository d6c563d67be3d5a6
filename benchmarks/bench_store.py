"""What it costs to read back from a store what it keeps as arrays, and to make rows of that.

    python benchmarks/bench_store.py

Releases of generated baskets under `sets`, each of its own data: by how many releases the store holds, which should not
matter. Then the distance tables of one release and the scores of its pairs, as arrays and as rows. CPU seconds in one
process, the best of three but for rows, which are made once.
"""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import decloak
from decloak.anonymisers.kernels.sets import by_sets
from decloak.data.generators.baskets import baskets
from decloak.store.bulk import make_rows, rows_of_all
from decloak.store.distance_tables import STORED_TABLES, read_distances
from decloak.store.opening import Store, open_store
from decloak.store.pair_scores import STORED_PAIRS, read_pair_scores
from decloak.store.reading import read_set_generalised
from decloak.store.releases import write_release
from timing import cpu

RECORDS, ITEMS, LENGTH, WIDTH = 5_000, 300, 6.5, 10
RELEASES = (4, 40)
SCENARIO = f"""\
scenario: distance tables of baskets
data: {{generate: baskets, transactions: {RECORDS}, items: 1657, length: {LENGTH}}}
anonymise: {{method: sets, size: 16}}
relate: {{measure: ngd, source: release}}
attack: [mda]
measure: [recovery]
"""


def releases() -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
        numbers: list[int] = []
        for most in RELEASES:
            for seed in range(len(numbers), most):
                data = baskets(RECORDS, ITEMS, LENGTH, seed)
                sets = [data.items[first : first + WIDTH] for first in range(0, ITEMS, 2 * WIDTH)]
                with store.stage() as connection:
                    numbers.append(write_release(connection, str(seed), by_sets(data, sets), "sets", {}))
            spent = cpu(lambda: read_set_generalised(store.connection, numbers[0]))
            print(f"{most:3} releases of {RECORDS:,} transactions in the store: one read in {1000 * spent:.1f} ms")


def scores() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
        decloak.run(folder / "scenario.yaml", store=folder / "store.db", rows=0)
        for bulk, read in ((STORED_PAIRS, read_pair_scores), (STORED_TABLES, read_distances)):
            with open_store(folder / "store.db") as store:
                connection, table = store.connection, f"{bulk.owner}_array"
                (size,) = connection.execute(f"select sum(length(content)) from {table}").fetchone()
                reading = cpu(lambda read=read, store=connection: read(store, 1))
                before = megabytes(store)
                with store.stage(checked=False):
                    making = cpu(lambda bulk=bulk, store=connection: make_rows(store, bulk, [1]), best_of=1)
                told = f"{rows_of_all(connection, bulk):,} rows of {' and '.join(bulk.tables)}"
                arrays = f"arrays of {size / 1e6:.1f} MB, read in {reading:.3f} s"
                print(f"{told}: {arrays}; rows of {megabytes(store) - before:.1f} MB, made in {making:.2f} s")


def megabytes(store: Store) -> float:
    counts = (store.connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return math.prod(counts) / 1e6


if __name__ == "__main__":
    releases()
    scores()
