"""What it costs to read the lists of a store back, by the engine and by SQL.

    python benchmarks/bench_store.py

Releases of generated baskets under `sets`, each of its own data: by how many releases the store holds, which should not
matter. Then the distance tables of one release and the scores of its pairs, as arrays and through their views. CPU
seconds in one process, the best of three.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import decloak
from decloak.anonymisers.sets import by_sets
from decloak.data.generators.baskets import baskets
from decloak.store.distance_tables import read_distances, read_pair_scores
from decloak.store.opening import open_store
from decloak.store.releases import read_set_generalised, write_release
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
        decloak.run(folder / "scenario.yaml", store=folder / "store.db")
        with open_store(folder / "store.db") as store:
            for view, read in (("related", read_pair_scores), ("cell", read_distances)):
                reading = cpu(lambda read=read: read(store.connection, 1))
                sql = f"select count(*) from {view}"
                counting = cpu(lambda sql=sql: store.connection.execute(sql).fetchone())
                (count,) = store.connection.execute(sql).fetchone()
                print(f"{count:,} rows of {view}: read in {reading:.3f} s, counted by SQL in {counting:.3f} s")


if __name__ == "__main__":
    releases()
    scores()
