"""Compare the figures of runs: the mean over repetitions, and the change from the first run to the second.

A pair is a repetition of each with the same number and seed. Both have the same random choices, which cancel out. The
change is the second minus the first: the mean over the pairs that have both, with Student's interval.

Compare a run with an earlier one, figure by figure: no figure may be worse.

The earlier figures are in a file of JSON Lines that `decloak run --figures` wrote, or they are of a run of the store.
A figure of exposure or loss is worse if it is larger. Other figures, such as seconds, have no better or worse.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.lines import json_text, json_value, read_lines
from decloak.errors import DecloakError, quote
from decloak.figures import REAL, SHARE, SIGNED, Direction, Metric
from decloak.measure.kernels.statistics import Interval, paired_difference
from decloak.measure.registry import FAMILIES, metrics_by_key
from decloak.pipeline.progress import RunVariant
from decloak.pipeline.run import Measure, over_repetitions
from decloak.report.risk_card import RELEASE, ROWS, Cell, ExposureCard
from decloak.report.study import Study
from decloak.report.wording import count, percent
from decloak.store.opening import connect_readonly
from decloak.store.results import StudyRun, attacks_of, chosen_runs, notes_of, pooled_figures, read_runs, sweep_of

FigureKey = tuple[str, str]
"""The key of a figure, and the attack."""


def compared_runs(connection: sqlite3.Connection, named: Sequence[tuple[str, str, int]]) -> list[StudyRun]:
    """Return runs with their titles and the names they were asked by; a variant has all its repetitions."""
    runs = []
    for title, name, number in named:
        (run,) = read_runs(connection, [number])
        repeated = [run]
        # A run that is named by its number is meant alone.
        if name == run.variant:
            repeated = [other for other in sweep_of(connection, number) if other.variant == name]
        runs += [other._replace(variant=title) for other in repeated]
    return runs


class FigureChange(NamedTuple):
    """A figure that differs between runs, and of two runs the change from the first to the second."""

    family: str
    attack: str
    figure: str
    values: Sequence[float | None]
    change: Interval | None
    key: FigureKey | None = None
    """The key of the figure, and the attack, unless it is of cards."""


class RunComparison:
    """Several runs by title, each with all its repetitions. `figures` has the means of each."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._runs = {title: [run for run in study.runs if run.variant == title] for title, _ in study.variants}
        self.figures = [self._means(runs) for runs in self._runs.values()]

    def _means(self, runs: Sequence[StudyRun]) -> dict[FigureKey, float | None]:
        keys = dict.fromkeys(key for run in runs for key in self.study.figures[run.run])
        numbers = [run.run for run in runs]
        return {key: self.study.mean(numbers, *key) for key in keys}

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the numbers of the runs of two that have the same random choices."""
        if len(self._runs) != 2:
            return []
        first, second = self._runs.values()
        # The number alone is not enough: runs with other seeds made other random choices.
        of_second = {(run.repetition, run.seed): run.run for run in second}
        keys = [(run.repetition, run.seed) for run in first]
        return [(run.run, of_second[key]) for run, key in zip(first, keys, strict=True) if key in of_second]

    @property
    def without_interval(self) -> str | None:
        """Say why no change has an interval; None if some may have one."""
        if len(self._runs) != 2 or len(self.pairs) > 1:
            return None
        if any(len(runs) > 1 for runs in self._runs.values()):
            return (
                "no change has an interval: these runs have no repetitions with the same seeds, which would pair them"
            )
        return "no change has an interval, because there is one run of each (add --set repeat.times=10)"

    def change(self, key: FigureKey) -> Interval | None:
        """Return the change of a figure of an attack; None if there are not two runs."""
        # A store of an older version has figures that no longer exist.
        metric = metrics_by_key().get(key[0])
        shares = metric is not None and not metric.count and metric.bounds == SHARE
        first, second = ([self.study.figures[pair[side]].get(key) for pair in self.pairs] for side in (0, 1))
        return self._change(first, second, [figures.get(key) for figures in self.figures], shares=shares)

    def _change(
        self,
        first: Sequence[float | None],
        second: Sequence[float | None],
        means: Sequence[float | None],
        *,
        shares: bool = False,
    ) -> Interval | None:
        """Return the change over the pairs; without any that of the means, which has no interval."""
        if len(means) != 2:
            return None
        paired = paired_difference(second, first, bounds=SIGNED if shares else REAL)
        if paired.mean is not None:
            return paired
        before, after = means
        return Interval(None if before is None or after is None else after - before, None, None, 0)

    def changes(self, measured: Collection[str], cards: Sequence[ExposureCard]) -> list[FigureChange]:
        """Return the figures of the families `measured` that differ; of two runs also people, by their cards."""
        in_people = self._in_people(*cards) if len(cards) == len(self._runs) == 2 else ()
        return [*in_people, *self._in_figures(measured)]

    def _in_figures(self, measured: Collection[str]) -> Iterator[FigureChange]:
        """Yield the figures that differ, by family, attack and figure.

        People exposed are in the cards, and two runs never share their seconds. A measure of findings that covers
        every claim makes the figures of its findings redundant. A figure of the release is yielded once.
        """
        released = set[str]()
        attacks = list(dict.fromkeys(attack for figures in self.figures for _, attack in figures))
        for family in (family for family in FAMILIES if family.name in measured and family.name != "exposure"):
            for attack in attacks:
                claims = any((key, attack) in figures for figures in self.figures for key in ("eliminated", "assigned"))
                metrics = family.metrics if family.name != "findings" or not claims else ()
                for metric in (metric for metric in metrics if not metric.clock):
                    key = (metric.key, attack)
                    values = tuple(_rounded(figures.get(key), metric) for figures in self.figures)
                    # A figure that only one run has was not measured in the other, and did not change.
                    if len(set(values)) < 2 or sum(value is not None for value in values) < 2:
                        continue
                    # The store has a figure of the release with every attack on it.
                    if metric.key not in released:
                        by = RELEASE if family.of_release else attack
                        yield FigureChange(family.name, by, metric.title, values, self.change(key), key)
                    released |= {metric.key} if family.of_release else set()

    def _in_people(self, *cards: ExposureCard) -> Iterator[FigureChange]:
        """Yield the rows of two cards that differ, each by the attack that exposes most people, or by the release."""
        for row in ROWS:
            keys = [_worst_key(row.key, card.cells[row.key]) for card in cards]
            known = [key for key in keys if key is not None]
            means = [card.cells[row.key].worst for card in cards]
            values = [None if mean is None else mean.mean for mean in means]
            if len(known) < 2 or values[0] == values[1]:
                continue
            numbers = [[pair[side] for pair in self.pairs] for side in (0, 1)]
            first, second = (self.study.values(runs, *key) for runs, key in zip(numbers, known, strict=True))
            attacks = [attack or RELEASE for _, attack in known]
            by = attacks[0] if attacks[0] == attacks[1] else " → ".join(attacks)
            yield FigureChange("people", by, row.title, values, self._change(first, second, values))


def _worst_key(figure: str, cell: Cell) -> tuple[str, str | None] | None:
    """Return the key of the worst figure of a cell, and its attack."""
    if cell.worst is None:
        return None
    return (f"{figure}_release", None) if cell.after is None else (figure, cell.attack)


def _rounded(value: float | None, metric: Metric) -> float | None:
    """Return a count as a whole number where it is one."""
    return round(value) if value is not None and metric.count and value == round(value) else value


ROUNDING = 1e-9
"""A change within the rounding of a float."""
SHAPE = "use a file that `decloak run SCENARIO --figures FILE` wrote"
_COMPARED = (Direction.EXPOSES, Direction.LOSES)
_WAYS = ("", "_release")
"""The ways of a figure that depend on the release."""
FEW = 3
"""Largest number of attacks that a line names."""


class WorseFigure(NamedTuple):
    """A figure that is worse than before, for one or more attacks; `now` is None if the run has no value of it.

    An empty `measure` stands for all figures of an attack that did not run now.

    `change` is the difference of shares, or of shares of people. For another figure it is relative to the larger value.
    """

    variant: str
    attacks: tuple[str, ...]
    measure: str
    change: float
    was: str
    now: str | None

    @property
    def text(self) -> str:
        """Return the line for people."""
        names = ", ".join(self.attacks[:FEW])
        rest = len(self.attacks) - FEW
        by = f"{names} and {rest} more" if rest > 0 else names
        title = metrics_by_key()[self.measure].title if self.measure else "all figures"
        return f"WORSE: {title} ({by}): {self.now or 'no value'}, was {self.was}"


class ComparedFigures(NamedTuple):
    """The figures that are worse, the worst first, and the number of `compared` figures."""

    worse: tuple[WorseFigure, ...]
    compared: int


def figures_text(measures: Iterable[Measure]) -> str:
    """Return the figures that `not_worse` compares as JSON Lines."""
    return "".join(f"{json_text(measure._asdict())}\n" for measure in measures if _metric(measure) is not None)


def earlier_figures(name: str, store: Path) -> list[Measure]:
    """Return the figures in the file `name`, or of the run `name` in `store` with its variants and repetitions."""
    # A file of this kind that is missing gets an error about the file, and not about a run.
    if name.endswith(".jsonl") or Path(name).is_file():
        return list(_read(Path(name)))
    with closing(connect_readonly(store)) as connection:
        runs = sorted(chosen_runs(connection, [name]), key=lambda run: run.variant)
        return list(over_repetitions(stored_variant(connection, run) for run in runs))


def stored_variant(connection: sqlite3.Connection, run: StudyRun) -> RunVariant:
    """Return a `run` of the store with its figures and notes."""
    figures = pooled_figures(connection, run.run)
    knows = {attack.label: attack.knows for attack in attacks_of(connection, run.run)}
    return RunVariant(
        run.run, run.variant, run.repetition, run.seed, False, figures, tuple(notes_of(connection, run.run)), knows
    )


def _read(path: Path) -> Iterator[Measure]:
    """Yield the figures in the file at `path`; raise an error at a line that is no figure."""
    known = metrics_by_key()
    for line in read_lines(path):
        value = json_value(line, SHAPE)
        if not isinstance(value, dict) or value.keys() != set(Measure._fields):
            raise line.error("not a figure of a run", SHAPE)
        texts = [value[key] for key in ("variant", "attack", "measure", "knows")]
        numbers = [value[key] for key in ("value", "low", "high", "n", "part", "of") if value[key] is not None]
        if not all(isinstance(text, str) for text in texts) or not all(map(_is_number, numbers)):
            raise line.error("not a figure of a run", SHAPE)
        if value["measure"] not in known:
            raise line.error(f"no figure {quote(value['measure'])}", f"{SHAPE}, with this version")
        yield Measure(**value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def not_worse(
    earlier: Sequence[Measure], now: Sequence[Measure], tolerance: float = 0.0, *, some: bool = False
) -> ComparedFigures:
    """Compare the figures of `earlier` with those of `now`, by variant, attack and figure; return the worse ones.

    A figure may be worse by `tolerance`, 0.01 for one point. A figure without a value now is worse. With `some`, only
    the variants that have run now count.
    """
    variants = dict.fromkeys(measure.variant for measure in now)
    before = dict.fromkeys(measure.variant for measure in earlier)
    # One run of each is the same case, even if a setting in its name has changed.
    renamed = dict(zip(before, variants, strict=True)) if len(before) == len(variants) == 1 else {}
    values = {(measure.variant, measure.attack, measure.measure): measure for measure in now}
    ran = {key[:2] for key in values}
    found: dict[tuple[str, ...], list[WorseFigure]] = {}
    gone = Counter[tuple[str, str]]()
    compared = 0
    for old in earlier:
        metric, variant = _metric(old), renamed.get(old.variant, old.variant)
        if metric is None or old.value is None or (some and variant not in variants):
            continue
        compared += 1
        if (variant, old.attack) not in ran:
            gone[variant, old.attack] += 1
            continue
        new = values.get((variant, old.attack, old.measure))
        change = math.inf if new is None or new.value is None else _change(metric, old, new)
        if change > tolerance + ROUNDING:
            was, said = _texts(metric, old, None if change == math.inf else new)
            worse = WorseFigure(variant, (old.attack,), old.measure, change, was, said)
            # The release alone has one value for every attack.
            found.setdefault((variant, old.measure, was, said or ""), []).append(worse)
    if not compared:
        raise DecloakError("the earlier run has no figure to compare with", hint=SHAPE)
    lines = [WorseFigure(variant, (attack,), "", math.inf, f"{count} figures", None)
             for (variant, attack), count in gone.items()]  # fmt: skip
    lines += [same[0]._replace(attacks=tuple(one.attacks[0] for one in same)) for same in found.values()]
    exposes = {key for key, metric in metrics_by_key().items() if metric.direction is Direction.EXPOSES}
    # A figure that is gone may hide anything, so that it comes first.
    lines.sort(key=lambda line: (line.now is not None, line.measure not in exposes, -line.change))
    return ComparedFigures(tuple(lines), compared)


def _metric(measure: Measure) -> Metric | None:
    """Return the metric of a figure that has a better and a worse, None for other figures and negative controls."""
    metric = metrics_by_key()[measure.measure]
    compared = metric.direction in _COMPARED and metric.way in _WAYS and measure.knows != "control"
    return metric if compared else None


def _change(metric: Metric, old: Measure, new: Measure) -> float:
    was, now = _amount(metric, old), _amount(metric, new)
    # Shares differ by points. Other figures have no common scale but their own size.
    scale = 1.0 if _is_share(metric, old, new) else max(abs(was), abs(now)) or 1.0
    return (now - was) / scale


def _is_share(metric: Metric, *measures: Measure) -> bool:
    return metric.unit == "share" or (metric.unit == "people" and all(measure.of for measure in measures))


def _amount(metric: Metric, measure: Measure) -> float:
    value = measure.value or 0.0
    return value / measure.of if metric.unit == "people" and measure.of else value


def _texts(metric: Metric, old: Measure, new: Measure | None) -> tuple[str, str | None]:
    """Return the texts of two values with as few digits as make them differ."""
    for digits in (1, 3, 6, 9):
        was, now = _text(metric, old, digits), None if new is None else _text(metric, new, digits)
        if was != now:
            break
    return was, now


def _text(metric: Metric, measure: Measure, digits: int) -> str:
    value = measure.value or 0.0
    if metric.unit == "share":
        return percent(value, digits)
    if metric.count:
        return count(value) + (f" of {count(measure.of)}" if measure.of else "")
    return f"{value:.{digits + 2}g}"
