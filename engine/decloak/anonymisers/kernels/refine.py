"""REFINE: terms that several clusters hide are published together, in chunks the clusters share.

A leaf is a cluster; a node is a leaf or a joint cluster, a set of leaves. J is the joint cluster that two nodes
would make, T the terms both have in their term chunks. What a record gives to a shared chunk are its items of T
that its own leaf holds in its term chunk. Supports in J count what records give.
"""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from decloak.anonymisers.kernels.verpart import anonymous_chunk, by_support, greedy, no_empty_record

__all__ = ["Leaf", "Shared", "refined"]

Record = tuple[int, ...]


@dataclass
class Leaf:
    """A cluster: its records, the rows holding each item, its record chunks and its term chunk."""

    records: Sequence[Record]
    held: dict[int, int]
    chunks: list[list[int]]
    terms: list[int]


class Shared(NamedTuple):
    """The chunks that some leaves share; `given[leaf]` are the terms the leaf gave to them."""

    leaves: tuple[int, ...]
    chunks: list[list[int]]
    given: dict[int, frozenset[int]]

    def contributions(self, leaves: Sequence[Leaf], items: Sequence[int]) -> list[Record]:
        """What each record of the joint cluster gives to the chunk of `items`."""
        rows = []
        for leaf, terms in self.given.items():
            shown = terms.intersection(items)
            rows += [tuple(item for item in record if item in shown) for record in leaves[leaf].records]
        return rows


class _Node(NamedTuple):
    leaves: tuple[int, ...]
    shared_items: frozenset[int] = frozenset()
    """Items of shared chunks inside."""


def refined(leaves: list[Leaf], k: int, m: int) -> list[Shared]:
    """Join clusters while it pays; placed terms leave the term chunks of their leaves. Inner joints come first."""
    nodes = [_Node((leaf,)) for leaf in range(len(leaves))]
    joints: list[Shared] = []
    while True:
        nodes, made = _round(nodes, leaves, k, m)
        if not made:
            return joints
        joints += made


def _round(nodes: list[_Node], leaves: list[Leaf], k: int, m: int) -> tuple[list[_Node], list[Shared]]:
    """One scan over neighbours; a node just joined is not looked at again."""
    nodes = _sorted(nodes, leaves)
    after: list[_Node] = []
    made: list[Shared] = []
    at = 0
    while at < len(nodes):
        joint = _join(nodes[at], nodes[at + 1], leaves, k, m) if at + 1 < len(nodes) else None
        if joint is None:
            after.append(nodes[at])
            at += 1
            continue
        for leaf, given in joint.given.items():
            leaves[leaf].terms = [item for item in leaves[leaf].terms if item not in given]
        inside = nodes[at].shared_items | nodes[at + 1].shared_items
        after.append(_Node(joint.leaves, inside.union(*joint.chunks)))
        made.append(joint)
        at += 2
    return after, made


def _terms(node: _Node, leaves: list[Leaf]) -> set[int]:
    return {item for leaf in node.leaves for item in leaves[leaf].terms}


def _sorted(nodes: list[_Node], leaves: list[Leaf]) -> list[_Node]:
    """Nodes by their terms, the most common ones first; nodes without terms last."""
    terms = [_terms(node, leaves) for node in nodes]
    common = Counter(item for held in terms for item in held)
    rank = {item: number for number, item in enumerate(sorted(common, key=lambda item: (-common[item], item)))}
    keys = [(not held, sorted(rank[item] for item in held)) for held in terms]
    return [nodes[at] for at in sorted(range(len(nodes)), key=keys.__getitem__)]


def _join(a: _Node, b: _Node, leaves: list[Leaf], k: int, m: int) -> Shared | None:
    common = _terms(a, leaves) & _terms(b, leaves)
    if not common:
        return None
    members = tuple(sorted(a.leaves + b.leaves))
    given = {leaf: _gives(leaves[leaf], common, k, m) for leaf in members}
    held = {item: rows for item, rows in _held(leaves, given).items() if rows.bit_count() >= k}
    given = {leaf: terms & held.keys() for leaf, terms in given.items()}  # each of these will have its place
    if not held or not _pays(leaves, given, sum(rows.bit_count() for rows in held.values())):
        return None
    published = a.shared_items.union(b.shared_items, *(chunk for leaf in members for chunk in leaves[leaf].chunks))
    chunks = greedy(by_support(held), lambda: _shared_chunk(held, published, k, m))
    return Shared(members, chunks, given)


def _held(leaves: Sequence[Leaf], given: dict[int, frozenset[int]]) -> dict[int, int]:
    """The rows that give each item; the rows of a joint cluster are those of its leaves one after the other."""
    held: dict[int, int] = {}
    first = 0
    for leaf, terms in given.items():
        for item in terms:
            held[item] = held.get(item, 0) | leaves[leaf].held[item] << first
        first += len(leaves[leaf].records)
    return held


def _gives(leaf: Leaf, common: set[int], k: int, m: int) -> frozenset[int]:
    """The terms a leaf can give: not the rarest, if it would lose all and its records could then be empty."""
    given = common.intersection(leaf.terms)
    if len(given) < len(leaf.terms) or no_empty_record(leaf.chunks, leaf.held, len(leaf.records), k, m):
        return frozenset(given)
    rarest = by_support({item: leaf.held[item] for item in leaf.terms})[-1]
    return frozenset(given - {rarest})


def _shared_chunk(held: dict[int, int], published: Set[int], k: int, m: int) -> Callable[[int], bool]:
    """A chunk that stays k^m-anonymous, and k-anonymous once it has an item that is published elsewhere too."""
    stays_anonymous = anonymous_chunk(held, k, m)
    alike: list[int] = []  # for each sub-record the rows that have it
    mixed = False

    def takes(item: int) -> bool:
        nonlocal alike, mixed
        becomes_mixed = mixed or item in published
        parts = _parted(alike, held[item])
        taken = all(rows.bit_count() >= k for rows in parts) if becomes_mixed else stays_anonymous(item)
        if taken:
            alike, mixed = parts, becomes_mixed
        return taken

    return takes


def _parted(alike: list[int], rows: int) -> list[int]:
    """Classes of rows alike, told apart by one more item."""
    new = rows
    parts = []
    for others in alike:
        parts += [part for part in (others & rows, others & ~rows) if part]
        new &= ~others
    return [*parts, new] if new else parts


def _pays(leaves: list[Leaf], given: dict[int, frozenset[int]], supports: int) -> bool:
    """Terms are on a larger share of the joint cluster than of the leaves they leave."""
    size = sum(len(leaves[leaf].records) for leaf in given)
    losing = [leaf for leaf, terms in given.items() if terms]
    terms = sum(len(given[leaf]) for leaf in losing)
    return supports * sum(len(leaves[leaf].records) for leaf in losing) >= terms * size
