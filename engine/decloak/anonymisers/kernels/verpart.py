"""VERPART: the items of a cluster split into k^m-anonymous record chunks and a term chunk.

A set of rows is the bits of one integer: row r is bit r. `item_rows` maps an item code to the rows with it. An itemset
is on the rows that the bits of its items share, and its support is the number of set bits.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Grower = Callable[[], Callable[[int], bool]]
"""A function that opens a chunk. Its result takes one item after the other, or refuses it and stays as it was."""


class Vertical(NamedTuple):
    """The items of the record chunks, in the order they were placed, and the items of the term chunk."""

    chunks: list[list[int]]
    terms: list[int]


def held_rows(records: Iterable[Iterable[int]]) -> dict[int, int]:
    """Return the rows of each item in `records`.

    >>> held_rows([(0, 1), (1,)])
    {0: 1, 1: 3}
    """
    item_rows: dict[int, int] = {}
    for row, record in enumerate(records):
        bit = 1 << row
        for item in record:
            item_rows[item] = item_rows.get(item, 0) | bit
    return item_rows


def by_support(item_rows: dict[int, int]) -> list[int]:
    """Return the items of `item_rows`, those on the most rows first, then by name."""
    return sorted(item_rows, key=lambda item: (-item_rows[item].bit_count(), item))


def vertical(item_rows: dict[int, int], size: int, k: int, m: int) -> Vertical:
    """Return the items of a cluster of `size` records, with rows in `item_rows`, split into chunks for `k` and `m` so
    that every record keeps an item.
    """
    order = by_support(item_rows)
    frequent = [item for item in order if item_rows[item].bit_count() >= k]
    chunks = greedy(frequent, lambda: anonymous_chunk(item_rows, k, m))
    if len(frequent) == len(order) and not no_empty_record(chunks, item_rows, size, k, m):
        # The rarest item becomes a term, which any record may hold: so none need be empty.
        last = order.pop()
        chunks = [kept for chunk in chunks if (kept := [item for item in chunk if item != last])]
        return Vertical(chunks, [last])
    return Vertical(chunks, order[len(frequent) :])


def greedy(items: list[int], opened: Grower) -> list[list[int]]:
    """Return chunks of `items`: each takes all it can from `opened`, refused ones go on to the next. A chunk takes its
    first item.
    """
    chunks = []
    while items:
        takes = opened()
        chunk: list[int] = []
        refused: list[int] = []
        for item in items:
            (chunk if takes(item) else refused).append(item)
        chunks.append(chunk)
        items = refused
    return chunks


def anonymous_chunk(item_rows: dict[int, int], k: int, m: int) -> Callable[[int], bool]:
    """Return a chunk that stays k^m-anonymous for the rows `item_rows`, `k` and `m`.

    Only itemsets with the new item can violate. `itemsets` has the rows of every itemset of at most m - 1 items that
    occurs, with its fewest items: itemsets on the same rows violate together.
    """
    itemsets: dict[int, int] = {}

    def takes(item: int) -> bool:
        rows = item_rows[item]
        for holders in itemsets:
            if (common := rows & holders) and common.bit_count() < k:
                return False
        if m > 1:
            grown = {rows: 1}
            for holders, length in itemsets.items():
                if length < m - 1 and (common := rows & holders):
                    grown[common] = min(length + 1, grown.get(common, m))
            for common, length in grown.items():
                itemsets[common] = min(length, itemsets.get(common, m))
        return True

    return takes


def no_empty_record(chunks: Sequence[Sequence[int]], item_rows: dict[int, int], size: int, k: int, m: int) -> bool:
    """Return True if the sub-records of `chunks` suffice to leave none of `size` records empty, however `k` of them
    must coincide (`m`, rows in `item_rows`).
    """
    subrecords = 0
    for chunk in chunks:
        rows = 0
        for item in chunk:
            rows |= item_rows[item]
        subrecords += rows.bit_count()
    return bool(chunks) and subrecords >= size + k * (min(m, len(chunks)) - 1)
