"""The words of verdicts and of risk cards: counts, shares of a hundred, what an interval is about."""

from collections.abc import Sequence
from math import ceil, floor
from textwrap import fill

from decloak.measure.kernels.statistics import Interval, interval
from decloak.report.study import Study

__all__ = [
    "WHATEVER",
    "about",
    "considered",
    "deed",
    "digits_of",
    "filled",
    "in_hundred",
    "of_a_kind",
    "people",
    "percent",
    "points",
    "times",
    "way",
    "whatever",
    "whole",
]

WHATEVER = "Whatever the attack"
"""How the sentence on what needs no attack begins."""
WIDTH = 100
"""Characters in a line."""
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def filled(text: str) -> str:
    """A paragraph in lines that any terminal has room for."""
    return fill(text, WIDTH, break_on_hyphens=False)


def spelt(count: int) -> str:
    return COUNTS[count] if 0 <= count < len(COUNTS) else f"{count:,}"


def deed(tried: float, struck: bool) -> str:
    """What the attack does, how often."""
    if struck:
        return f"rules out {tried:,.0f} of the items put there to hide the real ones"
    return f"gives {tried:,.0f} parts back to records"


def considered(attacks: Sequence[str], study: Study) -> str:
    """How many attacks the level of an interval allows for."""
    count, variants = len(attacks), len({run.variant for run in study.runs})
    all_of_them = "both" if variants == 2 else f"all {spelt(variants)}"
    among = f" in {all_of_them} variants" if variants > 1 else ""
    if count == 1:
        return f"one attack considered{among}"
    every = "both" if count == 2 else f"all {spelt(count)}"
    return f"{every} attacks considered{among}"


def percent(share: float) -> str:
    """A share of a hundred; what is little is not nothing, and nearly all not all."""
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def people(count: Interval | None) -> str | None:
    """A number of people, with its interval where it has one, rounded outwards."""
    if count is None or count.low is None or count.high is None:
        return None if count is None else whole(count.mean)
    return f"{whole(count.mean)} ({floor(count.low):,}–{ceil(count.high):,})"


def whole(count: float | None) -> str | None:
    """A count; means of few have a digit more."""
    if count is None:
        return None
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.1f}"


def times(n: int) -> str:
    """How many repetitions there were."""
    return "one release" if n == 1 else f"{spelt(n)} repetitions"


def of_a_kind(n: int) -> str:
    """What an interval over data sets is about."""
    return f"the means of {spelt(n)} data sets of one kind"


def about(repetitions: int, interval: Interval) -> str:
    if repetitions > 1:
        return f"{times(repetitions)} of one data set"
    return f"the {spelt(interval.n)} parts of this release resampled"


def digits_of(interval: Interval) -> int:
    """Digits behind the point that keep chance and what lies a little above it apart."""
    bounds = [abs(bound) for bound in interval[:3] if bound is not None]
    return 0 if max(bounds, default=1.0) >= 0.1 else 1


def in_hundred(part: float, whole: float, digits: int = 0) -> str:
    """A share as so many of a hundred."""
    return f"{100 * part / whole:.{digits}f}" if whole else "0"


def points(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}"


def way(value: float, digits: int = 0) -> str:
    """The same with its direction."""
    return f"{abs(100 * value):.{digits}f} points {'better' if value > 0 else 'worse'}"


def whatever(study: Study, variant: str | None = None, *, named: bool = False) -> list[str]:
    """Whom a few known items lead to before any attack; where nobody is singled out, of whom they tell a third.

    Of a variant, or of the one that tells of most people; `named` says that it was named before.
    """
    by_variant = {name: _before(study, runs) for name, runs in study.variants if variant in (None, name)}
    variant, (singled, implied, of) = max(by_variant.items(), key=lambda entry: entry[1][:2])
    if not (singled or implied):
        return []
    least = "" if study.values(dict(study.variants)[variant], "singled_out_2_original")[0] is not None else "at least "
    what = f"single out {least}{singled:,.0f}" if singled else f"tell a third for certain of {least}{implied:,.0f}"
    where = f" with {variant}" if len(study.variants) > 1 and not named else ""
    return [f"{WHATEVER}: two known items already {what} {of}{where}."]


def _before(study: Study, runs: Sequence[int]) -> tuple[float, float, str]:
    """The people whom two known items single out, those of whom they tell a third, and of how many."""
    singled, implied, people = (
        interval(study.values(runs, figure)).mean or 0.0
        for figure in ("singled_out_2_release", "implied_release", "people")
    )
    drawn = " drawn" if people < max(study.sizes.get(run) or 0 for run in runs) else ""
    return singled, implied, f"of the {people:,.0f} people{drawn}"
