"""Top-down local recoding: whole records k-anonymous, a literal twin, edge cases, real data."""

import gzip
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
from decloak.anonymisers.kernels.raised_cut import generalised
from decloak.anonymisers.kernels.top_down import partition
from decloak.counting.generalisation_guarantee import check_alike
from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from trees import local_ncp


def published(tree, data, local):
    """What each record becomes by the cut of its part, with sets; every cut must be one."""
    above = []
    for cut in local.cuts:
        items = [item for node in cut.tolist() for item in tree.members(node)]
        assert sorted(items) == sorted(tree.items)
        above.append({item: tree.labels[node] for node in cut.tolist() for item in tree.members(node)})
    return [frozenset(above[part][item] for item in row) for part, row in zip(local.part.tolist(), data, strict=True)]


class Slow:
    """The search as it is told in words; `node[record][item]` is where the item of a record is now."""

    def __init__(self, tree, data, k):
        self.tree, self.data, self.k = tree, data, k
        self.node = [dict.fromkeys(row, tree.root) for row in data]
        waiting = [[at for at, row in enumerate(data) if row]]
        while waiting:
            waiting += self.expanded(waiting.pop())

    def weight(self, node):
        return len(self.tree.leaves[node]) if len(self.tree.leaves[node]) > 1 else 0

    def child(self, node, item):
        return next(child for child in self.tree.children[node] if item in self.tree.leaves[child])

    def gain(self, node, record):
        items = [item for item, at in self.node[record].items() if at == node]
        return sum(self.weight(node) - self.weight(self.child(node, item)) for item in items)

    def expanded(self, records):
        inner = {node for record in records for node in self.node[record].values() if node in self.tree.children}
        gains = {node: sum(self.gain(node, record) for record in records) for node in inner}
        for node in sorted(inner, key=lambda one: (-gains[one], self.tree.nodes.index(one))):
            groups, stays = self.split(node, records)
            if groups:
                for record in (one for group in groups for one in group):
                    for item, at in self.node[record].items():
                        if at == node:
                            self.node[record][item] = self.child(node, item)
                return [*groups, stays] if stays else groups
        return []

    def split(self, node, records):
        """Groups that go down, and the records that stay."""
        held = {}
        for record in records:
            below = {self.child(node, item) for item, at in self.node[record].items() if at == node}
            held.setdefault(frozenset(below), []).append(record)
        order = sorted(self.tree.children[node], key=self.tree.nodes.index, reverse=True)
        groups = [held[one] for one in sorted(held, key=lambda below: [child in below for child in order])]
        stays = [record for group in groups if len(group) < self.k for record in group]
        groups = [group for group in groups if len(group) >= self.k]
        while groups and 0 < len(stays) < self.k:
            if sum(len(group) - self.k for group in groups) < self.k - len(stays):
                least = min(groups, key=lambda group: sum(self.gain(node, record) for record in group))
                groups.remove(least)
                stays += least
            else:
                largest = max(groups, key=len)
                given_up = min(largest, key=lambda record: self.gain(node, record))
                largest.remove(given_up)
                stays.append(given_up)
        return groups, sorted(stays)


@st.composite
def cases(draw):
    """Records of which several are alike."""
    parent = draw(naive.parents(8))
    items = [node for node in parent if node not in parent.values()]
    kinds = draw(st.lists(st.sets(st.sampled_from(items), min_size=1, max_size=4).map(sorted), min_size=2, max_size=6))
    data = draw(st.lists(st.sampled_from([*kinds, []]), min_size=8, max_size=25))
    return parent, data, min(draw(st.integers(2, 4)), max(1, sum(map(bool, data))))


@settings(max_examples=250)
@given(cases())
def test_every_record_is_published_like_k_and_as_the_search_in_words_has_it(case):
    parent, data, k = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    local = partition(tree, tree.code(data), k)
    rows = published(tree, data, local)
    assert all(count >= k for row, count in Counter(rows).items() if row)
    assert rows == [frozenset(nodes.values()) for nodes in Slow(twin, data, k).node]


@pytest.mark.parametrize("seed", range(20))
def test_larger_data(seed):
    chance = random.Random(seed)
    items = [f"i{number}" for number in range(12)]
    tree = Hierarchy.balanced(items, chance.choice([2, 3, 4]))
    data = [chance.sample(items, chance.choice([1, 1, 2, 3, 5])) for _ in range(60)]
    k = chance.choice([2, 3, 5])
    rows = published(tree, data, partition(tree, tree.code(data), k))
    assert all(count >= k for count in Counter(rows).values())
    assert rows == [frozenset(nodes.values()) for nodes in Slow(naive.Tree(tree.parents()), data, k).node]


def test_alone_is_enough_for_a_k_of_1():
    tree = Hierarchy.balanced("abcd", 2)
    assert published(tree, ["ab", "c", ""], partition(tree, tree.code(["ab", "c", ""]), 1)) == [
        {"a", "b"},
        {"c"},
        set(),
    ]


@pytest.mark.parametrize("children", [62, 63, 124, 150])
def test_nodes_with_many_children(children):
    chance = random.Random(children)
    items = [f"i{number}" for number in range(children)]
    ends = [items[0], items[61], items[-1]]
    data = [[item, *chance.sample(ends, 1)] for item in items for _ in range(2)] + [ends[:2]] * 4
    tree = Hierarchy.balanced(items, children)
    rows = published(tree, data, partition(tree, tree.code(data), 2))
    assert rows == [frozenset(nodes.values()) for nodes in Slow(naive.Tree(tree.parents()), data, 2).node]
    assert len(set(rows)) > 10


def test_records_that_are_alike_stay_as_they_are_and_the_others_meet_above():
    tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B", "A": "ALL", "B": "ALL"})
    data = [["a1"], ["a1"], ["a1", "b2"], ["a2", "b1"], ["b2"], ["b2"], []]
    rows = published(tree, data, partition(tree, tree.code(data), 2))
    assert rows == list(map(frozenset, [["a1"], ["a1"], ["A", "B"], ["A", "B"], ["b2"], ["b2"], []]))


def test_a_group_that_can_spare_a_record_gives_it_so_that_the_small_one_is_not_alone():
    tree = Hierarchy.balanced("abc", 3)
    data = [["a"], ["a"], ["a"], ["b"], ["c", "b"], ["c", "b"]]
    rows = published(tree, data, partition(tree, tree.code(data), 2))
    assert rows == [{"*"}, {"a"}, {"a"}, {"*"}, {"b", "c"}, {"b", "c"}]


@pytest.mark.parametrize("data", [[], [[]], [[], []]])
def test_without_items_nothing_is_generalised(data):
    tree = Hierarchy.balanced("abcd", 2)
    part, cuts, _ = partition(tree, tree.code(data), 5)
    assert part.tolist() == [0] * len(data)
    assert [cut.tolist() for cut in cuts] == [tree.leaf.tolist()]


def test_too_few_records_with_items_are_infeasible():
    tree = Hierarchy.balanced("abcd", 2)
    with pytest.raises(
        DecloakError, match=r"^k = 3 is impossible with 2 non-empty records; use k = 2 or less, or more records"
    ):
        partition(tree, tree.code([["a"], [], ["a"]]), 3)


@pytest.mark.parametrize("k", [0, -1, 2.0, True])
def test_k_is_a_whole_number_of_at_least_1(k):
    tree = Hierarchy.balanced("abcd", 2)
    with pytest.raises(DecloakError, match=r"^k is '.*'; give a whole number of at least 1"):
        partition(tree, tree.code([["a"], ["b"]]), k)


def test_a_deep_hierarchy_is_no_trouble():
    parent = {f"n{depth}": f"n{depth + 1}" for depth in range(3000)} | {f"x{depth}": f"n{depth}" for depth in (1, 3000)}
    tree = Hierarchy.from_parents(parent)
    rows = [["n0"]] * 2 + [["x1"]] * 2 + [["x3000"]] * 2
    assert published(tree, rows, partition(tree, tree.code(rows), 2)) == list(map(set, rows))


@pytest.mark.slow
def test_real_data(shared_data):
    with gzip.open(shared_data / "bms_webview1.dat.gz", "rt") as lines:
        rows = tuple(tuple(line.split()) for line in lines)
    data = Dataset(rows, tuple(map(str, range(len(rows)))))
    tree = Hierarchy.balanced(sorted(data.items, key=int), 5)
    records = tree.code(rows)
    local = partition(tree, records, 5)
    release = generalised(data, tree, records, local, method="partition", k=5, m=None)
    assert check_alike(data, release, 5) == []
    assert release.ncp == local_ncp(tree, records, local) < Fraction(42, 1000)
