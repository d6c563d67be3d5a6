"""Compare the figures of runs: the mean over repetitions, and the change from the first run to the second.

A pair is a repetition of each with the same number and seed. Both have the same random choices, which cancel out. The
change is the second minus the first: the mean over the pairs that have both, with Student's interval.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from decloak.figures import REAL, SHARE, SIGNED, Metric
from decloak.measure.kernels.statistics import Interval, interval, paired_difference
from decloak.measure.registry import FAMILIES, metrics_by_key
from decloak.report.risk_card import RELEASE, ROWS, Cell, ExposureCard
from decloak.report.study import Study
from decloak.store.results import StudyRun, read_runs, sweep_of

__all__ = ["FigureChange", "RunComparison", "compared_runs"]

FigureKey = tuple[str, str]
"""The key of a figure, and the attack."""


def compared_runs(connection: sqlite3.Connection, named: Sequence[tuple[str, str, int]]) -> list[StudyRun]:
    """Return runs with their titles and the names they were asked by; a variant has all its repetitions."""
    runs = []
    for title, name, number in named:
        (run,) = read_runs(connection, [number])
        repeated = [run]
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
        return {key: interval(self.study.values(numbers, *key)).mean for key in keys}

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the numbers of the runs of two that have the same random choices."""
        if len(self._runs) != 2:
            return []
        first, second = self._runs.values()
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
        metric = metrics_by_key().get(key[0])  # stores of older versions have figures that are no more
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
        every claim makes the figures of its findings redundant.
        """
        attacks = list(dict.fromkeys(attack for figures in self.figures for _, attack in figures))
        for family in (family for family in FAMILIES if family.name in measured and family.name != "exposure"):
            for attack in attacks:
                claims = any((key, attack) in figures for figures in self.figures for key in ("eliminated", "assigned"))
                metrics = family.metrics if family.name != "findings" or not claims else ()
                for metric in (metric for metric in metrics if not metric.clock):
                    key = (metric.key, attack)
                    values = tuple(_rounded(figures.get(key), metric) for figures in self.figures)
                    if len(set(values)) > 1 and sum(value is not None for value in values) > 1:
                        yield FigureChange(family.name, attack, metric.title, values, self.change(key), key)

    def _in_people(self, *cards: ExposureCard) -> Iterator[FigureChange]:
        """Yield the rows of two cards that differ, each by the attack that exposes most people, or by the release."""
        for row in ROWS:
            keys = [_worst_key(row.figure, card.cells[row.figure]) for card in cards]
            known = [key for key in keys if key is not None]
            means = [card.cells[row.figure].worst for card in cards]
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
