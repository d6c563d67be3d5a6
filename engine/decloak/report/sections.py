"""The sections of a page that are made of figures: attacks beside chance, what varies, costs, how it was made."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import yaml

from decloak.errors import DecloakError
from decloak.measure.family import FigureTitle
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import FAMILIES, by_name, figure_titles
from decloak.report import charts
from decloak.report.beside import AttackPair, all_pairs, basis
from decloak.report.knowledge import listed
from decloak.report.names import nameless_config
from decloak.report.page import Drawn, Section, Table
from decloak.report.study import Numbers, Point, Series, Study, flat
from decloak.scenario.plots import ATTACK, Plot, Plots
from decloak.scenario.sweep import compact
from decloak.version import __version__

__all__ = ["attacks_section", "costs_section", "limits_section", "making_section", "number", "sweep_section"]

COSTS = ("loss", "mining", "utility", "cost")
"""The families that say what a release costs."""
FEW_PAIRS = 12
"""Pairs of attacks that a page shows without being asked."""
PANELS = 24
"""Panels of one figure; beyond that its table says the same."""
SHARES = ("precision", "accuracy")
TELLING = {"struck", "assigned", "correct", *SHARES, "chance", "gain", "recall", "breach", "vulnerable_records"}
"""What the first table has: counts, the share that was right, chance, what lies between them."""
HEADLINES = ("precision", "accuracy", "breach", "findings")
"""The figure that is drawn where nobody says which: the first that was measured."""


def number(value: float | None, count: bool = False) -> str:
    """A figure as people read it."""
    if value is None:
        return "–"
    if count or (value == round(value) and abs(value) >= 10):
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    return f"{value:.3g}" if value and abs(value) < 0.001 else f"{value:.3f}"


def attacks_section(study: Study, pairs: Sequence[AttackPair]) -> Section:
    """Every attack beside chance and beside the others, and all that was measured behind a fold."""
    elsewhere = {figure.name for family in COSTS for figure in by_name(family).figures}
    elsewhere |= {figure.name for family in FAMILIES if family.in_lines for figure in family.figures}
    measured = [title for title in figure_titles().values() if title.name in study.measures - elsewhere]
    telling = [title for title in measured if title.name in TELLING]
    if not any(title.name in SHARES for title in telling):
        telling = [title for title in measured if title.column]
    lines = []
    if any(title.name in SHARES for title in telling):
        lines = ["The bar is the share that was right, the tick what chance alone would have had right of as many."]
    first = study.pools or study.variants
    right, whole = (f"{title}{_means(study, groups)}" for title, groups in
                    (("What was right", first), ("All figures", study.groups)))  # fmt: skip
    tables = [_attack_table(study, first, right, telling, bars=True), *_pair_tables(study, pairs)]
    if study.pools or len(measured) > len(telling):
        tables.append(_attack_table(study, study.groups, whole, measured)._replace(folded=True))
    return Section("attacks", "Attacks beside chance", lines, tables=tables)


def _pair_tables(study: Study, pairs: Sequence[AttackPair]) -> Iterator[Table]:
    """How far attacks are ahead of each other: over data sets where there are several, and all, folded where that is
    long.
    """
    if not pairs:
        return
    pooled = {name for name, _ in study.pools}
    of_kind = [pair for pair in pairs if pair.variant in pooled]
    several = 0 < len(of_kind) < len(pairs)
    for chosen in (of_kind, pairs) if several else (pairs,):
        heads, rows = all_pairs(chosen)
        title = "Attacks beside each other" + ", all variants" * (several and chosen is pairs)
        caption = f"{title}: {basis(chosen, len(pairs))}"
        yield Table(caption, heads, rows, frozenset({len(heads) - 2}), folded=len(rows) > FEW_PAIRS)


def _attack_table(
    study: Study,
    groups: Sequence[tuple[str, Numbers]],
    caption: str,
    titles: Sequence[FigureTitle],
    *,
    bars: bool = False,
) -> Table:
    placed = [
        (name, runs, attack)
        for name, runs in groups
        for attack in study.attacks
        if any((title.name, attack) in study.figures[run] for run in flat(runs) for title in titles)
    ]
    rows = [
        [
            *([name] if study.varied else []),
            attack,
            study.knows.get((flat(runs)[0], attack)) or "–",
            *_cells(study, runs, attack, titles, bars),
        ]
        for name, runs, attack in placed
    ]
    heads = [*(["variant"] if study.varied else []), "attack", "knows", *(title.title for title in titles)]
    numeric = frozenset(range(len(heads) - len(titles), len(heads)))
    share = next((title.name for title in titles if title.name in SHARES), None) if bars else None
    drawn = [(_mean(study, runs, attack, share), _mean(study, runs, attack, "chance")) for _, runs, attack in placed]
    return Table(caption, heads, rows, numeric, drawn if share else ())


def _mean(study: Study, runs: Numbers, attack: str | None, measure: str | None) -> float | None:
    return interval(study.values(runs, measure or "", attack)).mean


def sweep_section(study: Study) -> Section | None:
    """A figure for everything that varies, or those that the scenario lists; None where nothing varies.

    Of several data sets of a kind the usual ones are means over these: a panel for each would say little of any.
    """
    listed_plots = Plots.model_validate_json(json.dumps(study.runs[0].config.get("report") or {})).plot
    pooled = None if listed_plots else study.over_data
    seen, over = (study, "repetitions") if pooled is None else (pooled, "data sets")
    plots = listed_plots or [Plot(x=x, y=y) for x, y in _usual(seen, pooled is not None)]
    figures = [_figure(seen, plot.x, plot.y, seen.panel_keys(plot), over) for plot in plots]
    if not figures:
        return None
    band = f"The band is the 95% interval over {over}, the" if _most_repetitions(seen) > 1 else "The"
    lines = [f"{band} dashed line is what chance reaches, where there is such a level."]
    varied = " and ".join(seen.varied) or "the attack"
    return Section("sweep", f"What changes with {varied}{', over data sets' * (pooled is not None)}", lines, figures)


def costs_section(study: Study) -> Section | None:
    """What each release lost, None where nothing of it was measured."""
    titles = figure_titles()
    figures = [
        titles[figure.name]
        for family in COSTS
        for figure in by_name(family).figures
        if figure.column and figure.name in study.measures
    ]
    if not figures:
        return None
    rows = [
        [name if study.varied else "this release", *_cells(study, runs, None, figures)] for name, runs in study.groups
    ]
    heads = ["release", *(figure.title for figure in figures)]
    helps = [f"{figure.title}: {figure.help}." for figure in figures]
    table = Table("What was lost, or what it took", heads, rows, frozenset(range(1, len(heads))))
    frontier = _frontier(study, figures)
    drawn = [frontier] if frontier else []
    return Section("costs", "What the release costs", figures=drawn, tables=[table], items=helps)


def _frontier(study: Study, costs: Sequence[FigureTitle]) -> Drawn | None:
    """What each variant costs beside what comes back of it; None where there is one variant, or nothing to compare."""
    groups = study.pools or study.variants
    reached = [(name, *_strongest(study, runs)) for name, runs in groups]
    for cost in costs:
        losses = {name: _mean(study, runs, None, cost.name) for name, runs in groups}
        places = [
            (name, loss, lead) for name, _, lead in reached if (loss := losses[name]) is not None and lead is not None
        ]
        if len({loss for _, loss, _ in places}) > 1:
            return _frontier_drawn(places, cost.title, {name: attack for name, attack, _ in reached})
    return None


def _frontier_drawn(places: Sequence[tuple[str, float, float]], cost: str, attacks: Mapping[str, str]) -> Drawn:
    least, most = min(places, key=lambda place: place[2]), max(places, key=lambda place: place[2])
    about = (
        f"the least comes back of {least[0]} ({number(least[2])} beyond chance at {cost} {number(least[1])}), "
        f"the most of {most[0]} ({number(most[2])} at {number(most[1])})"
    )
    spec = charts.scatter(places, cost, "won back beyond chance", about)
    rows = [[name, number(loss), number(lead), attacks[name]] for name, loss, lead in places]
    table = Table(about, ["variant", cost, "won back beyond chance", "strongest attack"], rows, frozenset({1, 2}))
    caption = "What it costs, and what the strongest attack wins back beyond chance, of all: lower left is better."
    return Drawn(caption, [charts.drawn(spec, "svg").decode()], table)


def _strongest(study: Study, runs: Numbers) -> tuple[str, float | None]:
    """The attack that wins most back beyond chance, of all there is to win back."""
    leads = {attack: lead for attack in study.attacks if (lead := _beyond_chance(study, runs, attack)) is not None}
    return max(leads.items(), key=lambda pair: pair[1]) if leads else ("", None)


def _beyond_chance(study: Study, runs: Numbers, attack: str) -> float | None:
    """Recall, less what chance would have had right among as many strikes."""
    recall, chance = (_mean(study, runs, attack, name) for name in ("recall", "chance"))
    share = next((mean for name in SHARES if (mean := _mean(study, runs, attack, name))), None)
    return None if recall is None or chance is None or share is None else recall * (share - chance) / share


def limits_section(notes: Sequence[str]) -> Section:
    """What the page does not say, the same always, and the notes of the runs."""
    fixed = (
        "That the release is anonymous, safe or lawful: attacks that were not tried may win back more.",
        "What an attacker knows who has other data about these people than the attacker described here.",
        "What other data sets of the same kind would give: intervals are about what stands beside them.",
        "That nothing was found where an attack had nothing to go by: a dash is no zero.",
    )
    return Section("limits", "What this does not say", items=[*fixed, *notes])


def making_section(study: Study, store: str, names: Set[str]) -> Section:
    """The scenario as it ran, without the names of items, and the command that repeats the report.

    The seeds of the runs are left out: they are digests of the original data, and would confirm a guess at these.
    """
    first = study.runs[0]
    counted = "1 run" if len(study.runs) == 1 else f"{len(study.runs)} runs"
    lines = [
        f"decloak {__version__}; {counted}, first started {first.started} UTC.",
        f"To see it again: decloak report {' '.join(str(run.run) for run in study.runs[:1])} --store {store}",
    ]
    config = _said(nameless_config({**first.config, "vary": study.varied}, names))
    text = yaml.safe_dump(config, default_flow_style=None, sort_keys=False, allow_unicode=True, width=100)
    return Section("making", "How it was made", lines, code=text)


def _said(value: Any) -> Any:
    """A configuration without what says nothing."""
    if isinstance(value, list):
        return [_said(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in ("scenario",) if key in value]
    inner = {key: _said(value[key]) for key in (*first, *value)}
    return {key: part for key, part in inner.items() if part not in (None, {}, [])}


def _usual(study: Study, pooled: bool) -> Iterator[tuple[str, str]]:
    headline = next((name for name in HEADLINES if name in study.measures), None)
    if study.measures >= set(SHARES):  # of several published forms: what says the same of all of them
        headline = "gain"
    if headline is not None:
        # Where data sets alone differ, attacks are what is left to lie across.
        yield from ((key, headline) for key in study.varied or ([ATTACK] if pooled else ()))


def _figure(study: Study, x: str, y: str, by: Sequence[str], over: str) -> Drawn:
    series = study.series(x, y, by)
    title = figure_titles()[y].title if y in figure_titles() else y
    try:
        specs = charts.panels(study, x, y, by)
    except DecloakError:  # undefined everywhere: the table has the dashes
        specs = []
    panels = [charts.drawn(spec, "svg").decode() for spec in specs[:PANELS]]
    left_out = f", the first {PANELS} of {len(specs)}" if len(specs) > PANELS else ""
    return Drawn(f"{title} with {x}{left_out}", panels, _series_table(series, x, title, ", ".join(by), over))


def _series_table(series: Sequence[Series], x: str, y: str, by: str, over: str) -> Table:
    rows = [[line.by, _place(point.x), *_point(point)] for line in series for point in line.points]
    heads = [by or "all", x, y, "low", "high", "chance", over]
    return Table(f"{y} with {x}", heads, rows, frozenset(range(2, len(heads))))


def _point(point: Point) -> list[str]:
    return [*(number(value) for value in (point.value, point.low, point.high, point.chance)), str(point.n)]


def _place(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def _cells(
    study: Study, runs: Numbers, attack: str | None, titles: Sequence[FigureTitle], short: bool = False
) -> Iterator[str]:
    """The mean of each figure, of an attack or the release, with its interval; in a short table where that counts."""
    for title in titles:
        values, chances = (study.values(runs, name, attack) for name in (title.name, "chance"))
        mean = interval(values, bounds=title.bounds_of(None, chances))
        bare = mean.low is None or (short and title.name not in ("gain", *SHARES))
        around = "" if bare else f" [{number(mean.low, title.count)}, {number(mean.high, title.count)}]"
        yield number(mean.mean, title.count) + around


def _means(study: Study, groups: Sequence[tuple[str, Numbers]]) -> str:
    """What the figures of a table are, where they are of several repetitions, or over data sets."""
    most = _most_repetitions(study)
    one_set = any(name in dict(study.variants) for name, _ in groups)
    means = [f"means over {most} repetitions of one data set"] if most > 1 and one_set else []
    if study.pools:
        sizes = sorted({len(runs) for _, runs in study.pools})
        means.append(f"over data sets means of {listed(list(map(str, sizes)))}, about further ones of the kind")
    return f": {'; '.join(means)}; 95% intervals in brackets" if means else ""


def _most_repetitions(study: Study) -> int:
    return max(len(runs) for _, runs in study.variants)
