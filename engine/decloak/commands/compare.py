"""`compare`: compare runs by people exposed, cost and other figures."""

from collections.abc import Sequence
from contextlib import closing
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option, print_run_titles, store_option
from decloak.errors import DecloakError
from decloak.report.table import as_count, emit
from decloak.report.terminal import say
from decloak.report.wording import filled
from decloak.store import results
from decloak.store.opening import connect_readonly

if TYPE_CHECKING:
    from decloak.measure.kernels.statistics import Interval
    from decloak.report.compare.runs import FigureChange, RunComparison


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@store_option
@form_option
def compare_command(runs: tuple[str, ...], store: Path, form: str) -> None:
    """Compare the figures of two or more runs: numbers, names of variants, or last.

    decloak prints the people exposed in each run, before and after the attacks, with the baseline and the cost. Then it
    prints the figures that differ, and a summary. With two variants, each difference has a 95% interval over the
    repetitions with equal seeds. JSON and CSV contain all figures.
    """
    if len(runs) < 2:
        raise DecloakError("one run is nothing to compare", hint="name two or more; `decloak runs` lists them")
    # JSON holds no two columns of one name.
    names = [f"{run}{' again' * runs[:place].count(run)}" for place, run in enumerate(runs)]
    titles = [f"run {name}" if name[:1].isdigit() else name for name in names]
    with closing(connect_readonly(store)) as connection:
        from decloak.commands.risk_card import print_comparison
        from decloak.report.compare.runs import RunComparison, compared_runs
        from decloak.report.risk_card import exposure_cards
        from decloak.report.study import Study

        numbers = [results.find_run(connection, run) for run in runs]
        study = Study.of(connection, compared_runs(connection, list(zip(titles, runs, numbers, strict=True))))
        comparison = RunComparison(study)
        print_run_titles(connection, *runs)
        # Programs get every figure, and judge themselves what differs.
        if form != "table":
            emit(*_measures(names, comparison), form)
            return
        measured = {family for number in numbers for family in results.measured_families(connection, number)}
        cards = exposure_cards(connection, study)
        said = print_comparison(study, cards) if cards else ""
    _print_changes(names, comparison, comparison.changes(measured, cards))
    if said:
        say(f"\n{said}")


def _measures(names: Sequence[str], comparison: "RunComparison") -> tuple[Sequence[str], list[list[object]]]:
    """All figures, and of two the change with the bounds of its interval and the number of pairs."""
    from decloak.measure.registry import metrics_by_key

    rows: list[list[object]] = []
    counts = {key for key, metric in metrics_by_key().items() if metric.count}
    for measure, attack in dict.fromkeys(key for figures in comparison.figures for key in figures):
        values = [figures.get((measure, attack)) for figures in comparison.figures]
        change = comparison.change((measure, attack))
        of_two = [] if change is None else [change.mean, change.low, change.high, change.n]
        if measure in counts:
            values, of_two[:1] = list(map(as_count, values)), list(map(as_count, of_two[:1]))
        rows.append([attack, measure, *values, *of_two])
    return ("attack", "measure", *names, *(("change", "low", "high", "pairs") if len(names) == 2 else ())), rows


def _print_changes(names: Sequence[str], comparison: "RunComparison", changes: "Sequence[FigureChange]") -> None:
    """Describe the differences and their intervals."""
    from decloak.report.risk_card import RELEASE

    changed = {change.key for change in changes}
    released = {change.key[0] for change in changes if change.key is not None and change.attack == RELEASE}
    keys = {key for figures in comparison.figures for key in figures}
    equal = len([key for key in keys - changed if key[0] not in released])
    if not changes:
        say(f"\nNone of the {equal} figures differs.")
        return
    say("")
    two = len(names) == 2
    rows = [
        [row.family, row.attack, row.figure, *row.values, *([_signed(row.change)] if two else [])] for row in changes
    ]
    emit(("family", "attack", "figure", *names, *(["change"] if two else [])), rows, "table")
    say("")
    if comparison.without_interval:
        say(f"– {comparison.without_interval}")
    elif two:
        count = len(comparison.pairs)
        about = f"over {count} pairs of repetitions with the same seeds, about further draws of one data set"
        alone = "in brackets the 95% interval of each figure: 1 in 20 excludes 0 at random"
        say(filled(f"(change: the second minus the first, {about}; {alone})"))
        if any(row.change is not None and row.change.low is None for row in changes):
            say("– a change without an interval is the same in all pairs, or one pair alone has both figures")
    say(f"{len(changes):,} figures differ. {equal:,} others are equal, of one run alone, or of people.")


def _signed(change: "Interval | None") -> str | float | None:
    """Return a difference as text, with its interval, if any, rounded outwards."""
    if change is None or change.mean is None or change.low is None or change.high is None:
        return None if change is None else change.mean
    digits = 3 if abs(change.mean) < 10 else 1
    # Outwards, so that the printed interval contains the exact one.
    low, high = (way(bound * 10**digits) / 10**digits for way, bound in ((floor, change.low), (ceil, change.high)))
    of = f", {change.n} pairs" if change.missing else ""
    return f"{change.mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f}{of})"
