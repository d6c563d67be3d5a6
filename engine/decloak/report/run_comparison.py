"""Compare the figures of runs: the mean over repetitions, and the change from the first run to the second.

A pair is a repetition of each with the same number and seed. Both have the same random choices, which cancel out. The
change is the second minus the first: the mean over the pairs that have both, with Student's interval.
"""

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from decloak.figures import REAL, SHARE, SIGNED
from decloak.measure.kernels.statistics import Interval, interval, paired_difference
from decloak.measure.registry import metrics_by_key
from decloak.report.grouped import differences
from decloak.report.risk_card import RELEASE, ROWS, Cell, ExposureCard
from decloak.report.study import Study
from decloak.store.results import PooledFigure
from decloak.store.studies import StudyRun, read_runs, sweep_of

__all__ = ["FigureChange", "RunComparison", "compared_runs"]


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
    """A figure of several runs, and of two how far the second is from the first."""

    family: str
    attack: str
    figure: str
    values: Sequence[float | None]
    change: Interval | None
    key: tuple[str, str] | None = None
    """The name of the figure, and the attack, unless it is of cards."""


class RunComparison:
    """The runs to compare, each by its title with all its repetitions."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._runs = {title: [run for run in study.runs if run.variant == title] for title, _ in study.variants}
        self.figures = [self._means(runs) for runs in self._runs.values()]

    def _means(self, runs: Sequence[StudyRun]) -> dict[tuple[str, str], PooledFigure]:
        keys = dict.fromkeys(key for run in runs for key in self.study.figures[run.run])
        numbers = [run.run for run in runs]
        return {key: PooledFigure(interval(self.study.values(numbers, *key)).mean, None, None) for key in keys}

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The runs of two that were dealt the same hand."""
        if len(self._runs) != 2:
            return []
        first, second = self._runs.values()
        of_second = {(run.repetition, run.seed): run.run for run in second}
        keys = [(run.repetition, run.seed) for run in first]
        return [(run.run, of_second[key]) for run, key in zip(first, keys, strict=True) if key in of_second]

    @property
    def without_interval(self) -> str | None:
        """Why no change has an interval."""
        if len(self._runs) != 2 or len(self.pairs) > 1:
            return None
        if any(len(runs) > 1 for runs in self._runs.values()):
            return (
                "no change has an interval: these runs have no repetitions with the same seeds, which would pair them"
            )
        return "no change has an interval: there is one run of each; repetitions would tell: repeat: {times: 10}"

    def change(self, key: tuple[str, str]) -> Interval | None:
        """How far the second of two is from the first in a figure of an attack."""
        title = metrics_by_key()[key[0]]
        shares = not title.count and title.bounds == SHARE
        first, second = ([self.study.figures[pair[side]].get(key) for pair in self.pairs] for side in (0, 1))
        return self._difference(first, second, [figures.get(key) for figures in self.figures], shares)

    def _difference(
        self,
        first: Sequence[float | None],
        second: Sequence[float | None],
        means: Sequence[PooledFigure | None],
        shares: bool,
    ) -> Interval | None:
        """Return the difference over the pairs; without pairs the difference of the means, without an interval."""
        if len(means) != 2:
            return None
        paired = paired_difference(second, first, bounds=SIGNED if shares else REAL)
        if paired.mean is not None:
            return paired
        before, after = (None if mean is None else mean.value for mean in means)
        return Interval(None if before is None or after is None else after - before, None, None, 0)

    def changes(self, measured: set[str], cards: Sequence[ExposureCard]) -> list[FigureChange]:
        """Return the figures that differ; for two runs also the people of their cards."""
        differing = differences(self.figures, measured)
        return [
            *(self._in_people(*cards) if len(cards) == len(self._runs) == 2 else []),
            *(
                FigureChange(row.family, row.attack, row.title, row.values, self.change(row.key), row.key)
                for row in differing
            ),
        ]

    def _in_people(self, *cards: ExposureCard) -> list[FigureChange]:
        """Return the rows of two cards that differ, by the larger figure: after the attack, or of the release."""
        rows = []
        for row in ROWS:
            ways = [self._way(row.figure, card.cells[row.figure]) for card in cards]
            keyed = [way for way in ways if way is not None]
            means = [card.cells[row.figure].worst for card in cards]
            values = [None if mean is None else mean.mean for mean in means]
            if len(keyed) < 2 or values[0] == values[1]:
                continue
            numbers = [[pair[side] for pair in self.pairs] for side in (0, 1)]
            first, second = (self.study.values(runs, *way) for runs, way in zip(numbers, keyed, strict=True))
            pooled = [PooledFigure(value, None, None) for value in values]
            attacks = [way[1] or RELEASE for way in keyed]
            by = attacks[0] if attacks[0] == attacks[1] else " → ".join(attacks)
            rows.append(FigureChange("people", by, row.title, values, self._difference(first, second, pooled, False)))
        return rows

    def _way(self, figure: str, cell: Cell) -> tuple[str, str | None] | None:
        """Return the figure behind the largest number of a cell, and its attack."""
        if cell.worst is None:
            return None
        return (f"{figure}_release", None) if cell.after is None else (figure, cell.attack)
