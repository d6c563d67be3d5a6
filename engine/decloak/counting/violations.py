"""Violations of k^m-anonymity: itemsets of at most m items that occur in 1 to k - 1 records.

Every larger itemset that occurs and contains a violation violates too. A violation is minimal if none of its proper
subsets violates. Raw data have millions of violations: they are found and counted in blocks, and only the requested
ones are kept.

A table of itemsets has small cells instead: records with some of the items and without the others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from math import comb
from typing import NamedTuple, TypeAlias

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.checks import check_km
from decloak.counting.itemsets import (
    ItemsetBlock,
    among,
    coded_sets,
    count_supports,
    distinct,
    itemset_supports,
    row_kinds,
    sets_of,
    sizes,
)
from decloak.data.dataset import Dataset
from decloak.data.itemset_table import ItemsetTable
from decloak.data.rows import CodedRows, Sets
from decloak.lazy import sparse

PARTS = (16, 4)
"""Sampling steps: every 16th record first, then every 4th of the rest."""

ENOUGH = 10_000
"""Number of records from which on a sample that settles little is not followed by a larger one."""

Records: TypeAlias = "sparse.csr_array | Sets"


def rare_itemsets(
    records: Records, size: int, k: int, *, weights: Ints | None = None, parts: Sequence[int] = PARTS
) -> Iterator[ItemsetBlock]:
    """Yield every itemset of `size` items in `records` with a support from 1 to k - 1 (`k`), and that support, in any
    order.

    `weights` are as in `itemset_supports`. `parts` are the sampling steps; they only affect the time.

    >>> records = sparse.csr_array([[1, 1, 0], [1, 1, 1]])
    >>> [(block.itemsets.tolist(), block.supports.tolist()) for block in rare_itemsets(records, 2, 2)]
    [([[0, 2], [1, 2]], [1, 1])]
    """
    if size == 1:
        yield from itemset_supports(records, 1, weights=weights, high=k - 1)
        return
    remaining, weights, leading, rarest, k = _rarest_first(sets_of(records), size, k, weights, parts)
    blocks = itemset_supports(remaining, size, weights=weights, leading=leading, high=k - 1)
    del remaining
    for block in blocks:
        yield ItemsetBlock(np.sort(rarest[block.itemsets], axis=1), block.supports)


def count_rare(records: Records, size: int, k: int, *, weights: Ints | None = None) -> tuple[Ints | None, Ints]:
    """Return the number of itemsets of `size` items in `records` with each support from 0 to `k` - 1.

    Before it comes the same for `size` - 1 items where it costs nothing, else None. `weights` are as in
    `itemset_supports`.
    """
    remaining, weights, leading, _, k = _rarest_first(sets_of(records), size, k, weights, PARTS)
    smaller, counts = count_supports(remaining, size, k, weights=weights, leading=leading)
    # With fewer leading items, the smaller itemsets were not all counted.
    return smaller if size > 1 and leading == records.shape[1] else None, counts


def _rarest_first(
    records: Sets, size: int, k: int, weights: Ints | None, parts: Sequence[int]
) -> tuple[Sets, Ints | None, int, Ints, int]:
    """Return the remaining records with the rarest items first, their weights, `leading`, this order, and k."""
    # No support is larger, and a huge k would not fit into an array.
    k = min(k, (records.shape[0] if weights is None else int(weights.sum())) + 1)
    # The rarest first: then few items lead all itemsets that may be rare.
    rarest = np.argsort(np.bincount(records.indices, minlength=records.shape[1]), kind="stable")
    # Nothing keeps the renamed records while what is left of them is counted.
    return *_narrowed(_renamed(records, rarest), weights, size, k, parts), rarest, k


def _renamed(records: Sets, order: Ints) -> Sets:
    """Return the records with items renumbered in this order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return CodedRows(records.indptr, records.indices, range(len(order))).sets(place, len(order))


def _narrowed(
    records: Sets, weights: Ints | None, size: int, k: int, parts: Sequence[int]
) -> tuple[Sets, Ints | None, int]:
    """Return the remaining records, their weights, and `leading`: each record has an item before it."""
    leading = records.shape[1] if k > 1 else 0
    for step in parts:
        part = records.select(np.arange(0, records.shape[0], step))
        leading = _first_frequent_prefix(part, None if weights is None else weights[::step], size, k, leading)
        holding = _rows_with_leading_item(records, leading)
        # Raw data: where many records settle nothing, a larger sample would settle little.
        if 2 * len(holding) > records.shape[0] > ENOUGH:
            break
        records, weights = records.select(holding), None if weights is None else weights[holding]
    return records, weights, leading


def _first_frequent_prefix(part: Sets, weights: Ints | None, size: int, k: int, leading: int) -> int:
    """Return the smallest item from which on every itemset has support k in the sample. `leading`: an item for which
    this is known.
    """
    settled = np.zeros(leading, np.int64)
    for block in itemset_supports(part, size, weights=weights, leading=leading, low=k):
        settled += np.bincount(block.itemsets[:, 0], minlength=leading)
    later = range(part.shape[1] - 1, -1, -1)
    # All records have an itemset as often as a sample at least: one with k in the sample needs no count.
    return max((item + 1 for item in range(leading) if settled[item] < comb(later[item], size - 1)), default=0)


def _rows_with_leading_item(records: Sets, leading: int) -> Ints:
    (filled,) = np.diff(records.indptr).nonzero()
    return filled[np.logical_or.reduceat(records.indices < leading, records.indptr[filled])] if filled.size else filled


Violation = tuple[frozenset[str], int]
"""An itemset and its support."""
Transactions = Iterable[Iterable[str]] | Dataset


def violations(transactions: Transactions, *, k: int, m: int) -> list[Violation]:
    """Return every itemset of 1 to `m` items that occurs in 1 to k - 1 (`k`) of the `transactions`, with its support.

    Minimal itemsets come first, then smaller ones, then alphabetical order. Data without items have no violations, so
    `decloak check` refuses such data.

    >>> violations([["milk", "tea"], ["milk"], ["milk", "salt"]], k=2, m=1)
    [(frozenset({'salt'}), 1), (frozenset({'tea'}), 1)]
    """
    return RareSets(transactions, k, m).first(None)


class MarkedBlock(NamedTuple):
    """Itemsets of one size, and a mask of the minimal ones."""

    itemsets: Ints
    supports: Ints
    minimal: Mask


class RareSets:
    """The itemsets of 1 to m items in 1 to k - 1 records, found on demand.

    Sizes without any are noted with the rows, so that nothing is counted twice.
    """

    def __init__(self, transactions: Transactions, k: int, m: int) -> None:
        check_km(k, m)
        rows = transactions.rows if isinstance(transactions, Dataset) else transactions
        records, self.items = coded_sets(rows)
        self.k, self.sizes = k, sizes(records, m)
        self._records, self._weights = records, None
        if _few_kinds(records):  # elsewhere weights cost as much as they save
            kinds = row_kinds(records)
            self._records, self._weights = records.select(kinds.first), kinds.size
        self.counted: dict[int, int] = {}
        """The number of them by size, for the sizes counted so far."""
        self._settled = rows.verified_supports if isinstance(rows, CodedRows) else {}

    def blocks(self, size: int) -> Iterator[ItemsetBlock]:
        """Yield the itemsets of `size` items, in any order."""
        count = 0
        if self.k > self._settled.get(size, 0):
            for block in rare_itemsets(self._records, size, self.k, weights=self._weights):
                count += len(block.supports)
                yield block
        self._note(size, count)

    def count(self) -> int:
        """Return their number. Counted sizes are not counted again."""
        for size in reversed(self.sizes):  # counting the larger may count the smaller
            if size not in self.counted:
                self._supports(size)
        return sum(self.counted.values())

    def counts(self) -> dict[tuple[int, int], int]:
        """Return their number for every size and support."""
        counts = Counter[tuple[int, int]]()
        for size in self.sizes:
            counts.update({(size, n): times for n, times in enumerate(self._supports(size).tolist()) if times})
        return counts

    def _supports(self, size: int) -> Ints:
        """Return their number of one size by support."""
        counts: Ints = np.zeros(1, np.int64)
        if self.k > self._settled.get(size, 0):
            smaller, counts = count_rare(self._records, size, self.k, weights=self._weights)
            if smaller is not None:
                self._note(size - 1, int(smaller.sum()))
        self._note(size, int(counts.sum()))
        return counts

    def _note(self, size: int, count: int) -> None:
        self.counted[size] = count
        if not count:
            self._settled[size] = max(self.k, self._settled.get(size, 0))

    def first(self, most: int | None, *, minimal: bool = False) -> list[Violation]:
        """Return the first `most` of them, or all: minimal ones, then the smaller, then in alphabetical order.

        `minimal` drops all others. Larger sizes are counted only if the smaller ones do not suffice.
        """
        first, larger = list[Violation](), list[Violation]()
        smaller: Ints = np.empty(0, np.int64)
        for size in self.sizes:
            least, others = (_FirstItemsets(None if most is None else most - len(listed)) for listed in (first, larger))
            violating: list[Ints] = [np.empty(0, np.int64)]
            for marked in self._marked(size, smaller):
                least.take(marked, marked.minimal)
                if not minimal:
                    others.take(marked, ~marked.minimal)
                if size < self.sizes[-1]:
                    violating.append(_keys(len(self.items), size)(marked.itemsets))
            smaller = np.sort(np.concatenate(violating))
            first += least.named(self.items)
            larger += others.named(self.items)
            if len(first) == most:
                break
        return [*first, *larger][:most]

    def _marked(self, size: int, smaller: Ints) -> Iterator[MarkedBlock]:
        """Yield those of `size` items; `smaller` has the ascending keys of those with an item less."""
        key = _keys(len(self.items), size - 1)
        for block in self.blocks(size):
            # Every larger itemset that occurs with a violation violates too: to look one item back is enough.
            inside = [among(key(np.delete(block.itemsets, place, axis=1)), smaller) for place in range(size)]
            yield MarkedBlock(*block, ~np.logical_or.reduce(inside))


def _few_kinds(records: Sets) -> bool:
    """Return False if more than half of the records differ, which sums of a number for each code show."""
    powers = (np.arange(records.shape[1]) + 1) ** 7
    total = np.append(0, np.cumsum(powers[records.indices]))
    return 2 * len(distinct(np.diff(total[records.indptr]))) < records.shape[0]


class _FirstItemsets:
    """The itemsets that come first, of many blocks."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.blocks: list[ItemsetBlock] = []

    def take(self, marked: MarkedBlock, these: Mask) -> None:
        """Add the itemsets of `marked` that the mask `these` selects."""
        if self.most is None:
            self.blocks.append(ItemsetBlock(marked.itemsets[these], marked.supports[these]))
        elif these.any() and self.most:
            if self.blocks and len(self.blocks[0].supports) == self.most:
                # An itemset that begins after the last one taken cannot come before it.
                these = these & (marked.itemsets[:, 0] <= self.blocks[0].itemsets[-1, 0])
            new = ItemsetBlock(marked.itemsets[these], marked.supports[these])
            self.blocks = [_ordered([*self.blocks, new], self.most)]

    def named(self, items: tuple[str, ...]) -> Iterator[Violation]:
        """Yield them in order, by the names in `items`."""
        if self.blocks:
            itemsets, supports = _ordered(self.blocks, self.most)
            for codes, support in zip(itemsets.tolist(), supports.tolist(), strict=True):
                yield frozenset(items[code] for code in codes), support


def _ordered(blocks: list[ItemsetBlock], most: int | None) -> ItemsetBlock:
    itemsets, supports = map(np.concatenate, zip(*blocks, strict=True))
    order = np.lexsort(itemsets.T[::-1])[:most]
    return ItemsetBlock(itemsets[order], supports[order])


def _keys(items: int, size: int) -> Callable[[Ints], Ints]:
    """Return a function that maps itemsets of a size to numbers in the same order; arbitrary precision where 64 bits do
    not suffice.
    """
    powers = [items**place for place in reversed(range(size))]
    factors = np.array(powers, np.int64 if items**size < 1 << 63 else object)
    return lambda itemsets: itemsets @ factors


Cell = tuple[tuple[str, ...], tuple[str, ...], int]
"""The items that the records of a cell have, those that they lack, and the number of records."""


def small_cells(table: ItemsetTable, k: int, *, zeros: bool) -> Iterator[Cell]:
    """Yield the cells of `table` with 1 to k - 1 records (`k`), or fewer than 0, and without `zeros` empty ones.

    Only itemsets whose subsets are all in the table have cells of a known size.

    >>> list(small_cells(ItemsetTable(9, (("a",), ("b",), ("a", "b")), (6, 5, 5)), 3, zeros=True))
    [(('a',), ('b',), 1)]
    """
    for items in sorted(map(sorted, table.itemsets), key=lambda items: (len(items), items)):
        for there in map(frozenset, _subsets(items)):
            absent = tuple(item for item in items if item not in there)
            terms = [(more, table.by_itemset.get(there.union(more))) for more in _subsets(absent)]
            # Inclusion and exclusion: supports of larger sets are subtracted and added in turn.
            sizes = [support if len(more) % 2 == 0 else -support for more, support in terms if support is not None]
            size = sum(sizes)
            if len(sizes) == len(terms) and size < k and (size or not zeros):
                yield tuple(item for item in items if item in there), absent, size


def _subsets(items: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items), -1, -1))
