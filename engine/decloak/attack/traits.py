"""Traits of items, whether a release shows them or not: what they resemble, are spelt like, and go with elsewhere.

Of each measure: the distances to the LANDMARKS most frequent plain items, less what is usual of each of these (what
nobody knows is the usual one). Of spelling: which runs of three and four letters of its words an item has. Of other
transactions of the population: which of them it is in, less the more often it is. What is in n of these counts
1 / sqrt(n). Each by its RANK leading directions, u sqrt(s), so scaled that the vectors of such a block have length 1 in
the square mean.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from decloak.arrays import Floats
from decloak.attack.features import words_of
from decloak.data.tables import Pair
from decloak.lazy import sparse

__all__ = ["landmark_pairs", "landmarks_of", "traits"]

LANDMARKS = 200
PAIRS = 1_000_000
"""Pairs with landmarks, about: of more items there are fewer landmarks."""
RANK = 100
BESIDE = 20
"""Directions that are looked for beside those that count: they make these nearly exact."""
ROUNDS = 4

Scores = Mapping[Pair, float | None]


def landmarks_of(support: Mapping[str, int], items: Collection[str]) -> list[str]:
    """The most frequent plain items, by how many transactions hold each; of equals those that come first by name."""
    most = min(LANDMARKS, PAIRS // max(1, len(items)))
    return sorted(support, key=lambda item: (-support[item], item))[:most]


def landmark_pairs(items: Sequence[str], landmarks: Sequence[str]) -> list[Pair]:
    """The pairs whose scores traits need."""
    return [(landmark, item) for item in items for landmark in landmarks]


def traits(
    items: Sequence[str],
    landmarks: Sequence[str],
    measures: Sequence[Scores],
    others: Sequence[Sequence[str]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """A row per item; `others` are the other transactions."""
    pairs = landmark_pairs(items, landmarks) if measures else []
    distances = (np.array(list(map(scores.get, pairs)), float) for scores in measures)
    blocks = [_resemblance(d.reshape(len(items), len(landmarks))) for d in distances]
    if spelling:
        words = words_of(items)
        blocks.append(_block(_weighed([sorted(set(_runs(words[item]))) for item in items])))
    if others:
        blocks.append(_block(_of_company(items, others)))
    return np.concatenate([np.zeros((len(items), 0)), *blocks], axis=1)


def _resemblance(d: Floats) -> Floats:
    """The block of distances of items to landmarks."""
    there = np.isfinite(d)
    usual = np.where(there, d, 0.0).sum(axis=0) / np.maximum(1, there.sum(axis=0))
    return _block(sparse.csr_array(np.where(there, usual - d, 0.0)))


def _of_company(items: Sequence[str], others: Sequence[Sequence[str]]) -> "sparse.csr_array[np.float64]":
    """Items by the transactions they are in, 1 / sqrt(how many) each."""
    holding: dict[str, list[str]] = {item: [] for item in items}
    for number, transaction in enumerate(others):
        for item in holding.keys() & set(transaction):
            holding[item].append(str(number))
    return _weighed(list(holding.values()), by_column=False)


def _weighed(columns_of: Sequence[Sequence[str]], *, by_column: bool = True) -> "sparse.csr_array[np.float64]":
    """A row per list, where it has what: 1 / sqrt(n), n of the column or of the row."""
    number: dict[str, int] = {}
    where = np.array([number.setdefault(name, len(number)) for names in columns_of for name in names], np.int64)
    sizes = np.array([len(names) for names in columns_of], np.int64)
    n = np.bincount(where, minlength=len(number))[where] if by_column else np.repeat(sizes, sizes)
    shape = len(columns_of), max(1, len(number))
    return sparse.csr_array((n**-0.5, where, np.cumsum([0, *sizes])), shape=shape)


def _runs(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        bounded = f"^{word}$"
        yield from (bounded[at : at + length] for length in (3, 4) for at in range(len(bounded) - length + 1))


def _leading(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """U S of the largest singular values, near enough: of the matrix within the span of so many rows drawn together.

    Halko, Martinsson and Tropp (2011). Where many values are equal, iterations for single vectors would not end.
    """
    span: Floats = np.random.default_rng(0).normal(size=(matrix.shape[1], RANK + BESIDE))
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(matrix @ span)
        span = matrix.T @ basis
    u, s, _ = np.linalg.svd(span.T, full_matrices=False)
    return np.asarray((basis @ u)[:, :RANK] * s[:RANK])


def _block(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """The leading directions, U sqrt(S), the square mean of the rows' lengths 1."""
    vectors = _leading(matrix)
    s = np.linalg.norm(vectors, axis=0)
    roots = vectors / np.sqrt(np.where(s > 0, s, 1.0))
    length = np.sqrt((roots**2).sum(axis=1).mean()) if len(roots) else 0.0
    return np.asarray(roots / length if length > 0 else roots)
