"""The re-association attacks and their measures as the definitions tell them, one row and one record at a time.

The twin of the kernels: slow, and written to be read beside the definitions. Clusters are those of a release, records
sets of items, truth the record number of every row of every cluster, attacks (cluster, chunk, unit, rows).
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from statistics import fmean, median

EPS = 1e-9


def anchors(cluster):
    """One set of items a row: the sub-records of the first record chunk, then nothing; None without a chunk."""
    if not cluster.record_chunks:
        return None
    first = [frozenset(subrecord) for subrecord in cluster.record_chunks[0].subrecords]
    return first + [frozenset()] * (cluster.size - len(first))


def units(cluster, k, give="k - 1"):
    """(chunk, unit, count), in order."""
    for j, chunk in enumerate(cluster.record_chunks):
        if j:
            yield from ((j, unit, count) for unit, count in sorted(Counter(chunk.subrecords).items()))
    for term in cluster.term_chunk:
        yield "T", (term,), min(cluster.size, k - 1 if give == "k - 1" else 1)


def score(scores, closer, a, b):
    found = scores.get((a, b), scores.get((b, a)))
    if found is None or not math.isfinite(found):
        return None
    return found if closer == "larger" else -found


def related(scores, closer, anchor, unit):
    """v of every item of the anchor that has one, in ascending order."""
    found = []
    for a in anchor:
        known = [s for y in unit if (s := score(scores, closer, a, y)) is not None]
        if known:
            found.append(fmean(known))
    return sorted(found)


def combined(how, v):
    if not v:
        return -math.inf
    if how == "best":
        return max(v)
    return fmean([x for x in v if x >= median(v) - EPS]) if how == "upper_half" else fmean(v)


def unrelated(release, scores, closer):
    """The mean score of the release's items."""
    published = [chunk.items for one in release.clusters for chunk in one.record_chunks]
    items = {item for some in [*published, *(one.term_chunk for one in release.clusters)] for item in some}
    known = [s for pair in scores if {*pair} <= items and (s := score(scores, closer, *pair)) is not None]
    return fmean(known) if known else 0.0


def bayes(scores, closer, cluster, anchor, unit, neutral):
    """ln P(unit | anchor) / P(unit), from what the row's anchor holds and from what it lacks.

    p is the share of the cluster's rows with an item, P the share among rows with the unit, whose odds are those of p
    times e to the power of the scores above neutral.
    """
    rows, total = anchors(cluster), 0.0
    for a in sorted(frozenset().union(*rows)):
        p = (sum(a in row for row in rows) + 0.5) / (len(rows) + 1)
        above = sum(s - neutral for y in unit if (s := score(scores, closer, a, y)) is not None)
        odds = p / (1 - p) * math.exp(above)
        given = odds / (1 + odds)
        total += math.log(given / p) if a in anchor else math.log((1 - given) / (1 - p))
    return total


def best_rows(values, count):
    """The rows of the largest values, the lowest first among those that neighbour within EPS."""
    ranked = sorted(range(len(values)), key=lambda row: -values[row])
    levels, level = {}, 0
    for before, row in zip([None, *ranked], ranked, strict=False):
        if before is not None and values[before] != values[row] and values[before] - values[row] > EPS:
            level += 1
        levels[row] = level
    return tuple(sorted(sorted(levels, key=lambda row: (levels[row], row))[:count]))


def attack(release, scores, combine="mean", on=("term",), give="k - 1", closer="larger"):
    """Every unit on its own to the best rows; sub-records by the mean unless `on` names them."""
    found, neutral = [], unrelated(release, scores, closer)
    for number, cluster in enumerate(release.clusters):
        if not cluster.record_chunks:
            continue
        for chunk, unit, count in units(cluster, release.k, give):
            how = combine if ("term" if chunk == "T" else "subrecord") in on else "mean"
            values = [
                bayes(scores, closer, cluster, anchor, unit, neutral)
                if how == "bayes"
                else combined(how, related(scores, closer, anchor, unit))
                for anchor in anchors(cluster)
            ]
            found.append((number, chunk, unit, best_rows(values, count)))
    return found


def best_assignment(values, counts):
    """What can be reached when unit u goes to counts[u] rows and no row takes two, and the least sum of such rows.

    Every way is tried. Fewest rows without a value come first, then the sum of the values: a pair.
    """
    wanted = [u for u, count in enumerate(counts) for _ in range(count)]
    reached = [
        (total([values[u][row] for u, row in zip(wanted, way, strict=True)]), sum(way))
        for way in permutations(range(len(values[0])), len(wanted))
    ]
    (missing, most), _ = max(reached)
    return (missing, most), min(rows for (lacking, x), rows in reached if lacking == missing and x > most - EPS)


def total(values):
    known = [value for value in values if value > -math.inf]
    return len(known) - len(values), math.fsum(known)


def classes(rows):
    """The rows of every distinct anchor."""
    found = {}
    for row, anchor in enumerate(rows):
        found.setdefault(anchor, []).append(row)
    return list(found.values())


def has(cluster, chunk, unit, record):
    if chunk == "T":
        return unit[0] in record
    return frozenset(cluster.record_chunks[chunk].items) & frozenset(record) == frozenset(unit)


def accuracy(release, records, truth, attacked):
    found = Counter()
    for number, chunk, unit, rows in attacked:
        cluster = release.clusters[number]
        true = [row for row, record in enumerate(truth[number]) if has(cluster, chunk, unit, records[record])]
        found["assigned"] += len(rows)
        found["true"] += len(true)
        found["correct_row"] += len({*rows} & {*true})
        found["expected"] += Fraction(len(rows) * len(true), cluster.size)
        for one in classes(anchors(cluster)):
            a, t = len({*rows} & {*one}), len({*true} & {*one})
            found["correct_class"] += min(a, t)
            found["correct_exp"] += Fraction(a * t, len(one))
    return found


def reachable(release, records, truth):
    """Rows that truly have a unit of a later chunk, or a term, of a cluster that has anchors."""
    return sum(
        any(item in records[number] for item in part)
        for cluster, numbers in zip(release.clusters, truth, strict=True)
        if cluster.record_chunks
        for part in (*(chunk.items for chunk in cluster.record_chunks[1:]), *((term,) for term in cluster.term_chunk))
        for number in numbers
    )


def reconstructed(release, attacked):
    """The items of every row of every cluster, and those of them that the attack added."""
    rows = [anchors(cluster) or [frozenset()] * cluster.size for cluster in release.clusters]
    added = [[frozenset()] * cluster.size for cluster in release.clusters]
    for number, _, unit, given in attacked:
        for row in given:
            added[number][row] |= frozenset(unit)
    whole = [[a | b for a, b in zip(*both, strict=True)] for both in zip(rows, added, strict=True)]
    return whole, added


def matched(edges, left):
    """The size of a largest matching: every way is tried."""
    if not left:
        return 0
    first, rest = left[0], left[1:]
    with_first = [1 + matched([e for e in edges if e[1] != to], rest) for one, to in edges if one == first]
    return max([matched(edges, rest), *with_first])


def broken(release, records, truth, attacked):
    _, added = reconstructed(release, attacked)
    by_row = by_class = 0
    for number, cluster in enumerate(release.clusters):

        def right(row, other, number=number):
            return bool(added[number][row] & frozenset(records[truth[number][other]]))

        by_row += sum(right(row, row) for row in range(cluster.size))
        for one in classes(anchors(cluster) or [frozenset()] * cluster.size):
            by_class += matched([(row, other) for row in one for other in one if right(row, other)], one)
    return by_row, by_class


def exposed(release, records, truth, attacked, k, m):
    """Protected itemsets, and those exposed by row and by class; an itemset of two records counts once."""
    whole, _ = reconstructed(release, attacked)
    support = Counter(
        itemset for record in records for size in range(2, m + 1) for itemset in combinations(sorted(record), size)
    )
    protected, by_row, by_class = set(), set(), set()
    for number, cluster in enumerate(release.clusters):
        rows = anchors(cluster) or [frozenset()] * cluster.size
        for row, record in enumerate(truth[number]):
            alike = [other for other in range(cluster.size) if rows[other] == rows[row]]
            for itemset in support:
                if support[itemset] >= k or not {*itemset} <= {*records[record]}:
                    continue
                if any({*itemset} <= {*chunk.items} for chunk in cluster.record_chunks):
                    continue
                key = (record, itemset)
                protected.add(key)
                if {*itemset} <= whole[number][row]:
                    by_row.add(key)
                if any({*itemset} <= whole[number][other] for other in alike):
                    by_class.add(key)
    return protected, by_row, by_class
