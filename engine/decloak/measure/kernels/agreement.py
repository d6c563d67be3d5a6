"""How well a measure of relatedness agrees with human judgement: correlations with their intervals.

r is Pearson's correlation, rho Spearman's: that of the ranks, ties sharing their mean rank. By Fisher's transform
atanh(r) is about normal with the variance 1 / (n - 3), atanh(rho) with 1.06 / (n - 3) (Fieller, Hartley and Pearson
1957). Nothing is said of fewer than four pairs, or of values that are all the same.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from decloak.arrays import Floats

__all__ = ["Agreement", "Correlation", "agreement"]


class Correlation(NamedTuple):
    """A correlation between its bounds; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class Agreement(NamedTuple):
    """Both correlations over the pairs that have a score, and how many have."""

    pairs: int
    pearson: Correlation
    spearman: Correlation


NONE = Correlation(None, None, None)
LEVEL = 0.95
"""How often intervals hold what they are about."""


def agreement(human: Sequence[float], scores: Sequence[float | None]) -> Agreement:
    """Compare scores, larger is closer, with what people said of the same pairs; None is no score.

    >>> found = agreement([0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 2.0, None, 4.0, 8.0])
    >>> found.pairs, round(found.pearson.value, 3), found.spearman.value
    (4, 0.944, 1.0)
    """
    judged = [(judgement, score) for judgement, score in zip(human, scores, strict=True) if score is not None]
    x, y = map(_scaled, np.array(judged, dtype=float).reshape(-1, 2).T)
    if len(judged) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Agreement(len(judged), NONE, NONE)
    ranks = rankdata(x), rankdata(y)
    return Agreement(
        len(judged),
        _between(float(np.corrcoef(x, y)[0, 1]), 1.0, len(judged)),
        _between(float(np.corrcoef(*ranks)[0, 1]), 1.06, len(judged)),
    )


def _scaled(values: Floats) -> Floats:
    """Values of at most 1, which no correlation can tell from the others, and whose squares are no infinity."""
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest > 0 else values


def _between(r: float, variance: float, n: int) -> Correlation:
    # What differs from 1 by the rounding of a sum is 1: beside it the interval would have a width from nowhere.
    r = min(1.0, max(-1.0, round(r, 12)))
    if abs(r) == 1:
        return Correlation(r, r, r)
    half = float(ndtri(0.5 + LEVEL / 2)) * math.sqrt(variance / (n - 3))
    return Correlation(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))
