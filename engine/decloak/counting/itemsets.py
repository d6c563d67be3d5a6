"""Supports of itemsets, counted in blocks of bounded memory.

Records are the rows of a sparse matrix X, items its columns; an itemset is an ascending row of item codes. The
occurrences of an itemset of s items are the records with it and, in each, the position of its last item. They grow one
item at a time: every occurrence is extended by every later item of its record. The last item is only counted. With G
the 0/1 matrix of itemsets (of s - 1 items) by records, (G X)[g, z] is the number of records with g and z. An item z
counts only if it comes after the last item of g.

Fast searches in sorted arrays of integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.data.dataset import rows_of
from decloak.data.rows import CodedRows
from decloak.lazy import sparse

PIECE = 1 << 18
"""Number of positions, or of entries of a product, in one step. A single itemset may need more, at most the size of X.
"""


class ItemsetBlock(NamedTuple):
    """Itemsets with their supports: `itemsets[i]` is an ascending row of item codes."""

    itemsets: Ints
    supports: Ints


class Coded(NamedTuple):
    """Transactions as a 0/1 matrix, and the item of each column, in code point order."""

    records: sparse.csr_array
    items: tuple[str, ...]


class RowKinds(NamedTuple):
    """Distinct rows: the index of the first of each kind, and their number."""

    first: Ints
    size: Ints


class _Search(NamedTuple):
    """The entries of a matrix: the item of each, the end of its record, its weight; and the bounds of a search.

    Row 2e + 1 of `suffixes` has the items that follow entry e in its record.
    """

    item: Ints
    end: Ints
    weight: Ints
    suffixes: sparse.csr_array
    leading: int
    low: int
    high: int | None


class _Occurrences(NamedTuple):
    """Occurrences of itemsets: those of itemset g are `last[start[g]:start[g + 1]]`, the entries of its last item."""

    itemsets: Ints
    start: Ints
    last: Ints


def coded_items(transactions: Iterable[Iterable[str]]) -> Coded:
    """Return `transactions` as a matrix. A repeated item of a record counts once.

    >>> records, items = coded_items([["b", "a"], ["b", "b"]])
    >>> items, records.toarray().tolist()
    (('a', 'b'), [[1, 1], [0, 1]])
    """
    rows = transactions if isinstance(transactions, CodedRows) else CodedRows.of(item_sets(transactions))
    items = tuple(sorted(set(rows.used_names)))
    code = {item: number for number, item in enumerate(items)}
    column = np.array([code.get(name, 0) for name in rows.names], np.int64)  # no row has what is not used
    return Coded(rows.matrix(column, len(items)), items)


def row_kinds(records: sparse.csr_array) -> RowKinds:
    """Return the distinct rows of `records` (equal including the order of entries): the first of each kind, and their
    number.

    >>> row_kinds(sparse.csr_array([[1, 1, 0], [0, 1, 1], [1, 1, 0]]))
    RowKinds(first=array([0, 1]), size=array([2, 1]))
    """
    _, first, count = np.unique(kinds_of(records), return_index=True, return_counts=True)
    return RowKinds(first, count)


def kinds_of(records: sparse.csr_array) -> Ints:
    """Return a number for each row of `records`, equal for rows that are equal including the order of entries.

    Rows are split by their prefixes, one more entry at a time.
    """
    begin, lengths = records.indptr[:-1], np.diff(records.indptr)
    kind, kinds = np.zeros(len(lengths), np.int64), 1
    for position in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > position)
        key = kind[longer] * records.shape[1] + records.indices[begin[longer] + position]
        different, kind_of = np.unique(key, return_inverse=True)
        # New numbers, because a row that ended before keeps its own.
        kind[longer] = kinds + kind_of
        kinds += len(different)
    return kind


def item_sets(transactions: Iterable[Iterable[str]]) -> list[Set[str]]:
    """Return `transactions` as sets. Sets are not copied."""
    return [row if isinstance(row, set | frozenset) else frozenset(row) for row in rows_of(transactions)]


def _binary(records: sparse.csr_array, number: np.dtype[np.integer[Any]]) -> sparse.csr_array:
    """Return a copy with ascending items in each record and 1, of this type, for every item."""
    matrix = sparse.csr_array(records, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = np.ones(matrix.nnz, number)
    return matrix


def sizes(records: sparse.csr_array, m: int) -> range:
    """Return the sizes 1 to `m` that itemsets of `records` can have: none is longer than the longest record."""
    return range(1, min(m, int(np.diff(records.indptr).max(initial=0))) + 1)


def itemset_supports(
    records: sparse.csr_array,
    size: int,
    *,
    weights: Ints | None = None,
    leading: int | None = None,
    low: int = 1,
    high: int | None = None,
) -> Iterator[ItemsetBlock]:
    """Yield every itemset of `size` items in `records` with support `low` to `high`, in lexicographic order.

    The support is the number of records with the itemset, or the sum of their `weights`, positive integers. With
    `leading` only itemsets with an item coded below it are counted. No block is empty.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1]])
    >>> [(block.itemsets.tolist(), block.supports.tolist()) for block in itemset_supports(records, 2)]
    [([[0, 1], [0, 2], [1, 2]], [2, 1, 1])]
    """
    if size < 1:
        raise ValueError(f"itemsets of {size} items")
    search = _search(records, weights, leading, low, high)
    del records  # the caller may need them no more, and the search is as large
    if size == 1:
        yield from _item_blocks(search)
        return
    for part in _parts_of_size(search, size):
        block = _counted(search, part)
        if len(block.supports):
            yield block


def count_supports(
    records: sparse.csr_array,
    size: int,
    k: int,
    *,
    weights: Ints | None = None,
    leading: int | None = None,
) -> Ints:
    """Return the number of itemsets in `records` with each support from 0 to `k` - 1: of `size` items, and before these
    a row of `size` - 1 items.

    `weights` and `leading` are those of `itemset_supports`. Itemsets are not listed, which saves most of the time.

    >>> count_supports(sparse.csr_array([[1, 1, 0], [1, 1, 1]]), 2, 3).tolist()
    [[0, 1, 2], [0, 2, 1]]
    """
    search = _search(records, weights, leading, 1, None)
    del records
    counts = np.zeros((2, k + 1), np.int64)
    for block in _item_blocks(search) if size == 1 else ():
        counts[1] += np.bincount(np.minimum(block.supports, k), minlength=k + 1)
    for part in _parts_of_size(search, size) if size > 1 else ():
        supports = np.minimum(np.add.reduceat(search.weight[part.last], part.start[:-1]), k)
        counts[0] += np.bincount(supports, minlength=k + 1)
        # All later items of the only record with an itemset have its support.
        alone = np.diff(part.start) == 1
        last = part.last[part.start[:-1][alone]]
        counts[1] += np.bincount(supports[alone], search.end[last] - last - 1, k + 1).astype(np.int64)
        further = _supports(search, _chosen(part, ~alone)).data
        counts[1] += np.bincount(further[further < k], minlength=k + 1)
    return counts[:, :k]


def _search(
    records: sparse.csr_array, weights: Ints | None, leading: int | None, low: int, high: int | None
) -> _Search:
    weights = np.ones(records.shape[0], np.int32) if weights is None else weights
    weights = weights.astype(np.int32 if weights.sum() < 1 << 31 else np.int64, copy=False)  # no support is larger
    matrix = _binary(records, weights.dtype)
    lengths, entries = np.diff(matrix.indptr), matrix.nnz
    end = np.repeat(matrix.indptr[1:], lengths)
    # The suffixes of a record share its entries. Every second row stands between two that overlap, and is never read.
    rows = np.empty(2 * entries + 1, np.int32 if entries < 1 << 30 else np.int64)
    rows[0], rows[1::2], rows[2::2] = 0, np.arange(1, entries + 1), end
    suffixes = sparse.csr_array((matrix.data, matrix.indices, rows), (2 * entries, matrix.shape[1]))
    leading = matrix.shape[1] if leading is None else leading
    return _Search(matrix.indices, end, np.repeat(weights, lengths), suffixes, leading, low, high)


def _parts_of_size(search: _Search, size: int) -> Iterator[_Occurrences]:
    """Yield the occurrences of the itemsets of `size` - 1 >= 1 items, in parts that are counted at once."""
    if len(search.item) and search.leading:
        entries = np.arange(len(search.item), dtype=search.end.dtype)
        items = _grouped(search, np.zeros((1, 0), np.int64), np.array([0, len(entries)]), entries)
        yield from _grown(search, items, size)


def _item_blocks(search: _Search) -> Iterator[ItemsetBlock]:
    """Yield the items with a support within the bounds."""
    supports = np.zeros(search.suffixes.shape[1], np.int64)
    np.add.at(supports, search.item, search.weight)
    within = (supports >= search.low) & (supports <= (supports if search.high is None else search.high))
    items = np.flatnonzero(within[: search.leading])
    for first in range(0, len(items), PIECE):
        part = items[first : first + PIECE]
        yield ItemsetBlock(part[:, None], supports[part])


def _grown(search: _Search, occurrences: _Occurrences, size: int) -> Iterator[_Occurrences]:
    """Yield the occurrences with items added up to the last but one, in parts of bounded cost."""
    if not len(occurrences.last):
        return
    tails = search.end[occurrences.last] - occurrences.last - 1
    costs = np.add.reduceat(tails, occurrences.start[:-1], dtype=np.int64)
    if occurrences.itemsets.shape[1] == size - 1:
        yield from _parts(occurrences, np.minimum(costs, search.suffixes.shape[1]))
        return
    for part in _parts(occurrences, costs):
        yield from _grown(search, _extended(search, part), size)


def _parts(occurrences: _Occurrences, costs: Ints) -> Iterator[_Occurrences]:
    for run in cost_runs(costs, PIECE):
        first, stop = occurrences.start[[run.start, run.stop]]
        start = occurrences.start[run.start : run.stop + 1] - first
        yield _Occurrences(occurrences.itemsets[run], start, occurrences.last[first:stop])


def cost_runs(costs: Ints, most: int) -> Iterator[slice]:
    """Yield slices of `costs` with a sum of at most `most`, or of one larger cost."""
    total = np.concatenate(([0], np.cumsum(costs)))
    begin = 0
    while begin < len(costs):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + most, side="right")) - 1)
        yield slice(begin, end)
        begin = end


def _extended(search: _Search, occurrences: _Occurrences) -> _Occurrences:
    """Return the occurrences of the itemsets with one more item, without those that cannot be part of a result."""
    last = occurrences.last
    tails = search.end[last] - last - 1
    ends = np.concatenate(([0], np.cumsum(tails)))
    longer = np.arange(ends[-1], dtype=last.dtype) + np.repeat((last + 1 - ends[:-1]).astype(last.dtype), tails)
    return _grouped(search, occurrences.itemsets, ends[occurrences.start], longer)


def _grouped(search: _Search, itemsets: Ints, start: Ints, last: Ints) -> _Occurrences:
    """Return the itemsets, each with the item of one of its entries `last`, that can be part of a result.

    The entries of itemset g are `last[start[g]:start[g + 1]]`.
    """
    shape = len(itemsets), search.suffixes.shape[1]
    # Turned over twice, a matrix has its entries in order, without a comparison.
    ordered = sparse.csr_array((last, search.item[last], start.astype(last.dtype)), shape).tocsc().tocsr()
    fresh = np.ones(len(last), np.bool_)
    fresh[1:] = ordered.indices[1:] != ordered.indices[:-1]
    fresh[ordered.indptr[:-1][np.diff(ordered.indptr) > 0]] = True
    first = np.flatnonzero(fresh)
    before = itemsets[np.searchsorted(ordered.indptr, first, side="right") - 1]
    longer = np.column_stack((before, ordered.indices[first])).astype(np.int64, copy=False)
    occurrences = _Occurrences(longer, np.append(first, len(last)), ordered.data)
    keep = longer[:, 0] < search.leading
    # No superset has a larger support: an itemset below the least one leads to no result.
    if search.low > 1 and len(keep):
        keep &= np.add.reduceat(search.weight[occurrences.last], occurrences.start[:-1]) >= search.low
    return _chosen(occurrences, keep)


def _chosen(occurrences: _Occurrences, keep: Mask) -> _Occurrences:
    """Return the occurrences of the itemsets that the mask `keep` selects."""
    if keep.all():
        return occurrences
    counts = np.diff(occurrences.start)
    start = np.concatenate(([0], np.cumsum(counts[keep])))
    return _Occurrences(occurrences.itemsets[keep], start, occurrences.last[np.repeat(keep, counts)])


def _supports(search: _Search, occurrences: _Occurrences) -> sparse.csr_array:
    """Return the support of each itemset (rows) with each later item (columns)."""
    # Two matrices of indices of one width: scipy would copy the narrower one for each product.
    start = occurrences.start.astype(occurrences.last.dtype)
    among = (search.weight[occurrences.last], 2 * occurrences.last + 1, start)
    occurring = sparse.csr_array(among, shape=(len(occurrences.itemsets), search.suffixes.shape[0]))
    product: sparse.csr_array = occurring @ search.suffixes
    return product


def _counted(search: _Search, occurrences: _Occurrences) -> ItemsetBlock:
    """Return the itemsets with a support within the bounds, in order, and their supports."""
    product = _supports(search, occurrences)
    row = np.repeat(np.arange(product.shape[0]), np.diff(product.indptr))
    keep = product.data >= search.low
    if search.high is not None:
        keep &= product.data <= search.high
    itemsets = np.column_stack((occurrences.itemsets[row[keep]], product.indices[keep]))
    # scipy leaves the columns of a product in no order.
    order = np.argsort(row[keep] * product.shape[1] + itemsets[:, -1])
    return ItemsetBlock(itemsets[order], product.data[keep][order].astype(np.int64))


def distinct(values: Ints) -> Ints:
    """Return every value of `values` once, sorted: much faster than numpy's own where most differ."""
    ascending = np.sort(values)
    first = np.ones(len(ascending), np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def places_in(ascending: Ints, values: Ints) -> tuple[Ints, Mask]:
    """Return the position of each of `values` in `ascending`, and a mask of the values in it. A missing value may have
    the length as its position.
    """
    place = np.searchsorted(ascending, values)
    found = place < len(ascending)
    found[found] = ascending[place[found]] == values[found]
    return place, found


def among(values: Ints, ascending: Ints) -> Mask:
    """Return a mask: True for each of `values` that occurs in `ascending`."""
    return places_in(ascending, values)[1]
