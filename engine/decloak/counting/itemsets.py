"""Counting how many records hold each itemset, in pieces of bounded memory.

Records are the rows of a sparse matrix X, items its columns; an itemset is an ascending row of item codes.
The places of an itemset of s items are the records holding it and, in each, where its last item stands.
They grow one item at a time: every place is extended by every later item of its record. The last item is not
grown but counted: with G the 0/1 matrix of itemsets (of s - 1 items) by records, (G X)[g, z] is the number of
records that hold g and z, and z counts only when it comes after the last item of g.
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
    "Alike", "Coded", "ItemsetBlock", "alike", "coded_items", "cost_runs", "item_sets", "itemset_supports",
    "kinds_of", "sizes",
]  # fmt: skip

PIECE = 1 << 21
"""Places, or entries of a product, made at once; one itemset alone may need more, at most those of X."""


class ItemsetBlock(NamedTuple):
    """Itemsets with their supports: `itemsets[i]` is an ascending row of item codes."""

    itemsets: Ints
    supports: Ints


class Coded(NamedTuple):
    """Transactions as a 0/1 matrix, and the item each column stands for, in code point order."""

    records: sparse.csr_array[Any]
    items: tuple[str, ...]


class Alike(NamedTuple):
    """Kinds of rows: the number of the first row of each, and how many there are."""

    first: Ints
    size: Ints


class _Search(NamedTuple):
    matrix: sparse.csr_array[Any]
    weights: Ints
    leading: int
    low: int
    high: int | None
    piece: int


class _Places(NamedTuple):
    """Where itemsets occur: those of itemset g are `start[g]:start[g + 1]` of `record` and `last`.

    `last` points into the indices of the matrix, at the last item of the itemset in that record.
    """

    itemsets: Ints
    start: Ints
    record: Ints
    last: Ints


def coded_items(transactions: Iterable[Iterable[str]]) -> Coded:
    """Code items by number; a repeated item of a transaction counts once.

    >>> records, items = coded_items([["b", "a"], ["b", "b"]])
    >>> items, records.toarray().tolist()
    (('a', 'b'), [[1, 1], [0, 1]])
    """
    rows = transactions if isinstance(transactions, CodedRows) else CodedRows.of(item_sets(transactions))
    items = tuple(sorted(set(rows.used)))
    code = {item: number for number, item in enumerate(items)}
    column = np.array([code.get(name, 0) for name in rows.names], np.int64)  # no row has what is not used
    return Coded(rows.matrix(column, len(items)), items)


def alike(records: sparse.csr_array[Any]) -> Alike:
    """Which rows are the same to the order of their entries: the first of each kind, and how many there are of it.

    >>> alike(sparse.csr_array([[1, 1, 0], [0, 1, 1], [1, 1, 0]]))
    Alike(first=array([0, 1]), size=array([2, 1]))
    """
    _, first, count = np.unique(kinds_of(records), return_index=True, return_counts=True)
    return Alike(first, count)


def kinds_of(records: sparse.csr_array[Any]) -> Ints:
    """A number for each row, the same for rows that are the same to the order of their entries.

    Rows are told apart by their beginnings, one entry more at a time.
    """
    begin, lengths = records.indptr[:-1], np.diff(records.indptr)
    kind, kinds = np.zeros(len(lengths), np.int64), 1
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        key = kind[longer] * records.shape[1] + records.indices[begin[longer] + place]
        different, kind_of = np.unique(key, return_inverse=True)
        kind[longer] = kinds + kind_of
        kinds += len(different)
    return kind


def item_sets(transactions: Iterable[Iterable[str]]) -> list[Set[str]]:
    """Read transactions as sets, whatever iterables they are; sets stay the objects they are."""
    return [row if isinstance(row, set | frozenset) else frozenset(row) for row in rows_of(transactions)]


def _binary(records: sparse.csr_array[Any], number: np.dtype[np.integer[Any]]) -> sparse.csr_array[Any]:
    """A copy with ascending items in each record and 1, a number of this kind, for every item held."""
    matrix = sparse.csr_array(records, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = np.ones(matrix.nnz, number)
    return matrix


def sizes(records: sparse.csr_array[Any], m: int) -> range:
    """Return the sizes 1..m that itemsets can have: none is longer than the longest record."""
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
    """Yield every itemset of `size` items that occurs, with support low..high, in lexicographic order.

    The support is the number of records that hold the itemset, or the sum of their `weights`, positive
    integers. With `leading` only itemsets that hold an item coded below it are counted. No block is empty;
    `piece` bounds its length and the memory taken.

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


def _nothing(matrix: sparse.csr_array[Any]) -> _Places:
    """The places of the itemset without items: before the first item of every record."""
    records = matrix.shape[0]
    start = np.array([0, records])
    return _Places(np.empty((1, 0), np.int64), start, np.arange(records), matrix.indptr[:-1].astype(np.int64) - 1)


def _singles(search: _Search) -> _Places:
    """The places of the items that lead to anything reported: the columns of the matrix."""
    matrix = search.matrix
    columns = _numbered(matrix).tocsc()
    held = np.flatnonzero(np.diff(columns.indptr))
    start = np.append(columns.indptr[held], columns.nnz).astype(np.int64)
    return _promising(search, _Places(held[:, None], start, columns.indices, columns.data))


def _numbered(matrix: sparse.csr_array[Any]) -> sparse.csr_array[Any]:
    entries = np.arange(matrix.nnz, dtype=matrix.indices.dtype)
    return sparse.csr_array((entries, matrix.indices, matrix.indptr), matrix.shape)


def _blocks(search: _Search, places: _Places, size: int) -> Iterator[ItemsetBlock]:
    if places.itemsets.shape[1] == size - 1:
        lengths = np.diff(search.matrix.indptr)
        sums = _sums(lambda part: lengths[places.record[part]], places, search.piece)
        for part in _parts(places, np.minimum(sums, search.matrix.shape[1]), search.piece):
            block = _counted(search, part)
            if len(block.supports):
                yield block
    else:
        sums = _sums(lambda part: _tails(search.matrix, places, part), places, search.piece)
        for part in _parts(places, sums, search.piece):
            yield from _blocks(search, _extended(search, part), size)


def _sums(values: Callable[[slice], Ints], places: _Places, piece: int) -> Ints:
    """The sum of one value per place for each itemset, a piece at a time; every itemset has a place."""
    sums = np.empty(len(places.itemsets), np.int64)
    for run in cost_runs(np.diff(places.start), piece):
        first, stop = places.start[[run.start, run.stop]]
        sums[run] = np.add.reduceat(values(slice(first, stop)), places.start[run] - first, dtype=np.int64)
    return sums


def _tails(matrix: sparse.csr_array[Any], places: _Places, part: slice) -> Ints:
    """How many items follow in the record of each place of a part."""
    tails: Ints = matrix.indptr[places.record[part] + 1] - places.last[part] - 1
    return tails


def _parts(places: _Places, costs: Ints, most: int) -> Iterator[_Places]:
    for run in cost_runs(costs, most):
        first, stop = places.start[[run.start, run.stop]]
        start = places.start[run.start : run.stop + 1] - first
        yield _Places(places.itemsets[run], start, places.record[first:stop], places.last[first:stop])


def cost_runs(costs: Ints, most: int) -> Iterator[slice]:
    """Cut a row of costs into runs that cost at most `most` together, or of one that costs more."""
    total = np.concatenate(([0], np.cumsum(costs)))
    begin = 0
    while begin < len(costs):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + most, side="right")) - 1)
        yield slice(begin, end)
        begin = end


def _extended(search: _Search, places: _Places) -> _Places:
    """The places of the itemsets of one item more, without those that cannot lead to anything reported."""
    n = search.matrix.shape[1]
    tails = _tails(search.matrix, places, slice(None))
    itemset = np.repeat(np.arange(len(places.itemsets)), np.diff(places.start))
    ends = np.cumsum(tails)
    last = np.arange(ends[-1]) + np.repeat(places.last + 1 - (ends - tails), tails)
    key = np.repeat(itemset, tails) * n + search.matrix.indices[last]
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    itemsets = np.column_stack((places.itemsets[key[first] // n], key[first] % n))
    start = np.append(first, len(key))
    return _promising(search, _Places(itemsets, start, np.repeat(places.record, tails)[order], last[order]))


def _promising(search: _Search, places: _Places) -> _Places:
    """Only itemsets of support >= low, which no superset exceeds, and of a leading first item."""
    keep = _sums(lambda part: search.weights[places.record[part]], places, search.piece) >= search.low
    keep &= places.itemsets[:, 0] < search.leading
    if keep.all():
        return places
    counts = np.diff(places.start)
    held = np.repeat(keep, counts)
    start = np.concatenate(([0], np.cumsum(counts[keep])))
    return _Places(places.itemsets[keep], start, places.record[held], places.last[held])


def _counted(search: _Search, places: _Places) -> ItemsetBlock:
    """Count what each itemset becomes with one later item."""
    records, n = search.matrix.shape
    among = (search.weights[places.record], places.record, places.start)
    product = sparse.csr_array(among, shape=(len(places.itemsets), records)) @ search.matrix
    row = np.repeat(np.arange(product.shape[0]), np.diff(product.indptr))
    last = places.itemsets[:, -1] if places.itemsets.shape[1] else np.array([-1])  # any item comes after none
    keep = (product.data >= search.low) & (product.indices > last[row])
    if search.high is not None:
        keep &= product.data <= search.high
    itemsets = np.column_stack((places.itemsets[row[keep]], product.indices[keep]))
    order = np.argsort(row[keep] * n + itemsets[:, -1])
    order = order[itemsets[order, 0] < search.leading]
    return ItemsetBlock(itemsets[order], product.data[keep][order].astype(np.int64))
