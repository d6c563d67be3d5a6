"""Which sets are rare, supported by 1..k-1 records, found from the patterns downwards.

Sets are written in bits; a pattern is the set of all that some record supports. A rare set lies in a pattern, and any
set between the two is supported by that record, and by no record that does not support the rare one: it is rare too.
So it is enough to leave out one member after the other as long as sets stay rare.
"""

from collections.abc import Iterator

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.errors import DecloakError

__all__ = ["PIECE", "rare_patterns", "rare_sets", "too_many"]

MOST = 1 << 16
"""Sets looked at: as many as 16 members have."""
PIECE = 1 << 22
"""Entries of a table made at once."""


def too_many(place: str) -> DecloakError:
    """The error for a constraint that would take too long."""
    return DecloakError(
        "too many combinations of its items are rare or nearly so",
        place,
        "split the constraint: one of at most 10 items is never too large",
    )


def rare_patterns(patterns: Ints, counts: Ints, k: int) -> Ints:
    """Return the patterns that fewer than k records support; there is none when no set is rare."""
    pieces = [piece[_support(piece, patterns, counts) < k] for piece in _pieces(patterns, len(patterns))]
    return np.concatenate([patterns[:0], *pieces])


def rare_sets(patterns: Ints, counts: Ints, k: int, place: str) -> Iterator[tuple[Ints, Mask]]:
    """Yield sets, each once, and whether they are rare by every column of counts; all that are rare by any.

    A column says how many of some records show each pattern.
    """
    smaller = ~(1 << np.arange(int(patterns.max(initial=0)).bit_length()))
    met, new = np.array([0]), patterns
    while len(new):
        met = np.concatenate((met, new))
        if len(met) > MOST:
            raise too_many(place)
        below = []
        for sets in _pieces(new, max(counts.shape)):
            support = _support(sets, patterns, counts)
            rare = (support > 0) & (support < k)
            yield sets, rare
            below.append((sets[rare.any(axis=1), None] & smaller).ravel())
        new = np.setdiff1d(np.concatenate(below), met)


def _pieces(sets: Ints, width: int) -> Iterator[Ints]:
    """Cut sets into runs for which a table of that width is small."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _support(sets: Ints, patterns: Ints, counts: Ints) -> Floats:
    """How many records support each set, in every column of counts; whole numbers, floats only for speed."""
    inside: Floats = (patterns & sets[:, None] == sets[:, None]).astype(np.float64)
    return inside @ counts.astype(np.float64)
