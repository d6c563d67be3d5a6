"""The table of the attacks of a run: the strongest in at most eight rows, and the cost of the release."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple

from decloak.figures import DICTIONARY, Metric
from decloak.measure.coverage import untested_reason
from decloak.measure.registry import FAMILIES, metrics_by_key
from decloak.report.risk_tables import pooled_titles, short_titles
from decloak.report.study import WITH_BASELINE
from decloak.report.table import fits_width
from decloak.report.wording import WIDTH, filled, listed
from decloak.store.results import PooledFigure

if TYPE_CHECKING:
    from decloak.pipeline.run import Measure, Run

MOST_ROWS = 8
"""Rows of attacks that a run prints."""
FIRST = ("eliminated", "correct", "assigned", *WITH_BASELINE, "baseline", "normalised_advantage", "recall")
"""Figures that a table has before all others."""
WITH_INTERVAL = "normalised_advantage"
"""The figure that has its interval in the table, where there is room."""
_ORDER = {metric.key: place for place, metric in enumerate(DICTIONARY)}
Row = tuple[str, str, str]
"""A variant, an attack, and the knowledge of its attacker."""
Table = tuple[list[str], list[list[Any]]]


class AttackTables(NamedTuple):
    """A table for each kind of attack, the number of rows, and the number of attacks."""

    tables: Sequence[Table]
    rows: int
    of: int


_Cells = Mapping[tuple[str, str, str], "Measure"]
"""The figures of a run by variant, attack and key."""


def _beyond_baseline(cells: _Cells, variant: str, attack: str) -> float:
    """Return how much more often an attack is right than a random one; −1 where it is not compared with one."""
    for key in WITH_BASELINE:
        share, baseline = (cells.get((variant, attack, name)) for name in (key, "baseline"))
        if share is not None and baseline is not None and None not in (share.value, share.of, baseline.value):
            # By claims and not by shares, so that a few lucky claims count little.
            return (share.value - baseline.value) * share.of  # type: ignore[operator]
    # Below 0, the value of an attack that is no better than random.
    return -1.0


def attack_tables(done: "Run") -> AttackTables:
    """Return the strongest attacks of each variant of `done`, with the figures that fit into a line.

    Negative controls and ablations are no attacks: `decloak show --controls` prints them.
    """
    cells = {(one.variant, one.attack, one.measure): one for one in done.measures}
    per_release = {metric.key for family in FAMILIES if family.of_release for metric in family.metrics}
    columns = [metric for metric in metrics_by_key().values() if metric.column and metric.key not in per_release]
    columns.sort(key=lambda metric: _ORDER.get(metric.key, len(_ORDER)))
    # Means over data sets replace the variants that they are means of.
    pooled = {one.variant for one in done.measures} - {variant.name for variant in done.variants}
    attacks = dict.fromkeys(
        (one.variant, one.attack, one.knows)
        for one in done.measures
        if one.knows != "control" and (not pooled or one.variant in pooled)
    )
    having = [
        (variant, attack, knows)
        for variant, attack, knows in attacks
        if any(_value(cells, variant, attack, metric) is not None for metric in columns)
    ]
    chosen = _strongest(cells, having)
    variants = list(dict.fromkeys(row[0] for row in having))
    short, over = pooled_titles(short_titles(variants))
    titles = dict(zip(variants, short, strict=True)) if len(variants) > 1 else {}
    groups: dict[str, list[Row]] = {}
    for row in chosen:
        groups.setdefault(_claims(cells, row), []).append(row)
    tables = [_fit_to_line(cells, rows, columns, titles) for rows in groups.values()]
    tables = [([f"{head}{over}" if head == "variant" else head for head in heads], rows) for heads, rows in tables]
    return AttackTables(tables, len(chosen), len(having))


def _claims(cells: _Cells, row: Row) -> str:
    """Name what an attack claims: eliminated members, assigned sub-records, or other findings."""
    return next((key for key in ("eliminated", "assigned") if (*row[:2], key) in cells), "findings")


def _fit_to_line(cells: _Cells, rows: Sequence[Row], columns: Sequence[Metric], titles: Mapping[str, str]) -> Table:
    """Return a table with the figures of these rows, without the last ones if the line is full."""
    having = [one for one in columns if any(_value(cells, *row[:2], one) is not None for row in rows)]
    # Every claim is a finding, so that the column would repeat another one.
    if _claims(cells, rows[0]) != "findings":
        having = [metric for metric in having if metric.key != "findings"]
    table = _table(cells, rows, having, titles, interval=True)
    # The interval goes first, then the last columns. Precision and its baseline always stay.
    while not fits_width(*table, WIDTH):
        table = _table(cells, rows, having, titles, interval=False)
        least = [metric for metric in having if metric.key not in FIRST]
        if fits_width(*table, WIDTH) or not least:
            break
        having.remove(least[-1])
    return table


def _strongest(cells: _Cells, attacks: Sequence[Row]) -> list[Row]:
    """Return at most eight attacks in their order: of each variant those furthest above the baseline."""
    if len(attacks) <= MOST_ROWS:
        return list(attacks)
    ranked: dict[str, list[Row]] = {}
    # Attackers who know nothing come last: the others are why the scenario was run.
    for row in sorted(attacks, key=lambda row: (row[2] == "nothing", -_beyond_baseline(cells, *row[:2]))):
        ranked.setdefault(row[0], []).append(row)
    # Each variant keeps a row, or one variant with many attacks would hide the others.
    each = max(1, MOST_ROWS // len(ranked))
    chosen = [row for rows in ranked.values() for row in rows[:each]][:MOST_ROWS]
    # In the order of the scenario, in which people look for their attacks.
    return [row for row in attacks if row in chosen]


def _table(
    cells: _Cells,
    attacks: Sequence[Row],
    metrics: Sequence[Metric],
    titles: Mapping[str, str],
    interval: bool,
) -> Table:
    heads = [*(["variant"] if titles else []), "attack", "attacker knows", *(metric.title for metric in metrics)]
    rows = [
        [
            *([titles[variant]] if titles else []),
            attack,
            knows or None,
            *(_value(cells, variant, attack, metric, interval and metric.key == WITH_INTERVAL) for metric in metrics),
        ]
        for variant, attack, knows in attacks
    ]
    return heads, rows


def _value(cells: _Cells, variant: str, attack: str, metric: Metric, interval: bool = False) -> Any:
    """Return the mean of a figure, as text where it counts something; with its interval where it has one."""
    one = cells.get((variant, attack, metric.key))
    if one is None or one.value is None:
        return None
    if interval and one.low is not None and one.high is not None:
        # Outwards, so that the printed interval contains the exact one.
        low, high = floor(100 * one.low) / 100, ceil(100 * one.high) / 100
        return f"{one.value:.3f} ({low:.2f}{'–' if low >= 0 else ' to '}{high:.2f})"
    if not metric.count:
        return one.value
    return f"{one.value:,.0f}" if one.value == round(one.value) or one.value >= 100 else f"{one.value:.1f}"


def release_rows(done: "Run") -> Table:
    """Return what each release lost or took to make, where the scenario measures it: a row for each variant."""
    families = [family for family in FAMILIES if family.of_release and not family.always_measured]
    keys = {metric.key: metric for family in families for metric in family.metrics if metric.column}
    values: dict[str, dict[str, float]] = {}
    for one in done.measures:
        if one.value is not None:
            # Every attack on a release has the same figures of the release, so that the first is enough.
            values.setdefault(one.variant, {}).setdefault(one.measure, one.value)
    shown = [metric for key, metric in keys.items() if any(key in of for of in values.values())]
    titles = short_titles(list(values))
    several = len(values) > 1
    counts = [[_whole(of.get(metric.key), metric) for metric in shown] for of in values.values()]
    rows = [[*([title] if several else []), *row] for title, row in zip(titles, counts, strict=True)]
    return [*(["variant"] if several else []), *(metric.title for metric in shown)], rows if shown else []


def _whole(value: float | None, metric: Metric) -> float | str | None:
    return f"{value:,.0f}" if value is not None and metric.count and value == round(value) else value


def idle_lines(done: "Run") -> Iterator[str]:
    """Name the attacks without a row in the table, because they had nothing to compare."""
    metrics = metrics_by_key()
    shown = {
        (one.variant, one.attack) for one in done.measures if one.value is not None and metrics[one.measure].column
    }
    titles = _titles(done)
    idle: dict[str, dict[str, None]] = {}
    for one in done.measures:
        if (one.variant, one.attack) not in shown and one.variant in titles:
            idle.setdefault(one.variant, {})[one.attack] = None
    for variant, attacks in idle.items():
        where = f"{titles[variant]}: " if len(titles) > 1 else ""
        yield filled(f"{where}No figures for {listed(list(attacks))}, because there is nothing to compare.")


def untested_lines(done: "Run") -> Iterator[str]:
    """Name the attacks that test nothing, because their attacker has scores for too few pairs."""
    titles = _titles(done)
    figures: dict[tuple[str, str], dict[str, float | None]] = {}
    for one in done.measures:
        if one.measure.startswith("coverage_") and one.variant in titles:
            figures.setdefault((one.variant, one.attack), {})[one.measure] = one.value
    for (variant, attack), covered in figures.items():
        if reason := untested_reason(covered):
            yield filled(f"{titles[variant]}: {attack} {reason}." if len(titles) > 1 else f"{attack} {reason}.")


def _titles(done: "Run") -> dict[str, str]:
    """Return the short title of each variant by its name."""
    names = list(dict.fromkeys(variant.name for variant in done.variants))
    return dict(zip(names, short_titles(names), strict=True))


def coverage_lines(figures: Mapping[tuple[str, str], PooledFigure]) -> Iterator[str]:
    """Report how many of the pairs that each attack needs have scores; `figures` are by key and attack."""
    lines: dict[str, list[str]] = {}
    for attack in dict.fromkeys(attack for _, attack in figures):
        covered = {key: one for (key, name), one in figures.items() if name == attack and key.startswith("coverage_")}
        if covered:
            lines.setdefault(_covered(covered), []).append(attack)
    for text, attacks in lines.items():
        yield filled(f"coverage of {listed(attacks)}: {text}")


def _covered(figures: Mapping[str, PooledFigure]) -> str:
    counts = [
        f"{one.part:,.0f} of {one.whole:,.0f} {name} ({one.value:.0%})"
        for name in ("items", "pairs", "occurrences")
        if (one := figures.get(f"coverage_{name}")) is not None
        and one.value is not None
        and one.part is not None
        and one.whole
    ]
    reason = untested_reason({key: one.value for key, one in figures.items()})
    return ", ".join(counts or ["nothing is needed"]) + (f"; {reason}" if reason else "")
