"""Search for itemsets with a small support by compiled loops: the same results as
`counting.rare_itemsets`.

The group of an itemset has, for each later label, its places in the records of the itemset. Label x has the entries
`place[start[x]:start[x + 1]]`, in the records of the same numbers. The group of the empty itemset has depth 0. One
label deeper, the entries after the chosen label are grouped in the same way: counted by label, then moved into place.
What ends an itemset is not grouped but counted: its last label, or its last two where a table of all pairs is small.

Importing this module needs numba.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.anonymisers.kernels.records import Records
from decloak.arrays import Ints, Mask
from decloak.compiled import compiled

BATCH = 1 << 12
"""Number of itemsets that are found before they are returned, so that dead ones are dropped early."""
TABLE = 1 << 20
"""Largest number of pairs of labels in a table: it must fit in the processor's cache."""

Small = NDArray[np.int32]


class Groups(NamedTuple):
    """The groups of all depths: a row of each array is one of them."""

    start: Ints
    record: Small
    place: Small


def rare_compiled(records: Records, size: int, firsts: int, k: int, alive: Mask) -> Iterator[Ints]:
    """Yield the itemsets of `size` >= 2 `alive` labels, the first below `firsts`, in 1 to k - 1 (`k`) of the `records`.

    They come in lexicographic order, block by block. A label that dies meanwhile is not in later blocks.
    """
    labels, entries = len(alive), len(records.codes)
    tail = 2 if size > 2 and labels * labels <= TABLE else 1
    chosen = np.full(size - tail, -1)
    groups = Groups(np.zeros((len(chosen), labels + 1), np.int64), *np.empty((2, len(chosen), entries), np.int32))
    # All entries of a record follow the place before its first.
    record, before = np.arange(len(records.weight), dtype=np.int32), records.start[:-1].astype(np.int32) - 1
    _group(records, alive, record, before, groups, 0)
    support, cells = np.zeros(labels**tail, np.int32), np.empty(labels**tail, np.int32)
    # The group that fills a batch may go beyond it, by all of its cells.
    itemsets = np.empty((BATCH + len(cells), size), np.int32)
    depth = 0
    while depth >= 0:
        count, depth = _search(records, firsts, k, alive, groups, chosen, depth, support, cells, itemsets)
        yield itemsets[:count].astype(np.int64)


@compiled
def _group(records: Records, alive: Mask, record: Small, place: Small, groups: Groups, depth: int) -> None:
    """Group the living labels that follow some occurrences."""
    start = groups.start[depth]
    start[:] = 0
    for number in range(len(record)):
        for entry in range(place[number] + 1, records.start[record[number] + 1]):
            start[records.codes[entry] + 1] += alive[records.codes[entry]]
    free = np.cumsum(start)[:-1]
    start[1:] = np.cumsum(start)[1:]
    for number in range(len(record)):
        for entry in range(place[number] + 1, records.start[record[number] + 1]):
            label = records.codes[entry]
            if alive[label]:
                groups.record[depth, free[label]] = record[number]
                groups.place[depth, free[label]] = entry
                free[label] += 1


@compiled
def _search(
    records: Records,
    firsts: int,
    k: int,
    alive: Mask,
    groups: Groups,
    chosen: Ints,
    depth: int,
    support: Small,
    cells: Small,
    itemsets: Small,
) -> tuple[int, int]:
    """Continue from the labels chosen up to `depth` until enough is found; return the number found, and the depth, or
    -1.

    `support` is 0 everywhere, before and after.
    """
    labels, last = len(alive), len(chosen) - 1
    # A label that was chosen may have died since the last batch.
    for above in range(depth):
        if not alive[chosen[above]]:
            depth = above
            break
    count = 0
    while depth >= 0 and count < BATCH:
        chosen[depth] += 1
        x = chosen[depth]
        if x == (labels if depth else firsts):
            depth -= 1
            continue
        first, stop = groups.start[depth, x], groups.start[depth, x + 1]
        if first == stop or not alive[x]:
            continue
        record, place = groups.record[depth, first:stop], groups.place[depth, first:stop]
        if depth < last:
            depth += 1
            chosen[depth] = x
            _group(records, alive, record, place, groups, depth)
            continue
        if len(support) == labels:
            seen = _count(records, record, place, support, cells)
        else:
            seen = _count_pairs(records, alive, record, place, support, cells)
        for cell in _rare(k, alive, support, cells[:seen]):
            itemsets[count, : last + 1] = chosen
            itemsets[count, -1] = cell % labels
            if len(support) > labels:
                itemsets[count, -2] = cell // labels
            count += 1
    return count, depth


@compiled
def _count(records: Records, record: Small, place: Small, support: Small, cells: Small) -> int:
    """Count the labels that follow some occurrences; return their number. They are the first of `cells`."""
    seen = 0
    for number in range(len(record)):
        weight = records.weight[record[number]]
        for entry in range(place[number] + 1, records.start[record[number] + 1]):
            label = records.codes[entry]
            if support[label] == 0:
                cells[seen] = label
                seen += 1
            support[label] += weight
    return seen


@compiled
def _count_pairs(records: Records, alive: Mask, record: Small, place: Small, support: Small, cells: Small) -> int:
    """Count the pairs that follow some occurrences, with a living first label: pair y, z is cell y * labels + z."""
    labels, seen = len(alive), 0
    for number in range(len(record)):
        weight, stop = records.weight[record[number]], records.start[record[number] + 1]
        for entry in range(place[number] + 1, stop):
            if alive[records.codes[entry]]:
                row = records.codes[entry] * labels
                for later in range(entry + 1, stop):
                    cell = row + records.codes[later]
                    if support[cell] == 0:
                        cells[seen] = cell
                        seen += 1
                    support[cell] += weight
    return seen


@compiled
def _rare(k: int, alive: Mask, support: Small, cells: Small) -> Small:
    """Return the cells, ascending, with a support below k and a living last label; reset all supports to 0."""
    kept = 0
    for index in range(len(cells)):
        cell = cells[index]
        if support[cell] < k and alive[cell % len(alive)]:
            cells[kept] = cell
            kept += 1
        # The table is large and few cells were met, so that only these are reset.
        support[cell] = 0
    cells[:kept].sort()
    return cells[:kept]
