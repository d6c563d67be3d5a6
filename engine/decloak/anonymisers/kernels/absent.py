"""A cut for an attacker who also knows labels that a record does not have.

A pattern over a set of labels says which of them a record has, and which it has not. The cut is raised until each
pattern over at most m labels of the cut is in no record or in at least k. A record without a label has none of its
items, so raising a cut can make a pattern rare that was not. Therefore the search is repeated until it raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import comb

import numpy as np

from decloak.anonymisers.kernels.count_tree import rows_with_node
from decloak.anonymisers.kernels.raised_cut import Raised, cure, ranks
from decloak.arrays import Ints
from decloak.checks import check_km
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.lazy import sparse

__all__ = ["raise_for_absent"]

MOST = 1 << 24
"""Largest number of sets of labels whose patterns are counted at once: some minutes."""


def raise_for_absent(tree: Hierarchy, records: sparse.csr_array, k: int, m: int, cut: Ints) -> Ints:
    """Return `cut` of `tree`, raised until each pattern over `m` labels is in none or in `k` or more of `records`.

    Sets with a rare pattern are cured as in `cure`: fewer labels first, then in the order of nodes. A set with a label
    that died meanwhile is left to the next round.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> records = tree.code([["a1", "b"], ["a1", "b"], ["a2", "b"]])
    >>> [tree.labels[node] for node in raise_for_absent(tree, records, 2, 1, tree.leaf)]
    ['A', 'b']
    """
    check_km(k, m)
    rows, every = rows_with_node(tree, records), (1 << records.shape[0]) - 1
    supports = np.array([rows(node).bit_count() for node in range(len(tree.labels))])
    cover = np.repeat(cut, tree.leaves[cut])
    raised, rank = Raised(tree, tree.occurrences(records), cover), ranks(tree, supports)

    def is_common(nodes: tuple[int, ...]) -> int:
        return min(part.bit_count() for part in _patterns([every], map(rows, nodes)))

    size = 1
    while size <= min(m, len(raised.cut)):
        if comb(len(raised.cut), size) > MOST:
            message = f"the patterns over {size} of {len(raised.cut)} labels are too many to count"
            raise DecloakError(message, hint=f"use m: {size - 1}, or a hierarchy with fewer items")
        before = raised.cut
        for itemset in _violating(raised.cut.tolist(), rows, [every], size, k):
            if any(map(raised.dead, itemset)):
                continue
            new = cure(raised, rank, itemset, k, is_common)
            if not new:
                empty = (every & ~rows(0)).bit_count()
                message = f"{empty} records without items differ from all others, and k is {k}"
                raise DecloakError(message, hint=f"leave them out, or use k: {empty}")
            for node in new:
                raised.commit(node)
        size = size + 1 if np.array_equal(before, raised.cut) else 1
    return raised.cut


def _patterns(groups: Sequence[int], columns: Iterator[int]) -> list[int]:
    """Return the records of each pattern that occurs, as bits: `groups` divided by each of `columns`."""
    for rows in columns:
        groups = [part for group in groups for part in (group & rows, group & ~rows) if part]
    return list(groups)


def _violating(
    labels: Sequence[int], rows: Callable[[int], int], groups: Sequence[int], size: int, k: int
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of `size` labels that have a pattern in 1 to k - 1 records, in lexicographic order."""
    for place, label in enumerate(labels):
        parts = _patterns(groups, iter((rows(label),)))
        if size > 1:
            yield from ((label, *rest) for rest in _violating(labels[place + 1 :], rows, parts, size - 1, k))
        elif any(part.bit_count() < k for part in parts):
            yield (label,)
