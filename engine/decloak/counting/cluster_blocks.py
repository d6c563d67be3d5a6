"""The guarantee of clusters in files, some of them at a time."""

from collections.abc import Iterator
from pathlib import Path

from decloak.checks import check_km
from decloak.counting.guarantees import Disassociation, FirstViolations, Row
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks
from decloak.data.formats.cluster_files import read_clusters

__all__ = ["faults_in_parts", "some_clusters"]

BATCH = 1 << 16
"""Records of the clusters that are checked together."""


def some_clusters(block: Block) -> Iterator[Disassociated]:
    """Yield the clusters of `block`, some at a time."""
    some, records = list[Cluster](), 0
    for cluster in read_clusters(block):
        some.append(cluster)
        records += cluster.size
        if records >= BATCH:
            yield Disassociated(tuple(some))
            some, records = [], 0
    if some:
        yield Disassociated(tuple(some))


def faults_in_parts(blocks: Blocks, k: int, m: int, most: int) -> FirstViolations:
    """Return the first `most` violations of `k` and `m` by the clusters of `blocks`; clusters are counted by file."""
    check_km(k, m)
    rows, count, first = list[Row](), 0, dict[str, int]()
    for block in blocks.blocks:
        for release in some_clusters(block):
            before = first.get(block.path, 0)
            found = list(Disassociation(k, m).violations(release))
            count += len(found)
            where = f"{Path(block.path).name}, from cluster {before} on"
            for kind, cluster, *others, message in found[: most - len(rows)]:
                assert isinstance(cluster, int)
                rows.append((kind, before + cluster, *others, f"{where}: {message}"))
            first[block.path] = before + len(release.clusters)
    return FirstViolations(rows, lambda: count)
