"""Itemset tables as they are told in words: which itemsets are published, their cells, and estimates from them."""

from itertools import chain, combinations


def subsets(items):
    items = sorted(items)
    return map(frozenset, chain.from_iterable(combinations(items, size) for size in range(len(items) + 1)))


def cells(rows, items):
    """Count the records with each part of `items` and without the rest."""
    return [sum(row & items == there for row in rows) for there in subsets(items)]


def table(rows, k, m, zeros):
    """Return the published itemsets with their supports."""
    items = frozenset(chain.from_iterable(rows))
    published = {frozenset(): len(rows)}
    for size in range(1, m + 1):
        for itemset in map(frozenset, combinations(sorted(items), size)):
            support = sum(itemset <= row for row in rows)
            fine = all(cell >= k or (zeros and cell == 0) for cell in cells(rows, itemset))
            if support >= k and fine and all(part in published for part in subsets(itemset) if part != itemset):
                published[itemset] = support
    return published


def estimate(published, k, m, itemset):
    """Estimate the support of one to four items."""
    itemset, records = frozenset(itemset), published[frozenset()]
    if any(frozenset([item]) not in published for item in itemset):
        return 0.0
    if itemset in published:
        return float(published[itemset])
    single = {item: published[frozenset([item])] for item in itemset}
    of = {pair: estimate(published, k, m, pair) for pair in combinations(sorted(itemset), 2) if len(itemset) > 2}
    if len(itemset) == 2:
        a, b = single.values()
        return min(k - 1 if m >= 2 else float("inf"), a * b / records)
    if len(itemset) == 3:
        value = float(records)
        for support in of.values():
            value *= support
        for support in single.values():
            value /= support
        return min(k - 1 if m >= 3 else float("inf"), value)
    raise AssertionError


def larger(published, k, m, known, item):
    """Estimate the support of three known items and a further one, by naive Bayes."""
    if frozenset([item]) not in published:
        return 0.0
    records, single = published[frozenset()], published[frozenset([item])]
    most = estimate(published, k, m, known)
    value, pairs = most * single / records, [estimate(published, k, m, [one, item]) for one in known]
    for one, pair in zip(known, pairs, strict=True):
        if frozenset([one]) in published:
            value *= records * pair / (published[frozenset([one])] * single)
    return min(value, most, *pairs)
