"""Draw people, and random items that an attacker knows of each.

The draws depend on the seed, on the places of records and on the items of each record. The names of items are
irrelevant: each item has a signature, a number made of the signatures of the records that have it.
"""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.measure.kernels.estimate.estimator import Matrix

__all__ = ["Signatures", "drawn_people", "known_items", "signatures"]

Signatures = NDArray[np.uint64]

ROUNDS = 3
"""How often signatures of items and of records are made of each other."""


def _mixed(values: Signatures) -> Signatures:
    """Return numbers that look random, the same for equal values (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def signatures(records: Matrix) -> Signatures:
    """Return a number for each item, a column of `records`, a matrix of records × items."""
    entries = records.indices
    record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    items = np.zeros(records.shape[1], np.uint64)
    for _ in range(ROUNDS):
        of_records = np.zeros(records.shape[0], np.uint64)
        np.add.at(of_records, record, _mixed(items + np.uint64(1))[entries])
        sums = np.zeros(records.shape[1], np.uint64)
        np.add.at(sums, entries, _mixed(of_records)[record])
        items = _mixed(items + sums)
    return items


def drawn_people(lengths: Ints, least: int, most: int | None, seed: int) -> Ints:
    """Draw at most `most` people who have at least `least` items; return their row indices in ascending order.

    `lengths` are the numbers of items, and `seed` decides the draw.

    >>> drawn_people(np.array([1, 3, 2]), 2, None, 0).tolist()
    [1, 2]
    """
    order = np.random.default_rng([seed, len(lengths)]).permutation(len(lengths))
    return np.sort(order[lengths[order] >= least][:most])


def known_items(records: Matrix, items: Signatures, places: Ints, known: int, seed: int) -> Ints:
    """Draw `known` items of each record, which has enough; return known × records, the numbers of columns.

    `records` is records × items, `items` are signatures, `places` number the records for the draws, and `seed` decides
    them. An attacker who knows more items of a record knows the same ones and others.
    """
    record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    salt = _mixed(places.astype(np.uint64) + _mixed(np.array([seed], np.uint64)))
    order = np.lexsort((_mixed(items[records.indices] ^ salt[record]), record))
    first = records.indptr[:-1].astype(np.int64)
    chosen: Ints = records.indices[order][first + np.arange(known)[:, None]].astype(np.int64)
    return chosen
