"""The sections of a page that contain figures: attacks with baselines, varied settings, costs, origin."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

import yaml

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.errors import DecloakError, quote
from decloak.figures import Metric
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import FAMILIES, family_named, metrics_by_key
from decloak.report import charts
from decloak.report.compare.attacks import AttackPair, comparison_basis, tabulate_pairs
from decloak.report.page import Drawn, PageTable, Section
from decloak.report.risk_tables import short_titles
from decloak.report.study import WITH_BASELINE, Numbers, Point, Series, Study, flat
from decloak.report.wording import attacker_phrase, language_of, listed
from decloak.scenario.plots import ATTACK, Plot, Plots
from decloak.scenario.sweep import compact
from decloak.version import __version__

# No note can have this character, so that it stands for a name without doubt.
_ITEM = "\0"
_MANY = re.compile(f"{_ITEM}(?:(?:, | with ){_ITEM})*(?: and (?P<more>[0-9]+) more)?")
_NAMING = ("privacy", "quasi_identifiers", "sensitive", "sets", "utility")
"""The keys of a scenario under which items are named."""


def nameless(notes: Collection[str], names: Set[str]) -> list[str]:
    """Return notes with the number of items in place of their names, each distinct note once.

    >>> nameless(["no score for 'gout', 'flu' and 5 more"], {"gout", "flu"})
    ['no score for 7 items']
    """
    # Names of items are in quotes, and a store has many names to look for.
    if not any("'" in note for note in notes):
        return list(notes)
    # A name may be a part of another one, so that the longest are replaced first.
    quoted = sorted(set(map(quote, names)), key=len, reverse=True)
    return list(dict.fromkeys(_MANY.sub(_counted, _marked(note, quoted)) for note in notes))


def _marked(note: str, quoted: Collection[str]) -> str:
    for name in quoted:
        if name in note:
            note = note.replace(name, _ITEM)
    return note


def _counted(match: re.Match[str]) -> str:
    count = match[0].count(_ITEM) + int(match["more"] or 0)
    return "1 item" if count == 1 else f"{count} items"


def nameless_config(config: object, names: Set[str], key: str = "") -> object:
    """Return a configuration with the number of items in place of lists of them."""
    if isinstance(config, Mapping):
        return {inner: nameless_config(value, names, inner) for inner, value in config.items()}
    if not isinstance(config, list | tuple):
        return config
    leaves = list(_leaves(config))
    if key in _NAMING and leaves and all(isinstance(leaf, str) and leaf in names for leaf in leaves):
        lists = sum(isinstance(value, list | tuple) for value in config)
        return f"{len(leaves)} items" + (f" in {lists} lists" if lists else "")
    return [nameless_config(value, names, key) for value in config]


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


KNOWS = {
    KnowledgeLevel.NOTHING: "the release",
    KnowledgeLevel.LANGUAGE: "the release, and how items are related in language",
    KnowledgeLevel.RELEASE: "the release, and what it reveals about its own items",
    KnowledgeLevel.SAMPLE: "the release, and other records of the same population",
    KnowledgeLevel.PERSON: "the release, and items of specific people",
}
# The words in brackets are the field's names of these attackers. Alone, readers could take them for professions.
_CHOSEN = "a chosen person who is known to be in the data (prosecutor model)."
_ANY_KNOWN = "any person with known items (journalist model)."
TARGETS = {
    "strong": f"{_CHOSEN} The attacker knows any items of this person",
    "strong_pairs": f"{_CHOSEN} The attacker knows some items of every person",
    "moderate": f"{_ANY_KNOWN} The attacker knows items of some people",
    "weak": f"{_ANY_KNOWN} The attacker knows only common items",
    "explicit": "people with known items. The attacker knows the itemsets of a list",
}


def attacker_section(study: Study) -> Section:
    """Describe the attackers of the runs of `study` in a sentence and a table."""
    config = study.runs[-1].config
    tried = {level: _attacks(study, level) for level in KnowledgeLevel}
    here = {knows for (run, _), knows in study.knows.items() if run == study.runs[-1].run and knows != "control"}
    # The attacker with most knowledge comes last, and the sentence is about that one.
    steps = sorted(filter(None, here), key=lambda step: (step.count("+"), step != KnowledgeLevel.NOTHING, step))
    lines = [f"{attacker_phrase(config, steps[-1])}." if steps else "No attack was run."]
    if tried[KnowledgeLevel.PERSON]:
        attacker = config.get("attacker") or {}
        model = "explicit" if attacker.get("knowledge") else attacker.get("model", "strong")
        lines.append(f"Attacker goal: {TARGETS[model]}.")
    else:
        lines.append("Attacker goal: any person, not a chosen one (marketer model).")
    rows = [[str(level), _known(config, level), listed(attacks) or "not tested"] for level, attacks in tried.items()]
    table = PageTable("Knowledge levels and attacks", ("knowledge level", "the attacker knows", "attacks"), rows)
    return Section("who", "What the attacker knows", lines, tables=[table], half=True)


def _attacks(study: Study, level: str) -> list[str]:
    """Return the attacks that use a knowledge level, alone or with others."""
    return list(dict.fromkeys(attack for (_, attack), knows in study.knows.items() if level in knows.split(" + ")))


def _known(config: Mapping[str, object], level: KnowledgeLevel) -> str:
    phrases = language_of(config) if level == KnowledgeLevel.LANGUAGE else []
    return f"{KNOWS[level]}: {listed(phrases)}" if phrases else KNOWS[level]


COSTS = ("loss", "mining", "utility", "cost")
"""The families of the cost of a release."""
FEW_PAIRS = 12
"""Rows up to which a table is open."""
PANELS = 5
"""Panels of all plots of varied settings together. Their tables have all figures."""
TELLING = {
    "eliminated",
    "assigned",
    "correct",
    *WITH_BASELINE,
    "baseline",
    "normalised_advantage",
    "recall",
    "breach",
    "vulnerable_records",
}
"""The figures of the table of attacks."""
HEADLINES = ("precision", "accuracy", "breach", "findings")
"""The default figure of a plot: the first that was measured."""


def number(value: float | None, count: bool = False) -> str:
    """Return a figure as text."""
    if value is None:
        return "–"
    if count or (value == round(value) and abs(value) >= 10):
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    return f"{value:.3g}" if value and abs(value) < 0.001 else f"{value:.3f}"


def attacks_section(study: Study, pairs: Sequence[AttackPair]) -> Section:
    """Return every attack with its baseline, and the comparison of attacks in `pairs`."""
    # Costs and people have sections of their own.
    elsewhere = {figure.key for family in COSTS for figure in family_named(family).metrics}
    elsewhere |= {figure.key for family in FAMILIES if family.ways_in_columns for figure in family.metrics}
    measured = [title for title in metrics_by_key().values() if title.key in study.measures - elsewhere]
    telling = [title for title in measured if title.key in TELLING]
    if not any(title.key in WITH_BASELINE for title in telling):
        # Attacks without a share that is right have other figures worth a table.
        telling = [title for title in measured if title.column]
    lines = []
    if any(title.key in WITH_BASELINE for title in telling):
        lines = ["The bar is the share of correct results, the tick is the baseline: random guessing."]
    groups = study.pooled_variants or study.variants
    tables = []
    for claims in _by_claims(study, telling):
        shown = [title for title in telling if any((title.key, attack) in study.measured for attack in claims)]
        table = _attack_table(study, groups, f"Results{_means(study, groups)}", shown, claims)
        tables.append(table._replace(folded=len(table.rows) > 2 * FEW_PAIRS))
    tables += _pair_tables(study, pairs)
    items = ["All figures: use Download CSV below, or decloak show RUN."]
    return Section("attacks", "Attacks and their baselines", lines, tables=tables, items=items)


def _by_claims(study: Study, titles: Sequence[Metric]) -> list[list[str]]:
    """Return the attacks that eliminate members, those that assign sub-records, and the others, in this order."""
    left, groups = list(study.attacks), []
    for share in (*WITH_BASELINE, None):
        chosen = [attack for attack in left if share is None or (share, attack) in study.measured]
        left = [attack for attack in left if attack not in chosen]
        groups.append(chosen)
    return [
        group for group in groups if any((title.key, attack) in study.measured for attack in group for title in titles)
    ]


def _pair_tables(study: Study, pairs: Sequence[AttackPair]) -> Iterator[PageTable]:
    """Yield the comparison of attacks: over data sets if there are several, and of all variants."""
    if not pairs:
        return
    pooled = {name for name, _ in study.pooled_variants}
    of_kind = [pair for pair in pairs if pair.variant in pooled]
    several = 0 < len(of_kind) < len(pairs)
    for chosen in (of_kind, pairs) if several else (pairs,):
        heads, rows = tabulate_pairs(chosen)
        title = "Comparison of attacks" + ", all variants" * (several and chosen is pairs)
        caption = f"{title}: {comparison_basis(chosen, len(pairs))}"
        yield PageTable(caption, heads, rows, frozenset({len(heads) - 2}), folded=len(rows) > FEW_PAIRS)


def _attack_table(
    study: Study,
    groups: Sequence[tuple[str, Numbers]],
    caption: str,
    titles: Sequence[Metric],
    attacks: Sequence[str],
) -> PageTable:
    names = [name for name, _ in groups]
    short = dict(zip(names, short_titles(names), strict=True))
    placed = [
        (name, runs, attack)
        for name, runs in groups
        for attack in attacks
        if any((title.key, attack) in study.figures[run] for run in flat(runs) for title in titles)
    ]
    rows = [
        [
            *([short[name]] if study.varied else []),
            attack,
            study.knows.get((flat(runs)[0], attack)) or "–",
            *_cells(study, runs, attack, titles, short=True),
        ]
        for name, runs, attack in placed
    ]
    heads = [*(["variant"] if study.varied else []), "attack", "knows", *(title.title for title in titles)]
    numeric = frozenset(range(len(heads) - len(titles), len(heads)))
    drawn = [(_share(study, runs, attack), study.mean(runs, "baseline", attack)) for _, runs, attack in placed]
    return PageTable(caption, heads, rows, numeric, drawn if any(share is not None for share, _ in drawn) else ())


def _share(study: Study, runs: Numbers, attack: str) -> float | None:
    """Return the share of correct results, whichever form the release has."""
    means = (study.mean(runs, name, attack) for name in WITH_BASELINE)
    return next((mean for mean in means if mean is not None), None)


def sweep_section(study: Study) -> Section | None:
    """Plot a figure for each varied key, or the plots of the scenario; return None if nothing varies.

    With several data sets of a kind, the default plots are means over these.
    """
    listed_plots = Plots.model_validate_json(json.dumps(study.runs[0].config.get("report") or {})).plot
    # Plots that the scenario names are about its variants, so that only default plots are means.
    pooled = None if listed_plots else study.over_data
    seen, over = (study, "repetitions") if pooled is None else (pooled, "data sets")
    plots = listed_plots or [Plot(x=x, y=y) for x, y in _default_plots(seen, pooled is not None)]
    figures: list[Drawn] = []
    # Each later plot keeps one of the panels, so that none is without a picture.
    for after, plot in zip(range(len(plots) - 1, -1, -1), plots, strict=True):
        left = PANELS - after - sum(len(figure.panels) for figure in figures)
        figures.append(_figure(seen, plot.x, plot.y, seen.panel_keys(plot), over, max(0, left)))
    if not figures:
        return None
    band = f"The band is the 95% interval over {over}, the" if _most_repetitions(seen) > 1 else "The"
    lines = [f"{band} dashed line is the baseline."]
    varied = " and ".join(seen.varied) or "the attack"
    return Section("sweep", f"Effect of {varied}{', over data sets' * (pooled is not None)}", lines, figures)


def costs_section(study: Study) -> Section | None:
    """Return the loss of each release, None if the runs measured none."""
    titles = metrics_by_key()
    # Two families may have one figure.
    keys = dict.fromkeys(figure.key for family in COSTS for figure in family_named(family).metrics if figure.column)
    figures = [titles[key] for key in keys if key in study.measures]
    if not figures:
        return None
    rows = [
        [title if study.varied else "this release", *_cells(study, runs, None, figures)]
        for title, (_, runs) in zip(short_titles([name for name, _ in study.groups]), study.groups, strict=True)
    ]
    heads = ["release", *(figure.title for figure in figures)]
    helps = [f"{figure.title}: {figure.definition}." for figure in figures]
    table = PageTable("Loss and cost", heads, rows, frozenset(range(1, len(heads))))
    return Section("costs", "Cost of the release", tables=[table], items=helps)


def limits_section(notes: Sequence[str]) -> Section:
    """Return the fixed limits of every page, and the `notes` of the runs."""
    fixed = (
        "This page is no proof of protection. Attacks that were not tested may recover more.",
        "An attacker with other data about these people may recover more than this page states.",
        "Intervals describe the repetitions or tables that the caption names, and no other data.",
        "A dash is a missing figure. A dash never means zero.",
    )
    return Section("limits", "Limits of this result", items=[*fixed, *notes], half=True)


def making_section(study: Study, store: str, names: Set[str]) -> Section:
    """Return the scenario without item names, and the command that repeats the report.

    The page omits the seeds of the runs, because they are digests of the original data and would confirm a guess at it.
    """
    first = study.runs[0]
    counted = "1 run" if len(study.runs) == 1 else f"{len(study.runs)} runs"
    lines = [
        f"decloak {__version__}; {counted}, first started {first.started}.",
        f"Repeat this page: decloak report {' '.join(str(run.run) for run in study.runs[:1])} --store {store}",
    ]
    config = _drop_empty(nameless_config({**first.config, "vary": study.varied}, names))
    text = yaml.safe_dump(config, default_flow_style=None, sort_keys=False, allow_unicode=True, width=100)
    return Section("making", "How this page was made", lines, code=text, half=True)


def _drop_empty(value: object) -> object:
    """Return a configuration without empty values."""
    if isinstance(value, list):
        return [_drop_empty(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    # The title comes first, as people write it.
    first = [key for key in ("scenario",) if key in value]
    inner = {key: _drop_empty(value[key]) for key in (*first, *value)}
    return {key: part for key, part in inner.items() if part not in (None, {}, [])}


def _default_plots(study: Study, pooled: bool) -> Iterator[tuple[str, str]]:
    headline = next((name for name in HEADLINES if name in study.measures), None)
    # Of several published forms only this figure means the same for all.
    if study.measures >= set(WITH_BASELINE):
        headline = "normalised_advantage"
    if headline is not None:
        # Where data sets alone differ, attacks are what is left to lie across.
        yield from ((key, headline) for key in study.varied or ([ATTACK] if pooled else ()))


def _figure(study: Study, x: str, y: str, by: Sequence[str], over: str, most: int) -> Drawn:
    """Plot at most `most` panels of the figure `y` along `x`, with a table of all."""
    series = study.series(x, y, by)
    title = metrics_by_key()[y].title if y in metrics_by_key() else y
    try:
        specs = charts.panels(study, x, y, by)
    except DecloakError:
        # The figure is undefined everywhere: the table shows dashes.
        specs = []
    panels = [charts.drawn(spec, "svg").decode() for spec in specs[:most]]
    left_out = f", {len(panels)} of {len(specs)} panels" if len(specs) > most else ""
    return Drawn(f"{title} with {x}{left_out}", panels, _series_table(series, x, title, ", ".join(by), over))


def _series_table(series: Sequence[Series], x: str, y: str, by: str, over: str) -> PageTable:
    rows = [[line.by, _place(point.x), *_point(point)] for line in series for point in line.points]
    heads = [by or "all", x, y, "low", "high", "baseline", over]
    return PageTable(f"{y} with {x}", heads, rows, frozenset(range(2, len(heads))))


def _point(point: Point) -> list[str]:
    return [*(number(value) for value in (point.value, point.low, point.high, point.baseline)), str(point.n)]


def _place(value: object) -> str:
    return value if isinstance(value, str) else compact(value)


def _cells(
    study: Study, runs: Numbers, attack: str | None, titles: Sequence[Metric], *, short: bool = False
) -> Iterator[str]:
    """Yield the mean of each figure of an attack or the release; a short table has an interval where it matters."""
    for title in titles:
        values, baselines = (study.values(runs, name, attack) for name in (title.key, "baseline"))
        mean = interval(values, bounds=title.bounds_of(None, baselines))
        bare = mean.low is None or (short and title.key not in ("normalised_advantage", *WITH_BASELINE))
        around = "" if bare else f" [{number(mean.low, title.count)}, {number(mean.high, title.count)}]"
        yield number(mean.mean, title.count) + around


def _means(study: Study, groups: Sequence[tuple[str, Numbers]]) -> str:
    """Describe the figures of a table: means over repetitions, or over data sets."""
    most = _most_repetitions(study)
    one_set = any(name in dict(study.variants) for name, _ in groups)
    means = [f"means over {most} repetitions of one data set"] if most > 1 and one_set else []
    if study.pooled_variants:
        sizes = sorted({len(runs) for _, runs in study.pooled_variants})
        means.append(f"means over {listed(list(map(str, sizes)))} data sets, for further data sets of the kind")
    return f": {'; '.join(means)}; 95% intervals in brackets" if means else ""


def _most_repetitions(study: Study) -> int:
    return max(len(runs) for _, runs in study.variants)
