"""The attack by expectation as its definitions tell it: one pair, one row and one unit at a time. Slow on purpose."""

import math
from collections import Counter
from itertools import combinations, product


def chunks(release):
    """(records, items, sub-records) of every record chunk that shows two items or more."""
    for cluster in release.clusters:
        for chunk in cluster.record_chunks:
            if len(chunk.items) > 1 and chunk.subrecords:
                yield cluster.size, chunk.items, [frozenset(subrecord) for subrecord in chunk.subrecords]


def seen(size, subrecords, a, b):
    """T and E of a pair in one chunk."""
    both = sum(a in one and b in one for one in subrecords)
    apart = sum(a in one for one in subrecords) * sum(b in one for one in subrecords)
    return both, apart / size


def lift(release, a, b, without=None):
    """The log of T over E, of all chunks but one."""
    counts = [
        seen(size, subrecords, a, b)
        for number, (size, items, subrecords) in enumerate(chunks(release))
        if number != without and a in items and b in items
    ]
    return math.log((sum(t for t, _ in counts) + 2) / (sum(e for _, e in counts) + 2))


def examples(release, *thetas):
    """(unit, features, had it) of every record of a cluster and every item torn off one of its chunks."""
    for number, (size, items, subrecords) in enumerate(chunks(release)):
        for y in items:
            for row in range(size):
                shown = subrecords[row] if row < len(subrecords) else frozenset()
                anchor = shown - {y}
                root = math.sqrt(max(1, len(anchor)))
                yield (
                    (number, y),
                    (
                        *(sum(theta.get(frozenset({a, y}), 0.0) for a in anchor) / root for theta in thetas),
                        sum(lift(release, a, y, number) for a in anchor) / root,
                        len(anchor) / root,
                    ),
                    y in shown,
                )


def likelihood(weights, every):
    """ln of how likely it is that items go back to who had them, with the prior of the weights."""
    features = [x for _, x, _ in every]
    scale = [math.sqrt(sum(x[side] ** 2 for x in features) / max(1, len(features))) for side in range(len(weights))]
    z = [sum(w * x for w, x in zip(weights, one, strict=True)) for one in features]
    units = Counter(unit for unit, _, had in every if had)
    mass = Counter()
    for (unit, _, _), value in zip(every, z, strict=True):
        mass[unit] += math.exp(value)
    chosen = sum(value for (_, _, had), value in zip(every, z, strict=True) if had)
    prior = sum((w * s) ** 2 for w, s in zip(weights, scale, strict=True)) / 2
    return chosen - sum(count * math.log(mass[unit]) for unit, count in units.items()) - prior


def density(n, s, b, steps=4000):
    """C(n,s) times the integral of x^(s-1) (1-x)^(n-s+b-1): what is proportional to P(s | n)."""
    points = ((i + 0.5) / steps for i in range(steps))
    return math.comb(n, s) * sum(x ** (s - 1) * (1 - x) ** (n - s + b - 1) for x in points) / steps


def shares(values, sizes, targets, chunk, rounds=1000):
    """p(u, class), by raising and lowering every unit's odds in turn until its rows add up."""
    odds = [[math.exp(v) for v in row] for row in values]
    scale = [1.0] * len(odds)

    def share(u, c):
        beside = sum(scale[v] * odds[v][c] for v in range(len(odds)) if chunk[v] == chunk[u])
        return scale[u] * odds[u][c] / (1 + beside)

    for _ in range(rounds):
        off = 0.0
        for u in range(len(odds)):
            total = sum(share(u, c) * size for c, size in enumerate(sizes))
            off = max(off, abs(total - targets[u]))
            scale[u] *= targets[u] / total
        if off < 1e-6:
            break
    return [[share(u, c) for c in range(len(sizes))] for u in range(len(odds))]


def posterior(rows, units, theta):
    """The exact share of every unit's placements on every row, placements counting exp of the sum of theta each.

    Units of one chunk go to rows of their own; no row stays empty if its anchor is.
    """
    ways = [list(combinations(range(len(rows)), times)) for _, _, times in units]
    weight, on = 0.0, [[0.0] * len(rows) for _ in units]
    for placed in product(*ways):
        taken = Counter((units[u][0], row) for u, where in enumerate(placed) for row in where)
        if max(taken.values(), default=0) > 1:
            continue
        if any(not rows[row] and all(row not in where for where in placed) for row in range(len(rows))):
            continue
        mass = math.exp(sum(theta[u][row] for u, where in enumerate(placed) for row in where))
        weight += mass
        for u, where in enumerate(placed):
            for row in where:
                on[u][row] += mass
    return [[x / weight for x in row] for row in on] if weight else None
