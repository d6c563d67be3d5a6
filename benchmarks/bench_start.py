"""How long decloak takes to start, and what reading data costs; CPU seconds, the best of several.

python benchmarks/bench_start.py
"""

import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from decloak.attacker.tables import needed_pairs, tables
from decloak.data.dataset import Dataset
from decloak.data.formats.plain_files import read, write
from decloak.data.published import Published
from timing import cpu

HEAVY = ("numpy", "scipy", "pydantic", "rich", "networkx", "sqlite_utils", "yaml")
QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.yaml"


def children_cpu(command: list[str], best_of: int = 10) -> float:
    """The CPU seconds of a command, user and system together."""
    found = []
    for _ in range(best_of):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(found)


def baskets(count: int) -> Dataset:
    rng = random.Random(1)
    rows = tuple(tuple(dict.fromkeys(f"item {rng.randrange(500)}" for _ in range(8))) for _ in range(count))
    return Dataset(rows, tuple(map(str, range(1, count + 1))))


def published(items: int, rows: int, size: int) -> Published:
    """So many generalised items of a size, each in so many transactions between two plain items."""
    sets = [tuple(f"m{number}.{at}" for at in range(size)) for number in range(items)]
    rng = random.Random(1)
    transactions = tuple((f"c{rng.randrange(200)}", one, f"d{rng.randrange(200)}") for one in sets for _ in range(rows))
    return Published(transactions, tuple(map(str, range(len(transactions)))))


def main() -> None:
    print(f"decloak --help: {children_cpu([sys.executable, '-m', 'decloak', '--help']):.3f} s")
    code = "import decloak.cli, sys; print([m for m in sys.argv[1:] if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code, *HEAVY], check=True, capture_output=True, text=True)
    print(f"heavy modules it imports: {loaded.stdout.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "decloak", "run", str(QUICKSTART), "--store", str(Path(folder) / "store.db")]
        first = children_cpu(run, 1)
        print(f"decloak run, the quickstart: {first:.2f} s, and {children_cpu(run):.2f} s where nothing is left to do")
        path = Path(folder) / "big.txt"
        write(baskets(100_000), path, "basket")
        print(f"read 100,000 baskets: {cpu(lambda: read(path, 'basket')):.2f} s")
    release = published(5_000, 16, 16)
    pairs = needed_pairs(release, 2)
    print(f"pairs of 5,000 generalised items in 16 x 16 tables: {cpu(lambda: needed_pairs(release, 2)):.2f} s")
    score = dict.fromkeys(pairs, 0.5)
    print(f"their distance tables: {cpu(lambda: tables(release, score, 2)):.2f} s")


if __name__ == "__main__":
    main()
