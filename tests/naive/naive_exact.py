"""The exact posterior of a cluster, one placement at a time. Slow on purpose."""

import math
from itertools import combinations

from naive_cover import algorithm_consistent


def posterior(cluster, units, anchors, z, chances, k, m, empty_rows):
    """p[unit][row] over all placements that agree with the algorithm; None where none does.

    z[unit][row] is in log odds; a term is in s rows with chances[s - 1], and of the sets of s rows each counts exp z.
    """
    chunk_items = [set(chunk.items) for chunk in cluster.record_chunks]
    total, on = 0.0, [[0.0] * cluster.size for _ in units]
    for rows in algorithm_consistent(cluster, k, m, empty_rows):
        held = []
        weight = 1.0
        for u, (chunk, items, _) in enumerate(units):
            mine = set(items) if chunk == "T" else chunk_items[chunk]
            has = [row for row in range(cluster.size) if rows[row] & mine == set(items)]
            held.append(has)
            mass = math.exp(sum(z[u][row] for row in has))
            if chunk == "T":
                s = len(has)
                if s > len(chances):
                    mass = 0.0
                else:
                    mass *= chances[s - 1] / sum(
                        math.exp(sum(z[u][row] for row in some)) for some in combinations(range(cluster.size), s)
                    )
            weight *= mass
        total += weight
        for u, has in enumerate(held):
            for row in has:
                on[u][row] += weight
    return [[x / total for x in row] for row in on] if total else None
