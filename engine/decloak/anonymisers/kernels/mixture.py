"""A mixture of parts: within a part, every item is in a record independently of the others.

x(t, i) is 1 if record t has item i. Expectation maximisation alternates between two steps. The shares r(t, c) of
records in parts follow from the probabilities P(i, c) and the weights of parts. With p(i), the share of all records
with item i, the probabilities are

    P(i, c) = (sum over t of r(t, c) x(t, i) + p(i) / 2) / (sum over t of r(t, c) + 1 / 2)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.lazy import sparse

__all__ = ["Mixture", "draw_records", "fit_mixture"]

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
    return Mixture(sizes / max(1e-300, sizes.sum()), np.clip(probabilities, LOWEST, HIGHEST))


def _shares(mixture: Mixture, block: sparse.csr_array) -> Floats:
    """Return the shares of records in parts, by their likelihood in each part."""
    absent = np.log1p(-mixture.probabilities)
    likelihood: Floats = block @ (np.log(mixture.probabilities) - absent)
    likelihood += absent.sum(axis=0) + np.log(np.maximum(mixture.weights, 1e-300))
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
        held = rng.binomial(size, mixture.probabilities[:, part])
        for item in np.flatnonzero(held).tolist():
            rows.append(start[part] + rng.choice(size, held[item], replace=False))
            items.append(np.full(held[item], item))
    entries = np.concatenate(rows), np.concatenate(items)
    shape = (count, len(mixture.probabilities))
    drawn = sparse.csr_array(sparse.coo_array((np.ones(len(entries[0]), np.int8), entries), shape))
    drawn.sort_indices()
    return drawn
