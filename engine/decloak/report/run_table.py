"""The figures of a run as a table for people: a row for each variant and attack, a column for each figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from decloak.measure.coverage import assess_coverage
from decloak.measure.registry import figure_titles
from decloak.report.knowledge import listed
from decloak.report.wording import filled

if TYPE_CHECKING:
    from decloak.measure.family import FigureTitle
    from decloak.runs.runner import Measure, Run

__all__ = ["coverage_lines", "idle_lines", "measure_rows"]


def measure_rows(done: "Run") -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    several = len({variant.name for variant in done.variants} | {entry.variant for entry in done.missing}) > 1
    cells = {(measure.variant, measure.attack, measure.measure): measure for measure in done.measures}
    measured = {measure.measure for measure in done.measures}
    # Every strike is a finding: the column says something new only beside rules that strike nothing.
    strikers = {measure.attack for measure in done.measures if measure.measure in ("struck", "assigned")}
    telling = measured if any(measure.attack not in strikers for measure in done.measures) else measured - {"findings"}
    present = [figure for figure in figure_titles().values() if figure.column and figure.name in telling]
    columns = [*(["variant"] if several else []), "attack", "knows", *(figure.title for figure in present)]
    rows = []
    for variant, attack, knows in dict.fromkeys((each.variant, each.attack, each.knows) for each in done.measures):

        def measured_as(name: str, variant: str = variant, attack: str = attack) -> "Measure | None":
            return cells.get((variant, attack, name))

        values = [_cell(figure, measured_as) for figure in present]
        if all(value is None for value in values):
            continue  # said in a line below the table
        rows.append([*([variant] if several else []), attack, knows or None, *values])
    rows += [[variant, *[None] * (len(columns) - 1)] for variant in done.without_release if rows]
    return columns, rows


def idle_lines(done: "Run") -> Iterator[str]:
    """Which attacks have no row in the table, for they had nothing to go by."""
    titles = figure_titles()
    shown = {
        (measure.variant, measure.attack)
        for measure in done.measures
        if measure.value is not None and titles[measure.measure].column
    }
    names = {variant.name for variant in done.variants}
    idle: dict[str, dict[str, None]] = {}
    for measure in done.measures:
        if (measure.variant, measure.attack) not in shown and measure.variant in names:
            idle.setdefault(measure.variant, {})[measure.attack] = None
    for variant, attacks in idle.items():
        where = f"{variant}: " if len(names) > 1 else ""
        yield f"{where}nothing to go by for {listed(list(attacks))}"


def coverage_lines(done: "Run") -> Iterator[str]:
    """Say how much of what each attack needs its attacker has scores for: in the variant where that is least."""
    names = {variant.name for variant in done.variants}
    figures: dict[tuple[str, str], dict[str, Measure]] = {}
    for measure in done.measures:
        if measure.measure.startswith("coverage_") and measure.variant in names:
            figures.setdefault((measure.attack, measure.variant), {})[measure.measure] = measure
    least: dict[str, tuple[float, str, str]] = {}
    for (attack, variant), covered in figures.items():
        worst = min((each.value for each in covered.values() if each.value is not None and each.of), default=1.0)
        least[attack] = min(least.get(attack, (2.0, "", "")), (worst, variant, _covered(covered)))
    lines: dict[str, list[str]] = {}
    for attack, (_, variant, text) in least.items():
        lines.setdefault(f"{text} (with {variant})" if len(names) > 1 else text, []).append(attack)
    for text, attacks in lines.items():
        yield filled(f"{'least coverage' if len(names) > 1 else 'coverage'} of {listed(attacks)}: {text}")


def _covered(figures: "Mapping[str, Measure]") -> str:
    counts = [
        f"{measure.part:,.0f} of {measure.of:,.0f} {name} ({measure.value:.0%})"
        for name in ("items", "pairs", "occurrences")
        if (measure := figures.get(f"coverage_{name}")) is not None
        and measure.value is not None
        and measure.part is not None
        and measure.of
    ]
    reason = assess_coverage({name: measure.value for name, measure in figures.items()}).reason
    return ", ".join(counts or ["nothing to know"]) + (f"; {reason}" if reason else "")


def _cell(figure: "FigureTitle", measured_as: "Callable[[str], Measure | None]") -> str | float | None:
    """The mean with its interval where repetitions differ; what it was before, and of how many, where that is known."""
    after = measured_as(figure.name)
    before = None if figure.before is None else measured_as(figure.before)
    if after is None or before is None:
        return None if after is None else _mean(after, figure.count)
    of = "" if after.of is None else f" of {_number(after.of, True)}"
    return f"{_number(before.value, figure.count)} → {_with_interval(after, figure.count)}{of}"


def _mean(measure: "Measure", count: bool) -> str | float | None:
    """The number itself where it has no interval, a whole one where it counts something."""
    if measure.value is None or measure.low is not None:
        return None if measure.value is None else _with_interval(measure, count)
    return round(measure.value) if count and measure.value == round(measure.value) else measure.value


def _with_interval(measure: "Measure", count: bool) -> str:
    mean = _number(measure.value, count)
    if measure.low is None or measure.high is None:
        return mean
    # Rounded outwards: what is printed holds all that it should.
    digits = _digits(measure.value, count) if count else 2
    low, high = (way(bound * 10**digits) / 10**digits for way, bound in ((floor, measure.low), (ceil, measure.high)))
    return f"{mean} ({low:.{digits}f}{'–' if low >= 0 else ' to '}{high:.{digits}f})"


def _number(value: float | None, count: bool) -> str:
    if value is None:
        return "–"
    return str(round(value)) if count and value == round(value) else f"{value:.{_digits(value, count)}f}"


def _digits(value: float | None, count: bool) -> int:
    if not count or value is None:
        return 3
    return 0 if value >= 100 else 1 if value >= 10 else 2
