"""HORPART by compiled loops: the parts of `horpart.horizontal`. Importing this module needs numba."""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.compiled import compiled


@compiled
def divide(start: Ints, codes: NDArray[np.int32], items: int, largest: int) -> tuple[Ints, Ints]:
    """Return records in the order of the parts of at most `largest`, and where the parts end.

    The records are `codes[start[record]:start[record + 1]]`, of so many `items`.
    """
    records = len(start) - 1
    order, moved, ends, parts = np.arange(records), np.empty(records, np.int64), np.empty(records, np.int64), 0
    count, first, filled = np.zeros(items, np.int64), np.zeros(items, np.int64), np.zeros(items, np.int64)
    # A stamp of its own for each node saves clearing the array.
    seen, stamp = np.full(items, -1, np.int64), 0
    # The items that the records of a node all have: a chain of items, each with the place of the one before.
    item_of, before = np.empty(records + 1, np.int64), np.empty(records + 1, np.int64)
    links = 0
    stack = [(0, records, -1, False)]
    while len(stack):
        begin, end, chain, rest = stack.pop()
        if end - begin <= largest or rest:
            number = -(-(end - begin) // largest)
            for part in range(1, number + 1):
                ends[parts] = begin + part * (end - begin) // number
                parts += 1
            continue
        stamp += 1
        link = chain
        while link >= 0:
            seen[item_of[link]] = stamp
            link = before[link]
        touched = []
        total = 0
        for place in range(begin, end):
            for entry in range(start[order[place]], start[order[place] + 1]):
                item = codes[entry]
                if seen[item] != stamp:
                    if count[item] == 0:
                        touched.append(item)
                    count[item] += 1
                    total += 1
        holders, after = np.empty(total, np.int64), 0
        for item in touched:
            first[item] = filled[item] = after
            after += count[item]
        for place in range(begin, end):
            for entry in range(start[order[place]], start[order[place] + 1]):
                item = codes[entry]
                if seen[item] != stamp:
                    holders[filled[item]] = place - begin
                    filled[item] += 1
        left, there, place = end - begin, np.ones(end - begin, np.bool_), begin
        children = []
        while left > largest:
            best, most = -1, 0
            for item in touched:
                if count[item] > most or (count[item] == most and most > 0 and item < best):
                    best, most = item, count[item]
            if best < 0:
                break
            if links == len(item_of):
                item_of, before = np.append(item_of, item_of), np.append(before, before)
            item_of[links], before[links] = best, chain
            links += 1
            if most == left:
                # An item of all records separates none of them.
                seen[best], count[best], chain = stamp, 0, links - 1
                continue
            child = place
            for at in holders[first[best] : filled[best]]:
                if there[at]:
                    there[at] = False
                    record = order[begin + at]
                    moved[place] = record
                    place += 1
                    for entry in range(start[record], start[record + 1]):
                        if seen[codes[entry]] != stamp:
                            count[codes[entry]] -= 1
            left -= place - child
            children.append((child, place, links - 1, False))
        children.append((place, end, chain, True))
        for at in range(end - begin):
            if there[at]:
                moved[place] = order[begin + at]
                place += 1
        order[begin:end] = moved[begin:end]
        for item in touched:
            count[item] = 0
        # The stack is taken from its end, and the first child comes first.
        for at in range(len(children) - 1, -1, -1):
            stack.append(children[at])  # noqa: PERF401 (numba lists extend by lists only)
    return order, ends[:parts]
