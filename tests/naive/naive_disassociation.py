"""Disassociation written down from its definition with sets and lists: the slow twin of the anonymiser."""

from collections import Counter
from itertools import combinations


def anonymous(rows, k, m):
    """Every itemset of 1..m items that occurs, occurs k times."""
    support = Counter(one for row in rows for size in range(1, m + 1) for one in combinations(sorted(row), size))
    return all(count >= k for count in support.values())


def alike(rows, k):
    return all(count >= k for row, count in Counter(frozenset(row) for row in rows).items() if row)


def horpart(records, ids, ignore, most, strict):
    if len(ids) < most or (len(ids) == most and not strict):
        return [ids] if ids else []
    support = Counter(item for one in ids for item in records[one] - ignore)
    if not support:
        parts = -(-len(ids) // most)
        return [ids[p * len(ids) // parts : (p + 1) * len(ids) // parts] for p in range(parts)]
    item = min(support, key=lambda item: (-support[item], item))
    inside = [one for one in ids if item in records[one]]
    outside = [one for one in ids if item not in records[one]]
    return horpart(records, inside, ignore | {item}, most, strict) + horpart(records, outside, ignore, most, strict)


def pooled(leaves, k):
    clusters, pool = [], []
    for leaf in leaves:
        if len(leaf) >= k:
            clusters.append(leaf)
        else:
            pool = pool + leaf
            if len(pool) >= k:
                clusters.append(pool)
                pool = []
    if pool:
        clusters[-1] = clusters[-1] + pool
    return clusters


def ordered(rows):
    support = Counter(item for row in rows for item in row)
    return sorted(support, key=lambda item: (-support[item], item)), support


def filled(items, fits):
    chunks = []
    while items:
        chunk = []
        for item in items:
            if fits([*chunk, item]):
                chunk.append(item)
        chunks.append(chunk)
        items = [item for item in items if item not in chunk]
    return chunks


def none_empty(chunks, rows, k, m):
    subrecords = sum(bool(row & set(chunk)) for chunk in chunks for row in rows)
    return subrecords >= len(rows) + k * (min(m, len(chunks)) - 1)


def verpart(rows, k, m):
    order, support = ordered(rows)
    frequent = [item for item in order if support[item] >= k]
    chunks = filled(frequent, lambda items: anonymous([row & set(items) for row in rows], k, m))
    terms = order[len(frequent) :]
    if not terms and not none_empty(chunks, rows, k, m):
        chunks = [[item for item in chunk if item != order[-1]] for chunk in chunks]
        return [chunk for chunk in chunks if chunk], [order[-1]]
    return chunks, terms


class Refined:
    def __init__(self, clusters, k, m):
        """clusters: (rows, chunks, terms) each, as VERPART gives them."""
        self.rows = [rows for rows, _, _ in clusters]
        self.chunks = [chunks for _, chunks, _ in clusters]
        self.terms = [set(terms) for _, _, terms in clusters]
        self.k, self.m = k, m
        self.joints = []
        nodes = [((leaf,), set()) for leaf in range(len(clusters))]
        while True:
            before = len(nodes)
            nodes = self.scanned(self.sorted(nodes))
            if len(nodes) == before:
                break

    def virtual(self, node):
        return set().union(*(self.terms[leaf] for leaf in node[0]))

    def sorted(self, nodes):
        count = Counter(item for node in nodes for item in self.virtual(node))
        by_rank = sorted(count, key=lambda item: (-count[item], item))
        return sorted(
            nodes,
            key=lambda node: (not self.virtual(node), sorted(by_rank.index(item) for item in self.virtual(node))),
        )

    def scanned(self, nodes):
        result = []
        while nodes:
            joined = self.joined(nodes[0], nodes[1]) if len(nodes) > 1 else None
            result.append(joined or nodes[0])
            nodes = nodes[2 if joined else 1 :]
        return result

    def joined(self, a, b):
        k, m = self.k, self.m
        both = self.virtual(a) & self.virtual(b)
        leaves = sorted(a[0] + b[0])
        gives = {leaf: both & self.terms[leaf] for leaf in leaves}
        for leaf in leaves:
            rows, chunks = self.rows[leaf], self.chunks[leaf]
            if self.terms[leaf] == gives[leaf] and not (chunks and none_empty(chunks, rows, k, m)):
                gives[leaf] = set(ordered([row & gives[leaf] for row in rows])[0][:-1])
        given = [row & gives[leaf] for leaf in leaves for row in self.rows[leaf]]
        order, support = ordered(given)
        order = [item for item in order if support[item] >= k]
        elsewhere = {item for leaf in leaves for chunk in self.chunks[leaf] for item in chunk} | a[1] | b[1]

        def fits(items):
            parts = [row & set(items) for row in given]
            return alike(parts, k) if elsewhere & set(items) else anonymous(parts, k, m)

        chunks = filled(order, fits)
        losing = [leaf for leaf in leaves if gives[leaf] & set(order)]
        hidden = sum(len(gives[leaf] & set(order)) for leaf in losing)
        size = sum(len(self.rows[leaf]) for leaf in losing)
        if not order or sum(support[item] for item in order) * size < hidden * len(given):
            return None
        for leaf in leaves:
            self.terms[leaf] -= gives[leaf] & set(order)
        self.joints.append((leaves, [published(chunk, given) for chunk in chunks]))
        return tuple(leaves), a[1] | b[1] | set(order)


def published(items, rows):
    parts = [tuple(sorted(row & set(items))) for row in rows]
    return tuple(sorted(items)), tuple(sorted(part for part in parts if part))


def disassociated(records, k, m, most, refine=False, strict=False):
    """The clusters as (size, chunks, terms), the joints as (leaves, chunks), and the truth."""
    records = [frozenset(record) for record in records]
    members = pooled(horpart(records, list(range(len(records))), frozenset(), most, strict), k)
    parts = [(rows, *verpart(rows, k, m)) for rows in ([records[one] for one in ids] for ids in members)]
    refined = Refined(parts, k, m) if refine else None
    clusters, truth = [], []
    for number, (rows, chunks, terms) in enumerate(parts):
        left = refined.terms[number] if refined else terms
        clusters.append((len(rows), tuple(published(chunk, rows) for chunk in chunks), tuple(sorted(left))))
        anchor = [(sorted(records[one] & set(chunks[0] if chunks else ())), one) for one in members[number]]
        truth.append(tuple(one for _, one in sorted(anchor, key=lambda row: (not row[0], row))))
    joints = [(tuple(leaves), tuple(chunks)) for leaves, chunks in refined.joints] if refined else []
    return clusters, joints, truth
