"""Means over repeats, with their confidence intervals.

n: values that count; s: their standard deviation (divisor n - 1); t: a quantile of Student's distribution. A mean
has the interval mean -+ t s / sqrt(n) with n - 1 degrees of freedom.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from decloak.errors import DecloakError

__all__ = ["Interval", "interval", "paired_difference"]


class Interval(NamedTuple):
    """A mean between its bounds; `mean` is None without a value, the bounds are None below two values.

    `n` values counted, `missing` were None and did not.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    missing: int = 0


def interval(values: Sequence[float | None], level: float = 0.95) -> Interval:
    """Return the mean of repeated measurements with Student's interval; None is left out and counted.

    >>> [round(x, 2) for x in interval([-1.0, 0.0, 1.0])[:3]]
    [0.0, -2.48, 2.48]
    """
    tail = _tail(level)
    present = [value for value in values if value is not None]
    n, missing = len(present), len(values) - len(present)
    mean = math.fsum(present) / n if n else None
    if mean is None or n == 1:
        return Interval(mean, None, None, n, missing)
    s = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    from scipy.special import stdtrit  # costs 0.1 s, which runs without repetitions need not pay

    half = float(stdtrit(n - 1, 1 - tail)) * s / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n, missing)


def paired_difference(first: Sequence[float | None], second: Sequence[float | None], level: float = 0.95) -> Interval:
    """Return the mean of first - second over the same seeds; a pair with a None is left out and counted.

    Pairing takes out what a seed does to both, so it sees differences that two separate intervals hide.

    >>> paired_difference([0.9, 0.5, None], [0.8, 0.2, 0.1]).missing
    1
    """
    if len(first) != len(second):
        hint = "measure both over the same seeds"
        raise DecloakError(f"cannot pair {len(first)} values with {len(second)}", hint=hint)
    return interval([None if a is None or b is None else a - b for a, b in zip(first, second, strict=True)], level)


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise DecloakError(f"a confidence level of {level}", hint="give one between 0 and 1, such as 0.95")
    return (1 - level) / 2
