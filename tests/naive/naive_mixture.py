"""A Bernoulli mixture as it is told in words: shares of records in parts, and probabilities of items."""

import math


def probabilities(rows, items, shares):
    """Return the weight of each part, and the probability of each item in each part."""
    parts = len(shares[0])
    common = {item: sum(item in row for row in rows) / len(rows) for item in items}
    sizes = [sum(share[part] for share in shares) for part in range(parts)]
    p = {
        (item, part): (sum(s[part] for s, row in zip(shares, rows, strict=True) if item in row) + common[item] / 2)
        / (sizes[part] + 0.5)
        for item in items
        for part in range(parts)
    }
    p = {key: min(0.999, max(1e-9, value)) for key, value in p.items()}
    return [size / sum(sizes) for size in sizes], p


def shares(rows, items, weights, p):
    """Return the shares of each record in parts, by the likelihood of all its items, present and absent."""
    found = []
    for row in rows:
        logs = [
            math.log(max(weight, 1e-300))
            + sum(math.log(p[item, part] if item in row else 1 - p[item, part]) for item in items)
            for part, weight in enumerate(weights)
        ]
        chances = [math.exp(log - max(logs)) for log in logs]
        found.append([chance / sum(chances) for chance in chances])
    return found


def fitted(rows, items, first, rounds):
    weights, p = probabilities(rows, items, first)
    for _ in range(rounds):
        weights, p = probabilities(rows, items, shares(rows, items, weights, p))
    return weights, p
