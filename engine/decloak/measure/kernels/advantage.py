"""Advantage of attacks over the random baseline, with confidence intervals that few eliminations or tables do not
narrow.

The *advantage* is c / s - e / s: of s claims (eliminations or assignments) c are right, and e are expected to be right
at random. Over repetitions it is paired: the baseline of each repetition with the result of the attack there, with
Student's interval, on the scale of `statistics`. For one release its m tables (or clusters) are resampled, each left
out once. L is the advantage of all, and L_i the advantage without table i. The variance is (m - 1) / m times the sum of
(L_i - L)^2, and the interval is Wilson's for the equivalent number of independent claims. It is valid for releases of
data sets of one kind, of which the tables of this release are a sample. For further releases of the same data set it is
wider than needed.

Few claims that all happen to be right do not differ from each other, which proves little. So each half width is at
least that of the same number of independent claims with two right and two wrong ones added. But claims of one table
are drawn without replacement, so s claims count as s (1 + s / 50), over repetitions as s (1 + s / 20).

Two attacks are compared by the hidden members that they recovered beyond the baseline: of h hidden members, (c - e) /
h. The difference is paired, by repetition or, for one release, by table. D is the difference of all tables and D_i the
difference without table i; its variance is computed in the same way. tests/measure/test_coverage.py simulates how often
these intervals contain the true value.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from decloak.figures import SIGNED, Bounds
from decloak.measure.kernels.statistics import (
    Interval,
    all_equal,
    paired_difference,
    quantile,
    tail_of,
    transformed_interval,
)

MOST_REPETITIONS = 1000
"""Repetitions that decloak recommends, at most."""
SHRINKAGE_OF_REPETITIONS, SHRINKAGE_OF_TABLES = 20.0, 50.0
"""How many claims are few, over repetitions and in one release."""


class ClaimCounts(NamedTuple):
    """Numbers of eliminations or assignments: all, the right ones, and those expected to be right at random."""

    tried: float
    right: float
    expected: float

    @property
    def advantage(self) -> float | None:
        """Return the precision minus the baseline, or None without claims."""
        return (self.right - self.expected) / self.tried if self.tried else None


class Advantage(NamedTuple):
    """Right claims beyond the expected ones, and the number of hidden members (the denominator of `share`)."""

    beyond: float
    hidden: float

    @property
    def share(self) -> float | None:
        """Return the recall advantage, or None if nothing is hidden."""
        return self.beyond / self.hidden if self.hidden else None


def total(claims: Sequence[ClaimCounts]) -> ClaimCounts:
    """Return the sum of all `claims`."""
    return ClaimCounts(*map(math.fsum, zip(*claims, strict=True))) if claims else ClaimCounts(0.0, 0.0, 0.0)


def advantage_over_repetitions(repetitions: Sequence[ClaimCounts], level: float = 0.95) -> Interval:
    """Return the mean advantage over `repetitions` with an interval at `level`; one without a claim is missing.

    >>> counts = [ClaimCounts(100, 90, 60), ClaimCounts(90, 85, 54), ClaimCounts(110, 96, 66)]
    >>> [round(x, 2) for x in advantage_over_repetitions(counts)[:3]]
    [0.31, 0.17, 0.36]
    """
    tail, made = tail_of(level), [claims for claims in repetitions if claims.tried]
    leads = [(claims.right - claims.expected) / claims.tried for claims in made]
    missing, n = len(repetitions) - len(made), len(made)
    advantage = math.fsum(leads) / n if n else None
    if advantage is None or n < 2 or all_equal(leads):
        return Interval(advantage, None, None, n, missing)
    s = math.sqrt(math.fsum((value - advantage) ** 2 for value in leads) / (n - 1))
    return Interval(advantage, *_bounds_of_mean(made, advantage, s, n, tail), n, missing)


def _bounds_of_mean(
    made: Sequence[ClaimCounts], advantage: float, s: float, n: int, tail: float
) -> tuple[float, float]:
    """Return the bounds of a mean advantage over n repetitions, some of which were made."""
    tried, right, _ = total(made)
    # Further repetitions are taken to claim as much as those that were made.
    each = n / len(made)
    # Two right and two wrong claims are added (Agresti and Coull): few claims that are all right prove little.
    smoothed = (right * each + 2) / (tried * each + 4)
    least = quantile(math.inf, tail) * math.sqrt(
        smoothed * (1 - smoothed) / effective_sample_size(tried * each, SHRINKAGE_OF_REPETITIONS)
    )
    half = max(quantile(n - 1, tail) * s / math.sqrt(n), least)
    chance = math.fsum(claims.expected / claims.tried for claims in made) / len(made)
    if not 1e-9 < advantage + chance < 1 - 1e-9:  # always right, or always wrong
        low, high = wilson(advantage + chance, half * half / (smoothed * (1 - smoothed)))
        return low - chance, high - chance
    return transformed_interval(advantage, half, Bounds(-chance, 1 - chance))


def jackknife_advantage(units: Sequence[ClaimCounts], level: float = 0.95) -> Interval:
    """Return the advantage over all tables, or clusters, of one release with an interval at `level`.

    Each of `units` is left out once; those without a claim are missing.

    >>> counts = [ClaimCounts(40, 37, 24), ClaimCounts(30, 26, 20), ClaimCounts(50, 44, 31)]
    >>> [round(x, 2) for x in jackknife_advantage(counts)[:3]]
    [0.27, 0.08, 0.34]
    """
    tail, made = tail_of(level), [claims for claims in units if claims.tried]
    whole, m = total(made), len(made)
    missing = len(units) - m
    if whole.advantage is None or m < 2:
        return Interval(whole.advantage, None, None, m, missing)
    right, chance = whole.right / whole.tried, whole.expected / whole.tried
    k = quantile(math.inf, tail) ** 2 / effective_sample_size(whole.tried, SHRINKAGE_OF_TABLES)
    if 0 < right < 1:
        apart = math.fsum((_advantage_without(whole, claims) - whole.advantage) ** 2 for claims in made)
        k = max(k, quantile(m - 1, tail) ** 2 * apart * (m - 1) / m / (right * (1 - right)))
    low, high = wilson(right, k)
    return Interval(whole.advantage, low - chance, high - chance, m, missing)


def _advantage_without(whole: ClaimCounts, part: ClaimCounts) -> float:
    return (whole.right - part.right - whole.expected + part.expected) / (whole.tried - part.tried)


def effective_sample_size(tried: float, few: float) -> float:
    """Return the number of independent trials that `tried` claims are worth; `few` claims are worth twice their
    number.

    Claims of one table are drawn without replacement, so n claims count as n (1 + n / few).
    """
    return tried * (1 + tried / few)


def wilson(share: float, k: float) -> tuple[float, float]:
    """Return Wilson's interval of a `share`; `k` is the square of the quantile over the number of trials."""
    middle, half = (share + k / 2) / (1 + k), math.sqrt(k * share * (1 - share) + k * k / 4) / (1 + k)
    # A sum that should be 0 or 1 may be beyond it by the rounding of a float.
    return max(0.0, middle - half), min(1.0, middle + half)


def repetitions_needed(
    repetitions: Sequence[ClaimCounts],
    level: float,
    *,
    above: float | None = None,
    below: float | None = None,
) -> int | None:
    """Return the number of repetitions that would move the interval at `level` `above` or `below` these numbers.

    It assumes that further `repetitions` are like these; None if too many would be needed.

    >>> counts = [ClaimCounts(50, 40, 30), ClaimCounts(50, 33, 30), ClaimCounts(50, 46, 30)]
    >>> repetitions_needed(counts, 0.95, above=0.0)
    6
    """
    tail, made = tail_of(level), [claims for claims in repetitions if claims.tried]
    leads = [(claims.right - claims.expected) / claims.tried for claims in made]
    if len(leads) < 2:
        return None
    advantage = math.fsum(leads) / len(leads)
    s = math.sqrt(math.fsum((value - advantage) ** 2 for value in leads) / (len(leads) - 1))
    for n in range(len(leads) + 1, MOST_REPETITIONS + 1):
        low, high = _bounds_of_mean(made, advantage, s, n, tail)
        if (above is not None and low > above) or (below is not None and high < below):
            return n
    return None


def difference_over_repetitions(
    first: Sequence[Advantage], second: Sequence[Advantage], level: float = 0.95
) -> Interval:
    """Return the mean difference in recall advantage, `first` minus `second`, over the same repetitions, at `level`.

    >>> first, second = [Advantage(8, 10), Advantage(14, 20)], [Advantage(5, 10), Advantage(9, 20)]
    >>> [round(x, 2) for x in difference_over_repetitions(first, second, 0.5)[:3]]
    [0.28, 0.25, 0.3]
    """
    shares = [won.share for won in first], [won.share for won in second]
    mean = paired_difference(*shares, level).mean
    return paired_difference(*shares, level, _bounds_around(mean or 0.0))


def jackknife_difference(first: Sequence[Advantage], second: Sequence[Advantage], level: float = 0.95) -> Interval:
    """Return the difference in recall advantage, `first` minus `second`, over the tables of one release, at `level`.

    Each table, or cluster, is left out once; tables that hide nothing are missing.

    >>> first, second = [Advantage(8, 10), Advantage(7, 10)], [Advantage(5, 10), Advantage(5, 10)]
    >>> [round(x, 2) for x in jackknife_difference(first, second, 0.5)[:3]]
    [0.25, 0.2, 0.3]
    """
    tail = tail_of(level)
    units = [(one.beyond - other.beyond, one.hidden) for one, other in zip(first, second, strict=True) if one.hidden]
    ahead, hidden, m = math.fsum(d for d, _ in units), math.fsum(h for _, h in units), len(units)
    missing, mean = len(first) - m, ahead / hidden if units else None
    if mean is None or m < 2:
        return Interval(mean, None, None, m, missing)
    # Each table is left out once: tables of one release are the independent units.
    without = [(ahead - d) / (hidden - h) for d, h in units]
    if all_equal(without):
        return Interval(mean, None, None, m, missing)
    variance = math.fsum((value - mean) ** 2 for value in without) * (m - 1) / m
    bounds = _bounds_around(mean)
    return Interval(mean, *transformed_interval(mean, quantile(m - 1, tail) * math.sqrt(variance), bounds), m, missing)


def _bounds_around(mean: float) -> Bounds:
    """Return the bounds of a difference: shares rarely differ by 1, but the two attacks may lie on either side of the
    baseline.
    """
    return SIGNED if abs(mean) < 1 else Bounds(-2.0, 2.0)
