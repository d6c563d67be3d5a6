"""The expected number of people with an item that is known, or guessed rightly at once.

Each person is asked for one of their items, any of theirs with equal probability. An item that the release shows with
the record is known. At a hidden item one guess is made, with the candidate that is the likeliest. An item that the
release leaves out is never guessed. So releases of every form can be compared, and less hiding never looks better.
"""

import numpy as np

from decloak.arrays import Floats, Ints

__all__ = ["guessed"]


def guessed(person: Ints, items: Ints, right: Floats, people: int) -> float:
    """Return how many of `people` people are expected to have an item known or guessed rightly.

    Group i of items is of `person[i]`, has `items[i]` items, and a guess at any of these is right with the probability
    `right[i]`.

    >>> guessed(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([1.0, 0.5, 0.25]), 3)
    0.875
    """
    held = np.bincount(person, items, people)
    total = np.bincount(person, items * right, people)
    return float((total / np.maximum(held, 1)).sum())
