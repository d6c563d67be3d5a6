"""Fast searches in sorted arrays of integers."""

import numpy as np

from decloak.arrays import Ints, Mask

__all__ = ["among", "distinct", "places_in"]


def distinct(values: Ints) -> Ints:
    """Return every value of `values` once, sorted: much faster than numpy's own where most differ."""
    ascending = np.sort(values)
    first = np.ones(len(ascending), np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def places_in(ascending: Ints, values: Ints) -> tuple[Ints, Mask]:
    """Return the position of each of `values` in `ascending`, and a mask of the values in it. A missing value may have
    the length as its position.
    """
    place = np.searchsorted(ascending, values)
    found = place < len(ascending)
    found[found] = ascending[place[found]] == values[found]
    return place, found


def among(values: Ints, ascending: Ints) -> Mask:
    """Return a mask: True for each of `values` that occurs in `ascending`."""
    return places_in(ascending, values)[1]
