"""Supports of itemsets, counted in blocks of bounded memory.

Records are the rows of a 0/1 matrix, items its columns; an itemset is an ascending row of item codes. The occurrences
of an itemset of s items are the records with it and, in each, the position of its last item. They grow one item at a
time: every occurrence is extended by every later item of its record. The last item is only counted. Equal extensions
are neighbours after a sort of whole numbers, which numpy does faster than scipy multiplies sparse matrices.

Fast searches in sorted arrays of integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints, Mask
from decloak.data.dataset import rows_of
from decloak.data.rows import CodedRows, Sets
from decloak.lazy import sparse

PIECE = 1 << 17
"""Number of extensions in one step. A single itemset may need more, at most the occurrences of all items."""
ENTRY = (1 << 32) - 1
"""The bits of a position in a number that also has the itemset."""


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
    """The entries of a matrix: the item of each (times 2^32), the number of later ones in its record, its weight; and
    the bounds of a search.

    Without `weight` every record counts once. `items` is the number of columns.
    """

    item: NDArray[np.int64]
    tail: Ints
    weight: Ints | None
    items: int
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
    sets, items = coded_sets(transactions)
    return Coded(sets.matrix(), items)


def coded_sets(transactions: Iterable[Iterable[str]]) -> tuple[Sets, tuple[str, ...]]:
    """Return `transactions` as sets of codes, and the item of each code, in code point order."""
    rows = transactions if isinstance(transactions, CodedRows) else CodedRows.of(item_sets(transactions))
    items = tuple(sorted(set(rows.used_names)))
    code = {item: number for number, item in enumerate(items)}
    column = np.array([code.get(name, 0) for name in rows.names], np.int32)  # no row has what is not used
    return rows.sets(column, len(items)), items


def row_kinds(records: sparse.csr_array | Sets) -> RowKinds:
    """Return the distinct rows of `records` (equal including the order of entries): the first of each kind, and their
    number.

    >>> row_kinds(sparse.csr_array([[1, 1, 0], [0, 1, 1], [1, 1, 0]]))
    RowKinds(first=array([0, 1]), size=array([2, 1]))
    """
    _, first, count = np.unique(kinds_of(records), return_index=True, return_counts=True)
    return RowKinds(first, count)


def kinds_of(records: sparse.csr_array | Sets) -> Ints:
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


def sets_of(records: sparse.csr_array | Sets) -> Sets:
    """Return the rows of a matrix as sets: a repeated entry counts once, an explicit zero never."""
    if isinstance(records, Sets):
        return records
    matrix = sparse.csr_array(records, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Sets(matrix.indptr, matrix.indices, matrix.shape)


def sizes(records: sparse.csr_array | Sets, m: int) -> range:
    """Return the sizes 1 to `m` that itemsets of `records` can have: none is longer than the longest record."""
    return range(1, min(m, int(np.diff(records.indptr).max(initial=0))) + 1)


def itemset_supports(
    records: sparse.csr_array | Sets,
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
    records: sparse.csr_array | Sets,
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
        supports = np.minimum(_weights(search, part.last, part.start), k)
        counts[0] += np.bincount(supports, minlength=k + 1)
        # All later items of the only record with an itemset have its support.
        alone = np.diff(part.start) == 1
        tails = search.tail[part.last[part.start[:-1][alone]]]
        counts[1] += np.bincount(supports[alone], tails, k + 1).astype(np.int64)
        *_, further = _supports(search, _chosen(part, ~alone))
        counts[1] += np.bincount(further[further < k], minlength=k + 1)
    return counts[:, :k]


def _search(
    records: sparse.csr_array | Sets, weights: Ints | None, leading: int | None, low: int, high: int | None
) -> _Search:
    sets = sets_of(records)
    lengths, weight = np.diff(sets.indptr), None
    if weights is not None:
        narrow = weights.astype(np.int32 if weights.sum() < 1 << 31 else np.int64)  # no support is larger
        weight = np.repeat(narrow, lengths)
    # In the upper half: added to an entry, it sorts by item first, and by entry then.
    items, item = sets.shape[1], sets.indices.astype(np.int64) << 32
    tail = np.repeat(sets.indptr[1:], lengths)
    tail -= np.arange(1, len(item) + 1, dtype=tail.dtype)
    return _Search(item, tail, weight, items, items if leading is None else leading, low, high)


def _parts_of_size(search: _Search, size: int) -> Iterator[_Occurrences]:
    """Yield the occurrences of the itemsets of `size` - 1 >= 1 items, in parts that are counted at once."""
    found = np.flatnonzero(search.item < search.leading << 32)
    found += search.item[found]
    items = _grouped(search, np.zeros((1, 0), np.int64), found)
    del found  # as large as all records
    yield from _grown(search, items, size)


def _item_blocks(search: _Search) -> Iterator[ItemsetBlock]:
    """Yield the items with a support within the bounds."""
    supports = np.zeros(search.items, np.int64)
    one = np.ones(1, np.int64) if search.weight is None else search.weight.astype(np.int64)
    np.add.at(supports, search.item >> 32, one)  # of one type: others take five times as long
    within = (supports >= search.low) & (supports <= (supports if search.high is None else search.high))
    items = np.flatnonzero(within[: search.leading])
    for first in range(0, len(items), PIECE):
        part = items[first : first + PIECE]
        yield ItemsetBlock(part[:, None], supports[part])


def _grown(search: _Search, occurrences: _Occurrences, size: int) -> Iterator[_Occurrences]:
    """Yield the occurrences with items added up to the last but one, in parts of bounded cost."""
    if not len(occurrences.last):
        return
    costs = np.add.reduceat(search.tail[occurrences.last], occurrences.start[:-1], dtype=np.int64)
    # With the item the number of an itemset of a part has 31 bits at most.
    for part in _parts(occurrences, np.maximum(costs, 1 + (search.items * PIECE >> 31))):
        if part.itemsets.shape[1] == size - 1:
            yield part
        else:
            yield from _grown(search, _grouped(search, part.itemsets, _extensions(search, part)), size)


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


def _extensions(search: _Search, occurrences: _Occurrences) -> NDArray[np.int64]:
    """Return a number for each entry after each occurrence: of the itemset, the item, and the entry."""
    last = occurrences.last
    tails = search.tail[last]
    ends = np.cumsum(tails)
    itemset = np.repeat(np.arange(len(occurrences.itemsets)) * (search.items << 32), np.diff(occurrences.start))
    found = np.repeat(itemset + last + 1 - ends + tails, tails)
    found += np.arange(len(found))
    found += search.item.take(found & ENTRY, mode="clip")
    return found


def _grouped(search: _Search, itemsets: Ints, found: NDArray[np.int64]) -> _Occurrences:
    """Return the itemsets, each with one more item, that can be part of a result.

    `found` has the numbers that `_extensions` returns, and is sorted.
    """
    found.sort()
    first = _firsts(found >> 32)
    number, item = np.divmod(found[first] >> 32, max(1, search.items))
    longer = np.column_stack((itemsets[number], item))
    last = (found & ENTRY).astype(search.tail.dtype)
    occurrences = _Occurrences(longer, np.append(first, len(last)), last)
    # No superset has a larger support: an itemset below the least one leads to no result.
    if search.low > 1 and len(first):
        return _chosen(occurrences, _weights(search, occurrences.last, occurrences.start) >= search.low)
    return occurrences


def _firsts(ascending: Ints) -> Ints:
    """Return the position at which each value first occurs."""
    (first,) = np.nonzero(ascending[1:] != ascending[:-1])
    return np.concatenate((np.zeros(min(1, len(ascending)), np.int64), first + 1))


def _weights(search: _Search, entry: Ints, start: Ints) -> Ints:
    """Return the sum of the weights of each run of entries."""
    return np.diff(start) if search.weight is None else np.add.reduceat(search.weight[entry], start[:-1])


def _chosen(occurrences: _Occurrences, keep: Mask) -> _Occurrences:
    """Return the occurrences of the itemsets that the mask `keep` selects."""
    if keep.all():
        return occurrences
    counts = np.diff(occurrences.start)
    start = np.concatenate(([0], np.cumsum(counts[keep])))
    return _Occurrences(occurrences.itemsets[keep], start, occurrences.last[np.repeat(keep, counts)])


def _supports(search: _Search, occurrences: _Occurrences) -> tuple[Ints, Ints, Ints]:
    """Return the ascending numbers of itemset and item of all extensions, the first place of each, and its support."""
    found = _extensions(search, occurrences)
    if search.weight is None:
        key = (found >> 32).astype(np.int32)  # sorted in half the time
        key.sort()
        first = _firsts(key)
        return key, first, np.diff(first, append=len(key))
    found.sort()
    key = found >> 32
    first = _firsts(key)
    found &= ENTRY
    return key, first, _weights(search, found, np.append(first, len(key)))


def _counted(search: _Search, occurrences: _Occurrences) -> ItemsetBlock:
    """Return the itemsets with a support within the bounds, in order, and their supports."""
    key, first, supports = _supports(search, occurrences)
    keep = supports >= search.low
    if search.high is not None:
        keep &= supports <= search.high
    number, item = np.divmod(key[first[keep]], max(1, search.items))
    return ItemsetBlock(np.column_stack((occurrences.itemsets[number], item)), supports[keep].astype(np.int64))


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
