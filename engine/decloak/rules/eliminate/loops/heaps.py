"""Heaps of numbers, the least first, from which any may be taken: skew heaps, whose sides change places on the way."""

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Records

__all__ = ["HEAP", "joined", "taken_out"]

HEAP = [("one", np.int64), ("other", np.int64), ("above", np.int64)]
"""Of each number what is below it on one side and on the other, and what is above it; -1: nothing."""


@inner
def joined(h: Records, a: int, b: int) -> int:
    """The first of two heaps that become one."""
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
def taken_out(h: Records, first: int, number: int) -> int:
    """The first of a heap without one of its numbers, -1 where that was the last."""
    above, below = h[number].above, joined(h, h[number].one, h[number].other)
    if below >= 0:
        h[below].above = above
    if above < 0:
        return below
    if h[above].one == number:
        h[above].one = below
    else:
        h[above].other = below
    return first
