"""The k^m guarantee: every itemset of at most m items occurs in no transaction or in at least k.

An itemset violates when its support is 1..k-1; so does every larger one that occurs. A violation is minimal
when none of its proper subsets violates.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from decloak.checks import check_km
from decloak.counting.itemsets import Coded, coded_items, sizes
from decloak.counting.rare import rare_itemsets
from decloak.data.dataset import Dataset

__all__ = ["violations"]


def violations(transactions: Iterable[Iterable[str]] | Dataset, *, k: int, m: int) -> list[tuple[frozenset[str], int]]:
    """Return every itemset of 1..m items that occurs in 1..k-1 transactions, with its support.

    Minimal ones come first, then the smaller, then by their items in alphabetical order.

    >>> violations([["milk", "tea"], ["milk"], ["milk", "salt"]], k=2, m=1)
    [(frozenset({'salt'}), 1), (frozenset({'tea'}), 1)]
    """
    check_km(k, m)
    data = coded_items(transactions.rows if isinstance(transactions, Dataset) else transactions)
    minimal: list[tuple[frozenset[str], int]] = []
    larger: list[tuple[frozenset[str], int]] = []
    violating: set[frozenset[str]] = set()
    for size in sizes(data.records, m):
        supports = dict(_violating(data, size, k))
        for itemset, support in supports.items():
            # What violates passes on to every larger itemset that occurs: to look one item back is enough.
            covers = any(itemset - {item} in violating for item in itemset)
            (larger if covers else minimal).append((itemset, support))
        violating = set(supports)
    return minimal + larger


def _violating(data: Coded, size: int, k: int) -> Iterator[tuple[frozenset[str], int]]:
    """Those of a size, in alphabetical order."""
    if blocks := list(rare_itemsets(data.records, size, k)):
        itemsets, supports = map(np.concatenate, zip(*blocks, strict=True))
        order = np.lexsort(itemsets.T[::-1])
        for itemset, support in zip(itemsets[order].tolist(), supports[order].tolist(), strict=True):
            yield frozenset(data.items[code] for code in itemset), support
