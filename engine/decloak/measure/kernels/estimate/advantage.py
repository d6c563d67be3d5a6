"""How much more often guesses about people in the data are right than guesses about people who are not in it.

a, c: the shares of right guesses in the data and in the control. Advantage = (a - c) / (1 - c) = 1 - (1 - a) / (1 - c):
of the guesses that are wrong in the control, the share that is right in the data. Its interval comes from Wilson's
intervals of both shares by the method of Donner and Zou (2012) for a ratio.
"""

import math
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.measure.kernels.estimate.estimator import EQUAL
from decloak.measure.kernels.lead import wilson

__all__ = ["Advantage", "Right", "Z", "advantage", "auc", "surest", "true_positives"]

Z = 1.959963984540054
"""The quantile of 95% intervals."""


class Right(NamedTuple):
    """The expected number of right guesses, and the number of guesses."""

    right: float
    guesses: int

    @property
    def share(self) -> float:
        return self.right / self.guesses


class Advantage(NamedTuple):
    """An advantage, and its 95% interval."""

    value: float
    low: float
    high: float


def advantage(data: Right, control: Right) -> Advantage | None:
    """Return the advantage; None where there are no guesses, or where all are right in the control.

    >>> [round(x, 2) for x in advantage(Right(60, 100), Right(20, 100))]
    [0.5, 0.36, 0.62]
    """
    if not data.guesses or not control.guesses or control.share >= 1 - EQUAL:
        return None
    above, below = _wrong(data), _wrong(control)
    ratio = above[0] / below[0]
    return Advantage(1 - ratio, 1 - _ratio_limit(above, below, 1), 1 - _ratio_limit(above, below, -1))


def _wrong(right: Right) -> tuple[float, float, float]:
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


def surest(p: Floats, right: Floats, share: float) -> Right:
    """Return how many of the surest guesses are right; guesses of equal probability share the last places.

    >>> surest(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), 0.5)
    Right(right=1.5, guesses=2)
    """
    most = math.ceil(share * len(p) - EQUAL)
    order = np.argsort(-p, kind="stable")
    p, right = p[order], right[order]
    group = np.cumsum(np.append(False, p[1:] < p[:-1] * (1 - EQUAL)))
    sizes, sums = np.bincount(group), np.bincount(group, right)
    taken = np.clip(most - (np.cumsum(sizes) - sizes), 0, sizes)
    return Right(float((sums * taken / sizes).sum()), most)


def auc(members: Floats, others: Floats) -> float:
    """Return how often a member has a larger score than another person; equal scores count half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    ascending = np.sort(others)
    below, not_above = (np.searchsorted(ascending, members, side=side) for side in ("left", "right"))
    return float((below + not_above).mean() / (2 * len(others)))


def true_positives(members: Floats, others: Floats, false_positives: float) -> float:
    """Return the share of members found at a share of false positives, with equal scores accepted at random.

    >>> true_positives(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    values = np.unique(np.concatenate((members, others)))[::-1]
    found, wrong = (
        np.append(0.0, 1 - np.searchsorted(np.sort(scores), values) / len(scores)) for scores in (members, others)
    )
    return float(np.interp(false_positives, wrong, found))
