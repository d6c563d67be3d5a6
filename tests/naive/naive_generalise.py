"""k^m generalisation written down from its definitions with sets and fractions: the slow twin of the anonymisers."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb, prod

from hypothesis import strategies as st


class Tree:
    def __init__(self, parent):
        self.parent = dict(parent)
        self.root = next(node for node in parent.values() if node not in parent)
        self.children = {}
        for child, node in parent.items():
            self.children.setdefault(node, []).append(child)
        nodes = [*parent, self.root]
        self.leaves = {node: frozenset(self._below(node)) for node in nodes}
        self.level = {node: self._level(node) for node in nodes}
        named = {leaf: at for at, leaf in enumerate(node for node in nodes if node not in self.children)}
        self.items = self._in_order(self.root, named)
        position = {leaf: at for at, leaf in enumerate(self.items)}
        self.first = {node: min(map(position.__getitem__, self.leaves[node])) for node in nodes}
        self.nodes = sorted(nodes, key=lambda node: (self.first[node], -len(self.leaves[node]), -self.level[node]))

    def _below(self, node):
        return (
            [leaf for child in self.children[node] for leaf in self._below(child)] if node in self.children else [node]
        )

    def _level(self, node):
        return 1 + max(map(self._level, self.children[node])) if self.children.get(node) else 0

    def _in_order(self, node, named):
        if node in named:
            return [node]
        below = sorted(self.children[node], key=lambda child: min(named[leaf] for leaf in self.leaves[child]))
        return [leaf for child in below for leaf in self._in_order(child, named)]

    def ancestors(self, node):
        return [self.parent[node], *self.ancestors(self.parent[node])] if node in self.parent else []

    def related(self, a, b):
        return a == b or a in self.ancestors(b) or b in self.ancestors(a)


def anonymous(published, k, m):
    """Every set of 1..m labels has support 0 or at least k."""
    support = Counter(one for row in published for size in range(1, m + 1) for one in combinations(sorted(row), size))
    return all(count >= k for count in support.values())


def anonymous_on_items(tree, published, k, m):
    """So many records could contain each set of 1..m items: each item is below a label."""
    below = [frozenset().union(*(tree.leaves[label] for label in row)) for row in published]
    return anonymous(below, k, m)


def cuts(tree, node=None):
    node = node or tree.root
    own = [frozenset([node])]
    if not tree.children.get(node):
        return own
    return own + [frozenset().union(*one) for one in product(*(cuts(tree, child) for child in tree.children[node]))]


def recode(tree, data, cut):
    above = {leaf: node for node in cut for leaf in tree.leaves[node]}
    return [frozenset(above[item] for item in row) for row in data]


def paid(tree, data, cut):
    """Σ C_p |leaves| over the items that are generalised, as a share of |I|."""
    held = Counter(item for row in data for item in set(row))
    return sum(
        held[leaf] * Fraction(len(tree.leaves[node]), len(tree.items)) * (len(tree.leaves[node]) > 1)
        for node in cut
        for leaf in tree.leaves[node]
    )


def ncp(tree, data, cut):
    occurrences = sum(len(set(row)) for row in data)
    return paid(tree, data, cut) / occurrences if occurrences else Fraction(0)


def optimal(tree, data, k, m):
    """The least loss, and all the cuts that have it."""
    good = [cut for cut in cuts(tree) if anonymous(recode(tree, data, cut), k, m)]
    least = min(ncp(tree, data, cut) for cut in good)
    return least, [cut for cut in good if ncp(tree, data, cut) == least]


class Heuristic:
    """DA and AA."""

    def __init__(self, tree, data, k, rules=()):
        self.tree, self.k, self.rules = tree, k, set(rules)
        self.data = [frozenset(row) for row in data]
        order = sorted(tree.nodes, key=lambda node: (-self.support([node]), -tree.level[node], tree.nodes.index(node)))
        self.rank = {node: at for at, node in enumerate(order)}
        self.trace = []

    def support(self, nodes):
        return sum(all(row & self.tree.leaves[node] for node in nodes) for row in self.data)

    def dead(self, node):
        return any(above in self.rules for above in self.tree.ancestors(node))

    def cut(self, rules=None):
        rules = self.rules if rules is None else rules
        tops = [
            next((n for n in reversed([leaf, *self.tree.ancestors(leaf)]) if n in rules), leaf)
            for leaf in self.tree.items
        ]
        return frozenset(tops)

    def extended(self, row):
        nodes = {node for item in row for node in (item, *self.tree.ancestors(item))} - {self.tree.root}
        return sorted((node for node in nodes if not self.dead(node)), key=self.rank.get)

    def count_tree(self, sizes):
        """Itemsets, each as the path to it, in preorder, with their supports."""
        found = Counter(
            itemset
            for row in self.data
            for size in sizes
            for itemset in combinations(self.extended(row), size)
            if not any(self.tree.related(a, b) for a, b in combinations(itemset, 2))
        )
        return {one: found[one] for one in sorted(found, key=lambda itemset: [self.rank[node] for node in itemset])}

    def run(self, sizes):
        counted = self.count_tree(sizes)
        inner = {path[:length] for path in counted for length in range(1, len(path))}
        for path, count in counted.items():
            if any(map(self.dead, path[:-1])):
                continue
            if self.dead(path[-1]):
                self.trace.append(["backtrack", list(path)])
            elif path not in inner and count < self.k:
                self.trace.append(["fix", list(path), count])
                self.fix(path)
            elif path not in inner:
                self.trace.append(["ok", list(path), count])

    def fix(self, itemset):
        candidates = []
        for choice in product(*([node, *self.tree.ancestors(node)] for node in itemset)):
            new = self.maximal(to for node, to in zip(itemset, choice, strict=True) if to != node)
            published = self.maximal(choice)
            if new and self.cured(published):
                rules = self.committed(new)
                leaves = sum(len(self.tree.leaves[node]) for node in new)
                ranks = sorted(map(self.rank.get, new))
                candidates.append((ncp(self.tree, self.data, self.cut(rules)), leaves, ranks, rules))
        if candidates:
            self.rules = min(candidates, key=lambda one: one[:3])[3]

    def cured(self, nodes):
        return self.support(nodes) >= self.k

    def maximal(self, nodes):
        nodes = set(nodes)
        return {node for node in nodes if nodes.isdisjoint(self.tree.ancestors(node))}

    def committed(self, new):
        return {rule for rule in self.rules if new.isdisjoint(self.tree.ancestors(rule))} | new


class AgainstAbsent(Heuristic):
    """Raises a cut until every pattern of presence and absence over 1..m labels is in 0 or at least k records."""

    def patterns(self, nodes):
        return Counter(tuple(bool(row & self.tree.leaves[node]) for node in nodes) for row in self.data)

    def cured(self, nodes):
        return all(count >= self.k for count in self.patterns(nodes).values())

    def sets(self, size):
        return combinations([node for node in self.tree.nodes if node in self.cut()], size)

    def raise_all(self, m):
        size = 1
        while size <= m:
            before = self.cut()
            for itemset in [one for one in self.sets(size) if not self.cured(one)]:
                if not any(map(self.dead, itemset)):
                    rules = self.rules
                    self.fix(itemset)
                    if self.rules == rules:
                        return None  # not even the root
            size = size + 1 if self.cut() == before else 1
        return self.cut()


def da(tree, data, k, m):
    heuristic = Heuristic(tree, data, k)
    heuristic.run(range(1, m + 1))
    return heuristic


def aa(tree, data, k, m, rules=()):
    heuristic = Heuristic(tree, data, k, rules)
    for size in range(1, m + 1):
        heuristic.run([size])
    return heuristic


def vpa(tree, data, k, m, parts, level):
    rules = set()
    for part in classes_in_parts(tree, parts, level):
        rules |= aa(tree, [set(row) & set(part) for row in data], k, m).rules
    widest = {node for node in rules if rules.isdisjoint(tree.ancestors(node))}
    return aa(tree, data, k, m, widest).cut()


def classes_in_parts(tree, parts, level):
    low = [node for node in tree.nodes if tree.level[node] <= level]
    classes = [node for node in low if tree.parent.get(node) not in low]
    ends = [0]
    for part in range(1, parts + 1):
        share = Fraction(part * len(tree.items), parts)
        ends.append(
            next(at for at in range(len(classes) + 1) if sum(len(tree.leaves[c]) for c in classes[:at]) >= share)
        )
    return [[leaf for node in classes[a:b] for leaf in tree.leaves[node]] for a, b in pairwise(ends) if a < b]


def gray_order(tree, data):
    """By the number that a signature is the Gray code of: each bit is the XOR of all bits before it and itself."""

    def rank(row):
        number = bit = 0
        for item in tree.items:
            bit ^= item in row
            number = 2 * number + bit
        return number

    return sorted(range(len(data)), key=lambda at: (rank(data[at]), at))


def gray_parts(tree, data, k, m, parts, flexibility):
    """The chunks of the records, as lists of their numbers."""
    order = gray_order(tree, data)
    rows = [frozenset(data[at]) for at in order]
    weights = [comb(len(row), m) for row in rows]
    weights = weights if sum(weights) else [1] * len(rows)
    borders = [-1]
    for part in range(1, parts):
        reached = [
            at for at in range(len(rows)) if Fraction(sum(weights[: at + 1]), sum(weights)) >= Fraction(part, parts)
        ]
        equal = reached[0] if reached else 0
        places = range(equal - flexibility, equal + flexibility) if flexibility else [equal]
        places = [h for h in places if h > borders[-1] and h + 1 < len(rows)]
        if places:
            borders.append(min(places, key=lambda h: (-len(rows[h] ^ rows[h + 1]), abs(h - equal), h)))
    chunks = [order[a + 1 : b + 1] for a, b in pairwise([*borders, len(rows) - 1])]
    return merged(chunks, data, k)


def merged(chunks, data, k):
    def small(chunk):
        return 0 < sum(bool(data[at]) for at in chunk) < k

    at = 0
    while at < len(chunks):
        if not small(chunks[at]) or len(chunks) == 1:
            at += 1
        elif at + 1 < len(chunks):
            chunks[at : at + 2] = [chunks[at] + chunks[at + 1]]
        else:
            at -= 1
            chunks[at:] = [chunks[at] + chunks[at + 1]]
    return chunks


def lra(tree, data, k, m, parts, flexibility):
    """The chunks, and the cut of each."""
    chunks = gray_parts(tree, data, k, m, parts, flexibility)
    return chunks, [aa(tree, [data[at] for at in chunk], k, m).cut() for chunk in chunks]


def number_of_cuts(tree, node=None):
    below = tree.children.get(node or tree.root)
    return 1 + prod(number_of_cuts(tree, child) for child in below) if below else 1


def parents_of(hierarchy):
    """The parent of every node of a hierarchy of the golden file, its leaves first and in their order."""
    inner = [node for node in hierarchy["parent"] if node not in hierarchy["leaves"]]
    return {node: hierarchy["parent"][node] for node in [*hierarchy["leaves"], *inner]}


@st.composite
def parents(draw, most=6):
    """The parents of a random tree: leaves at any depth, nodes with one child, siblings in any order."""
    level = [f"i{number}" for number in range(draw(st.integers(1, most)))]
    parent = {}
    for number in range(most):
        if number and len(level) == 1:
            break
        size = draw(st.integers(1, len(level))) if number < most - 1 else len(level)
        group = draw(st.permutations(level))[:size]
        parent |= dict.fromkeys(group, f"N{number}")
        level = [node for node in level if node not in group] + [f"N{number}"]
    return parent


@st.composite
def cases(draw):
    """A tree, records that can be anonymised, k and m."""
    parent = draw(parents())
    items = [node for node in parent if node not in parent.values()]
    data = draw(st.lists(st.sets(st.sampled_from(items), max_size=5).map(sorted), max_size=12))
    k = draw(st.integers(1, 4))
    return parent, data, min(k, sum(map(bool, data)) or k), draw(st.integers(1, 4))
