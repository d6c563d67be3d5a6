"""Search for itemsets with a small support, by products of sparse matrices.

Pairs are counted by the product XᵀX of the matrix X of the records, in blocks of first labels. Larger itemsets are
split by their first label x. X_x, the later labels in the records with x, is counted in the same way. So triples need
X_xᵀX_x for every x, and every further label is one level deeper. Nothing here is shared with the verification of a
release, which has its own counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.kernels.records import Records, entries_of, matrix_of, starts
from decloak.arrays import Ints, Mask
from decloak.data.hierarchy import Hierarchy
from decloak.data.rows import narrow
from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.lazy import sparse

BLOCK = 1 << 20
"""Largest number of entries of a product, unless a single label has more."""
LARGE = 1 << 20
"""Number of entries of records from which importing numba is worthwhile."""
PIECE = 1 << 18
"""Number of neighbours that are looked up together."""


class _Occurrences(NamedTuple):
    """Occurrences of each label: label x at the entries `place[start[x]:start[x + 1]]` of these records."""

    start: Ints
    record: Ints
    place: Ints


RareItemsets = Callable[[Records, int, int, int, Mask], Iterator[Ints]]
"""The type of `rare_itemsets`."""


def counter(accelerated: bool | None, entries: int) -> RareItemsets:
    """Return the search for rare itemsets: the products of this module, or compiled loops with the same result.

    `accelerated` chooses; None uses the loops if numba is installed and the records have many `entries`: its import
    takes a moment.
    """
    if accelerated or (accelerated is None and entries >= LARGE):
        try:
            from decloak.anonymisers.kernels.counting_numba import rare_compiled
        except Exception as error:  # not only ImportError: a numba that does not fit numpy fails in ways of its own
            if accelerated:
                hint = f"{install('fast')}, or count without it"
                raise DecloakError(f"numba cannot be used: {quote(error)}", hint=hint) from None
        else:
            return rare_compiled
    return rare_itemsets


def rare_itemsets(records: Records, size: int, firsts: int, k: int, alive: Mask) -> Iterator[Ints]:
    """Yield the itemsets of `size` >= 2 `alive` labels, the first below `firsts`, in 1 to k - 1 (`k`) of the `records`.

    They come in lexicographic order, block by block. A label that dies meanwhile is not in later blocks.
    """
    if size == 2:
        yield from pairs(records, firsts, k, alive)
        return
    numbers = np.arange(len(records.codes), dtype=np.int32)
    places = sparse.csr_array(
        (numbers, records.codes, narrow(records.start)), (len(records.weight), len(alive))
    ).tocsc()
    occurrences = _Occurrences(places.indptr, places.indices, places.data)
    for label in np.flatnonzero(np.diff(occurrences.start[: firsts + 1])).tolist():
        if alive[label]:
            after = _labels_after(records, occurrences, label, size - 1, alive)
            for block in rare_itemsets(after, size - 1, len(alive), k, alive):
                yield np.column_stack((np.full(len(block), label), block))
                # The label may have died while the caller had the block.
                if not alive[label]:
                    break


def _labels_after(records: Records, occurrences: _Occurrences, label: int, least: int, alive: Mask) -> Records:
    """Return the labels after a label in its records, if at least `least` living labels follow."""
    here = slice(occurrences.start[label], occurrences.start[label + 1])
    record, begin = occurrences.record[here], occurrences.place[here] + 1
    lengths = records.start[record + 1] - begin
    long = lengths >= least
    codes = records.codes[entries_of(begin[long], lengths[long])]
    living = alive[codes]
    return Records(starts(living)[starts(lengths[long])], codes[living], records.weight[record[long]])


def pairs(records: Records, firsts: int, k: int, alive: Mask, block: int = BLOCK) -> Iterator[Ints]:
    """Yield the pairs of labels below `k`, as `rare_itemsets`, counted by products of at most `block` entries. A row is
    a first label, a column a second one.

    `records`, `firsts` and `alive` are as there.
    """
    matrix = matrix_of(records, len(alive)).astype(np.int32)
    transposed = matrix.tocsc().T
    # One factor alone is weighted, or each weight would count twice.
    weights = records.weight[transposed.indices]
    weighted = sparse.csr_array((weights, transposed.indices, transposed.indptr), transposed.shape)
    present = np.flatnonzero(np.diff(transposed.indptr))
    step = max(1, block // max(1, len(present)))
    for begin in range(0, int(np.searchsorted(present, firsts)), step):
        first = present[begin : begin + step]
        # Labels may have died since the last block was handed on.
        first = first[alive[first] & (first < firsts)]
        if len(first):
            yield _below(weighted[first] @ matrix, first, k, alive)


def _below(counts: sparse.csr_array, first: Ints, k: int, alive: Mask) -> Ints:
    """Return the pairs in order with a count below k, the second label living and after the first."""
    row = np.repeat(first, np.diff(counts.indptr))
    kept = (counts.data < k) & (counts.indices > row)
    kept[kept] = alive[counts.indices[kept]]
    # scipy leaves the columns of a product in no order.
    itemsets: Ints = np.column_stack((row[kept], counts.indices[kept]))
    return itemsets[np.argsort(itemsets[:, 0] * len(alive) + itemsets[:, 1])]


def ends(tree: Hierarchy) -> Ints:
    """Return the number after the last node below every node of `tree`: node v and all below it are v to ends[v] -
    1.
    """
    return np.searchsorted(tree.first, tree.first + tree.leaves)


def node_supports(tree: Hierarchy, records: sparse.csr_array) -> Ints:
    """Return the number of `records` with each node of `tree`, that is, with an item below it.

    The items of a record below a node are neighbours in it. So their number, minus the number of neighbours that are
    both below the node, is 1 or 0. Neighbours are both below a node if it is at or above their lowest common ancestor.
    """
    counts = np.zeros(len(tree.labels), np.int64)
    counts[tree.leaf] = tree.occurrences(records)
    inside = np.ones(len(records.indices), bool)
    # The first item of a record has no neighbour before it.
    inside[records.indptr[:-1][np.diff(records.indptr) > 0]] = False
    right = np.flatnonzero(inside)
    lowest = _lowest_common(tree)
    for begin in range(0, len(right), PIECE):
        entry = right[begin : begin + PIECE]
        counts -= np.bincount(lowest(records.indices[entry - 1], records.indices[entry]), minlength=len(counts))
    total = starts(counts)
    return total[ends(tree)] - total[:-1]


def _lowest_common(tree: Hierarchy) -> Callable[[Ints, Ints], Ints]:
    """Return a function for the lowest common ancestor of leaf positions a < b: the minimum over the neighbours from a
    to b.

    Row j of the table has the minimum of every 2^j consecutive neighbours; two such runs cover those from a to b.
    """
    common = tree.parent[np.searchsorted(tree.first, np.arange(1, len(tree.items)))]
    table = np.tile(common, (max(1, len(common).bit_length()), 1))
    for row in range(1, len(table)):
        half = 1 << (row - 1)
        table[row, :-half] = np.minimum(table[row - 1, :-half], table[row - 1, half:])

    def lowest(a: Ints, b: Ints) -> Ints:
        row = np.frexp(b - a)[1] - 1
        least: Ints = np.minimum(table[row, a], table[row, b - (1 << row)])
        return least

    return lowest
