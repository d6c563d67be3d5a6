"""How much more often an attack is right than chance, with intervals that few strikes or few tables do not make narrow.

The *lead* is c / s - e / s: of s strikes c were right, and e would be by chance. Repeated, it is paired: the chance of
each repetition with what the attack did in it; Student's interval, on the scale of `statistics`. Of one release, its m
tables (or clusters) are resampled, each left out once: with L the lead of all and L_i that without table i, its
variance is (m - 1) / m times the sum of (L_i - L)^2, and the interval is Wilson's for as many independent strikes as
that amounts to. It is about releases of data sets of one kind, of which this one's tables are taken for a sample; for
further releases of the very same data set it is wider than need be.

Few strikes that all happen to be right do not differ from each other, which says little. So no half width is below
that of as many strikes that have nothing to do with each other, two right and two wrong ones added to those seen. But
strikes of one table are drawn without replacement, so many count as more than they are: s as s (1 + s / 50), over
repetitions as s (1 + s / 20).

Two attacks are compared by what they *won*: of h that there was to win back, (c - e) / h. The difference is paired, by
repetition or, of one release, by table: with D that of all tables and D_i that without table i, its variance is that of
the lead. How often these intervals hold what they should is simulated in tests/test_coverage.py.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from decloak.measure.kernels.statistics import (
    SIGNED,
    Bounds,
    Interval,
    between,
    paired_difference,
    quantile,
    tail_of,
    unvarying,
)

__all__ = [
    "Claims",
    "Won",
    "repeated_difference",
    "repeated_lead",
    "repetitions_needed",
    "resampled_difference",
    "resampled_lead",
    "total",
    "wilson",
]


MOST_REPETITIONS = 1000
"""Repetitions that somebody may be told to run."""
REPEATED, RESAMPLED = 20.0, 50.0
"""How many strikes are few, over repetitions and in one release."""


class Claims(NamedTuple):
    """Strikes, or rows that something was given to: how many, how many of them are right, and would be by chance."""

    tried: float
    right: float
    by_chance: float

    @property
    def lead(self) -> float | None:
        """How much more often right than chance; None where nothing was tried."""
        return (self.right - self.by_chance) / self.tried if self.tried else None


class Won(NamedTuple):
    """How many more an attack had right than by chance, and how many there were to win back."""

    beyond: float
    hidden: float

    @property
    def share(self) -> float | None:
        """Of what there was to win back; None where there was nothing."""
        return self.beyond / self.hidden if self.hidden else None


def total(claims: Sequence[Claims]) -> Claims:
    """The claims of all together."""
    return Claims(*map(math.fsum, zip(*claims, strict=True))) if claims else Claims(0.0, 0.0, 0.0)


def repeated_lead(repetitions: Sequence[Claims], level: float = 0.95) -> Interval:
    """Return the mean lead over repetitions; one without a strike is missing.

    >>> [round(x, 2) for x in repeated_lead([Claims(100, 90, 60), Claims(90, 85, 54), Claims(110, 96, 66)])[:3]]
    [0.31, 0.17, 0.36]
    """
    tail, made = tail_of(level), [claims for claims in repetitions if claims.tried]
    leads = [(claims.right - claims.by_chance) / claims.tried for claims in made]
    missing, n = len(repetitions) - len(made), len(made)
    lead = math.fsum(leads) / n if n else None
    if lead is None or n < 2 or unvarying(leads):
        return Interval(lead, None, None, n, missing)
    s = math.sqrt(math.fsum((value - lead) ** 2 for value in leads) / (n - 1))
    return Interval(lead, *_around(made, lead, s, n, tail), n, missing)


def _around(made: Sequence[Claims], lead: float, s: float, n: int, tail: float) -> tuple[float, float]:
    """The bounds of a mean lead over n repetitions of which some were made."""
    tried, right, _ = total(made)
    each = n / len(made)
    smoothed = (right * each + 2) / (tried * each + 4)
    least = quantile(math.inf, tail) * math.sqrt(smoothed * (1 - smoothed) / _independent(tried * each, REPEATED))
    half = max(quantile(n - 1, tail) * s / math.sqrt(n), least)
    chance = math.fsum(claims.by_chance / claims.tried for claims in made) / len(made)
    if not 1e-9 < lead + chance < 1 - 1e-9:  # always right, or always wrong
        low, high = wilson(lead + chance, half * half / (smoothed * (1 - smoothed)))
        return low - chance, high - chance
    return between(lead, half, Bounds(-chance, 1 - chance))


def resampled_lead(units: Sequence[Claims], level: float = 0.95) -> Interval:
    """Return the lead over all tables, or clusters, of one release; those without a strike are missing.

    >>> [round(x, 2) for x in resampled_lead([Claims(40, 37, 24), Claims(30, 26, 20), Claims(50, 44, 31)])[:3]]
    [0.27, 0.08, 0.34]
    """
    tail, struck = tail_of(level), [claims for claims in units if claims.tried]
    whole, m = total(struck), len(struck)
    missing = len(units) - m
    if whole.lead is None or m < 2:
        return Interval(whole.lead, None, None, m, missing)
    right, chance = whole.right / whole.tried, whole.by_chance / whole.tried
    k = quantile(math.inf, tail) ** 2 / _independent(whole.tried, RESAMPLED)
    if 0 < right < 1:
        apart = math.fsum((_lead_without(whole, claims) - whole.lead) ** 2 for claims in struck)
        k = max(k, quantile(m - 1, tail) ** 2 * apart * (m - 1) / m / (right * (1 - right)))
    low, high = wilson(right, k)
    return Interval(whole.lead, low - chance, high - chance, m, missing)


def _lead_without(whole: Claims, part: Claims) -> float:
    return (whole.right - part.right - whole.by_chance + part.by_chance) / (whole.tried - part.tried)


def _independent(tried: float, few: float) -> float:
    """As how many strikes that have nothing to do with each other some count at most; a few count as themselves."""
    return tried * (1 + tried / few)


def wilson(share: float, k: float) -> tuple[float, float]:
    """Wilson's interval of a share; k is the square of the quantile over the number of trials."""
    middle, half = (share + k / 2) / (1 + k), math.sqrt(k * share * (1 - share) + k * k / 4) / (1 + k)
    # A sum that should be 0 or 1 may be beyond it by the rounding of a float.
    return max(0.0, middle - half), min(1.0, middle + half)


def repetitions_needed(
    repetitions: Sequence[Claims],
    level: float,
    *,
    above: float | None = None,
    below: float | None = None,
) -> int | None:
    """How many repetitions put the lead above one number or below another, if they go on like these; None if too many.

    >>> repetitions_needed([Claims(50, 40, 30), Claims(50, 33, 30), Claims(50, 46, 30)], 0.95, above=0.0)
    6
    """
    tail, made = tail_of(level), [claims for claims in repetitions if claims.tried]
    leads = [(claims.right - claims.by_chance) / claims.tried for claims in made]
    if len(leads) < 2:
        return None
    lead = math.fsum(leads) / len(leads)
    s = math.sqrt(math.fsum((value - lead) ** 2 for value in leads) / (len(leads) - 1))
    for n in range(len(leads) + 1, MOST_REPETITIONS + 1):
        low, high = _around(made, lead, s, n, tail)
        if (above is not None and low > above) or (below is not None and high < below):
            return n
    return None


def repeated_difference(first: Sequence[Won], second: Sequence[Won], level: float = 0.95) -> Interval:
    """Return how much more of what there was one attack won back than another, a mean over the same repetitions.

    >>> [round(x, 2) for x in repeated_difference([Won(8, 10), Won(14, 20)], [Won(5, 10), Won(9, 20)], 0.5)[:3]]
    [0.28, 0.25, 0.3]
    """
    shares = [won.share for won in first], [won.share for won in second]
    mean = paired_difference(*shares, level).mean
    return paired_difference(*shares, level, _bounds_around(mean or 0.0))


def resampled_difference(first: Sequence[Won], second: Sequence[Won], level: float = 0.95) -> Interval:
    """Return the same over the tables, or clusters, of one release, each left out once; those that hide nothing are
    missing.

    >>> [round(x, 2) for x in resampled_difference([Won(8, 10), Won(7, 10)], [Won(5, 10), Won(5, 10)], 0.5)[:3]]
    [0.25, 0.2, 0.3]
    """
    tail = tail_of(level)
    units = [(one.beyond - other.beyond, one.hidden) for one, other in zip(first, second, strict=True) if one.hidden]
    ahead, hidden, m = math.fsum(d for d, _ in units), math.fsum(h for _, h in units), len(units)
    missing, mean = len(first) - m, ahead / hidden if units else None
    if mean is None or m < 2:
        return Interval(mean, None, None, m, missing)
    without = [(ahead - d) / (hidden - h) for d, h in units]
    if unvarying(without):
        return Interval(mean, None, None, m, missing)
    variance = math.fsum((value - mean) ** 2 for value in without) * (m - 1) / m
    bounds = _bounds_around(mean)
    return Interval(mean, *between(mean, quantile(m - 1, tail) * math.sqrt(variance), bounds), m, missing)


def _bounds_around(mean: float) -> Bounds:
    """Shares rarely differ by a whole, but one attack may be as far below chance as the other is above it."""
    return SIGNED if abs(mean) < 1 else Bounds(-2.0, 2.0)
