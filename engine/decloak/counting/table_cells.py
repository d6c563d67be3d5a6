"""Cells of the itemsets of a table: records with some of the items and without the others."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

from decloak.data.itemset_table import ItemsetTable

__all__ = ["small_cells"]

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
            sizes = [support if len(more) % 2 == 0 else -support for more, support in terms if support is not None]
            size = sum(sizes)
            if len(sizes) == len(terms) and size < k and (size or not zeros):
                yield tuple(item for item in items if item in there), absent, size


def _subsets(items: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items), -1, -1))
