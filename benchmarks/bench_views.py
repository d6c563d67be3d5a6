"""CPU seconds of every view of a store, and of every question of docs/how-to/sql.md.

    python benchmarks/bench_views.py [--records N] [--only NAME] [STORE]

Without a store it makes two of 60,000 baskets, or N. One is disassociated with k = 5 and m = 2, and attacked by one
rule. The other is generalised by COAT, and attacked by two rules that eliminate. It prints the views whose first 100
rows, or the count of all rows, take more than a tenth of a second, and every question with all its rows.
"""

import argparse
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import decloak
from decloak.store.documentation import questions, schema_tables
from decloak.store.opening import open_store

RECORDS = 60_000
BASKETS = {"data": {"generate": "baskets", "transactions": RECORDS, "items": 1_000, "length": 6.5}}
SCENARIOS = {
    "disassociated": BASKETS
    | {
        "scenario": "views of clusters",
        "anonymise": {"method": "disassociation", "k": 5, "m": 2},
        "attacker": {"knows": ["release"]},
        "attack": ["aba"],
        "measure": ["accuracy"],
    },
    "generalised": BASKETS
    | {
        "scenario": "views of eliminations",
        "anonymise": {"method": "coat", "k": 5, "privacy": {"count": 2_000, "sizes": [1, 2]}},
        "relate": {"measure": "ngd", "source": "release"},
        "attack": ["tba", "wba"],
        "measure": ["recovery"],
    },
}


def seconds(connection: sqlite3.Connection, sql: str) -> tuple[float, int]:
    """CPU seconds of a query, and the first value of its last row."""
    begun = time.process_time()
    rows = connection.execute(sql).fetchall()
    return time.process_time() - begun, rows[-1][0] if rows else 0


def print_views(store: Path) -> None:
    """Print the seconds of the views of a store, and of the questions about its last run and its 100th record."""
    with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        print(f"{store.stem:<24}{'100 rows':>10}{'count':>10}{'rows':>12}")
        for table in schema_tables():
            if table.kind == "view":
                first, _ = seconds(connection, f"select * from {table.name} limit 100")
                whole, rows = seconds(connection, f"select count(*) from {table.name}")
                if max(first, whole) >= 0.1:
                    print(f"{table.name:<24}{first:>10.2f}{whole:>10.2f}{rows:>12,}")
        (run,) = connection.execute("select max(id) from run").fetchone()
        given = {"run": run, "first": run, "second": run, "record": 100, "measure": "accuracy"}
        for question in questions():
            asked = {name: given[name] for name in re.findall(r":(\w+)", question.sql)}
            begun = time.process_time()
            rows = len(connection.execute(question.sql, asked).fetchall())
            print(f"{question.name:<24}{'':>10}{time.process_time() - begun:>10.2f}{rows:>12,}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--only", choices=SCENARIOS)
    chosen = parser.parse_args()
    if chosen.store:
        open_store(str(chosen.store)).close()  # brings an older one up to date
        print_views(chosen.store)
        return
    BASKETS["data"]["transactions"] = chosen.records
    with TemporaryDirectory() as folder:
        for name, scenario in SCENARIOS.items():
            if chosen.only in (None, name):
                store = Path(folder) / f"{name}.db"
                decloak.run(scenario, store=store)
                print_views(store)


if __name__ == "__main__":
    main()
