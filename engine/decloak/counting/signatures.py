"""Signatures of items: numbers made of the records that have each, whatever the names and the order of records.

A round makes a number for each record of those of its items, and then for each item of those of its records. Sums over
blocks of records add up to the sums of all.
"""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints

Signatures = NDArray[np.uint64]

ROUNDS = 3
"""How often signatures of items and of records are made of each other."""


def mixed(values: Signatures) -> Signatures:
    """Return numbers that look random, the same for equal `values` (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def signature_sums(start: Ints, codes: Ints | NDArray[np.int32], items: Signatures) -> Signatures:
    """Return the sums of one round for each item, from the signatures `items` before it.

    The records are `codes`, those of a record from its `start` to the next one.
    """
    # The number of 0 is 0, and would add nothing to a sum: each signature is one more.
    of_codes = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed(items + np.uint64(1))[codes], dtype=np.uint64)))
    of_records = of_codes[start[1:]] - of_codes[start[:-1]]
    sums: Signatures = np.zeros(len(items), np.uint64)
    np.add.at(sums, codes, np.repeat(mixed(of_records), np.diff(start)))
    return sums
