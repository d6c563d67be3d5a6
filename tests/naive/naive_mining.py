"""Diversity, knowledge of what is absent, and the mining measures, from their definitions; slow and literal."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

from naive_generalise import Heuristic, ncp, recode


def certain(rows, hidden, l, m):  # noqa: E741
    """Every set of 1..m labels with a sensitive item that more than one in l of its records have."""
    found = []
    for size in range(1, m + 1):
        for labels in combinations(sorted(set().union(*rows)), size):
            inside = [at for at, row in enumerate(rows) if row.issuperset(labels)]
            for item in sorted(set().union(*hidden)):
                having = sum(item in hidden[at] for at in inside)
                if having * l > len(inside):
                    found.append((labels, len(inside), item, having))
    return found


class Diverse(Heuristic):
    """The search for an l^m-diverse cut; `infeasible` when it ends at the root."""

    def __init__(self, tree, data, hidden, l):  # noqa: E741
        super().__init__(tree, data, 0)
        self.hidden, self.l, self.infeasible = hidden, l, False

    def search(self, m):
        while not self.infeasible and (
            found := certain(recode(self.tree, self.data, self.cut()), self.hidden, self.l, m)
        ):
            self.fix(found[0][0])

    def diverse(self, nodes):
        inside = [at for at, row in enumerate(self.data) if all(row & self.tree.leaves[node] for node in nodes)]
        held = Counter(item for at in inside for item in set(self.hidden[at]))
        return all(count * self.l <= len(inside) for count in held.values())

    def fix(self, itemset):
        above = [[node, *self.tree.ancestors(node)] for node in itemset]
        choices = [
            (self.maximal(to for node, to in zip(itemset, choice, strict=True) if to != node), self.maximal(choice))
            for choice in product(*above)
        ]
        cures = [new for new, published in choices if new and self.diverse(published)]
        cures = cures or [{path[1]} for path in above if len(path) > 1]
        self.infeasible = not cures
        if cures:
            self.rules = self.committed(min(cures, key=self.key))

    def key(self, new):
        loss = ncp(self.tree, self.data, self.cut(self.committed(new)))
        return loss, sum(len(self.tree.leaves[node]) for node in new), sorted(map(self.rank.get, new))


def negative(rows, domain, k, m):
    """Every pattern of presence and absence over 1..m labels of the domain that 1..k-1 records have."""
    found = []
    for size in range(1, m + 1):
        for labels in combinations(sorted(domain), size):
            for pattern, count in Counter(tuple(label in row for label in labels) for row in rows).items():
                if count < k:
                    there = tuple(label for label, held in zip(labels, pattern, strict=True) if held)
                    found.append((there, tuple(label for label in labels if label not in there), count))
    return found


def lifted(tree, node, level):
    """The highest node of at most a level on the path up, or None when the node itself is above that level."""
    fitting = [one for one in [node, *tree.ancestors(node)] if tree.level[one] <= level]
    return fitting[-1] if fitting else None


def frequent(tree, rows, level, minsup):
    """All frequent sets of nodes when rows are looked at from a level."""
    seen = [frozenset(lifted(tree, node, level) for node in row) - {None} for row in rows]
    nodes = sorted({node for row in seen for node in row})
    return {
        frozenset(one)
        for size in range(1, len(nodes) + 1)
        for one in combinations(nodes, size)
        if sum(row.issuperset(one) for row in seen) >= minsup
    }


def ml2(tree, data, rows, minsup):
    """ML², and dML² by Formula 2 and over the sets that are lost; None where nothing is."""
    height = tree.level[tree.root]
    kept = [frequent(tree, rows, level, minsup) for level in range(height + 1)]
    sets = [(level, one) for level in range(height) for one in frequent(tree, data, level, minsup)]
    lost = [(level, one) for level, one in sets if one not in kept[level]]
    differences = 0
    for level, one in sets:
        above = [at for at in range(level, height + 1) if {lifted(tree, node, at) for node in one} in kept[at]]
        differences += (above[0] if above else height + 1) - level
    return (
        1 - Fraction(sum(map(len, kept[:-1])), len(sets)) if sets else None,
        Fraction(differences, len(sets)) if sets else None,
        Fraction(differences, len(lost)) if lost else None,
    )
