"""Expected number of people with an item that is known, or guessed correctly with one guess.

Each person has one of their items chosen at random, all with equal probability. An item that the release shows with the
record is known. For a hidden item there is one guess, the most likely candidate. An item that the release leaves out is
never guessed. So releases of all forms are comparable, and less hiding never looks better.
"""

import numpy as np

from decloak.arrays import Floats, Ints

__all__ = ["expected_known"]


def expected_known(person: Ints, items: Ints, right: Floats, people: int) -> float:
    """Return the number of `people` expected to have an item known or guessed correctly.

    Group i has `items[i]` items of `person[i]`; a guess at any of these is right with the probability `right[i]`.

    >>> expected_known(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([1.0, 0.5, 0.25]), 3)
    0.875
    """
    held = np.bincount(person, items, people)
    total = np.bincount(person, items * right, people)
    return float((total / np.maximum(held, 1)).sum())
