"""The coverage of an attack: for how much of what it needs the attacker has a score.

An attack by relatedness needs a score for each pair of a published item and a hidden item of the same record. An
attacker without these scores cannot succeed, and their failure shows nothing about the release.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from decloak.data.pairs import ScoredPairs
from decloak.data.tables import Pair

__all__ = ["Count", "Coverage", "of_scores"]


class Count(NamedTuple):
    """Number of things that an attack needs (`needed`), and of those with a score (`known`)."""

    known: int
    needed: int


class Coverage(NamedTuple):
    """The coverage of items, of pairs of items and of occurrences; None where the attack has no such things.

    An item is known if one of its pairs has a score. An occurrence is a cell of a distance table, or a record of a
    cluster that a unit was taken off. It is known if one of its pairs has a score.
    """

    items: Count | None
    pairs: Count | None
    occurrences: Count | None


def of_scores(scores: Mapping[Pair, float | None]) -> tuple[Count, Count]:
    """Count the items and the pairs with a score in `scores`, of all that an attack needs; return both counts."""
    found = ScoredPairs.of(scores)
    pairs, values = found.pairs, found.numbers
    known = ~np.isnan(values)
    items = np.union1d(pairs.a[known], pairs.b[known])
    return Count(len(items), len(pairs.item_codes)), Count(int(known.sum()), len(pairs))
