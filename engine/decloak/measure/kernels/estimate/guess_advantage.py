"""Advantage of guesses about people in the data over guesses about people who are not in it.

a, c: the shares of right guesses in the data and in the control. Advantage = (a - c) / (1 - c) = 1 - (1 - a) / (1 - c):
of the guesses that are wrong in the control, the share that is right in the data. Its interval comes from Wilson's
intervals of both shares by the method of Donner and Zou (2012) for a ratio.
"""

import math
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.estimator import EQUAL

__all__ = ["GuessAdvantage", "RightGuesses", "Z", "auc", "guess_advantage", "surest", "true_positives"]

Z = 1.959963984540054
"""Quantile of 95% intervals."""


class RightGuesses(NamedTuple):
    """The expected number of right guesses, and the number of guesses."""

    right: float
    guesses: int

    @property
    def share(self) -> float:
        return self.right / self.guesses


class GuessAdvantage(NamedTuple):
    """An advantage, and its 95% interval."""

    value: float
    low: float
    high: float


def guess_advantage(data: RightGuesses, control: RightGuesses) -> GuessAdvantage | None:
    """Return the advantage of `data` over `control`; None without guesses, or if all are right in the control.

    >>> [round(x, 2) for x in guess_advantage(RightGuesses(60, 100), RightGuesses(20, 100))]
    [0.5, 0.36, 0.62]
    """
    if not data.guesses or not control.guesses or control.share >= 1 - EQUAL:
        return None
    above, below = _wrong_share(data), _wrong_share(control)
    ratio = above[0] / below[0]
    return GuessAdvantage(1 - ratio, 1 - _ratio_limit(above, below, 1), 1 - _ratio_limit(above, below, -1))


def _wrong_share(right: RightGuesses) -> tuple[float, float, float]:
    """Return the share of wrong guesses with Wilson's interval."""
    low, high = wilson(1 - right.share, Z * Z / right.guesses)
    return 1 - right.share, max(0.0, low), min(1.0, high)


def _ratio_limit(above: tuple[float, float, float], below: tuple[float, float, float], side: int) -> float:
    """Return the upper (side 1) or lower (side -1) limit of a ratio of two shares."""
    x, x_far = above[0], above[2] if side > 0 else above[1]
    y, y_far = below[0], below[1] if side > 0 else below[2]
    bottom = y_far * (2 * y - y_far)
    root = math.sqrt(max(0.0, (x * y) ** 2 - x_far * (2 * x - x_far) * bottom))
    if bottom <= 0:
        return math.inf if side > 0 else 0.0
    return (x * y + side * root) / bottom


def surest(p: Floats, right: Floats, share: float) -> RightGuesses:
    """Return the right guesses among the surest `share`, by probability `p`; guesses of equal probability share the
    last places.

    `right` is whether each guess is right.

    >>> surest(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), 0.5)
    RightGuesses(right=1.5, guesses=2)
    """
    most = math.ceil(share * len(p) - EQUAL)
    order = np.argsort(-p, kind="stable")
    p, right = p[order], right[order]
    group = np.cumsum(np.append(False, p[1:] < p[:-1] * (1 - EQUAL)))
    sizes, sums = np.bincount(group), np.bincount(group, right)
    # Guesses of equal probability share the last places, so that their order does not matter.
    taken = np.clip(most - (np.cumsum(sizes) - sizes), 0, sizes)
    return RightGuesses(float((sums * taken / sizes).sum()), most)


def auc(members: Floats, others: Floats) -> float:
    """Return how often one of `members` has a larger score than one of `others`; equal scores count half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    ascending = np.sort(others)
    below, not_above = (np.searchsorted(ascending, members, side=side) for side in ("left", "right"))
    return float((below + not_above).mean() / (2 * len(others)))


def true_positives(members: Floats, others: Floats, false_positives: float) -> float:
    """Return the share of `members` found at a share of `false_positives` among `others`; equal scores are accepted at
    random.

    >>> true_positives(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    values = np.unique(np.concatenate((members, others)))[::-1]
    found, wrong = (
        np.append(0.0, 1 - np.searchsorted(np.sort(scores), values) / len(scores)) for scores in (members, others)
    )
    return float(np.interp(false_positives, wrong, found))
