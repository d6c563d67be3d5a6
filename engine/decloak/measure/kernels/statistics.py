"""Means over repeats, with confidence intervals that stay within what can be.

n: values that count; s: their standard deviation (divisor n - 1); t: a quantile of Student's distribution with n - 1
degrees of freedom. On a scale without bounds the mean x has the interval x -+ t s / sqrt(n). Where a figure has bounds,
the interval is made on a scale g without any, and taken back: g is the logit of the place between both bounds, the
logarithm of the distance from the only one; by the first term of its expansion g(x) has the half width
t s g'(x) / sqrt(n). So the mean lies inside always, and no bound is ever crossed.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import mul
from statistics import NormalDist
from typing import NamedTuple

from decloak.errors import DecloakError

__all__ = [
    "COUNT",
    "GAIN",
    "REAL",
    "SHARE",
    "SIGNED",
    "Bounds",
    "Interval",
    "between",
    "interval",
    "paired_difference",
    "quantile",
    "tail_of",
    "unvarying",
]


class Bounds(NamedTuple):
    """What a figure cannot be below or above; None where it can be anything."""

    low: float | None = None
    high: float | None = None


FEW = 100
"""Degrees of freedom up to which nothing of scipy is loaded."""
REAL = Bounds()
SHARE = Bounds(0.0, 1.0)
SIGNED = Bounds(-1.0, 1.0)
COUNT = Bounds(0.0)
GAIN = Bounds(None, 1.0)


class Interval(NamedTuple):
    """A mean between its bounds; `mean` is None without a value, the bounds are None where values do not differ.

    `n` values counted, `missing` were None and did not. Of one value, or of equal ones, no interval can be made: that
    chance changed nothing so far does not say that it never will.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    missing: int = 0


def interval(values: Sequence[float | None], level: float = 0.95, bounds: Bounds = REAL) -> Interval:
    """Return the mean of repeated measurements with Student's interval; None is left out and counted.

    >>> [round(x, 2) for x in interval([-1.0, 0.0, 1.0])[:3]]
    [0.0, -2.48, 2.48]
    >>> [round(x, 2) for x in interval([0.8, 0.9, 1.0], bounds=SHARE)[:3]]
    [0.9, 0.36, 0.99]
    """
    tail = tail_of(level)
    present = [value for value in values if value is not None]
    n, missing = len(present), len(values) - len(present)
    mean = math.fsum(present) / n if n else None
    if mean is None or n == 1 or unvarying(present):
        return Interval(mean, None, None, n, missing)
    s = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    low, high = between(mean, quantile(n - 1, tail) * s / math.sqrt(n), bounds)
    return Interval(mean, low, high, n, missing)


def unvarying(values: Sequence[float]) -> bool:
    """Whether values differ by no more than the rounding of a float."""
    return max(values) - min(values) <= 1e-12 * max(map(abs, values))


@lru_cache(maxsize=64)
def quantile(freedom: float, tail: float) -> float:
    """What Student's distribution exceeds with the probability of the tail; without end of freedom the normal one."""
    if freedom in range(1, FEW + 1) and 1e-4 <= tail < 0.5:
        return _of_few(int(freedom), tail)
    if math.isinf(freedom):
        return -NormalDist().inv_cdf(tail)
    from scipy.special import stdtrit  # costs 0.1 s, which few repetitions need not pay

    return float(stdtrit(freedom, 1 - tail))


def _of_few(freedom: int, tail: float) -> float:
    """The same for whole degrees of freedom, by halves: what lies within -t..t is a finite sum over the angle of t."""
    odd = freedom % 2
    factors = list(accumulate(((j - 1) / j for j in range(2 + odd, freedom - 1, 2)), mul, initial=1.0))

    def within(angle: float) -> float:
        cosine = math.cos(angle)
        total = math.fsum(factor * cosine ** (2 * j + odd) for j, factor in enumerate(factors))
        if not odd:
            return math.sin(angle) * total
        return (angle + (math.sin(angle) * total if freedom > 1 else 0.0)) * 2 / math.pi

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 1 - 2 * tail else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def between(mean: float, half: float, bounds: Bounds) -> tuple[float, float]:
    """The interval around a mean, by the half width it would have on a scale without bounds."""
    scale, slope, back = _scale(bounds)
    if not slope(mean):
        return mean - half, mean + half
    middle, width = scale(mean), half * slope(mean)
    # There and back again a mean may come out below or above itself by the rounding of a float.
    return min(mean, back(middle - width)), max(mean, back(middle + width))


def _scale(
    bounds: Bounds,
) -> tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]:
    """g, its derivative (0 where there is no need of g), and its inverse."""
    low, high = bounds
    if low is not None and high is not None:
        span = high - low
        return (
            lambda x: math.log((x - low) / (high - x)),
            lambda x: span / ((x - low) * (high - x)),
            lambda y: low + span * _logistic(y),
        )
    if low is not None:
        return lambda x: math.log(x - low), lambda x: 1 / (x - low), lambda y: low + _exponential(y)
    if high is not None:
        return lambda x: -math.log(high - x), lambda x: 1 / (high - x), lambda y: high - _exponential(-y)
    return lambda x: x, lambda x: 0.0, lambda y: y


def _logistic(y: float) -> float:
    return 1 / (1 + _exponential(-y))


def _exponential(y: float) -> float:
    """e to the y, and the largest number where it is larger than any."""
    return math.exp(min(y, 709.0))


def paired_difference(
    first: Sequence[float | None], second: Sequence[float | None], level: float = 0.95, bounds: Bounds = REAL
) -> Interval:
    """Return the mean of first - second over the same seeds; a pair with a None is left out and counted.

    Pairing takes out what a seed does to both, so it sees differences that two separate intervals hide; `bounds` are
    those of the difference, of two shares SIGNED.

    >>> paired_difference([0.9, 0.5, None], [0.8, 0.2, 0.1]).missing
    1
    """
    if len(first) != len(second):
        hint = "measure both over the same seeds"
        raise DecloakError(f"cannot pair {len(first)} values with {len(second)}", hint=hint)
    differences = [None if a is None or b is None else a - b for a, b in zip(first, second, strict=True)]
    return interval(differences, level, bounds)


def tail_of(level: float) -> float:
    """The probability on either side of an interval of this level."""
    if not 0 < level < 1:
        raise DecloakError(f"a confidence level of {level}", hint="give one between 0 and 1, such as 0.95")
    return (1 - level) / 2
