"""Probability that a row has a unit, for any attack: the expectation that the release itself teaches.

The probabilities of `expectation` add up to the published numbers and are calibrated. So any attack's assignment to a
row has the probability that they give it, for the scores of the attacker.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.assignment import Assignment, ChunkNumber, PairScores
from decloak.data.disassociated import Disassociated
from decloak.rules.reassociate.kernel import attack
from decloak.rules.reassociate.strategy import Reassociation

__all__ = ["Posterior", "posterior"]

EXPECTATION = Reassociation.build(combine="fitted", give="expected", match="expectation", consistent=True)


class Posterior(NamedTuple):
    """The probability of every row of a cluster, by cluster, chunk and items of a unit."""

    rows: Mapping[tuple[int, ChunkNumber, tuple[str, ...]], Floats]

    def of(self, assignments: Iterable[Assignment]) -> Floats:
        """Return the probability of every row of `assignments`, in order; NaN where nothing is known."""
        parts = [
            self.rows[cluster, chunk, unit][list(rows)]
            if (cluster, chunk, unit) in self.rows
            else np.full(len(rows), np.nan)
            for cluster, chunk, unit, rows in assignments
        ]
        return np.concatenate([np.zeros(0), *parts])


def posterior(release: Disassociated, measures: Sequence[PairScores]) -> Posterior:
    """Compute the probability of every row of every unit of `release` from the scores of `measures`; return it."""
    rows = {}
    # The learner weighs the scores itself, so that no combined scores are given.
    for part in attack(release, {}, EXPECTATION, measures=measures):
        of_row = np.array(part.case.rows.of_row)
        for unit, p in zip(part.case.units, part.values, strict=True):
            rows[part.case.number, unit.chunk, unit.items] = p[of_row]
    return Posterior(rows)
