"""Figures of several runs as series: a figure along a varied key, over repetitions.

x is the horizontal key, by the key of the panels, y the figure. A point is the mean over repetitions with its interval,
and the mean of the baseline if the figure has one.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from decloak.digest import Config
from decloak.errors import DecloakError, quote, suggest
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import metrics_by_key
from decloak.rules.load import parse_rule
from decloak.scenario.plots import ATTACK, Plot
from decloak.scenario.sweep import compact, short_names
from decloak.scenario.variant import DATA_SET_KEYS, data_set_keys, pool_variants
from decloak.store.results import PooledFigure, StudyRun, attacks_of, pooled_figures, records_of

Numbers = Sequence[int] | Sequence[tuple[int, ...]]
"""Runs that repeat each other, or the repetitions of several data sets, which count as one each by their mean."""

WITH_BASELINE = ("precision", "accuracy")
"""The figures that have a baseline."""


class Point(NamedTuple):
    """A figure at one place: its mean and interval over `n` repetitions, and the mean of its baseline."""

    x: Any
    value: float | None
    low: float | None
    high: float | None
    n: int
    baseline: float | None


class Series(NamedTuple):
    """The points of one panel; `by` says of which attack or setting."""

    by: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Study:
    """Runs that are looked at together, with their pooled figures."""

    runs: tuple[StudyRun, ...]
    figures: Mapping[int, Mapping[tuple[str, str], float | None]]
    sizes: Mapping[int, int]
    """The number of records in the release of each run."""
    knows: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """The knowledge level of each attack of each run."""
    controls: frozenset[str] = frozenset()
    """The random attacks and negative controls: comparisons, and no danger to people."""
    pooled: Mapping[int, Mapping[tuple[str, str], PooledFigure]] = field(default_factory=dict)
    """The figures with the counts that they are ratios of."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, runs: Sequence[StudyRun]) -> "Study":
        pooled = {run.run: pooled_figures(connection, run.run) for run in runs}
        values = {run: {key: figure.value for key, figure in of_run.items()} for run, of_run in pooled.items()}
        sizes = {run.run: records_of(connection, run.run) for run in runs}
        ran = {(run.run, attack.label): attack for run in runs for attack in attacks_of(connection, run.run)}
        knows = {key: attack.knows for key, attack in ran.items()}
        newest = {label: attack for (_, label), attack in ran.items()}
        controls = (label for label, attack in newest.items() if attack.control or parse_rule(attack.text).is_random)
        return cls(tuple(runs), values, sizes, knows, frozenset(controls), pooled)

    @cached_property
    def varied(self) -> dict[str, list[Any]]:
        """The keys whose values differ between the runs, with these values in the order of the runs."""
        keys = dict.fromkeys(key for run in self.runs for key in run.keys)
        # Runs of several scenarios have no varied keys in common: their settings show what differs.
        if not keys:
            keys = dict.fromkeys(_differing([run.config for run in self.runs]))
        values = {key: _distinct(setting(run.config, key) for run in self.runs) for key in keys}
        return {key: listed for key, listed in values.items() if len(listed) > 1}

    @cached_property
    def variants(self) -> list[tuple[str, list[int]]]:
        named: dict[str, list[int]] = {}
        for run in self.runs:
            named.setdefault(run.variant, []).append(run.run)
        return list(named.items())

    @cached_property
    def pooled_variants(self) -> list[tuple[str, list[tuple[int, ...]]]]:
        """Variants that differ in their data set alone, together: what they are called, and the runs of each."""
        variants = dict(self.variants)
        settings = {run.variant: {key: setting(run.config, key) for key in run.keys} for run in self.runs}
        return [(name, [tuple(variants[one]) for one in names]) for name, names in pool_variants(settings).items()]

    @cached_property
    def over_data(self) -> "Study | None":
        """Return the study with one run for each data set, of the means over its repetitions, so that the data set is
        its only variation. Return None without several data sets.
        """
        runs, figures = {run.run: run for run in self.runs}, {}
        which = data_set_keys([{key: setting(run.config, key) for key in run.keys} for run in self.runs])
        # A seed or a file belongs to one data set and says nothing of the kind.
        left_out = {*which, *(f"data.{name}" for name in DATA_SET_KEYS if "data" in which)}
        pooled = []
        for name, data_sets in self.pooled_variants:
            for numbers in data_sets:
                run = runs[numbers[0]]
                data = {key: value for key, value in run.config["data"].items() if f"data.{key}" not in left_out}
                variant = name.rpartition("over ")[0].removesuffix(", ")
                pooled.append(run._replace(variant=variant, config={**run.config, "data": data}))
                keys = dict.fromkeys(key for number in numbers for key in self.figures[number])
                figures[run.run] = {key: self.mean(numbers, *key) for key in keys}
        return replace(self, runs=tuple(pooled), figures=figures) if pooled else None

    @property
    def real_attacks(self) -> list[str]:
        """The attacks without random ones and negative controls."""
        return [attack for attack in self.attacks if attack not in self.controls]

    @property
    def negative_controls(self) -> set[str]:
        """The attacks on permuted input, without random attacks."""
        return {attack for (_, attack), knows in self.knows.items() if knows == "control"}

    @property
    def groups(self) -> list[tuple[str, Numbers]]:
        """The variants, and below them those over data sets."""
        return [*self.variants, *self.pooled_variants]

    @cached_property
    def attacks(self) -> list[str]:
        return list(dict.fromkeys(attack for figures in self.figures.values() for _, attack in figures))

    @cached_property
    def measures(self) -> Set[str]:
        return dict.fromkeys(measure for figures in self.figures.values() for measure, _ in figures).keys()

    @cached_property
    def measured(self) -> Set[tuple[str, str]]:
        """The figures of each attack that some run has a value for."""
        return {key for figures in self.figures.values() for key, value in figures.items() if value is not None}

    def values(self, runs: Numbers, measure: str, attack: str | None = None) -> list[float | None]:
        """Return a figure in some runs: of an attack, or of the release alone, which has one value for every attack."""
        return [
            interval([self._value(run, measure, attack) for run in numbers]).mean if isinstance(numbers, tuple)
            else self._value(numbers, measure, attack)
            for numbers in runs
        ]  # fmt: skip

    def mean(self, runs: Numbers, measure: str, attack: str | None = None) -> float | None:
        """Return the mean of `values`."""
        return interval(self.values(runs, measure, attack)).mean

    def whole(self, runs: Numbers, measure: str) -> int | None:
        """Return the number of things that a figure was counted among, the largest of some runs."""
        figures = (figure for run in flat(runs) for (name, _), figure in self.pooled[run].items() if name == measure)
        return max((round(figure.whole) for figure in figures if figure.whole is not None), default=None)

    def _value(self, run: int, measure: str, attack: str | None) -> float | None:
        if attack is not None:
            return self.figures[run].get((measure, attack))
        return next(
            (value for (name, _), value in self.figures[run].items() if name == measure and value is not None), None
        )

    def panel_keys(self, plot: Plot) -> Sequence[str]:
        """Return the keys that a plot names, or all differing keys except the horizontal one."""
        several = [*([ATTACK] if len(self.attacks) > 1 else []), *self.varied]
        # Values that differ in a key without a panel would be drawn as one line.
        return [key for key in several if key != plot.x] if plot.panels is None else plot.panels

    def series(self, x: str, y: str, by: Sequence[str] = ()) -> list[Series]:
        """Return the figure `y` along `x`, a series for each value of the keys in `by`."""
        self._check(x, y, by)
        having = [attack for attack in self.attacks if any((y, attack) in figures for figures in self.figures.values())]
        cells: dict[tuple[str, ...], dict[str, list[tuple[Any, float | None, float | None]]]] = {}
        for run in self.runs:
            for attack in having:
                figures = self.figures[run.run]
                panel = self.panel(run, attack, by)
                across = self.named(run, attack, x)
                row = across, figures.get((y, attack)), figures.get(("baseline", attack))
                cells.setdefault(panel, {}).setdefault(compact(across), []).append(row)
        return [
            Series(", ".join(panel), tuple(_point(rows, y) for rows in along.values()))
            for panel, along in cells.items()
        ]

    def panel(self, run: StudyRun, attack: str, by: Sequence[str]) -> tuple[str, ...]:
        """Name an attack and the settings of a run in the title of a panel, by the keys in `by`."""
        names = [_named(key, self.named(run, attack, key)) for key in by]
        if ATTACK in by and self.knows.get((run.run, attack)) == "control":
            names[list(by).index(ATTACK)] += " (negative control)"
        return tuple(names)

    def named(self, run: StudyRun, attack: str, key: str) -> Any:
        """Return the place of a run on an axis: a number, or the name of its value."""
        if key == ATTACK:
            return attack
        value = setting(run.config, key)
        return self._names[key][compact(value)] if isinstance(value, Mapping) and key in self._names else value

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        return {
            key: dict(zip(map(compact, values), short_names(values), strict=True))
            for key, values in self.varied.items()
        }

    @property
    def _several(self) -> list[str]:
        """The keys that differ between the runs."""
        return [*self.varied, *([ATTACK] if len(self.attacks) > 1 else [])]

    def check_keys(self, flag: str, keys: Iterable[str]) -> None:
        """Refuse keys that do not differ."""
        for key in keys:
            if key not in (*self._several, ATTACK):
                hint = suggest(key, self._several) or f"what differs: {', '.join(self._several) or 'nothing'}"
                raise DecloakError(f"{quote(key)} does not differ between these runs", flag, hint)

    def _check(self, x: str, y: str, by: Sequence[str]) -> None:
        if y not in self.measures:
            hint = suggest(y, self.measures) or f"what was measured: {', '.join(sorted(self.measures))}"
            raise DecloakError(f"no figure {quote(y)} was measured", "--y", hint)
        self.check_keys("--x", [x])
        self.check_keys("--by", by)
        # A mean over varied settings would look like a mean over repetitions.
        left = next((key for key in self._several if key not in (x, *by)), None)
        if left is not None:
            raise DecloakError(f"{quote(left)} differs as well", "--by", f"add --by {left}")


def flat(runs: Numbers) -> list[int]:
    """Return all the runs, without their data sets."""
    return [run for numbers in runs for run in (numbers if isinstance(numbers, tuple) else (numbers,))]


def setting(config: Config, key: str) -> Any:
    """Return the value of a dotted key, or None."""
    value: Any = config
    for name in key.split("."):
        if isinstance(value, list):
            # A key with * sets every entry of the list, so that the first one shows it.
            place = "0" if name == "*" else name
            value = value[int(place)] if place.isdecimal() and int(place) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _point(rows: Sequence[tuple[Any, float | None, float | None]], y: str) -> Point:
    baselines = [baseline for *_, baseline in rows]
    mean = interval([value for _, value, _ in rows], bounds=metrics_by_key()[y].bounds_of(None, baselines))
    baseline = interval(baselines).mean if y in WITH_BASELINE else None
    return Point(rows[0][0], mean.mean, mean.low, mean.high, mean.n, baseline)


def _named(key: str, value: Any) -> str:
    return str(value) if key == ATTACK else f"{key.rpartition('.')[2]} = {value}"


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({compact(value): value for value in values}.values())


def _differing(configs: Sequence[Config], prefix: str = "") -> list[str]:
    """Return the innermost dotted keys whose values differ."""
    keys: list[str] = []
    for key in dict.fromkeys(key for config in configs for key in config):
        values = [config.get(key) for config in configs]
        if len(_distinct(values)) > 1 and key not in ("scenario", "expect", "accept", "report"):
            inner = [value for value in values if isinstance(value, Mapping)]
            keys += _differing(inner, f"{prefix}{key}.") if len(inner) == len(values) else [f"{prefix}{key}"]
    return keys
