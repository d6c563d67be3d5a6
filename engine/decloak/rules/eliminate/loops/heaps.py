"""Heaps of numbers, the smallest first, from which any number can be removed: skew heaps."""

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Records

__all__ = ["HEAP", "join_heaps", "remove_number"]

HEAP = [("one", np.int64), ("other", np.int64), ("above", np.int64)]
"""For each number: the one below it on either side, and the one above it; -1 for none."""


@inner
def join_heaps(h: Records, a: int, b: int) -> int:
    """Join the heaps of `h` that begin with `a` and `b`; return the first number."""
    if a < 0 or b < 0:
        return max(a, b)
    first, a, b = min(a, b), min(a, b), max(a, b)
    while True:
        below = h[a].other
        h[a].other = h[a].one
        if below < 0:
            h[a].one, h[b].above = b, a
            return first
        low, b = min(below, b), max(below, b)
        h[a].one, h[low].above = low, a
        a = low


@inner
def remove_number(h: Records, first: int, number: int) -> int:
    """Remove a `number` from the heap of `h` that begins with `first`; return the new first, -1 if it is empty."""
    above, below = h[number].above, join_heaps(h, h[number].one, h[number].other)
    if below >= 0:
        h[below].above = above
    if above < 0:
        return below
    if h[above].one == number:
        h[above].one = below
    else:
        h[above].other = below
    return first
