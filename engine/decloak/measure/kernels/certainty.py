"""How many of the findings of an attack are nearly certain, how many of these are right, and of how many people.

p: the probability an attack gives each of its findings; right: whether it is, or of rows that nobody can tell apart the
share for which it is; person: whose record it is about. Brier
score: the mean of (p - right)^2, which for who says the same of all, the share that is right, is share x (1 - share).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["LEVELS", "Certain", "Tenth", "brier", "certain", "miscalibration", "tenths"]

LEVELS = (0.5, 0.8, 0.9, 0.95)


class Certain(NamedTuple):
    """Findings of a probability of at least `level`, those that are right, and the people they are about."""

    level: float
    findings: int
    right: float
    people: int


def certain(p: ArrayLike, right: ArrayLike, person: ArrayLike, levels: Iterable[float] = LEVELS) -> list[Certain]:
    """What there is at each level.

    >>> certain([0.9, 0.5, 0.4], [True, True, False], [1, 1, 2], [0.5])
    [Certain(level=0.5, findings=2, right=2.0, people=1)]
    """
    chances, truly, people = np.asarray(p, float), np.asarray(right, float), np.asarray(person)
    counts = []
    for level in levels:
        sure = chances >= level - 1e-12
        counts.append(Certain(level, int(sure.sum()), float(truly[sure].sum()), len(np.unique(people[sure]))))
    return counts


def brier(p: ArrayLike, right: ArrayLike) -> tuple[float | None, float | None]:
    """The score of the probabilities, and of the share that is right said of every finding; None of no findings."""
    chances, truly = np.asarray(p, float), np.asarray(right, float)
    if not len(chances):
        return None, None
    share = float(truly.mean())
    return float(np.mean(chances**2 - 2 * chances * truly + truly)), share * (1 - share)


class Tenth(NamedTuple):
    """Findings of a probability of number / 10 and above, below the next tenth: how many, the sum of p, those right."""

    number: int
    findings: int
    p: float
    right: float


def tenths(p: ArrayLike, right: ArrayLike) -> list[Tenth]:
    """The reliability curve: every tenth of probability that has findings; 1 is of the last.

    >>> tenths([0.5, 1.0, 0.5, 0.25], [True, True, False, False])
    [Tenth(number=2, findings=1, p=0.25, right=0.0), Tenth(number=5, findings=2, p=1.0, right=1.0), \
Tenth(number=9, findings=1, p=1.0, right=1.0)]
    """
    chances, truly = np.asarray(p, float), np.asarray(right, float)
    number = np.minimum((chances * 10).astype(int), 9)
    findings, sums, correct = (np.bincount(number, weights, 10) for weights in (None, chances, truly))
    return [
        Tenth(place, int(findings[place]), float(sums[place]), float(correct[place]))
        for place in np.flatnonzero(findings).tolist()
    ]


def miscalibration(p: ArrayLike, right: ArrayLike) -> float | None:
    """How far the share that is right is from the mean probability, in each tenth of probability, weighed by findings.

    >>> miscalibration([0.95, 0.95, 0.15, 0.15], [True, True, True, False])
    0.2
    """
    parts = tenths(p, right)
    count = sum(part.findings for part in parts)
    return round(sum(abs(part.p - part.right) for part in parts) / count, 12) if count else None
