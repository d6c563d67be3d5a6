"""Means over repetitions, with confidence intervals that stay within the possible values.

n is the number of values, s their standard deviation (divisor n - 1), t a quantile of Student's distribution with n - 1
degrees of freedom. On a scale without bounds the mean x has the interval x -+ t s / sqrt(n). If a figure has bounds,
the interval is computed on a scale g without bounds, and transformed back. g is the logit of the position between both
bounds, or the logarithm of the distance from the only one. To first order g(x) has the half width t s g'(x) / sqrt(n).
So the mean always lies inside, and no bound is ever crossed.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from decloak.errors import DecloakError
from decloak.figures import REAL, Bounds


class Interval(NamedTuple):
    """A mean with its interval; `mean` is None without a value, and the bounds are None if all values are equal.

    `n` values counted, `missing` ones were None. Equal values give no interval: their variation may appear later.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    missing: int = 0


def interval(values: Sequence[float | None], level: float = 0.95, bounds: Bounds = REAL) -> Interval:
    """Return the mean of repeated measurements with Student's interval at `level`, within `bounds`.

    None in `values` is left out and counted.

    >>> [round(x, 2) for x in interval([-1.0, 0.0, 1.0])[:3]]
    [0.0, -2.48, 2.48]
    >>> [round(x, 2) for x in interval([0.8, 0.9, 1.0], bounds=Bounds(0.0, 1.0))[:3]]
    [0.9, 0.36, 0.99]
    """
    tail = tail_of(level)
    present = [value for value in values if value is not None]
    n, missing = len(present), len(values) - len(present)
    mean = math.fsum(present) / n if n else None
    if mean is None or n == 1 or all_equal(present):
        return Interval(mean, None, None, n, missing)
    s = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    low, high = transformed_interval(mean, quantile(n - 1, tail) * s / math.sqrt(n), bounds)
    return Interval(mean, low, high, n, missing)


def all_equal(values: Sequence[float]) -> bool:
    """Return True if `values` differ by no more than the rounding of a float."""
    return max(values) - min(values) <= 1e-12 * max(map(abs, values))


@lru_cache(maxsize=64)
def quantile(freedom: float, tail: float) -> float:
    """Return the value that Student's distribution with `freedom` degrees exceeds with the probability `tail`.

    Infinite degrees of freedom give the normal distribution.
    """
    x = -NormalDist().inv_cdf(tail)
    if math.isinf(freedom) or tail == 0.5:
        return x
    # scipy.special has the inverse, and importing it takes longer than all intervals of a run.
    for _ in range(STEPS):  # Newton's, from the side where it cannot overshoot: the normal quantile is nearer to 0
        density = _gamma_ratio(freedom / 2) * math.exp(-(freedom + 1) / 2 * math.log1p(x * x / freedom))
        step = (_upper_tail(freedom, x) - tail) * math.sqrt(math.pi * freedom) / density
        x += step
        if abs(step) <= 1e-8 * abs(x):  # the next step would be below the rounding
            break
    return x


STEPS = 100_000
"""The most steps of a series; a few do for any degrees of freedom below a hundred."""


def _gamma_ratio(a: float) -> float:
    """Return Γ(a + 1/2) / Γ(a), for large `a` by its asymptotic series: differences of logarithms would lose digits."""
    if a < 20:
        return math.gamma(a + 0.5) / math.gamma(a)
    b = 1 / (a * a)
    return math.sqrt(a) * math.exp((-1 / 8 + b * (1 / 192 + b * (-1 / 640 + b * (17 / 14336 - b * 31 / 18432)))) / a)


def _upper_tail(freedom: float, x: float) -> float:
    """Return the probability that Student's variable exceeds `x`: half of an incomplete beta function."""
    a, share = freedom / 2, x * x / (freedom + x * x)
    front = _gamma_ratio(a) / math.sqrt(math.pi) * math.exp(-a * math.log1p(x * x / freedom)) * math.sqrt(share)
    if share < 1.5 / (a + 2.5):
        return 0.5 - math.copysign(front, x) * _beta_fraction(0.5, a, share)
    tail = front / (2 * a) * _beta_fraction(a, 0.5, 1 - share)
    return tail if x > 0 else 1 - tail


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    ratio, inverse = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = inverse
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            inverse, ratio = 1 / (1 + part * inverse), 1 + part / ratio
            value *= inverse * ratio
        if abs(inverse * ratio - 1) < 1e-16:
            break
    return value


def transformed_interval(mean: float, half: float, bounds: Bounds) -> tuple[float, float]:
    """Return the interval around `mean`, from the `half` width that it would have on a scale without `bounds`."""
    scale, slope, back = _scale(bounds)
    if not slope(mean):
        return mean - half, mean + half
    middle, width = scale(mean), half * slope(mean)
    # There and back again a mean may come out below or above itself by the rounding of a float.
    return min(mean, back(middle - width)), max(mean, back(middle + width))


def _scale(
    bounds: Bounds,
) -> tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]:
    """Return g, its derivative (0 where g is not needed), and its inverse."""
    low, high = bounds
    if low is not None and high is not None:
        span = high - low
        return (
            lambda x: math.log((x - low) / (high - x)),
            lambda x: span / ((x - low) * (high - x)),
            lambda y: low + span * (1 / (1 + _exponential(-y))),
        )
    if low is not None:
        return lambda x: math.log(x - low), lambda x: 1 / (x - low), lambda y: low + _exponential(y)
    if high is not None:
        return lambda x: -math.log(high - x), lambda x: 1 / (high - x), lambda y: high - _exponential(-y)
    return lambda x: x, lambda x: 0.0, lambda y: y


def _exponential(y: float) -> float:
    """Return e to the power of y, or the largest number where it would be larger."""
    return math.exp(min(y, 709.0))


def paired_difference(
    first: Sequence[float | None], second: Sequence[float | None], level: float = 0.95, bounds: Bounds = REAL
) -> Interval:
    """Return the mean of `first` - `second` over the same seeds, with an interval at `level`; a pair with a None is
    left out.

    Pairing removes what a seed does to both, so it detects differences that two separate intervals hide. `bounds` are
    the bounds of the difference; for two shares they are SIGNED.

    >>> paired_difference([0.9, 0.5, None], [0.8, 0.2, 0.1]).missing
    1
    """
    if len(first) != len(second):
        hint = "measure both over the same seeds"
        raise DecloakError(f"cannot pair {len(first)} values with {len(second)}", hint=hint)
    differences = [None if a is None or b is None else a - b for a, b in zip(first, second, strict=True)]
    return interval(differences, level, bounds)


def tail_of(level: float) -> float:
    """Return the probability on either side of an interval of this `level`."""
    if not 0 < level < 1:
        raise DecloakError(f"a confidence level of {level}", hint="give one between 0 and 1, such as 0.95")
    return (1 - level) / 2
