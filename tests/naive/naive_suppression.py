"""Suppression of items and of cells, as it is told in words, over sets of items."""

from fractions import Fraction
from itertools import chain, combinations


def support(rows, itemset):
    return sum(itemset <= row for row in rows)


def rare_sets(rows, k, sizes):
    held = {frozenset(items) for row in rows for size in sizes for items in combinations(sorted(row), size)}
    return {itemset for itemset in held if support(rows, itemset) < k}


def minimal_rare(rows, k, m):
    rare = rare_sets(rows, k, range(1, m + 1))
    return {itemset for itemset in rare if not any(other < itemset for other in rare)}


def suppress_items(rows, k, m):
    rows = [frozenset(row) for row in rows]
    counts = {item: support(rows, {item}) for item in chain.from_iterable(rows)}
    rare, gone = minimal_rare(rows, k, m), set()
    while rare:
        score = {item: Fraction(sum(item in one for one in rare), counts[item]) for item in set().union(*rare)}
        item = min(score, key=lambda one: (-score[one], one))
        gone.add(item)
        rare = {one for one in rare if item not in one}
    return [row - gone for row in rows]


def suppress_cells(rows, k, m):
    rows = [frozenset(row) for row in rows]
    changed = True
    while changed:
        changed = False
        for size in range(1, m + 1):
            rare = rare_sets(rows, k, [size])
            counts = {item: support(rows, {item}) for item in chain.from_iterable(rows)}
            after = []
            for row in rows:
                held = {one for one in rare if one <= row}
                while held:
                    score = {
                        item: Fraction(sum(item in one for one in held), counts[item]) for item in set().union(*held)
                    }
                    item = min(score, key=lambda one: (-score[one], one))
                    row = row - {item}
                    held = {one for one in held if item not in one}
                after.append(row)
            changed = changed or after != rows
            rows = after
    return rows
