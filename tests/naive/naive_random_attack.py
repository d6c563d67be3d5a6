"""A random attack by enumeration: every choice of cells, every order of rows."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product


def right_of_tables(tables):
    """The probability of each number of right eliminations."""
    of_tables = []
    for cells, added, eliminated in tables:
        counts = Counter(sum(cell < added for cell in chosen) for chosen in combinations(range(cells), eliminated))
        of_tables.append({right: Fraction(n, counts.total()) for right, n in counts.items()})
    return convolved(of_tables)


def convolved(distributions):
    together = Counter()
    for parts in product(*(distribution.items() for distribution in distributions)):
        chance = Fraction(1)
        for _, share in parts:
            chance *= share
        together[sum(right for right, _ in parts)] += chance
    return together


def at_least(distribution, right):
    return sum(share for value, share in distribution.items() if value >= right)


def right_units(given, records, anchors):
    """The expected number of right units of one block, where records of the same anchor are in random order."""
    total = Fraction(0)
    for row, units in enumerate(given):
        alike = [records[other] for other in range(len(records)) if anchors[other] == anchors[row]]
        total += sum(Fraction(sum(unit in record for record in alike), len(alike)) for unit in units)
    return total


def permuted(given, records, anchors):
    """The same for every order of the rows that were given something, each as likely."""
    orders = list(permutations(range(len(given))))
    counts = Counter(right_units([given[row] for row in order], records, anchors) for order in orders)
    return {right: Fraction(n, len(orders)) for right, n in counts.items()}
