"""`compare`: runs beside each other, in people, in costs, and in what else differs."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import form_option, store_option
from decloak.errors import DecloakError
from decloak.report.table import as_count, emit
from decloak.report.terminal import say
from decloak.store import results
from decloak.store.opening import connect_readonly

__all__ = ["compare_command"]


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@store_option
@form_option
def compare_command(runs: tuple[str, ...], store: Path, form: str) -> None:
    """Compare runs: numbers, names of variants with all their repetitions, or last.

    First whom each tells of, in people, before → after its attacks and by chance in brackets, with what it costs; then
    what else differs, and what somebody can make of it who must choose. As JSON or CSV all pooled measures.
    """
    if len(runs) < 2:
        raise DecloakError("one run is nothing to compare", hint="name two or more; `decloak runs` lists them")
    names = [f"{run} again" if run in runs[:place] else run for place, run in enumerate(runs)]
    titles = [f"run {name}" if name[:1].isdigit() else name for name in names]
    with closing(connect_readonly(store)) as connection:
        numbers = [results.find_run(connection, run) for run in runs]
        figures = [results.pooled_figures(connection, number) for number in numbers]
        if form != "table":
            emit(*_measures(names, figures), form)
            return
        from decloak.commands.carding import print_comparison
        from decloak.report.card import risk_cards
        from decloak.report.comparison import compared_runs
        from decloak.report.study import Study

        measured = {family for number in numbers for family in results.measured_families(connection, number)}
        study = Study.of(connection, compared_runs(connection, list(zip(titles, runs, numbers, strict=True))))
        said = print_comparison(study, risk_cards(connection, study))
    _print_differences(names, figures, measured)
    if said:
        say(f"\n{said}")


def _measures(
    names: Sequence[str], figures: Sequence[dict[tuple[str, str], results.PooledFigure]]
) -> tuple[Sequence[str], list[list[object]]]:
    from decloak.measure.registry import figure_titles

    rows: list[list[object]] = []
    counts = {title.name for title in figure_titles().values() if title.count}
    for measure, attack in dict.fromkeys(key for of_run in figures for key in of_run):
        values = [None if (figure := of_run.get((measure, attack))) is None else figure.value for of_run in figures]
        if measure in counts:
            values = list(map(as_count, values))
        rows.append([attack, measure, *values, *_change(values)])
    return ("attack", "measure", *names, *(["change"] if len(names) == 2 else [])), rows


def _change(values: Sequence[float | None]) -> list[float | None]:
    """From the first of two to the second."""
    if len(values) != 2:
        return []
    before, after = values
    return [None if before is None or after is None else after - before]


def _print_differences(
    names: Sequence[str], figures: Sequence[dict[tuple[str, str], results.PooledFigure]], measured: set[str]
) -> None:
    from decloak.report.grouped import differences

    differing = differences(figures, measured)
    alike = len({key for of_run in figures for key in of_run}) - len(differing)
    if not differing:
        say(f"\nNone of the {alike} figures differs.")
        return
    say("")
    rows = [[row.family, row.attack, row.title, *row.values, *_change(row.values)] for row in differing]
    emit(("family", "attack", "figure", *names, *(["change"] if len(names) == 2 else [])), rows, "table")
    say(f"\n{len(differing)} figures differ, {alike} others are the same, of one run alone, or of people.")
