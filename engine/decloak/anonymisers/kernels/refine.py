"""REFINE: terms that several clusters hide are published together, in chunks that the clusters share.

A leaf is a cluster; a node is a leaf or a joint cluster, a set of leaves. J is the joint cluster that two nodes would
make, T the terms in both of their term chunks. A record contributes to a shared chunk its items of T in the term chunk
of its own leaf. Supports in J count contributions.
"""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from decloak.anonymisers.kernels.verpart import anonymous_chunk, by_support, greedy, no_empty_record

Record = tuple[int, ...]


@dataclass
class Leaf:
    """A cluster: its records, the rows of each item, its record chunks and its term chunk."""

    records: Sequence[Record]
    item_rows: dict[int, int]
    chunks: list[list[int]]
    terms: list[int]


class Shared(NamedTuple):
    """The chunks that some leaves share; `terms_of[leaf]` are the terms that the leaf contributed."""

    leaves: tuple[int, ...]
    chunks: list[list[int]]
    terms_of: dict[int, frozenset[int]]

    def contributions(self, leaves: Sequence[Leaf], items: Sequence[int]) -> list[Record]:
        """Return the contribution of each record of the joint cluster of `leaves` to the chunk of `items`."""
        rows = []
        for leaf, terms in self.terms_of.items():
            visible = terms.intersection(items)
            rows += [tuple(item for item in record if item in visible) for record in leaves[leaf].records]
        return rows


class _Node(NamedTuple):
    leaves: tuple[int, ...]
    shared_items: frozenset[int] = frozenset()
    """Items of shared chunks inside."""


def refined(leaves: list[Leaf], k: int, m: int) -> list[Shared]:
    """Join clusters while it improves the release for `k` and `m`; placed terms leave the term chunks of `leaves`.
    Return the joint clusters, inner ones first.
    """
    nodes = [_Node((leaf,)) for leaf in range(len(leaves))]
    joints: list[Shared] = []
    while True:
        nodes, joined = _round(nodes, leaves, k, m)
        if not joined:
            return joints
        joints += joined


def _round(nodes: list[_Node], leaves: list[Leaf], k: int, m: int) -> tuple[list[_Node], list[Shared]]:
    """Return the result of one scan over neighbours; a node that was just joined is skipped."""
    nodes = _sorted(nodes, leaves)
    after: list[_Node] = []
    joined: list[Shared] = []
    position = 0
    while position < len(nodes):
        joint = _join(nodes[position], nodes[position + 1], leaves, k, m) if position + 1 < len(nodes) else None
        if joint is None:
            after.append(nodes[position])
            position += 1
            continue
        for leaf, placed in joint.terms_of.items():
            leaves[leaf].terms = [item for item in leaves[leaf].terms if item not in placed]
        inside = nodes[position].shared_items | nodes[position + 1].shared_items
        after.append(_Node(joint.leaves, inside.union(*joint.chunks)))
        joined.append(joint)
        position += 2
    return after, joined


def _terms(node: _Node, leaves: list[Leaf]) -> set[int]:
    return {item for leaf in node.leaves for item in leaves[leaf].terms}


def _sorted(nodes: list[_Node], leaves: list[Leaf]) -> list[_Node]:
    """Return nodes by their terms, the most common ones first; nodes without terms last."""
    terms = [_terms(node, leaves) for node in nodes]
    common = Counter(item for item_rows in terms for item in item_rows)
    rank = {item: number for number, item in enumerate(sorted(common, key=lambda item: (-common[item], item)))}
    keys = [(not item_rows, sorted(rank[item] for item in item_rows)) for item_rows in terms]
    return [nodes[index] for index in sorted(range(len(nodes)), key=keys.__getitem__)]


def _join(a: _Node, b: _Node, leaves: list[Leaf], k: int, m: int) -> Shared | None:
    common = _terms(a, leaves) & _terms(b, leaves)
    if not common:
        return None
    members = tuple(sorted(a.leaves + b.leaves))
    contributed = {leaf: _contributed_terms(leaves[leaf], common, k, m) for leaf in members}
    item_rows = {item: rows for item, rows in _contributing_rows(leaves, contributed).items() if rows.bit_count() >= k}
    # Each of these will have its place: an item that k rows give goes into a chunk, if only into one of its own.
    contributed = {leaf: terms & item_rows.keys() for leaf, terms in contributed.items()}
    if not item_rows or not _pays(leaves, contributed, sum(rows.bit_count() for rows in item_rows.values())):
        return None
    published = a.shared_items.union(b.shared_items, *(chunk for leaf in members for chunk in leaves[leaf].chunks))
    chunks = greedy(by_support(item_rows), lambda: _shared_chunk(item_rows, published, k, m))
    return Shared(members, chunks, contributed)


def _contributing_rows(leaves: Sequence[Leaf], contributed: dict[int, frozenset[int]]) -> dict[int, int]:
    """Return the rows that contribute each item; a joint cluster has the rows of its leaves in order."""
    item_rows: dict[int, int] = {}
    first = 0
    for leaf, terms in contributed.items():
        for item in terms:
            item_rows[item] = item_rows.get(item, 0) | leaves[leaf].item_rows[item] << first
        first += len(leaves[leaf].records)
    return item_rows


def _contributed_terms(leaf: Leaf, common: set[int], k: int, m: int) -> frozenset[int]:
    """Return the terms that a leaf can contribute: not the rarest, if it would lose all and its records could then be
    empty.
    """
    offered = common.intersection(leaf.terms)
    if len(offered) < len(leaf.terms) or no_empty_record(leaf.chunks, leaf.item_rows, len(leaf.records), k, m):
        return frozenset(offered)
    rarest = by_support({item: leaf.item_rows[item] for item in leaf.terms})[-1]
    return frozenset(offered - {rarest})


def _shared_chunk(item_rows: dict[int, int], published: Set[int], k: int, m: int) -> Callable[[int], bool]:
    """Return a chunk that stays k^m-anonymous, and k-anonymous once it has an item that is also published elsewhere."""
    stays_anonymous = anonymous_chunk(item_rows, k, m)
    equal_rows: list[int] = []  # for each sub-record the rows that have it
    mixed = False

    def takes(item: int) -> bool:
        nonlocal equal_rows, mixed
        becomes_mixed = mixed or item in published
        parts = _parted(equal_rows, item_rows[item])
        taken = all(rows.bit_count() >= k for rows in parts) if becomes_mixed else stays_anonymous(item)
        if taken:
            equal_rows, mixed = parts, becomes_mixed
        return taken

    return takes


def _parted(equal_rows: list[int], rows: int) -> list[int]:
    """Split classes of equal rows by one more item."""
    new = rows
    parts = []
    for group in equal_rows:
        parts += [part for part in (group & rows, group & ~rows) if part]
        new &= ~group
    return [*parts, new] if new else parts


def _pays(leaves: list[Leaf], contributed: dict[int, frozenset[int]], supports: int) -> bool:
    """Return True if terms have a larger share of the joint cluster than of the leaves they leave."""
    size = sum(len(leaves[leaf].records) for leaf in contributed)
    losing = [leaf for leaf, terms in contributed.items() if terms]
    terms = sum(len(contributed[leaf]) for leaf in losing)
    # Multiplied out, so that no division rounds.
    return supports * sum(len(leaves[leaf].records) for leaf in losing) >= terms * size
