"""Conversion of cuts to releases: every item becomes the label of the node above it in its record's cut."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.rows import CodedRows
from decloak.lazy import sparse

__all__ = ["Local", "generalised"]


class Local(NamedTuple):
    """The part of every record, and the cut of every part as ascending nodes. One part is a global recoding."""

    part: Ints
    cuts: tuple[Ints, ...]
    tree_nodes: int | None = None
    """The size of the largest count tree that was walked, if any."""

    @classmethod
    def with_one_cut(cls, cut: Ints, records: int, tree_nodes: int | None = None) -> Self:
        """Return the recoding of all `records` by one `cut`; `tree_nodes` is the size of its count tree."""
        return cls(np.zeros(records, np.int64), (cut,), tree_nodes)


def _loss(tree: Hierarchy, nodes: Ints) -> Fraction:
    """Return the exact information loss over occurrences, given their nodes."""
    leaves = np.where(tree.leaves > 1, tree.leaves, 0)
    total = int(np.bincount(nodes, minlength=len(leaves)) @ leaves)
    return Fraction(total, len(nodes) * len(tree.items)) if len(nodes) else Fraction(0)


def _nodes(tree: Hierarchy, records: sparse.csr_array, recoding: Local) -> Ints:
    """Return the node by which every occurrence of an item is published."""
    if len(recoding.cuts) == 1:
        return tree.above(recoding.cuts[0]).astype(np.int32)[records.indices]
    part = np.repeat(recoding.part, np.diff(records.indptr))
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(recoding.cuts) + 1))
    nodes = np.empty(records.nnz, np.int64)
    for cut, start, end in zip(recoding.cuts, ends, ends[1:], strict=False):
        entries = order[start:end]
        # The nodes of a cut follow one another: the last that begins at or before a leaf is above it.
        nodes[entries] = cut[np.searchsorted(tree.first[cut], records.indices[entries], side="right") - 1]
    return nodes


def _rows(tree: Hierarchy, records: sparse.csr_array, nodes: Ints) -> CodedRows[str]:
    """Return the labels of every record in alphabetical order."""
    # Sorted, so that nothing of the order of a record's items shows.
    present = np.flatnonzero(np.bincount(nodes, minlength=len(tree.labels))).tolist()
    by_name = sorted(present, key=tree.labels.__getitem__)
    place = np.zeros(len(tree.labels), np.int32)
    place[by_name] = np.arange(len(by_name))
    shape = (records.shape[0], len(by_name))
    # Summing duplicates writes into both index arrays: that of the records is theirs.
    start = records.indptr.copy()
    published = sparse.csr_array((np.ones(len(nodes), np.int8), place[nodes], start), shape)
    published.sum_duplicates()
    return CodedRows(published.indptr, published.indices, [tree.labels[node] for node in by_name])


def generalised(
    data: Dataset,
    tree: Hierarchy,
    records: sparse.csr_array,
    recoding: Local,
    *,
    method: str,
    k: int | None,
    m: int | None,
) -> Generalised:
    """Return the release of `data` by the cuts in `recoding` of `tree`.

    `records` are the coded data; `method`, `k` and `m` are recorded in the release.
    """
    nodes = _nodes(tree, records, recoding)
    rows = _rows(tree, records, nodes)
    # Sorted, because the order of the leaves may come from the records, whose supports are hidden.
    used = np.unique(np.concatenate(recoding.cuts)).tolist()
    members = {
        tree.labels[node]: tuple(sorted(tree.members(node))) for node in sorted(used, key=tree.labels.__getitem__)
    }
    return Generalised(
        rows,
        members,
        data.labels,
        method,
        k,
        m,
        ExactRatio(_loss(tree, nodes)),
        data.origin,
        tree_nodes=recoding.tree_nodes,
    )
