"""Models that synthetic records are drawn from: a mixture of parts, or noisy supports of items and pairs.

Within a part of a mixture, every item is in a record independently of the others.

x(t, i) is 1 if record t has item i. Expectation maximisation alternates between two steps. The shares r(t, c) of
records in parts follow from the probabilities P(i, c) and the weights of parts. With p(i), the share of all records
with item i, the probabilities are

    P(i, c) = (sum over t of r(t, c) x(t, i) + p(i) / 2) / (sum over t of r(t, c) + 1 / 2)

Noisy supports have differential privacy. A record more or less changes each count by at most 1. After a cut to L items
it changes L counts of items, and L (L - 1) / 2 counts of pairs. So discrete Laplace noise of the scale (changed counts)
/ (share of epsilon) on each count has differential privacy. The shares of epsilon add up to epsilon. All further steps
read noisy counts alone.

The list of items is taken for public. The pairs with the largest mutual information make a forest (Chow and Liu, 1968).
A record gets the items along the forest, each with its probability given the item before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError
from decloak.lazy import sparse

ROUNDS = 20
PRIOR = 0.5
"""Records that stand for all data in each part."""
SPREAD = 0.1
"""Parameter of the Dirichlet distribution of the first shares."""
LOWEST, HIGHEST = 1e-9, 0.999
BLOCK = 1 << 14
"""Records with shares in memory at once."""


class Mixture(NamedTuple):
    """The weight of each part, and the probability of each item in it: items × parts."""

    weights: Floats
    probabilities: Floats


def fit_mixture(records: sparse.csr_array, parts: int, seed: int, rounds: int = ROUNDS) -> Mixture:
    """Return a mixture of `parts` fitted to `records`; `seed` decides the first shares."""
    rng = np.random.default_rng(seed)
    common = np.bincount(records.indices, minlength=records.shape[1]) / max(1, records.shape[0])
    blocks = list(_blocks(records))
    shares = (rng.dirichlet(np.full(parts, SPREAD), block.shape[0]) for block in blocks)
    mixture = _probabilities(common, parts, zip(blocks, shares, strict=True))
    for _ in range(rounds):
        found = (_shares(mixture, block) for block in blocks)
        mixture = _probabilities(common, parts, zip(blocks, found, strict=True))
    return mixture


def _blocks(records: sparse.csr_array) -> Iterator[sparse.csr_array]:
    matrix = sparse.csr_array((np.ones(records.nnz), records.indices, records.indptr), records.shape)
    return (matrix[first : first + BLOCK] for first in range(0, records.shape[0], BLOCK))


def _probabilities(common: Floats, parts: int, shares: Iterator[tuple[sparse.csr_array, Floats]]) -> Mixture:
    """Return the mixture with these shares of records in parts."""
    held, sizes = np.zeros((len(common), parts)), np.zeros(parts)
    for block, share in shares:
        held += block.T @ share
        sizes += share.sum(axis=0)
    probabilities = (held + PRIOR * common[:, None]) / (sizes + PRIOR)
    # No probability is 0 or 1: its logarithm would be infinite.
    return Mixture(sizes / max(1e-300, sizes.sum()), np.clip(probabilities, LOWEST, HIGHEST))


def _shares(mixture: Mixture, block: sparse.csr_array) -> Floats:
    """Return the shares of records in parts, by their likelihood in each part."""
    absent = np.log1p(-mixture.probabilities)
    likelihood: Floats = block @ (np.log(mixture.probabilities) - absent)
    likelihood += absent.sum(axis=0) + np.log(np.maximum(mixture.weights, 1e-300))
    # Only ratios count, and the exponential of a large number would overflow.
    likelihood -= likelihood.max(axis=1, keepdims=True)
    np.exp(likelihood, out=likelihood)
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    return likelihood


def draw_records(mixture: Mixture, count: int, seed: int) -> sparse.csr_array:
    """Return `count` records drawn from a mixture with `seed`, a matrix of records × items."""
    rng = np.random.default_rng([seed, 1])
    sizes = rng.multinomial(count, mixture.weights / mixture.weights.sum())
    start = np.cumsum(sizes) - sizes
    rows: list[Ints] = [np.zeros(0, np.int64)]
    items: list[Ints] = [np.zeros(0, np.int64)]
    for part, size in enumerate(sizes.tolist()):
        # First how many records of the part have the item, then which: as if each were drawn, in far fewer draws.
        held = rng.binomial(size, mixture.probabilities[:, part])
        for item in np.flatnonzero(held).tolist():
            rows.append(start[part] + rng.choice(size, held[item], replace=False))
            items.append(np.full(held[item], item))
    entries = np.concatenate(rows), np.concatenate(items)
    shape = (count, len(mixture.probabilities))
    drawn = sparse.csr_array(sparse.coo_array((np.ones(len(entries[0]), np.int8), entries), shape))
    drawn.sort_indices()
    return drawn


SHARES = {"records": 0.05, "lengths": 0.05, "items": 0.45, "pairs": 0.45}
"""The share of epsilon that each kind of counts uses."""
LONG = 0.9
"""The share of the records that stay whole, by noisy counts of lengths."""
LONGEST = 64
"""Records of this length and longer are counted together."""
MOST = 6_000
"""Largest number of items: the counts of all pairs are in memory."""


class _Counts(NamedTuple):
    """Noisy counts: records, items, pairs, and the scale of the noise of pairs."""

    records: int
    items: Floats
    pairs: Floats
    scale: float


def draw_private(records: sparse.csr_array, epsilon: float, seed: int | None) -> sparse.csr_array:
    """Return records drawn with differential privacy for `epsilon`, a matrix of records × items.

    `seed` decides noise and records. Without it both come from the operating system, as the guarantee requires.
    """
    if records.shape[1] > MOST:
        message = f"{records.shape[1]:,} items have too many pairs for noise on each"
        raise DecloakError(message, hint=f"leave out rare items: at most {MOST:,} items")
    rng = np.random.default_rng(seed)
    counts = _noisy_counts(records, epsilon, rng)
    return _draw(counts, rng)


def _laplace(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Ints:
    """Return discrete Laplace noise: whole numbers, so that no digits of a float reveal the count."""
    p = 1 - np.exp(-1 / scale)
    noise: Ints = rng.geometric(p, shape) - rng.geometric(p, shape)
    return noise


def _noisy_counts(records: sparse.csr_array, epsilon: float, rng: np.random.Generator) -> _Counts:
    count = max(1, records.shape[0] + int(_laplace(rng, (), 1 / (SHARES["records"] * epsilon))))
    lengths = np.bincount(np.minimum(np.diff(records.indptr), LONGEST), minlength=LONGEST + 1)
    within = np.cumsum(lengths + _laplace(rng, lengths.shape, 1 / (SHARES["lengths"] * epsilon))) >= LONG * count
    # With much noise, no length may seem to be enough.
    most = max(1, int(np.argmax(within))) if within.any() else LONGEST
    cut = _shortened(records, most, rng)
    items = cut.sum(axis=0) + _laplace(rng, (records.shape[1],), most / (SHARES["items"] * epsilon))
    scale = max(1.0, most * (most - 1) / 2) / (SHARES["pairs"] * epsilon)
    together = (cut.T @ cut).toarray()
    noise = np.triu(_laplace(rng, together.shape, scale), 1)
    pairs = np.triu(together, 1) + noise
    return _Counts(count, np.clip(items, 0, count), pairs + pairs.T, scale)


def _shortened(records: sparse.csr_array, most: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return `records` with at most so many items each, chosen at random."""
    row = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    order = np.lexsort((rng.random(len(row)), row))
    kept = order[np.arange(len(row)) - records.indptr[row] < most]
    entries = (np.ones(len(kept), np.float64), (row[kept], records.indices[kept]))
    return sparse.csr_array(sparse.coo_array(entries, records.shape))


def _draw(counts: _Counts, rng: np.random.Generator) -> sparse.csr_array:
    parents, order = _forest(counts)
    rows: dict[int, Ints] = {}
    for item in order.tolist():
        share = counts.items[item] / counts.records
        if parents[item] < 0:
            chosen = rng.random(counts.records) < share
        else:
            parent, both = parents[item], counts.pairs[item, parents[item]]
            held = np.zeros(counts.records, np.bool_)
            held[rows[parent]] = True
            given = np.clip(both / max(1.0, counts.items[parent]), 0, 1)
            other = np.clip((counts.items[item] - both) / max(1.0, counts.records - counts.items[parent]), 0, 1)
            chosen = rng.random(counts.records) < np.where(held, given, other)
        rows[item] = np.flatnonzero(chosen)
    row = np.concatenate([np.zeros(0, np.int64), *(rows[item] for item in sorted(rows))])
    item = np.repeat(sorted(rows), [len(rows[item]) for item in sorted(rows)])
    shape = (counts.records, len(counts.items))
    return sparse.csr_array(sparse.coo_array((np.ones(len(row), np.int8), (row, item)), shape))


def _forest(counts: _Counts) -> tuple[Ints, Ints]:
    """Return the parent of each item, or -1, and the items with each parent before its children."""
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    size, n = len(counts.items), float(counts.records)
    share = np.clip(counts.items / n, 1 / n, 1 - 1 / n)
    expected = np.outer(share, share)
    # The largest of so much noise: of independent items hardly any two are linked.
    largest = counts.scale * np.log(max(2.0, size * (size - 1) / 2))
    linked = np.abs(counts.pairs - n * expected) > largest
    np.fill_diagonal(linked, False)
    least = np.maximum(0, share[:, None] + share - 1) + 1e-12
    both = np.clip(counts.pairs / n, least, np.minimum(share[:, None], share))
    cells = (both, share[:, None] - both, share - both, 1 - share[:, None] - share + both)
    alone = (expected, share[:, None] * (1 - share), (1 - share)[:, None] * share, np.outer(1 - share, 1 - share))
    information = sum(
        np.maximum(cell, 1e-12) * np.log(np.maximum(cell, 1e-12) / chance)
        for cell, chance in zip(cells, alone, strict=True)
    )
    weights = sparse.csr_array(np.where(linked, -np.maximum(information, 1e-9), 0.0))
    tree = minimum_spanning_tree(weights)
    parents, order = np.full(size, -1, np.int64), []
    seen = np.zeros(size, np.bool_)
    for root in np.argsort(-counts.items, kind="stable").tolist():
        if not seen[root]:
            nodes, before = breadth_first_order(tree, root, directed=False)
            seen[nodes] = True
            parents[nodes[1:]] = before[nodes[1:]]
            order.append(nodes)
    return parents, np.concatenate([np.zeros(0, np.int64), *order])
