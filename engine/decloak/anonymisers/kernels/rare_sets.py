"""Search for rare sets, in 1 to k - 1 records, from the patterns downwards.

Sets are bit masks; a pattern is the set of all images that some record supports. A rare set is part of a pattern. Any
set between the two is supported by that record, and by no record that does not support the rare one: it is rare too. So
it is enough to drop one member after the other while sets stay rare.
"""

from collections.abc import Iterator

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.errors import DecloakError

__all__ = ["PIECE", "rare_patterns", "rare_sets", "too_many"]

MOST = 1 << 16
"""Largest number of sets that are visited: the number of subsets of 16 members."""
PIECE = 1 << 22
"""Number of entries of a table in one step."""


def too_many(place: str) -> DecloakError:
    """Return the error for a constraint at `place` that would take too long."""
    return DecloakError(
        "too many combinations of its items are rare or nearly so",
        place,
        "split the constraint: one of at most 10 items is never too large",
    )


def rare_patterns(patterns: Ints, counts: Ints, k: int) -> Ints:
    """Return the `patterns` with `counts` below `k`; none if no set is rare."""
    pieces = [piece[_support(piece, patterns, counts) < k] for piece in _pieces(patterns, len(patterns))]
    return np.concatenate([patterns[:0], *pieces])


def rare_sets(patterns: Ints, counts: Ints, k: int, place: str) -> Iterator[tuple[Ints, Mask]]:
    """Yield sets of `patterns`, each once, and masks: rare by every column of `counts`, for all that are rare (`k`) by
    any.

    A column has the number of records of each pattern. `place` is for errors.
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
    """Yield runs of sets whose table of that width is small."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _support(sets: Ints, patterns: Ints, counts: Ints) -> Floats:
    """Return the number of records that support each set, for every column of counts; integers stored as floats for
    speed.
    """
    inside: Floats = (patterns & sets[:, None] == sets[:, None]).astype(np.float64)
    return inside @ counts.astype(np.float64)
