"""Errors of counts and lost itemsets on plain sets; slow and literal."""

from itertools import combinations
from math import log


def count(records, items):
    return sum(set(items) <= set(record) for record in records)


def error(estimate, records, items, bound):
    true = count(records, items)
    return abs(estimate - true) / max(true, bound * len(records))


def frequent(records, most):
    """The most frequent itemsets of 1 to 3 items with their counts, then the smaller, then by name."""
    held = {one for record in records for size in (1, 2, 3) for one in combinations(sorted(record), size)}
    return sorted(((count(records, one), one) for one in held), key=lambda one: (-one[0], len(one[1]), one[1]))[:most]


def kept(records, estimate, top):
    """The share of the `top` that is lost, and F1 at the count of the last of them."""
    candidates = frequent(records, 4 * top)
    if not candidates:
        return None
    first = [one for _, one in candidates[:top]]
    by_estimate = sorted(candidates, key=lambda one: -round(estimate(one[1]), 9))
    lost = len(set(first) - {one for _, one in by_estimate[: len(first)]}) / len(first)
    least = candidates[len(first) - 1][0]
    there = {one for _, one in candidates if estimate(one) >= least * (1 - 1e-9)}
    return lost, 2 * len(there & set(first)) / (len(first) + len(there))


def predicted(count_of, items, classes, total, record):
    """The class of a record by multinomial naive Bayes with add-one smoothing, from counts of itemsets alone."""
    plain = [item for item in items if item not in classes]
    own = [max(0.0, count_of((one,))) for one in classes]
    sizes = [*own, max(0.0, total - sum(own))]
    scores = []
    for place, size in enumerate(sizes):
        with_item = {}
        for item in plain:
            pairs = [max(0.0, count_of((one, item))) for one in classes]
            with_item[item] = pairs[place] if place < len(classes) else max(0.0, count_of((item,)) - sum(pairs))
        every = sum(with_item.values()) + len(plain)
        scores.append(log(size + 1) + sum(log((with_item[item] + 1) / every) for item in record if item in with_item))
    return max(range(len(scores)), key=lambda place: round(scores[place], 9))
