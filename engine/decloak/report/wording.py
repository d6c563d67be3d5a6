"""Numbers in words: counts, percentages, points, probabilities, lines of a paragraph."""

from math import ceil, floor
from textwrap import fill

from decloak.measure.kernels.statistics import Interval

__all__ = ["WIDTH", "count", "filled", "interval_of", "people", "percent", "points", "probability", "whole"]


WIDTH = 110
"""Characters of a line."""


def filled(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, all but the first of them indented."""
    return fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def count(value: float | None) -> str:
    """Write a number of things; the mean of few has a digit more.

    >>> count(1943.0), count(3.5), count(None)
    ('1,943', '3.5', '–')
    """
    return whole(value) or "–"


def whole(value: float | None) -> str | None:
    """Write a number of things, or return None."""
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"


def people(value: Interval | None) -> str | None:
    """Write a number of people with its interval, rounded outwards."""
    if value is None or value.low is None or value.high is None:
        return None if value is None else whole(value.mean)
    return f"{whole(value.mean)} ({floor(value.low):,}–{ceil(value.high):,})"


def percent(share: float, digits: int = 0) -> str:
    """Write a share; a small one is never 0%, and a large one never 100%.

    >>> percent(0.004), percent(0.996), percent(0.153, 1), percent(-0.02)
    ('<1%', '>99%', '15.3%', '-2%')
    """
    if not digits and 0 < share < 0.005:
        return "<1%"
    return ">99%" if not digits and 0.995 <= share < 1 else f"{share:.{digits}%}"


def points(value: float | None, digits: int = 0) -> str:
    """Write a difference of two shares in points."""
    return "–" if value is None else f"{100 * value:+.{digits}f}"


def probability(p: float) -> str:
    """Write a probability; one that is too small for a float is bounded.

    >>> probability(0.0432), probability(2.3e-23), probability(0.0), probability(1.0)
    ('0.04', '2.3e-23', 'below 1e-300', '1.00')
    """
    if p < 1e-300:
        return "below 1e-300"
    return f"{p:.1e}" if p < 0.001 else f"{p:.3f}" if p < 0.01 else f"{p:.2f}"


def interval_of(repetitions: int, *, data_sets: bool = False) -> str:
    """Say what an interval is about."""
    kind = "data sets of one kind" if data_sets else "repetitions of one data set"
    return f"{repetitions} {kind}"
