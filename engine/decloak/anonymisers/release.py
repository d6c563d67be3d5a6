"""From cuts to what is published: every item becomes the label of the node above it in its record's cut."""

from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from decloak.anonymisers.hierarchy import Hierarchy, Ints
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised

__all__ = ["Local", "generalised", "local_ncp"]


class Local(NamedTuple):
    """The part of every record, and the cut of every part as ascending nodes; one part is a global recoding."""

    part: Ints
    cuts: tuple[Ints, ...]

    @classmethod
    def everywhere(cls, cut: Ints, records: int) -> Self:
        """The same cut for all records."""
        return cls(np.zeros(records, np.int64), (cut,))


def local_ncp(tree: Hierarchy, records: sparse.csr_array[Any], recoding: Local) -> Fraction:
    """The information loss over occurrences, each by the cut of its record; exact."""
    return _loss(tree, _nodes(tree, records, recoding))


def _loss(tree: Hierarchy, nodes: Ints) -> Fraction:
    """The same of the nodes that occurrences are published by."""
    leaves = tree.leaves[nodes]
    total = int(leaves[leaves > 1].sum())
    return Fraction(total, len(nodes) * len(tree.items)) if len(nodes) else Fraction(0)


def _matrix(tree: Hierarchy, records: sparse.csr_array[Any], nodes: Ints) -> sparse.csr_array[Any]:
    """Records × nodes, 1 where a record is published with a node."""
    shape = (records.shape[0], len(tree.labels))
    ones = np.ones(records.nnz, np.int8)
    # Summing duplicates writes into both index arrays, which would be the caller's without a copy.
    found = sparse.csr_array((ones, nodes.copy(), records.indptr.copy()), shape)
    found.sum_duplicates()
    found.data[:] = 1
    return found


def _nodes(tree: Hierarchy, records: sparse.csr_array[Any], recoding: Local) -> Ints:
    """The node that every occurrence of an item is published by."""
    part = np.repeat(recoding.part, np.diff(records.indptr))
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(recoding.cuts) + 1))
    nodes = np.empty(records.nnz, np.int64)
    for cut, start, end in zip(recoding.cuts, ends, ends[1:], strict=False):
        at = order[start:end]
        nodes[at] = cut[np.searchsorted(tree.first[cut], records.indices[at], side="right") - 1]
    return nodes


def generalised(
    data: Dataset,
    tree: Hierarchy,
    records: sparse.csr_array[Any],
    recoding: Local,
    *,
    method: str,
    k: int | None,
    m: int | None,
) -> Generalised:
    """The release of a recoding."""
    alphabet = np.argsort(np.argsort(np.array(tree.labels, dtype=object)))
    nodes = _nodes(tree, records, recoding)
    found = _matrix(tree, records, nodes)
    row = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    ordered = found.indices[np.lexsort((alphabet[found.indices], row))].tolist()
    start = found.indptr.tolist()
    rows = tuple(
        tuple(tree.labels[node] for node in ordered[start[at] : start[at + 1]]) for at in range(found.shape[0])
    )
    members = {tree.labels[node]: tree.members(node) for node in np.unique(np.concatenate(recoding.cuts)).tolist()}
    return Generalised(rows, members, data.labels, method, k, m, _loss(tree, nodes), data.origin)
