"""`gallery`: the figures of the papers next to our results."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option
from decloak.report.ci import SIGNS
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.report.gallery import Entry, FigureOutcome

__all__ = ["gallery_command"]


@click.command("gallery")
@click.argument("names", nargs=-1, metavar="[FIGURE]...")
@click.option("--run", "running", is_flag=True, help="Run the figures, and compare the new results.")
@click.option("--quick", is_flag=True, help="Only the figures that take seconds.")
@click.option("--store", type=click.Path(path_type=Path), help="Store for the runs.  [default: a temporary store]")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Number of parallel processes.  [default: number of cores]"
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a scenario key, for example data=... Repeatable.",
)
@form_option
def gallery_command(
    names: tuple[str, ...],
    running: bool,
    quick: bool,
    store: Path | None,
    jobs: int | None,
    overrides: tuple[str, ...],
    form: str,
) -> None:
    """List the figures of the papers, compare our results, and name the scenario of each.

    FIGURE is a part of a name, for example fig13 or km-anonymity. decloak prints every detail of a named figure. The
    listed results come with decloak. --run computes them again.
    """
    from decloak.report.gallery import entries, known_outcomes
    from decloak.report.table import emit

    if not running and (store or overrides):
        raise click.UsageError("--store and --set go with --run", click.get_current_context())
    chosen = entries(names, quick=quick)
    outcomes = known_outcomes()
    if running:
        outcomes |= _run(chosen, store, jobs, overrides)
    if names and form == "table":
        for entry in chosen:
            _print_figure(entry, outcomes.get(entry.name))
        return
    columns = _COLUMNS[:4] if form == "table" else _COLUMNS  # those that fit a terminal, or all
    emit(columns, [_row(entry, outcomes.get(entry.name))[: len(columns)] for entry in chosen], form)


_COLUMNS = ["figure", "verdict", "trends", "scenario", "saw", "see", "why"]


def _row(entry: "Entry", outcome: "FigureOutcome | None") -> list[str]:
    trends = outcome.trends if outcome else ()
    holding = f"{sum(trend.holds is True for trend in trends)} of {len(trends)}" if outcome else ""
    seen = ". ".join(f"{trend.says}: {trend.seen}" for trend in trends)
    return [
        f"{entry.name.partition('/')[0]}: {entry.figure.number}", _verdict(entry, outcome), holding,
        f"{entry.name}.yaml", entry.figure.saw, seen, entry.figure.why or "",
    ]  # fmt: skip


def _verdict(entry: "Entry", outcome: "FigureOutcome | None") -> str:
    if outcome is None:
        return "not run"
    return outcome.verdict if outcome.digest == entry.digest else f"{outcome.verdict} (before it was changed)"


def _run(
    chosen: Sequence["Entry"], store: Path | None, jobs: int | None, overrides: Sequence[str]
) -> dict[str, "FigureOutcome"]:
    from decloak.parallel import cores
    from decloak.report.gallery import outcome

    outcomes = {}
    for number, entry in enumerate(chosen, 1):
        say(f"{number} of {len(chosen)}: {entry.name}", err=True)
        outcomes[entry.name], _ = outcome(entry, store, jobs=jobs or cores(), overrides=overrides)
    return outcomes


def _print_figure(entry: "Entry", outcome: "FigureOutcome | None") -> None:
    say(f"{entry.figure.number} ({entry.name}): {_verdict(entry, outcome)}")
    say(f"  the paper saw: {' '.join(entry.figure.saw.split())}")
    for trend in outcome.trends if outcome else ():
        share = "" if trend.lines == 1 else f", in {trend.holding} of {trend.lines}"
        say(f"  {SIGNS[trend.holds]} {trend.says}{share}")
        say(f"    {trend.seen}")
    if entry.figure.why:
        say(f"  {' '.join(entry.figure.why.split())}")
    say(f"  decloak run {entry.path}\n")
