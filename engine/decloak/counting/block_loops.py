"""Compiled loops over one block of records. Importing this module needs numba."""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints, Mask, PairTable
from decloak.compiled import compiled

Codes = NDArray[np.int32]


@compiled
def ascending_sets(start: Ints, codes: Codes, number: Codes) -> tuple[Ints, Codes]:
    """Return records with the `number` of each of their `codes`, ascending and once; `start` has their first codes."""
    begin, held, count = np.zeros(len(start), np.int64), np.empty(len(codes), np.int32), 0
    for record in range(len(start) - 1):
        first = count
        for entry in range(start[record], start[record + 1]):
            code, place = number[codes[entry]], count
            while place > first and held[place - 1] > code:
                place -= 1
            if place > first and held[place - 1] == code:
                continue
            for later in range(count, place, -1):
                held[later] = held[later - 1]
            held[place] = code
            count += 1
        begin[record + 1] = count
    return begin, held[:count]


@compiled
def add_coded_pairs(start: Ints, codes: Codes, leaf: Ints, parent: Ints, table: PairTable, supports: Ints) -> None:
    """Add to `table` the records with each pair of nodes: the `leaf` of each of their `codes`, and all nodes above.

    `supports` gets those with each node. A cell of the table stays at the largest number of its type.
    `start` has the first code of each record, and `parent` the node above each node, -1 for a root.
    """
    most = np.iinfo(table.dtype).max
    seen, nodes = np.full(len(parent), -1, np.int64), np.empty(len(parent), np.int64)
    for record in range(len(start) - 1):
        count = 0
        for entry in range(start[record], start[record + 1]):
            first, node = count, leaf[codes[entry]]
            while node >= 0 and seen[node] != record:
                seen[node] = record
                nodes[count] = node
                count += 1
                node = parent[node]
            # Nodes are numbered from the root, so the new ones of ascending leaves ascend from above.
            nodes[first:count] = nodes[first:count][::-1].copy()
        for one in range(count):
            row = table[nodes[one]]
            supports[nodes[one]] += 1
            for other in range(one, count):
                if row[nodes[other]] < most:
                    row[nodes[other]] += 1


@compiled
def search(
    start: Ints, codes: Codes, sets: Ints, lacks: Mask, left: Ints, head: Ints, following: Ints, seen: Ints, first: int
) -> None:
    """Take 1 from `left` of each query for each record that answers it; a query with none left is dropped.

    A query is a row of `sets`: three codes, of which a record needs the first two. It needs the third, or must lack it
    where `lacks` is true. `head` has the first query of each first code, and `following` the next one. `start` and
    `codes` are the records, numbered from `first`. `seen` has the last record with each code.
    """
    for record in range(len(start) - 1):
        marked = False
        for entry in range(start[record], start[record + 1]):
            before, query = -1, head[codes[entry]]
            while query >= 0:
                # Only records that a query asks about are marked.
                if not marked:
                    for other in range(start[record], start[record + 1]):
                        seen[codes[other]] = first + record
                    marked = True
                after = following[query]
                if seen[sets[query, 1]] == first + record and (seen[sets[query, 2]] == first + record) != lacks[query]:
                    left[query] -= 1
                if left[query] > 0:
                    before = query
                elif before < 0:
                    head[codes[entry]] = after
                else:
                    following[before] = after
                query = after
