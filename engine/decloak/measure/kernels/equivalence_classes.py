"""Equivalence classes of rows: rows that show the same are indistinguishable.

The *signature* of a record is a word of bits, some of which each of its elements sets pseudo-randomly. Records that
show the same have the same signature, and few others have it. So few records are compared in full, however many there
are.
"""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.counting.itemsets import kinds_of
from decloak.data.rows import CodedRows

__all__ = ["classes_of"]

Words = NDArray[np.uint64]

BITS = (4, 1)
"""Bits that an element sets in a signature, and in a second one, for records with so many elements that all bits are
set.
"""


def classes_of(rows: CodedRows[object], some: Ints) -> Ints:
    """Return a class number for each row of `rows` that shows the same as one of the rows `some`; -1 for other rows.

    >>> classes_of(CodedRows.of(["ab", "c", "ba", "c"]), np.array([0])).tolist()
    [0, -1, 0, -1]
    """
    rng = np.random.default_rng(len(rows.names))
    bits = [rng.integers(0, 64, (len(rows.names), number)).astype(np.uint64) for number in BITS]
    of_element = [np.bitwise_or.reduce(np.left_shift(np.uint64(1), each), axis=1) for each in bits]
    looked_for = [np.unique(_signatures(rows.select(some), words)) for words in of_element]
    places, first = [np.zeros(0, np.int64)], 0
    for block in rows.blocks():
        # Signatures are compared first: only rows with the signature of a target are compared in full.
        there = np.arange(len(block))
        for words, signatures in zip(of_element, looked_for, strict=True):
            there = there[np.isin(_signatures(block.select(there), words), signatures)]
        places.append(first + there)
        first += len(block)
    likely = np.concatenate(places)
    kind = kinds_of(rows.select(likely).matrix(np.arange(len(rows.names)), len(rows.names)))
    asked_for = np.unique(kind[np.searchsorted(likely, some)])
    classes = np.full(len(rows), -1, np.int64)
    same = np.isin(kind, asked_for)
    classes[likely[same]] = np.searchsorted(asked_for, kind[same])
    return classes


def _signatures(rows: CodedRows[object], words: Words) -> Words:
    """Return the signature of every row."""
    signatures = np.zeros(len(rows), np.uint64)
    filled = rows.lengths > 0
    if filled.any():
        signatures[filled] = np.bitwise_or.reduceat(words[rows.codes], rows.start[:-1][filled])
    return signatures
