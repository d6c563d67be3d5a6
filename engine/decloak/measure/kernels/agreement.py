"""Agreement of a relatedness measure with human judgements: correlations with confidence intervals.

r is Pearson's correlation and rho Spearman's: the correlation of the ranks, where ties share their mean rank. By
Fisher's transform atanh(r) is approximately normal with the variance 1 / (n - 3), atanh(rho) with 1.06 / (n - 3)
(Fieller, Hartley and Pearson 1957). There is no correlation for fewer than four pairs, or for values that are all
equal.
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
    """A correlation with its interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class Agreement(NamedTuple):
    """Both correlations over the pairs that have a score, and the number of these pairs."""

    pairs: int
    pearson: Correlation
    spearman: Correlation


NONE = Correlation(None, None, None)
LEVEL = 0.95
"""Confidence level of the intervals."""


def agreement(human: Sequence[float], scores: Sequence[float | None]) -> Agreement:
    """Compare `human` judgements with `scores` of the same pairs; larger is closer, None is an absent score.

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
        _correlation_interval(float(np.corrcoef(x, y)[0, 1]), 1.0, len(judged)),
        _correlation_interval(float(np.corrcoef(*ranks)[0, 1]), 1.06, len(judged)),
    )


def _scaled(values: Floats) -> Floats:
    """Return the values scaled to at most 1: correlations stay the same, and squares stay finite."""
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest > 0 else values


def _correlation_interval(r: float, variance: float, n: int) -> Correlation:
    # What differs from 1 by the rounding of a sum is 1: beside it the interval would have a width from nowhere.
    # A value that differs from 1 only by the rounding of a sum is 1; otherwise the interval would have a width from
    # rounding.
    r = min(1.0, max(-1.0, round(r, 12)))
    if abs(r) == 1:
        return Correlation(r, r, r)
    half = float(ndtri(0.5 + LEVEL / 2)) * math.sqrt(variance / (n - 3))
    return Correlation(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))
