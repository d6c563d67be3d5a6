"""Linkage on a page: whom somebody finds who knows some items, and what is guessed, for each variant."""

import sqlite3
from collections.abc import Iterator

from decloak.measure.family import Family
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import FAMILIES
from decloak.report.grouped import LINES, lines_of
from decloak.report.page import Section, Table
from decloak.report.study import Study
from decloak.store.results import PooledFigure, pooled_figures

__all__ = ["linkage_sections"]

FEW = 12
"""Lines of a table that a page shows without being asked."""


def linkage_sections(connection: sqlite3.Connection, study: Study) -> Iterator[Section]:
    """A section for each family with a line for each figure that was measured: means over repetitions."""
    for family in FAMILIES:
        if family.in_lines and any(title.name in study.measures for title in family.figures):
            helps = [f"{title.title}: {title.help}." for title in family.lines if title.name in study.measures]
            tables = [*_tables(connection, study, family)]
            yield Section(family.name, family.name.capitalize(), [f"{family.about}."], tables=tables, items=helps)


def _tables(connection: sqlite3.Connection, study: Study, family: Family) -> Iterator[Table]:
    for name, runs in study.variants:
        figures = [pooled_figures(connection, run) for run in runs]
        keys = dict.fromkeys(key for of_run in figures for key in of_run)
        means = {
            key: PooledFigure(*(interval([getattr(of_run[key], part) for of_run in figures if key in of_run]).mean
                                for part in PooledFigure._fields))
            for key in keys
        }  # fmt: skip
        rows = [[cell or "–" for cell in line] for line in lines_of(family, means)]
        if rows:
            caption = f"In people: {name}" if study.varied else "In people"
            numeric = frozenset(range(1, len(LINES))) - {LINES.index("attack")}
            yield Table(caption, LINES, rows, numeric, folded=len(rows) > FEW)
