"""`gallery`: the figures of the papers next to our results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option
from decloak.report.ci import SIGNS
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.report.gallery import Entry, FigureOutcome


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
@click.option(
    "--data",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder with your copies of the real data sets. The figures run on these.",
)
@form_option
def gallery_command(
    names: tuple[str, ...],
    running: bool,
    quick: bool,
    store: Path | None,
    jobs: int | None,
    overrides: tuple[str, ...],
    folder: Path | None,
    form: str,
) -> None:
    """List the figures of the papers, compare our results, and name the scenario of each.

    FIGURE is a part of a name, for example fig13 or km-anonymity. decloak prints every detail of a named figure. The
    listed results come with decloak, on generated data and on real data. --run computes those on generated data
    again, and --data those on real data. Real data are found by their content or by their names.
    """
    from decloak.report.gallery import entries, known_outcomes
    from decloak.report.table import emit

    context = click.get_current_context()
    if not (running or folder) and (store or overrides):
        raise click.UsageError("--store and --set go with --run or --data", context)
    if running and folder:
        raise click.UsageError("--run is for generated data and --data for real data; choose one", context)
    chosen = entries(names, quick=quick)
    generated, real = known_outcomes(), known_outcomes(real=True)
    if running:
        generated |= _run(chosen, store, jobs, {entry.name: list(overrides) for entry in chosen})
    if folder:
        real |= _run(chosen, store, jobs, _settings_on_real_data(chosen, folder, overrides), folder)
    outcomes = [(entry, generated.get(entry.name), real.get(entry.name)) for entry in chosen]
    # Programs get rows of one shape, also about a figure that is named.
    if names and form == "table":
        for entry, on_generated, on_real in outcomes:
            _print_figure(entry, on_generated, on_real)
        return
    # Four columns fit a terminal.
    columns = _COLUMNS[:4] if form == "table" else _COLUMNS
    emit(columns, [_row(*outcome)[: len(columns)] for outcome in outcomes], form)


_COLUMNS = ["figure", "claim", "generated", "real", "scenario", "trends", "saw", "see", "see_real", "why"]


def _row(entry: "Entry", generated: "FigureOutcome | None", real: "FigureOutcome | None") -> list[str]:
    trends = generated.trends if generated else ()
    holding = f"{sum(trend.holds is True for trend in trends)} of {len(trends)}" if generated else ""
    seen = [
        ". ".join(f"{trend.says}: {trend.seen}" for trend in one.trends) if one else "" for one in (generated, real)
    ]
    return [
        f"{entry.name.partition('/')[0]}: {entry.figure.number}", entry.figure.claim, entry.verdict(generated),
        entry.verdict(real, real=True), f"{entry.name}.yaml", holding, " ".join(entry.figure.saw), *seen,
        entry.figure.why or "",
    ]  # fmt: skip


def _settings_on_real_data(chosen: Sequence["Entry"], folder: Path, overrides: Sequence[str]) -> dict[str, list[str]]:
    """Return the settings of each figure whose real data are in `folder`, with the `overrides`."""
    from decloak.report.gallery import real_files

    files = real_files(folder)
    settings = {entry.name: entry.settings_on_real_data(files) for entry in chosen}
    found = {name: [*given, *overrides] for name, given in settings.items() if given is not None}
    say(f"real data found: {', '.join(files) or 'none'}; {len(found)} of {len(chosen)} figures can run", err=True)
    return found


def _run(
    chosen: Sequence["Entry"],
    store: Path | None,
    jobs: int | None,
    settings: Mapping[str, Sequence[str]],
    data: Path | None = None,
) -> dict[str, "FigureOutcome"]:
    from decloak.parallel import cores
    from decloak.report.gallery import outcome

    outcomes = {}
    running = [entry for entry in chosen if entry.name in settings]
    for number, entry in enumerate(running, 1):
        say(f"{number} of {len(running)}: {entry.name}", err=True)
        outcomes[entry.name], _ = outcome(entry, store, jobs=jobs or cores(), overrides=settings[entry.name], data=data)
    return outcomes


def _print_figure(entry: "Entry", generated: "FigureOutcome | None", real: "FigureOutcome | None") -> None:
    say(f"{entry.figure.number} ({entry.name}): {entry.figure.claim}")
    say(f"  the paper saw: {' '.join(entry.figure.saw)}")
    for title, outcome, is_real in (("generated data", generated, False), ("real data", real, True)):
        say(f"  {title}: {entry.verdict(outcome, real=is_real)}")
        # Real data may lack the variants of a trend.
        for judged in filter(lambda judged: judged.lines, outcome.trends if outcome else ()):
            share = "" if judged.lines == 1 else f", in {judged.holding} of {judged.lines}"
            say(f"    {SIGNS[judged.holds]} {judged.says}{share}")
            say(f"      {judged.seen}")
    for trend in entry.figure.trends:
        if trend.checked:
            say(f"  not reproduced, checked: {trend.says}. {' '.join(trend.checked.split())}")
    if entry.figure.why:
        say(f"  {' '.join(entry.figure.why.split())}")
    say(f"  decloak run {entry.path}\n")
