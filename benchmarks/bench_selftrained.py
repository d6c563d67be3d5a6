"""What it costs to learn from a release: CPU seconds of one attack on generated transactions, by their number.

python benchmarks/bench_selftrained.py [MOST]

Some eight items a transaction of 2,000, few frequent and many rare; 300 rare ones are published in sets of three.
Distances are drawn at once, so what a source of relatedness takes is not in it.
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from decloak.attacker.selftrained import learn_from_release
from decloak.attacker.tables import needed_pairs, tables
from decloak.data.pairs import Pair
from decloak.data.published import Published
from timing import cpu

ITEMS, HIDDEN, SETS = 2_000, 300, 3


def published(count: int, rng: random.Random) -> Published:
    names = [f"i{number}" for number in range(ITEMS)]
    weights = [1 / (number + 10) for number in range(ITEMS)]
    rows = [tuple(dict.fromkeys(rng.choices(names, weights, k=8))) for _ in range(count)]
    seen = Counter(item for row in rows for item in row)
    rare = [item for item in names[ITEMS // 2 :] if item in seen][:HIDDEN]
    sets = {item: tuple(rare[at - at % SETS : at - at % SETS + SETS]) for at, item in enumerate(rare)}
    shown = (tuple(dict.fromkeys(sets.get(item, item) for item in row)) for row in rows)
    return Published(tuple(shown), tuple(map(str, range(count))))


def drawn(pairs: Sequence[Pair]) -> list[Mapping[Pair, float | None]]:
    values = np.random.default_rng(1).random(len(pairs)).tolist()
    return [dict(zip(pairs, values, strict=True))]


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    for count in (600, 6_000, 60_000):
        if count <= most:
            release = published(count, random.Random(count))
            attacked = tables(release, dict.fromkeys(needed_pairs(release, None), 0.5), None)
            cells = sum(table.d.size for table in attacked)
            seconds = cpu(
                lambda release=release, attacked=attacked: learn_from_release(release, attacked, drawn).added, 1
            )
            print(f"{count:,} transactions, {len(attacked)} tables, {cells:,} cells: {seconds:.2f} s")


if __name__ == "__main__":
    main()
