"""The figures of runs by family, each family a table of its own, with titles; only what says something.

Columns without values are left out. A family with equal values for every attack has one row.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from decloak.digest import JsonObject
from decloak.figures import Metric
from decloak.measure.family import Family
from decloak.measure.registry import FAMILIES
from decloak.report.risk_card import ROWS
from decloak.store.results import PooledFigure

__all__ = ["Grouped", "family_tables"]

Figures = Mapping[tuple[str, str], PooledFigure]
ALL = "all attacks"
LINES = ("figure", "original data", "release", "control", "attack", "after attack", "baseline")


class Grouped(NamedTuple):
    """The table of one family."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def family_tables(figures: Figures, measured: Collection[str], knows: Mapping[str, str | None]) -> Iterator[Grouped]:
    """Yield a table for each family that was measured; the card has the other figures of exposure.

    `knows` names the knowledge of each attack.
    """
    attacks = list(dict.fromkeys(attack for _, attack in figures))
    for family in (family for family in FAMILIES if family.name in measured):
        if family.ways_in_columns:
            if lines := _lines(family, figures):
                yield Grouped(f"{family.name}: {family.about}", LINES, lines)
            continue
        shown = [metric for metric in family.metrics if any((metric.key, attack) in figures for attack in attacks)]
        if shown:
            rows = [[row[0], knows.get(row[0]), *row[1:]] for row in _rows(family, shown, attacks, figures)]
            if rows:
                columns = ("attack", "attacker knows", *(metric.title for metric in shown))
                yield Grouped(f"{family.name}: {family.about}", columns, rows)


def _lines(family: Family, figures: Figures) -> list[list[str | None]]:
    """Return a line for each figure that no card has, and each attack that has it."""
    attacks = list(dict.fromkeys(attack for _, attack in figures))
    on_card = {row.figure for row in ROWS}
    lines: list[list[str | None]] = []
    for line in family.lines:
        if line.key in on_card:
            continue
        of = {
            ending: [_in_people(metric, figures, attack) for attack in attacks] for ending, metric in line.ways.items()
        }
        none: list[str | None] = [None] * len(attacks)
        bare = line.ways.get("")
        if bare is not None and bare.of_release:
            of["_release"] = of.pop("")
        alone = [next(filter(None, of.get(ending, ())), None) for ending in ("_original", "_release", "_control")]
        done = zip(attacks, of.get("", none), of.get("_baseline", none), strict=True)
        attacked = [[attack, *values] for attack, *values in done if any(values)]
        if any(alone) or attacked:
            lines += [[line.title, *alone, *after] for after in attacked or [[None] * 3]]
    return lines


def _in_people(metric: Metric, figures: Figures, attack: str) -> str | None:
    """Return a figure of an attack in words, with the number of people that it counts among."""
    figure = figures.get((metric.key, attack))
    if figure is None or figure.value is None:
        return None
    if not metric.count:
        ends = [figures.get((f"{metric.key}_{side}", attack)) for side in ("low", "high")]
        low, high = (None if end is None else end.value for end in ends)
        around = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        return f"{figure.value:.3f}{around}"
    value = f"{figure.value:,.0f}" if figure.value == round(figure.value) else f"{figure.value:,.1f}"
    return value if figure.whole is None else f"{value} of {figure.whole:,.0f}"


def _rows(family: Family, shown: list[Metric], attacks: Sequence[str], figures: Figures) -> list[list[Any]]:
    """The rows of a table; `shown` is left with the columns that say something."""
    values: dict[str, JsonObject] = {}
    for attack in attacks:
        if any((metric.key, attack) in figures for metric in shown):
            values[attack] = {metric.key: _value(figures.get((metric.key, attack)), metric) for metric in shown}
    shown[:] = [metric for metric in shown if any(of_attack[metric.key] is not None for of_attack in values.values())]
    rows = [[attack, *(of_attack[metric.key] for metric in shown)] for attack, of_attack in values.items()]
    if len(rows) > 1 and all(row[1:] == rows[0][1:] for row in rows) and family.of_release:
        return [[ALL, *rows[0][1:]]]
    return rows if shown else []


def _value(figure: PooledFigure | None, metric: Metric) -> float | int | str | None:
    if figure is None or figure.value is None:
        return None
    if metric.count and figure.value == round(figure.value):
        whole = round(figure.value)
        return f"{whole:,} of {figure.whole:,.0f}" if figure.whole is not None and metric.before else whole
    return figure.value
