"""Releases to attack: those of the golden file, and small random ones with the truth behind them."""

import json
from itertools import combinations
from pathlib import Path

from hypothesis import strategies as st

from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.measure.accuracy import accuracy_of
from decloak.measure.breakage import km_breakage_of, transaction_breakage_of
from decloak.measure.kernels.true_rows import TrueRows

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "disassociation.json").read_text())
ITEMS = "abcdefg"


def _chunk(read):
    return Chunk(tuple(read["items"]), tuple(map(tuple, read["subrecords"])))


def _cluster(read):
    return Cluster(read["size"], tuple(map(_chunk, read["record_chunks"])), tuple(read["term_chunk"]))


def release_of(read):
    joints = tuple(
        JointCluster(tuple(one["leaves"]), tuple(map(_chunk, one["shared_chunks"]))) for one in read["joints"]
    )
    return Disassociated(tuple(map(_cluster, read["clusters"])), joints, read["k"], read["m"])


def scores_of(case):
    return {(a, b): milli / 1000 for a, b, milli in case["scores_milli"]}


def attacks_of(read):
    """The golden file's attacks as the kernel writes them."""
    return [
        (number, one["chunk"], tuple(one["unit"]), tuple(one["rows"]))
        for number, cluster in enumerate(read)
        for one in cluster
    ]


def in_chunks(records, place):
    """Publish records as one cluster: `place` says which chunk each item is in, "T" for the term chunk.

    The cluster, and the record of every row.
    """
    held = set().union(*records)
    chunks, truth = [], list(range(len(records)))
    for number in sorted({place[item] for item in held if place[item] != "T"}):
        items = tuple(sorted(item for item in held if place[item] == number))
        shown = [tuple(item for item in items if item in record) for record in records]
        if not chunks:
            truth.sort(key=lambda one: (not shown[one], shown[one]))
        chunks.append(Chunk(items, tuple(sorted(filter(None, shown)))))
    terms = tuple(sorted(item for item in held if place[item] == "T"))
    return Cluster(len(records), tuple(chunks), terms), truth


@st.composite
def releases(draw, most_clusters=3, most_records=5, items=ITEMS):
    """(release, records, truth); a cluster may lack record chunks, rows may show nothing."""
    clusters, held, truth = [], [], []
    for _ in range(draw(st.integers(1, most_clusters))):
        one = draw(st.lists(st.sets(st.sampled_from(items), min_size=1), min_size=1, max_size=most_records))
        place = {item: draw(st.sampled_from([0, 0, 1, 1, 2, "T"])) for item in items}
        cluster, rows = in_chunks(one, place)
        clusters.append(cluster)
        truth.append([len(held) + row for row in rows])
        held += [tuple(sorted(record)) for record in one]
    return Disassociated(tuple(clusters), k=draw(st.integers(2, 4)), m=2), held, truth


def scores(items=ITEMS):
    """Few values, so that there are ties; some pairs without one."""
    value = st.none() | st.integers(0, 6).map(lambda tenth: tenth / 10)
    pairs = list(combinations(items, 2))
    return st.lists(value, min_size=len(pairs), max_size=len(pairs)).map(
        lambda drawn: {pair: x for pair, x in zip(pairs, drawn, strict=True) if x != 0.6}
    )


def accuracy(release, records, truth, assignments):
    return accuracy_of(TrueRows(release, records, truth), list(assignments))


def transaction_breakage(release, records, truth, assignments):
    rows = TrueRows(release, records, truth)
    return transaction_breakage_of(rows, rows.assigned_units(assignments))


def km_breakage(release, records, truth, assignments, *, k, m):
    rows = TrueRows(release, records, truth)
    return km_breakage_of(rows, rows.assigned_units(assignments), k=k, m=m)
