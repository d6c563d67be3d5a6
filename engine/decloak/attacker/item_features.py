"""Features of items, published or hidden: their distances to frequent items, their spelling and other transactions.

For each measure there are the distances to the LANDMARKS most frequent plain items, minus the mean of each of these (an
unknown distance is the mean). For spelling there are the runs of three and four letters in the words of an item. For
other transactions of the population there are the transactions that contain the item, weighted less the more often the
item occurs. What occurs in n of them has the weight 1 / sqrt(n). Each block is reduced to its RANK leading directions,
u sqrt(s), scaled so that its vectors have a mean square length of 1.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from decloak.arrays import Floats
from decloak.attacker.cell_features import words_of
from decloak.data.pairs import ScoredPairs
from decloak.data.tables import Pair
from decloak.lazy import sparse

__all__ = ["item_features", "landmark_pairs", "landmarks_of"]

LANDMARKS = 200
PAIRS = 1_000_000
"""Largest number of pairs with landmarks, about: with more items there are fewer landmarks."""
RANK = 100
OVERSAMPLED = 20
"""Directions computed in addition to the used ones, which makes these nearly exact."""
ROUNDS = 4

Scores = Mapping[Pair, float | None]


def landmarks_of(support: Mapping[str, int], items: Collection[str]) -> list[str]:
    """Return the most frequent plain items by their `support`, for features of `items`; ties are broken by name."""
    # The number of pairs is limited, not that of landmarks: with many items fewer landmarks suffice.
    most = min(LANDMARKS, PAIRS // max(1, len(items)))
    return sorted(support, key=lambda item: (-support[item], item))[:most]


def landmark_pairs(items: Sequence[str], landmarks: Sequence[str]) -> list[Pair]:
    """Return the pairs of `items` and `landmarks` whose scores the features need."""
    return [(landmark, item) for item in items for landmark in landmarks]


def item_features(
    items: Sequence[str],
    landmarks: Sequence[str],
    measures: Sequence[Scores],
    others: Sequence[Sequence[str]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """Return the features of `items` as a matrix with a row per item.

    `landmarks` are frequent plain items, and `measures` have the scores of items with them. `others` are other
    transactions of the population. Without `spelling` the letters of names are ignored.
    """
    distances = (ScoredPairs.of(scores).block(landmarks, items).T for scores in measures)
    # Each measure is a block of its own with the same total length, so that none outweighs the others.
    blocks = [_distance_block(d) for d in distances]
    if spelling:
        words = words_of(items)
        blocks.append(_scaled_directions(_weighted_matrix([sorted(set(_letter_runs(words[item]))) for item in items])))
    if others:
        blocks.append(_scaled_directions(_transaction_matrix(items, others)))
    return np.concatenate([np.zeros((len(items), 0)), *blocks], axis=1)


def _distance_block(d: Floats) -> Floats:
    """Return the block of features for the distances of items to landmarks."""
    there = np.isfinite(d)
    usual = np.where(there, d, 0.0).sum(axis=0) / np.maximum(1, there.sum(axis=0))
    return _scaled_directions(sparse.csr_array(np.where(there, usual - d, 0.0)))


def _transaction_matrix(items: Sequence[str], others: Sequence[Sequence[str]]) -> "sparse.csr_array[np.float64]":
    """Return items by the transactions that contain them, with the weight 1 / sqrt(number) each."""
    holding: dict[str, list[str]] = {item: [] for item in items}
    for number, transaction in enumerate(others):
        # The iteration is over known items only: transactions of the population have others too.
        for item in holding.keys() & set(transaction):
            holding[item].append(str(number))
    return _weighted_matrix(list(holding.values()), by_column=False)


def _weighted_matrix(
    read_columns: Sequence[Sequence[str]], *, by_column: bool = True
) -> "sparse.csr_array[np.float64]":
    """Return a matrix with a row per list, with 1 / sqrt(n) for each entry, n counting its column or its row."""
    number: dict[str, int] = {}
    where = np.array([number.setdefault(name, len(number)) for names in read_columns for name in names], np.int64)
    sizes = np.array([len(names) for names in read_columns], np.int64)
    n = np.bincount(where, minlength=len(number))[where] if by_column else np.repeat(sizes, sizes)
    shape = len(read_columns), max(1, len(number))
    return sparse.csr_array((n**-0.5, where, np.cumsum([0, *sizes])), shape=shape)


def _letter_runs(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        bounded = f"^{word}$"
        yield from (bounded[at : at + length] for length in (3, 4) for at in range(len(bounded) - length + 1))


def _leading_directions(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """Return U S of the largest singular values, nearly exact: those within the span of randomly drawn rows.

    Halko, Martinsson and Tropp (2011). Where many values are equal, an iteration for single vectors would not end.
    """
    span: Floats = np.random.default_rng(0).normal(size=(matrix.shape[1], RANK + OVERSAMPLED))
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(matrix @ span)
        span = matrix.T @ basis
    u, s, _ = np.linalg.svd(span.T, full_matrices=False)
    return np.asarray((basis @ u)[:, :RANK] * s[:RANK])


def _scaled_directions(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """Return the leading directions U sqrt(S), scaled so that the mean square length of the rows is 1."""
    vectors = _leading_directions(matrix)
    s = np.linalg.norm(vectors, axis=0)
    roots = vectors / np.sqrt(np.where(s > 0, s, 1.0))
    length = np.sqrt((roots**2).sum(axis=1).mean()) if len(roots) else 0.0
    return np.asarray(roots / length if length > 0 else roots)
