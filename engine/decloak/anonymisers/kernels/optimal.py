"""Optimal anonymisation (OA): the cut of least information loss among all that are k^m-anonymous.

A cut is the bits of one number, bit v for node v; its immediate ancestors replace all children of a node by that node.
Cuts are visited breadth first from the leaves. No cut is cheaper than one below it, so the search continues above a cut
only while that is not anonymous and cheaper than the best one so far. `offending` are itemsets of at most m nodes in 1
to k - 1 records, so many that a cut without them is anonymous. The list `among[v]` has the itemsets with node v, as
bits too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from math import log10, prod

import numpy as np

from decloak.anonymisers.kernels.count_tree import rows_with_node
from decloak.anonymisers.kernels.raised_cut import ncp, prices
from decloak.arrays import Ints
from decloak.checks import check_feasible, check_km, longest
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.lazy import sparse

MOST_CUTS = 2_000_000
"""Largest number of cuts of a tree: the search may have to visit all of them."""


def cuts(tree: Hierarchy) -> int:
    """Return the number of cuts of `tree`: for a node, one more than the product of its children's numbers.

    >>> cuts(Hierarchy.balanced("abcd", 2))
    5
    """
    number = [1] * len(tree.labels)
    for node in reversed(range(len(tree.labels))):
        # Children stand behind their node, so that their numbers are known here.
        if tree.children[node]:
            number[node] = 1 + prod(number[child] for child in tree.children[node])
    return number[0]


def oa(tree: Hierarchy, records: sparse.csr_array, k: int, m: int) -> Ints:
    """Return the optimal cut of `tree` for `records`, `k` and `m`, as ascending nodes; of several the first visited.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> [tree.labels[node] for node in oa(tree, tree.code([["a1", "b"], ["a2", "b"]]), 2, 2)]
    ['A', 'b']
    """
    check_km(k, m)
    check_feasible(records, k)
    number = cuts(tree)
    if number > MOST_CUTS:
        many = f"{number:,}" if number < 10**15 else f"about 10^{log10(number):.0f}"
        message = f"the hierarchy has {many} cuts, more than the {MOST_CUTS:,} that oa looks at"
        raise DecloakError(message, hint="use cut or aa, or a smaller hierarchy")
    counts = tree.occurrences(records)
    best = _cheapest(tree, prices(tree, counts).tolist(), _offending(tree, records, k, longest(records, m)))
    return np.array([node for node in range(len(tree.labels)) if best >> node & 1], np.int64)


def optimum(tree: Hierarchy, records: sparse.csr_array, k: int, m: int, most: int = MOST_CUTS) -> Fraction | None:
    """Return the least information loss of one cut of `tree` for `records`, `k` and `m`; None if the tree has more than
    `most` cuts.

    Branch and bound: every anonymous cut above a cut with an offending itemset lacks one of its nodes. So the search
    raises one node of one itemset, the cheapest cut first, and the first anonymous one is the best.
    """
    check_km(k, m)
    check_feasible(records, k)
    if cuts(tree) > most:
        return None
    counts = tree.occurrences(records)
    best = _bounded(tree, prices(tree, counts).tolist(), _offending(tree, records, k, longest(records, m)))
    return ncp(tree, counts, np.array([node for node in range(len(tree.labels)) if best >> node & 1], np.int64))


def _cheapest(tree: Hierarchy, price: list[int], offending: list[tuple[int, ...]]) -> int:
    """Return the first of the cheapest anonymous cuts, breadth first."""
    among = _among(tree, offending)
    steps = [
        (sum(1 << child for child in below), 1 << node, price[node] - sum(price[child] for child in below))
        for node, below in enumerate(tree.children)
        if below
    ]
    # The root alone is always anonymous; at one more than its price, so that it is still taken when it is met.
    best, least = 1, price[0] + 1
    queue = deque([(sum(1 << leaf for leaf in tree.leaf.tolist()), 0)])
    seen = {queue[0][0]}
    while queue:
        cut, paid = queue.popleft()
        if paid >= least:
            continue
        if _anonymous(cut, among, (1 << len(offending)) - 1):
            # The cuts above this one are anonymous as well, and no cheaper: they are not put into the queue.
            best, least = cut, paid
            continue
        for below, node, extra in steps:
            above = cut ^ below | node
            if cut & below == below and above not in seen:
                seen.add(above)
                queue.append((above, paid + extra))
    return best


def _bounded(tree: Hierarchy, price: list[int], offending: list[tuple[int, ...]]) -> int:
    """Return a cheapest anonymous cut, found best first."""
    everything, among = (1 << len(offending)) - 1, _among(tree, offending)
    parent = {child: node for node, below in enumerate(tree.children) for child in below}
    below = [0] * len(tree.labels)
    for node in reversed(range(len(tree.labels))):  # a node stands before those below it
        below[node] = sum(1 << child | below[child] for child in tree.children[node])
    leaves: int = sum(1 << leaf for leaf in tree.leaf.tolist())
    queue, seen = [(sum(price[leaf] for leaf in tree.leaf.tolist()), leaves)], {leaves}
    while True:
        # The queue never runs empty, because the root alone is anonymous.
        paid, cut = heappop(queue)
        broken = 0
        for node, itemsets in enumerate(among):
            if not cut >> node & 1:
                broken |= itemsets
        left = everything & ~broken
        if not left:
            return cut
        # One offending itemset is enough: each anonymous cut above raises one of its nodes.
        for node in offending[(left & -left).bit_length() - 1]:
            if node not in parent:  # the root, which every record has
                continue
            raised = parent[node]
            above = cut & ~below[raised] | 1 << raised
            if above not in seen:
                seen.add(above)
                heappush(queue, (paid + price[raised] - _sum(price, cut & below[raised]), above))


def _sum(price: list[int], nodes: int) -> int:
    """Return the price of the nodes of a cut."""
    total = 0
    while nodes:
        total += price[(nodes & -nodes).bit_length() - 1]
        nodes &= nodes - 1
    return total


def _among(tree: Hierarchy, offending: list[tuple[int, ...]]) -> list[int]:
    """Return the offending itemsets of each node, as bits."""
    among = [0] * len(tree.labels)
    for bit, itemset in enumerate(offending):
        for node in itemset:
            among[node] |= 1 << bit
    return among


def _anonymous(cut: int, among: list[int], everything: int) -> bool:
    """Return True if every offending itemset has a node outside the cut."""
    broken = 0
    for node, offending in enumerate(among):
        if not cut >> node & 1:
            broken |= offending
    return broken == everything


def _offending(tree: Hierarchy, records: sparse.csr_array, k: int, m: int) -> list[tuple[int, ...]]:
    """Return itemsets in 1 to k - 1 records such that every rare itemset contains one."""
    rows = rows_with_node(tree, records)
    ends = (tree.first + tree.leaves).tolist()
    first = tree.first.tolist()

    def grow(itemset: tuple[int, ...], common: int, later: list[int]) -> Iterator[tuple[int, ...]]:
        frequent = []
        for node in later:
            both = common & rows(node)
            if both.bit_count() >= k:
                frequent.append((node, both))
            elif both:
                yield (*itemset, node)
        if len(itemset) + 1 < m:
            for position, (node, both) in enumerate(frequent):
                unrelated = [follower for follower, _ in frequent[position + 1 :] if first[follower] >= ends[node]]
                yield from grow((*itemset, node), both, unrelated)

    return list(grow((), (1 << records.shape[0]) - 1, list(range(len(tree.labels))))) if m else []
