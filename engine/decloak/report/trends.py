"""Trends: whether the runs of a sweep show what a paper observed.

A line: the values of a figure of one attack by repetition along a key, all other keys fixed. A line rises if its later
half is above its earlier half and its last value above its first; it falls in the opposite case. It is level if every
mean is within `within` of the largest. It peaks if it rises to a value in between and falls after it. It is linear if a
rising straight line explains all of the variance of the means but `within`. Differences are taken repetition by
repetition. For random methods, their 95% interval must exclude zero, or the trend is undecided. A comparison shows the
interval after its two means.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from decloak.errors import DecloakError, quote
from decloak.measure.kernels.statistics import interval
from decloak.report.study import Study, setting
from decloak.scenario.plots import ATTACK, ComparisonSide, Trend
from decloak.scenario.sweep import compact

SHOWN = 6
"""The most lines that a trend lists."""

Values = Sequence[float | None]
"""A figure, repetition by repetition."""
Holds = bool | None


class JudgedTrend(NamedTuple):
    """A trend: its result in all lines (`holds` is None if undecided), and the measured values."""

    says: str
    holds: Holds
    lines: int
    holding: int
    seen: str


@dataclass(frozen=True)
class _Line:
    """One line or one pair of sides: whether the trend holds there, and its numbers in words."""

    name: str
    holds: Holds
    seen: str


def judged_trend(study: Study, trend: Trend, *, without: bool = False) -> JudgedTrend:
    """Judge a `trend` by the runs of a sweep, `study`.

    It is an error if no variant is what it is about, unless `without` is true: then the result has no lines.
    """
    lines = list(_along(study, trend, trend.along) if trend.along is not None else _compare_sides(study, trend))
    if not lines and without:
        return JudgedTrend(trend.says, None, 0, 0, "")
    if not lines:
        raise DecloakError(f"no variant is what {quote(trend.says)} is about", hint="see its 'where' and its attacks")
    verdicts = [line.holds for line in lines]
    # One line against the trend refutes it, and an undecided one leaves it open.
    holds = True if all(verdict is True for verdict in verdicts) else None if False not in verdicts else False
    # Lines in which the trend does not hold come first, because only some are listed.
    telling = sorted(lines, key=lambda line: line.holds is True)[:SHOWN]
    seen = [f"{line.name}: {line.seen}" if line.name else line.seen for line in telling]
    rest = [f"and {len(lines) - len(telling)} more"] if len(lines) > len(telling) else []
    return JudgedTrend(trend.says, holds, len(lines), verdicts.count(True), "; ".join([*seen, *rest]))


def _selected(study: Study, where: Mapping[str, object]) -> Study:
    """Return the runs with the given settings only."""
    runs = tuple(
        run for run in study.runs if all(compact(setting(run.config, key)) == compact(where[key]) for key in where)
    )
    return replace(study, runs=runs)


def _along(study: Study, trend: Trend, key: str) -> Iterator[_Line]:
    for name, points in _lines(study, trend.of, trend.attacks, trend.where, key).items():
        values = [by_repetition for _, by_repetition in points]
        means = [_mean(of) for of in values]
        places = ", ".join(f"{_figure(mean)}" for mean in means)
        seen = f"{places} at {_last(key)} {', '.join(place for place, _ in points)}"
        shape = _Points([place for place, _ in points], values, means, trend.within)
        yield _Line(name, _SHAPES[trend.trend](shape), seen)


def _lines(
    study: Study, of: str, attacks: Sequence[str], where: Mapping[str, object], key: str
) -> dict[str, list[tuple[str, list[float | None]]]]:
    """Lines by name, each its places along a key with the values of the repetitions there."""
    chosen = _selected(study, where)
    lines: dict[str, dict[str, list[float | None]]] = {}
    others = [other for other in chosen.varied if other != key]
    for run in chosen.runs:
        for attack in attacks or _attacks_with_figure(chosen, of):
            if (of, attack) in chosen.figures[run.run]:
                settings = [(other, chosen.named(run, attack, other)) for other in others]
                labels = [attack] if key != ATTACK and len(chosen.attacks) > 1 else []
                name = ", ".join([*labels, *(f"{_last(other)} {value}" for other, value in settings)])
                across = str(chosen.named(run, attack, key))
                lines.setdefault(name, {}).setdefault(across, []).append(chosen.figures[run.run][of, attack])
    return {name: list(points.items()) for name, points in lines.items()}


def _attacks_with_figure(study: Study, of: str) -> list[str]:
    return [attack for attack in study.attacks if any((of, attack) in figures for figures in study.figures.values())]


class _Points(NamedTuple):
    """The points of a line: places along the key, values by repetition, their means, and the tolerance of the trend."""

    places: Sequence[str]
    values: Sequence[Values]
    means: Sequence[float | None]
    within: float


def _rises(values: Sequence[Values]) -> Holds:
    half = len(values) // 2
    if not half:
        return None
    ends = _above([*_differences(values[-1], values[0])])
    # The ends alone would take one high last value for a trend.
    halves = _above([fmean(later) - fmean(earlier) for earlier, later in _halves(values, half)])
    return None if None in (ends, halves) else bool(ends and halves)


def _halves(values: Sequence[Values], half: int) -> Iterator[tuple[list[float], list[float]]]:
    """Return the values of the earlier and of the later half, for each repetition that has them all."""
    for repetition in zip(*values, strict=False):
        present = [value for value in repetition if value is not None]
        if len(present) == len(repetition):
            yield present[:half], present[-half:]


def _level(points: _Points) -> Holds:
    present = [mean for mean in points.means if mean is not None]
    if len(present) < len(points.means) or len(present) < 2:
        return None
    return max(present) - min(present) <= points.within * max(map(abs, present)) + 1e-12


def _peaking(points: _Points) -> Holds:
    # A missing mean is never the top.
    present = [-math.inf if mean is None else mean for mean in points.means]
    values = points.values
    top = present.index(max(present)) if present else 0
    # A top at an end is no peak.
    if not 0 < top < len(present) - 1:
        return False if len(present) > 2 else None
    ends = [_above([*_differences(values[top], values[end])]) for end in (0, -1)]
    return None if None in ends else all(ends)


def _linear(points: _Points) -> Holds:
    """Return whether the means lie on a rising line over the places, which are numbers."""
    y = np.array([math.nan if mean is None else mean for mean in points.means])
    if len(y) < 3 or not np.isfinite(y).all():
        return None
    x = np.array(points.places, np.float64)
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        return False
    correlation = np.corrcoef(x, y)[0, 1]
    return bool(correlation > 0 and correlation**2 >= 1 - points.within)


_SHAPES: dict[str, Callable[[_Points], Holds]] = {
    "rising": lambda points: _rises(points.values),
    "falling": lambda points: _rises([*reversed(points.values)]),
    "level": _level,
    "peaking": _peaking,
    "linear": _linear,
}


def _compare_sides(study: Study, trend: Trend) -> Iterator[_Line]:
    assert trend.than is not None
    first = _cells(study, trend.of, trend.attacks, trend.where, trend)
    if not isinstance(trend.than, ComparisonSide):
        for cell, values in first.items():
            yield _compared(cell.words(), values, [trend.than] * len(values), trend)
        return
    than = trend.than
    where = {key: value for key, value in {**trend.where, **than.where}.items() if value is not None}
    other = _cells(study, than.of or trend.of, than.attacks or trend.attacks, where, trend)
    # The same attacks on both sides are compared with themselves, and others all with all.
    paired = not than.attacks or set(than.attacks) == set(trend.attacks)
    for one, values in first.items():
        for two, others in other.items():
            if one.settings == two.settings and (not paired or one.attack == two.attack):
                times = [None if value is None else than.times * value for value in others]
                rival = two.attack if two.attack != one.attack else None
                yield _compared(one.words(rival), values, times, trend)


class _Cell(NamedTuple):
    """An attack, and the settings that neither side fixes."""

    attack: str
    settings: tuple[tuple[str, str], ...]
    alone: bool
    """True if there is no other attack."""

    def words(self, rival: str | None = None) -> str:
        attack = [] if self.alone else [self.attack if rival is None else f"{self.attack} vs {rival}"]
        return ", ".join([*attack, *(f"{_last(key)} {value}" for key, value in self.settings)])


def _cells(
    study: Study, of: str, attacks: Sequence[str], where: Mapping[str, object], trend: Trend
) -> dict[_Cell, list[float | None]]:
    """Return the values of repetitions by attack and by the remaining keys."""
    fixed = {*trend.where, *(trend.than.where if isinstance(trend.than, ComparisonSide) else ())}
    free = [key for key in study.varied if not any(other == key or other.startswith(f"{key}.") for other in fixed)]
    chosen = _selected(study, where)
    cells: dict[_Cell, list[float | None]] = {}
    for run in chosen.runs:
        for attack in attacks or _attacks_with_figure(study, of):
            if (of, attack) in study.figures[run.run]:
                settings = tuple((key, str(study.named(run, attack, key))) for key in free)
                cell = _Cell(attack, settings, len(study.attacks) == 1)
                cells.setdefault(cell, []).append(study.figures[run.run][of, attack])
    return cells


def _compared(name: str, first: Values, second: Values, trend: Trend) -> _Line:
    one, other = _mean(first), _mean(second)
    seen = f"{_figure(one)} vs {_figure(other)}"
    differences = [*_differences(first, second)]
    if one is None or other is None or not differences:
        return _Line(name, None, seen)
    if trend.trend == "near":
        return _Line(name, abs(one - other) <= trend.within * max(abs(one), abs(other)) + 1e-12, seen)
    difference = interval(differences)
    if difference.low is not None and difference.high is not None:
        seen += f" ({_signed(difference.low)} to {_signed(difference.high)})"
    return _Line(name, _above(differences if trend.trend == "above" else [-x for x in differences]), seen)


def _differences(first: Values, second: Values) -> Iterator[float]:
    for a, b in zip(first, second, strict=False):
        if a is not None and b is not None:
            yield a - b


def _above(differences: Sequence[float]) -> Holds:
    """Return whether a difference is above zero: by its sign, or by its interval for random methods."""
    if not differences:
        return None
    mean = interval(differences)
    assert mean.mean is not None
    if mean.low is None or mean.high is None:
        # Without repetitions there is no interval: the sign decides, beyond the rounding of a float.
        return mean.mean > 1e-12
    return True if mean.low > 0 else False if mean.high < 0 else None


def _mean(values: Iterable[float | None]) -> float | None:
    return interval(list(values)).mean


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{value:+.0f}" if abs(value) >= 10 else f"{value:+.2g}"


def _last(key: str) -> str:
    return key.rpartition(".")[2]
