"""What re-association costs, and how it grows with the records; CPU seconds, the best of several.

python benchmarks/bench_reassociate.py
"""

import math
import random
from collections.abc import Iterator

import numpy as np

from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.measure.accuracy import accuracy_of, reconstructed
from decloak.measure.breakage import km_breakage_of, transaction_breakage_of
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows
from decloak.measure.utility import re_chunks, tkd_chunks
from decloak.measure.wmd import mean_distance
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.strategy import Reassociation
from timing import cpu

ITEMS, CLUSTER, K = 500, 50, 3
ATTACKS = {
    "ABA": Reassociation.build(combine="mean"),
    "RGA": Reassociation.build(units=["term"], combine="upper_half"),
    "MRA": Reassociation.build(units=["term"], combine="best"),
    "random": Reassociation.build(match="random"),
    "assignment": Reassociation.build(combine="mean", match="assignment"),
    "consistent": Reassociation.build(combine="mean", match="assignment", consistent=True),
    "bayes": Reassociation.build(combine="bayes", match="assignment"),
    "expectation": Reassociation.build(combine="fitted", give="expected", match="expectation", consistent=True),
}


def records(count: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Some eight items each, a few of them frequent, and each with a taste for one of 25 topics."""
    for _ in range(count):
        topic = rng.randrange(25)
        drawn = {min(ITEMS - 1, int(rng.expovariate(1 / 60))) // 25 * 25 + topic for _ in range(5)}
        drawn |= {rng.randrange(ITEMS) for _ in range(3)}
        yield tuple(f"i{item:03}" for item in sorted(drawn))


def published(count: int) -> tuple[Disassociated, list[tuple[str, ...]], list[list[int]]]:
    """A release in the shape of a disassociated one, the records and which of them is each row."""
    rng = random.Random(1)
    held = sorted(records(count, rng))
    clusters, truth = [], []
    for first in range(0, count, CLUSTER):
        cluster, rows = _cluster(held[first : first + CLUSTER])
        clusters.append(cluster)
        truth.append([first + row for row in rows])
    return Disassociated(tuple(clusters), k=K, m=2), held, truth


def _cluster(held: list[tuple[str, ...]]) -> tuple[Cluster, list[int]]:
    """Items of support K or more go to record chunks of at most five, the frequent ones first."""
    support: dict[str, int] = {}
    for record in held:
        for item in record:
            support[item] = support.get(item, 0) + 1
    ranked = sorted((item for item in support if support[item] >= K), key=lambda item: (-support[item], item))
    chunks = [_chunk(held, ranked[first : first + 5]) for first in range(0, len(ranked), 5)]
    anchors = set(ranked[:5])
    order = sorted(range(len(held)), key=lambda row: (not anchors & set(held[row]), sorted(anchors & set(held[row]))))
    return Cluster(len(held), tuple(chunks), tuple(sorted(set(support) - set(ranked)))), order


def _chunk(held: list[tuple[str, ...]], items: list[str]) -> Chunk:
    shown = (tuple(item for item in record if item in items) for record in held)
    return Chunk(tuple(sorted(items)), tuple(sorted(filter(None, shown))))


def scored() -> dict[tuple[str, str], float]:
    rng = random.Random(2)
    items = [f"i{item:03}" for item in range(ITEMS)]
    return {(a, b): rng.random() for number, a in enumerate(items) for b in items[:number]}


def growth(seconds: dict[int, float]) -> float:
    """The exponent e of time ~ records ** e, by least squares."""
    x, y = ([math.log(number) for number in some] for some in (seconds, seconds.values()))
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    scores = scored()
    sizes = (7_500, 15_000, 30_000, 60_000)
    releases = {count: published(count) for count in sizes}
    release, held, truth = releases[sizes[-1]]
    units = sum(len(cluster.term_chunk) for cluster in release.clusters)
    chunks = sum(len(cluster.record_chunks) for cluster in release.clusters)
    print(
        f"{len(held):,} records, {ITEMS} items, {len(release.clusters):,} clusters, {chunks:,} chunks, {units:,} terms"
    )
    for name, attack in ATTACKS.items():
        taken = {
            count: cpu(lambda one=one, way=attack: reassociate(one[0], scores, way)) for count, one in releases.items()
        }
        curve = ", ".join(f"{count:,}: {seconds:.2f} s" for count, seconds in taken.items())
        print(f"{name}: {curve}; grows with exponent {growth(taken):.2f}")
    given = reassociate(release, scores, ATTACKS["ABA"])

    def looked_up() -> tuple[TrueRows, AssignedUnits]:
        rows = TrueRows(release, held, truth)
        return rows, rows.assigned_units(given)

    print(f"accuracy: {cpu(lambda: accuracy_of(TrueRows(release, held, truth), given)):.2f} s")
    print(f"transaction breakage: {cpu(lambda: transaction_breakage_of(*looked_up())):.2f} s")
    print(f"k^m breakage, m = 2: {cpu(lambda: km_breakage_of(*looked_up(), k=K, m=2)):.2f} s")
    print(f"tKd, K = 1000: {cpu(lambda: tkd_chunks(release, held, 1000)):.2f} s")
    print(f"re: {cpu(lambda: re_chunks(release, held)):.2f} s")
    vectors = {f"i{item:03}": np.random.default_rng(item).normal(size=50) for item in range(ITEMS)}
    rebuilt = reconstructed(release, truth, given)
    few = slice(0, 2000)
    print(f"WMD of 2,000 records: {cpu(lambda: mean_distance(held[few], rebuilt[few], vectors), 1):.2f} s")


if __name__ == "__main__":
    main()
