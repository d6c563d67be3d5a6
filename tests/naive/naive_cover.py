"""Cover problems, breaches and reconstructions straight from their definitions, on plain sets; slow and literal."""

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, permutations, product

from hypothesis import strategies as st

from decloak.data.disassociated import Chunk, Cluster, Disassociated


def support(items, rows):
    return sum(set(items) <= set(row) for row in rows)


def anonymous(rows, k, m):
    """Every itemset of 1..m items that occurs does so k times."""
    found = {itemset for row in rows for size in range(1, m + 1) for itemset in combinations(sorted(row), size)}
    return all(support(itemset, rows) >= k for itemset in found)


def problems(release, adjacent=False):
    """{(cluster, j, x, l): (I, covered)}."""
    found = {}
    for i, cluster in enumerate(release.clusters):
        for j, l in combinations(range(len(cluster.record_chunks))[::-1], 2):  # noqa: E741
            if adjacent and l != j - 1:
                continue
            here, there = cluster.record_chunks[j], cluster.record_chunks[l]
            for x in here.items:
                s = {y: support([y], there.subrecords) for y in there.items}
                I = [y for y in there.items if s[y] >= support([x], here.subrecords)]  # noqa: E741, N806
                if I and support(I, there.subrecords) == min(s[y] for y in I):
                    least = min(s[y] for y in I)
                    found[i, j, x, l] = (sorted(I), sorted(y for y in I if s[y] == least))
    return found


def is_breached(x, covered, knowledge):
    return knowledge is None or any(x in known and set(covered) & set(known) for known in knowledge)


def total(release, knowledge, reading):
    """Algorithm 1, its loops as printed, with the resets each reading makes."""
    found = problems(release)
    total = largest = 0
    for i, cluster in enumerate(release.clusters):
        if reading != "literal":
            largest = 0
        for j, chunk in enumerate(cluster.record_chunks):
            breach, l = 0, j - 1  # noqa: E741
            for x in chunk.items:
                if reading != "literal":
                    l = j - 1  # noqa: E741
                if reading == "per_item":
                    breach = 0
                while l >= 0:
                    if (i, j, x, l) in found and is_breached(x, found[i, j, x, l][1], knowledge):
                        breach += 1
                        total += reading == "sum"
                    l -= 1  # noqa: E741
                largest = max(largest, breach)
        if reading != "sum":
            total += largest
    return total


def hit_records(release, records, truth, knowledge):
    hit = set()
    for (i, _, x, _), (_, covered) in problems(release).items():
        for number in truth[i]:
            record = set(records[number])
            itemsets = combinations(sorted(record), 2) if knowledge is None else knowledge
            if any(x in known and set(covered) & set(known) and set(known) <= record for known in itemsets):
                hit.add(number)
    return sorted(hit)


def disassociate(records, k, m):
    """One cluster, chunk by chunk as the algorithm takes the items."""
    count = Counter(item for record in records for item in record)
    waiting = sorted((item for item in count if count[item] >= k), key=lambda item: (-count[item], item))
    chunks = []
    while waiting:
        taken, refused = [], []
        for item in waiting:
            fits = anonymous([set(record) & {*taken, item} for record in records], k, m)
            (taken if fits else refused).append(item)
        parts = sorted(tuple(sorted(set(record) & set(taken))) for record in records)
        chunks.append(Chunk(tuple(sorted(taken)), tuple(part for part in parts if part)))
        waiting = refused
    return Cluster(len(records), tuple(chunks), tuple(sorted(item for item in count if count[item] < k)))


def reconstructions(cluster, most, empty_rows=False):
    """Every labelled placement, chunk 0 as published: lists of records; terms lie on 1..most rows."""
    n = cluster.size
    placed = []
    for number, chunk in enumerate(cluster.record_chunks):
        rows = [*map(frozenset, chunk.subrecords), *[frozenset()] * (n - len(chunk.subrecords))]
        placed.append({tuple(rows)} if number == 0 else set(permutations(rows)))
    for term in cluster.term_chunk:
        sizes = range(1, min(most, n) + 1)
        chosen = chain.from_iterable(combinations(range(n), size) for size in sizes)
        placed.append([tuple(frozenset([term] if row in rows else []) for row in range(n)) for rows in chosen])
    for layers in product(*placed):
        rows = [frozenset().union(*(layer[row] for layer in layers)) for row in range(n)]
        if empty_rows or all(rows):
            yield rows


def consistent(cluster, rows, k, m):
    """No item of a later chunk fits among the items an earlier one took before it."""
    count = Counter(y for chunk in cluster.record_chunks for subrecord in chunk.subrecords for y in subrecord)
    for earlier, later in combinations(cluster.record_chunks, 2):
        for x in later.items:
            pre = {y for y in earlier.items if (-count[y], y) < (-count[x], x)}
            if anonymous([row & (pre | {x}) for row in rows], k, m):
                return False
    return True


def algorithm_consistent(cluster, k, m, empty_rows=False):
    return [rows for rows in reconstructions(cluster, k - 1, empty_rows) if consistent(cluster, rows, k, m)]


def ways(itemset, found, n):
    """How many reconstructions hold the itemset in 0, 1, ... n rows."""
    count = Counter(support(itemset, rows) for rows in found)
    return [count[s] for s in range(n + 1)]


def chance(counts):
    """E[1/s] as a fraction, None where s is never positive."""
    held = sum(counts[1:])
    return sum(Fraction(count, s) for s, count in enumerate(counts) if s) / held if held else None


def restored(release):
    """A release as the golden file writes it."""
    return Disassociated(tuple(map(restored_cluster, release["clusters"])), k=release["k"], m=release["m"])


def restored_cluster(cluster):
    chunks = tuple(
        Chunk(tuple(chunk["items"]), tuple(map(tuple, chunk["subrecords"]))) for chunk in cluster["record_chunks"]
    )
    return Cluster(cluster["size"], chunks, tuple(cluster["term_chunk"]))


def _chunk(rows, first):
    named = [tuple(f"{first}{item}" for item in sorted(row)) for row in rows]
    return Chunk(tuple(sorted({item for row in named for item in row})), tuple(sorted(named)))


SUBRECORDS = st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=6)
CLUSTERS = st.lists(SUBRECORDS, max_size=4).map(
    lambda chunks: Cluster(6, tuple(_chunk(rows, "dbca"[at]) for at, rows in enumerate(chunks)), ())
)
RELEASES = st.lists(CLUSTERS, max_size=3).map(lambda clusters: Disassociated(tuple(clusters), k=2, m=2))
"""Any releases of up to three clusters of up to four chunks: whether an algorithm could have made them or not."""

KNOWLEDGE = st.none() | st.lists(
    st.sets(st.sampled_from([f"{first}{number}" for first in "abcd" for number in range(3)]), min_size=1, max_size=4),
    max_size=8,
)


@st.composite
def made_clusters(draw, rows=6, items=5):
    """A tiny cluster the algorithm made, with its records and its k and m."""
    k = draw(st.integers(2, 3))
    record = st.sets(st.integers(0, items - 1), min_size=1).map(lambda one: tuple(f"i{item}" for item in sorted(one)))
    records = draw(st.lists(record, min_size=k, max_size=rows))
    m = draw(st.integers(1, 3))
    return disassociate(records, k, m), records, k, m
