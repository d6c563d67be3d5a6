"""What detecting cover problems costs as releases grow, and the exact link probabilities of one cluster; CPU seconds.

    python benchmarks/bench_cover.py [RECORDS.dat.gz]

Without a file the releases are generated: clusters of 50 records over 500 items, a few popular. With a file of records
(one a line, items separated by spaces) it is disassociated with k = 3, m = 2 and clusters of at most 50.
"""

import gzip
import random
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.attacker.cover import breached_covers, cover_problems, covers
from decloak.attacker.knowledge import moderate, weak
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.measure.pair_links import link_probabilities
from decloak.rules.load import Catalogue
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.disassociated import write_clusters
from decloak.store.opening import connect_readonly, open_store
from decloak.store.relations import Scope
from decloak.store.sandbox_guard import open_sandbox
from timing import cpu

FOREIGN = [f"foreign {number}" for number in range(10)]
Records = list[tuple[str, ...]]


def generated(count: int, rng: random.Random) -> tuple[Disassociated, Records]:
    """Clusters of 50 records in five record chunks of up to three items, and records that could lie behind them."""
    clusters, records = [], []
    for _ in range(count // 50):
        names = list(dict.fromkeys(f"item {int(500 * rng.random() ** 3)}" for _ in range(40)))[:12]
        rows: list[set[str]] = [set() for _ in range(50)]
        chunks = []
        for j in range(5):
            items = sorted(names[3 * j : 3 * j + 3])
            kinds = [tuple(items[: 1 + rng.randrange(len(items))]) for _ in range(rng.randint(1, 3))] if items else []
            held = sorted(kind for kind in kinds for _ in range(rng.randint(3, 16 - 2 * j)))
            for row, kind in zip(rng.sample(range(50), len(held)), held, strict=True):
                rows[row].update(kind)
            if held:
                chunks.append(Chunk(tuple(sorted({item for kind in held for item in kind})), tuple(held)))
        clusters.append(Cluster(50, tuple(chunks), ("term",)))
        records += [tuple(sorted(row or {"term"})) for row in rows]
    return Disassociated(tuple(clusters), k=3, m=2), records


def disassociated(path: Path) -> tuple[Disassociated, Records]:
    """A file of records and its release."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [tuple(sorted(set(line.split()))) for line in lines]
    return disassociate(records, k=3, m=2, max_cluster=50).release, records


def attackers(release: Disassociated, records: Records) -> list[int]:
    """Detection for the strong, the moderate and the weak attacker: how many problems each breaches."""
    found = covers(release)
    items = {item for record in records for item in record}
    known = (None, moderate(records, 2), weak(items, FOREIGN, 2))
    return [len(breached_covers(found, one)) for one in known]


def by_rule(release: Disassociated) -> None:
    """The same problems by the rule, over a store that has the release already."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with open_store(path) as store, store.stage() as connection:
            number = write_clusters(connection, "release", release, "disassociation", {})
            (dataset,) = connection.execute("select dataset from release where id = ?", (number,)).fetchone()
        rule = Catalogue().rule("cover")
        begun = time.process_time()
        with closing(connect_readonly(path)) as connection:
            database = AttackersDatabase(connection, Scope(number, dataset))
            with open_sandbox(database, rule.reads, (), None) as sandbox:
                found = rule.operator.run(rule, AttackerView(sandbox), Settings()).facts
        print(f"  the rule cover: {len(found):,} facts in {time.process_time() - begun:.2f} s")


def report(release: Disassociated, records: Records) -> None:
    shown = f"{len(records):,} records, {len(release.clusters):,} clusters"
    print(f"{shown}: {len(cover_problems(release)):,} problems in {cpu(lambda: cover_problems(release)):.2f} s")
    breaches = ", ".join(f"{count:,}" for count in attackers(release, records))
    print(f"  strong, moderate and weak breach {breaches}: {cpu(lambda: attackers(release, records)):.2f} s")
    by_rule(release)


def link(rng: random.Random) -> None:
    for count in (1, 2, 3, 4, 5):
        cluster = generated(50, rng)[0].clusters[0]
        cluster = replace(cluster, record_chunks=cluster.record_chunks[:count])
        begun = time.process_time()
        found = link_probabilities(cluster, k=3, m=2)
        took = time.process_time() - begun
        error = max((one.error or 0.0 for one in found), default=0.0)
        print(
            f"link probabilities of 50 records in {count} chunks: {len(found)} pairs, error {error:.4f}, {took:.2f} s"
        )


def main() -> None:
    if len(sys.argv) > 1:
        report(*disassociated(Path(sys.argv[1])))
        return
    for count in (15_000, 30_000, 59_600, 120_000):
        report(*generated(count, random.Random(1)))
    link(random.Random(1))


if __name__ == "__main__":
    main()
