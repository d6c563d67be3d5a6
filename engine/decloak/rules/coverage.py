"""The coverage of an attack: for how much of what it needs the attacker has a score.

An attack by relatedness needs a score for each pair of a published item and a hidden item of the same record. An
attacker without these scores cannot succeed, and their failure shows nothing about the release.

The probability that each finding of an attack is right, estimated from the attacker's own view.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.pairs import Pair, ScoredPairs


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


@dataclass(frozen=True, eq=False)
class Confidence:
    """The probability `p` of every finding in order, NaN where none is known; or the `reason` why there are none."""

    p: Floats | None
    reason: str | None = None
    CERTAIN: ClassVar["Confidence"]
    """Confidence of findings that follow from the release with certainty."""

    @classmethod
    def of(cls, p: Floats) -> "Confidence":
        """Return the confidence with the probabilities `p`; unavailable if all of them are NaN."""
        # All NaN means that the rule found nothing: a list of unknown probabilities would say less.
        return cls(np.asarray(p, np.float64)) if np.isfinite(p).any() else cls.unavailable("nothing was found")

    @classmethod
    def unavailable(cls, reason: str) -> "Confidence":
        """Return a confidence without probabilities; decloak prints the `reason` in their place."""
        return cls(None, reason)


Confidence.CERTAIN = Confidence.unavailable("it follows from the release and is certain")
