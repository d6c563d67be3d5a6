"""How often a guess at an item of a person is right, and who is put together again.

Of each person one item is asked for, any of theirs alike. What the record shows is known. Of what it hides a guess is
made: at a generalised item, any member that is left; at what was cut off, the rows it was given to; at an item that was
left out none, which is wrong. So raw records tell of everybody, and releases of every form can be compared.
"""

import numpy as np

from decloak.arrays import Floats, Ints

__all__ = ["expected_people", "guessed"]


def guessed(person: Ints, items: Ints, right: Floats, people: int) -> float:
    """Of how many of so many people a guess at one of their items is expected to be right.

    The i-th of what their records hold is of `person[i]`, `items[i]` items of which each is guessed rightly with the
    probability `right[i]`.

    >>> guessed(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([1.0, 0.5, 0.25]), 3)
    0.875
    """
    held = np.bincount(person, items, people)
    total = np.bincount(person, items * right, people)
    return float((total / np.maximum(held, 1)).sum())


def expected_people(person: Ints, right: Floats, people: int) -> float:
    """How many of so many people are expected to have anything rightly put back, each thing by itself.

    >>> expected_people(np.array([0, 0, 1]), np.array([0.5, 0.5, 0.0]), 3)
    0.75
    """
    none = np.ones(people)
    np.multiply.at(none, person, 1 - right)
    return float((1 - none).sum())
