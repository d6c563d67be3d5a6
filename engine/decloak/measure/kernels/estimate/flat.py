"""Runs of numbers, laid out one after the other."""

import numpy as np

from decloak.arrays import Ints

__all__ = ["runs"]


def runs(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of each run from `begin` to `end`, and for each number the index of its run.

    >>> [part.tolist() for part in runs(np.array([5, 0]), np.array([7, 1]))]
    [[5, 6, 0], [0, 0, 1]]
    """
    lengths = np.maximum(end - begin, 0)
    place = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(place)) + (begin - np.cumsum(lengths) + lengths)[place], place
