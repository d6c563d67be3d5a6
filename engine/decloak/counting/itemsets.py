"""Supports of itemsets, counted in blocks of bounded memory.

Records are the rows of a sparse matrix X, items its columns; an itemset is an ascending row of item codes. The
occurrences of an itemset of s items are the records with it and, in each, the position of its last item. They grow one
item at a time: every occurrence is extended by every later item of its record. The last item is only counted. With G
the 0/1 matrix of itemsets (of s - 1 items) by records, (G X)[g, z] is the number of records with g and z. An item z
counts only if it comes after the last item of g.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import rows_of
from decloak.data.rows import CodedRows
from decloak.lazy import sparse

__all__ = [
    "Coded",
    "ItemsetBlock",
    "RowKinds",
    "coded_items",
    "cost_runs",
    "item_sets",
    "itemset_supports",
    "kinds_of",
    "row_kinds",
    "sizes",
]  # fmt: skip

PIECE = 1 << 21
"""Number of positions, or of entries of a product, in one step. A single itemset may need more, at most the size of X.
"""


class ItemsetBlock(NamedTuple):
    """Itemsets with their supports: `itemsets[i]` is an ascending row of item codes."""

    itemsets: Ints
    supports: Ints


class Coded(NamedTuple):
    """Transactions as a 0/1 matrix, and the item of each column, in code point order."""

    records: sparse.csr_array[Any]
    items: tuple[str, ...]


class RowKinds(NamedTuple):
    """Distinct rows: the index of the first of each kind, and their number."""

    first: Ints
    size: Ints


class _Search(NamedTuple):
    matrix: sparse.csr_array[Any]
    weights: Ints
    leading: int
    low: int
    high: int | None
    piece: int


class _Occurrences(NamedTuple):
    """Occurrences of itemsets: itemset g has the entries `start[g]:start[g + 1]` of `record` and `last`.

    `last` indexes the indices of the matrix, at the last item of the itemset in that record.
    """

    itemsets: Ints
    start: Ints
    record: Ints
    last: Ints


def coded_items(transactions: Iterable[Iterable[str]]) -> Coded:
    """Return `transactions` as a matrix. A repeated item of a transaction counts once.

    >>> records, items = coded_items([["b", "a"], ["b", "b"]])
    >>> items, records.toarray().tolist()
    (('a', 'b'), [[1, 1], [0, 1]])
    """
    rows = transactions if isinstance(transactions, CodedRows) else CodedRows.of(item_sets(transactions))
    items = tuple(sorted(set(rows.used_names)))
    code = {item: number for number, item in enumerate(items)}
    column = np.array([code.get(name, 0) for name in rows.names], np.int64)  # no row has what is not used
    return Coded(rows.matrix(column, len(items)), items)


def row_kinds(records: sparse.csr_array[Any]) -> RowKinds:
    """Return the distinct rows of `records` (equal including the order of entries): the first of each kind, and their
    number.

    >>> row_kinds(sparse.csr_array([[1, 1, 0], [0, 1, 1], [1, 1, 0]]))
    RowKinds(first=array([0, 1]), size=array([2, 1]))
    """
    _, first, count = np.unique(kinds_of(records), return_index=True, return_counts=True)
    return RowKinds(first, count)


def kinds_of(records: sparse.csr_array[Any]) -> Ints:
    """Return a number for each row of `records`, equal for rows that are equal including the order of entries.

    Rows are split by their prefixes, one more entry at a time.
    """
    begin, lengths = records.indptr[:-1], np.diff(records.indptr)
    kind, kinds = np.zeros(len(lengths), np.int64), 1
    for position in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > position)
        key = kind[longer] * records.shape[1] + records.indices[begin[longer] + position]
        different, kind_of = np.unique(key, return_inverse=True)
        kind[longer] = kinds + kind_of
        kinds += len(different)
    return kind


def item_sets(transactions: Iterable[Iterable[str]]) -> list[Set[str]]:
    """Return `transactions` as sets. Sets are not copied."""
    return [row if isinstance(row, set | frozenset) else frozenset(row) for row in rows_of(transactions)]


def _binary(records: sparse.csr_array[Any], number: np.dtype[np.integer[Any]]) -> sparse.csr_array[Any]:
    """Return a copy with ascending items in each record and 1, of this type, for every item."""
    matrix = sparse.csr_array(records, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = np.ones(matrix.nnz, number)
    return matrix


def sizes(records: sparse.csr_array[Any], m: int) -> range:
    """Return the sizes 1 to `m` that itemsets of `records` can have: none is longer than the longest record."""
    return range(1, min(m, int(np.diff(records.indptr).max(initial=0))) + 1)


def itemset_supports(
    records: sparse.csr_array[Any],
    size: int,
    *,
    weights: Ints | None = None,
    leading: int | None = None,
    low: int = 1,
    high: int | None = None,
    piece: int = PIECE,
) -> Iterator[ItemsetBlock]:
    """Yield every itemset of `size` items in `records` with support `low` to `high`, in lexicographic order.

    The support is the number of records with the itemset, or the sum of their `weights`, positive integers. With
    `leading` only itemsets with an item coded below it are counted. No block is empty; `piece` bounds its length and
    the memory.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1]])
    >>> [(block.itemsets.tolist(), block.supports.tolist()) for block in itemset_supports(records, 2)]
    [([[0, 1], [0, 2], [1, 2]], [2, 1, 1])]
    """
    if size < 1:
        raise ValueError(f"itemsets of {size} items")
    weights = np.ones(records.shape[0], np.int32) if weights is None else weights
    weights = weights.astype(np.int32 if weights.sum() < 1 << 31 else np.int64, copy=False)  # no support is larger
    matrix = _binary(records, weights.dtype)
    del records  # who asked may have let go of them, and they are as large as the matrix
    search = _Search(matrix, weights, matrix.shape[1] if leading is None else leading, low, high, piece)
    if matrix.nnz and search.leading:
        yield from _blocks(search, _nothing(matrix) if size == 1 else _singles(search), size)


def _nothing(matrix: sparse.csr_array[Any]) -> _Occurrences:
    """Return the occurrences of the empty itemset: before the first item of every record."""
    records = matrix.shape[0]
    start = np.array([0, records])
    return _Occurrences(np.empty((1, 0), np.int64), start, np.arange(records), matrix.indptr[:-1].astype(np.int64) - 1)


def _singles(search: _Search) -> _Occurrences:
    """Return the occurrences of the items that can be part of a result: the columns of the matrix."""
    matrix = search.matrix
    columns = _numbered(matrix).tocsc()
    used = np.flatnonzero(np.diff(columns.indptr))
    start = np.append(columns.indptr[used], columns.nnz).astype(np.int64)
    return _promising(search, _Occurrences(used[:, None], start, columns.indices, columns.data))


def _numbered(matrix: sparse.csr_array[Any]) -> sparse.csr_array[Any]:
    entries = np.arange(matrix.nnz, dtype=matrix.indices.dtype)
    return sparse.csr_array((entries, matrix.indices, matrix.indptr), matrix.shape)


def _blocks(search: _Search, occurrences: _Occurrences, size: int) -> Iterator[ItemsetBlock]:
    if occurrences.itemsets.shape[1] == size - 1:
        lengths = np.diff(search.matrix.indptr)
        sums = _sums(lambda part: lengths[occurrences.record[part]], occurrences, search.piece)
        for part in _parts(occurrences, np.minimum(sums, search.matrix.shape[1]), search.piece):
            block = _counted(search, part)
            if len(block.supports):
                yield block
    else:
        sums = _sums(lambda part: _tails(search.matrix, occurrences, part), occurrences, search.piece)
        for part in _parts(occurrences, sums, search.piece):
            yield from _blocks(search, _extended(search, part), size)


def _sums(values: Callable[[slice], Ints], occurrences: _Occurrences, piece: int) -> Ints:
    """Return the sum of one value per occurrence for each itemset, in steps. Every itemset has an occurrence."""
    sums = np.empty(len(occurrences.itemsets), np.int64)
    for run in cost_runs(np.diff(occurrences.start), piece):
        first, stop = occurrences.start[[run.start, run.stop]]
        sums[run] = np.add.reduceat(values(slice(first, stop)), occurrences.start[run] - first, dtype=np.int64)
    return sums


def _tails(matrix: sparse.csr_array[Any], occurrences: _Occurrences, part: slice) -> Ints:
    """Return the number of items that follow in the record of each occurrence."""
    tails: Ints = matrix.indptr[occurrences.record[part] + 1] - occurrences.last[part] - 1
    return tails


def _parts(occurrences: _Occurrences, costs: Ints, most: int) -> Iterator[_Occurrences]:
    for run in cost_runs(costs, most):
        first, stop = occurrences.start[[run.start, run.stop]]
        start = occurrences.start[run.start : run.stop + 1] - first
        yield _Occurrences(
            occurrences.itemsets[run], start, occurrences.record[first:stop], occurrences.last[first:stop]
        )


def cost_runs(costs: Ints, most: int) -> Iterator[slice]:
    """Yield slices of `costs` with a sum of at most `most`, or of one larger cost."""
    total = np.concatenate(([0], np.cumsum(costs)))
    begin = 0
    while begin < len(costs):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + most, side="right")) - 1)
        yield slice(begin, end)
        begin = end


def _extended(search: _Search, occurrences: _Occurrences) -> _Occurrences:
    """Return the occurrences of the itemsets with one more item, without itemsets that cannot be part of a result."""
    n = search.matrix.shape[1]
    tails = _tails(search.matrix, occurrences, slice(None))
    itemset = np.repeat(np.arange(len(occurrences.itemsets)), np.diff(occurrences.start))
    ends = np.cumsum(tails)
    last = np.arange(ends[-1]) + np.repeat(occurrences.last + 1 - (ends - tails), tails)
    key = np.repeat(itemset, tails) * n + search.matrix.indices[last]
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    itemsets = np.column_stack((occurrences.itemsets[key[first] // n], key[first] % n))
    start = np.append(first, len(key))
    return _promising(search, _Occurrences(itemsets, start, np.repeat(occurrences.record, tails)[order], last[order]))


def _promising(search: _Search, occurrences: _Occurrences) -> _Occurrences:
    """Return the itemsets of support >= low, which no superset exceeds, with a leading first item."""
    keep = _sums(lambda part: search.weights[occurrences.record[part]], occurrences, search.piece) >= search.low
    keep &= occurrences.itemsets[:, 0] < search.leading
    if keep.all():
        return occurrences
    counts = np.diff(occurrences.start)
    used = np.repeat(keep, counts)
    start = np.concatenate(([0], np.cumsum(counts[keep])))
    return _Occurrences(occurrences.itemsets[keep], start, occurrences.record[used], occurrences.last[used])


def _counted(search: _Search, occurrences: _Occurrences) -> ItemsetBlock:
    """Return the support of each itemset with each later item."""
    records, n = search.matrix.shape
    among = (search.weights[occurrences.record], occurrences.record, occurrences.start)
    product = sparse.csr_array(among, shape=(len(occurrences.itemsets), records)) @ search.matrix
    row = np.repeat(np.arange(product.shape[0]), np.diff(product.indptr))
    last = occurrences.itemsets[:, -1] if occurrences.itemsets.shape[1] else np.array([-1])  # any item comes after none
    keep = (product.data >= search.low) & (product.indices > last[row])
    if search.high is not None:
        keep &= product.data <= search.high
    itemsets = np.column_stack((occurrences.itemsets[row[keep]], product.indices[keep]))
    order = np.argsort(row[keep] * n + itemsets[:, -1])
    order = order[itemsets[order, 0] < search.leading]
    return ItemsetBlock(itemsets[order], product.data[keep][order].astype(np.int64))
