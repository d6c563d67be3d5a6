"""VERPART: the items of a cluster cut into k^m-anonymous record chunks and a term chunk.

A set of rows is the bits of one integer: row r is bit r. `held` maps an item code to the rows that hold it; an
itemset is on the rows that the bits of its items share, and its support is how many bits are set.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

__all__ = ["Grower", "Vertical", "anonymous_chunk", "by_support", "greedy", "held_rows", "no_empty_record", "vertical"]

Grower = Callable[[], Callable[[int], bool]]
"""Opens a chunk: what it gives takes one item after the other, or refuses it and stays as it was."""


class Vertical(NamedTuple):
    """The items of the record chunks, in the order they were placed, and those of the term chunk."""

    chunks: list[list[int]]
    terms: list[int]


def held_rows(records: Iterable[Iterable[int]]) -> dict[int, int]:
    """Return the rows that hold each item.

    >>> held_rows([(0, 1), (1,)])
    {0: 1, 1: 3}
    """
    held: dict[int, int] = {}
    for row, record in enumerate(records):
        bit = 1 << row
        for item in record:
            held[item] = held.get(item, 0) | bit
    return held


def by_support(held: dict[int, int]) -> list[int]:
    """Items, those on the most rows first, then by name."""
    return sorted(held, key=lambda item: (-held[item].bit_count(), item))


def vertical(held: dict[int, int], size: int, k: int, m: int) -> Vertical:
    """Cut the items of a cluster of `size` records into chunks so that no record need be empty."""
    order = by_support(held)
    frequent = [item for item in order if held[item].bit_count() >= k]
    chunks = greedy(frequent, lambda: anonymous_chunk(held, k, m))
    if len(frequent) == len(order) and not no_empty_record(chunks, held, size, k, m):
        # The rarest item becomes a term, which any record may hold: so none need be empty.
        last = order.pop()
        chunks = [kept for chunk in chunks if (kept := [item for item in chunk if item != last])]
        return Vertical(chunks, [last])
    return Vertical(chunks, order[len(frequent) :])


def greedy(items: list[int], opened: Grower) -> list[list[int]]:
    """Fill one chunk after the other with the items it takes, those refused going on; a chunk takes its first."""
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


def anonymous_chunk(held: dict[int, int], k: int, m: int) -> Callable[[int], bool]:
    """A chunk that stays k^m-anonymous.

    Only itemsets with the new item can offend. `itemsets` has the rows of every itemset of at most m - 1 items
    that occurs, with its fewest items: itemsets on the same rows offend together.
    """
    itemsets: dict[int, int] = {}

    def takes(item: int) -> bool:
        rows = held[item]
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


def no_empty_record(chunks: Sequence[Sequence[int]], held: dict[int, int], size: int, k: int, m: int) -> bool:
    """Tell whether the sub-records suffice to leave no record empty, however k of them must pile up."""
    subrecords = 0
    for chunk in chunks:
        rows = 0
        for item in chunk:
            rows |= held[item]
        subrecords += rows.bit_count()
    return bool(chunks) and subrecords >= size + k * (min(m, len(chunks)) - 1)
