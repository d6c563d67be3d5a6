"""Counts over records that stay in files, written down from their definitions: the slow twins."""

from itertools import combinations_with_replacement


def above(node, parent):
    """A node with all nodes above it."""
    return {node} | (above(parent[node], parent) if parent[node] >= 0 else set())


def pairs(records, leaf, parent):
    """The number of records with each pair of nodes, a <= b."""
    counts = {}
    for record in records:
        nodes = set().union(*(above(leaf[code], parent) for code in record))
        for pair in combinations_with_replacement(sorted(nodes), 2):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def answers(records, query, lacks):
    """The number of records with the first two codes, and with or without the third."""
    one, two, third = query
    return sum({one, two} <= set(record) and (third in record) != lacks for record in records)
