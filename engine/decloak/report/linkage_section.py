"""Linkage on a page: whom somebody finds who knows some items, and what is guessed, for each variant."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from decloak.measure.family import WAYS, Family, FigureTitle
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import FAMILIES
from decloak.report.grouped import LINES, lines_of
from decloak.report.page import Section, Table
from decloak.report.study import Study
from decloak.store.results import PooledFigure, pooled_figures

__all__ = ["linkage_sections"]

Means = Mapping[tuple[str, str], PooledFigure]


def linkage_sections(connection: sqlite3.Connection, study: Study) -> Iterator[Section]:
    """A section for each family with a line for each figure that was measured: means over repetitions."""
    for family in FAMILIES:
        measured = [title for title in family.lines if any(_is_of(title, name) for name in study.measures)]
        if family.in_lines and measured and not family.always:
            means = {name: _means(connection, runs) for name, runs in study.variants}
            tables = [_headlines(family, means), *_tables(study, family, means)]
            # What is known of a person makes no difference to what a figure is.
            helps = dict.fromkeys(f"{_bare(title.title)}: {_bare(title.help)}." for title in measured)
            yield Section(family.name, family.name.capitalize(), [f"{family.about}."], tables=tables, items=[*helps])


def _is_of(title: FigureTitle, name: str) -> bool:
    return any(name == f"{title.name}{ending}" for ending in WAYS)


def _bare(words: str) -> str:
    return words.rpartition(" by ")[0].removesuffix(",")


def _means(connection: sqlite3.Connection, runs: Sequence[int]) -> Means:
    figures = [pooled_figures(connection, run) for run in runs]
    keys = dict.fromkeys(key for of_run in figures for key in of_run)
    return {key: _mean([of_run[key] for of_run in figures if key in of_run]) for key in keys}


def _mean(figures: Sequence[PooledFigure]) -> PooledFigure:
    return PooledFigure(*(interval(values).mean for values in zip(*figures, strict=True)))


def _headlines(family: Family, means: Mapping[str, Means]) -> Table:
    """The figures that a run's own table has, of all variants."""
    titles = [title for title in family.lines if title.column]
    rows = [[name, *line] for name, figures in means.items() for line in _filled(titles, figures)]
    return Table(
        "In people", ("variant", *LINES), rows, frozenset(range(2, len(LINES) + 1)) - {LINES.index("attack") + 1}
    )


def _tables(study: Study, family: Family, means: Mapping[str, Means]) -> Iterator[Table]:
    """All figures, folded."""
    for name, figures in means.items():
        caption = f"All figures: {name}" if study.varied else "All figures"
        numeric = frozenset(range(1, len(LINES))) - {LINES.index("attack")}
        yield Table(caption, LINES, _filled(family.lines, figures), numeric, folded=True)


def _filled(titles: Sequence[FigureTitle], figures: Means) -> list[list[str]]:
    return [[cell or "–" for cell in line] for line in lines_of(titles, figures)]
