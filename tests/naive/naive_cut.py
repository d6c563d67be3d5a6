"""The fast form of k^m generalisation and its refinement, written down from their definitions: the slow twins."""

from collections import Counter
from itertools import combinations

import naive_generalise as naive


def cut(tree, data, k, m):
    """Walk all sets of i labels that hold one not verified yet, and fix the rare; until a walk commits nothing."""
    search = naive.Heuristic(tree, data, k)
    for size in range(1, m + 1):
        verified = set()
        while unverified := search.cut() - verified:
            verified = search.cut()
            walk(search, verified, unverified, size)
    return search.cut()


def walk(search, labels, unverified, size):
    """Unverified labels first, then rare ones; tree order has the frequent ones first."""
    order = sorted(labels, key=lambda label: (label not in unverified, -search.rank[label]))
    place = {label: at for at, label in enumerate(order)}
    supports = Counter(
        itemset
        for row in naive.recode(search.tree, search.data, labels)
        for itemset in combinations(sorted(map(place.get, row)), size)
    )
    for itemset in sorted(supports):
        members = [order[at] for at in itemset]
        rare = supports[itemset] < search.k
        if rare and not unverified.isdisjoint(members) and not any(map(search.dead, members)):
            search.fix(members)


def lowered(tree, found):
    """Every cut with one inner node replaced by its children."""
    return [found - {node} | set(tree.children[node]) for node in found if node in tree.children]


def refine(tree, data, k, m, found):
    """Replace the dearest node that can be replaced, until none can be."""

    def price(node):
        held = sum(len(set(row) & tree.leaves[node]) for row in data)
        return held * len(tree.leaves[node]) if len(tree.leaves[node]) > 1 else 0

    while True:
        inner = sorted(
            (node for node in found if node in tree.children), key=lambda x: (-price(x), tree.nodes.index(x))
        )
        lower = (found - {node} | set(tree.children[node]) for node in inner)
        better = next((one for one in lower if naive.anonymous(naive.recode(tree, data, one), k, m)), None)
        if better is None:
            return found
        found = better
