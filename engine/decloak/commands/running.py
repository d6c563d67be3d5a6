"""`run` and `validate`."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.commands.ci import ci_options, write_ci
from decloak.commands.options import (
    EXIT_EXPECTATION,
    EXIT_INPUT,
    form_option,
    rows_option,
    send_option,
    store_option,
    told_of_originals,
)
from decloak.data.formats.lines import place
from decloak.data.repeats import WARNING
from decloak.errors import DecloakError, shown
from decloak.report.ci import Expected
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.commands.carding import Account
    from decloak.runs.runner import Missing, Progress, Run, RunVariant, Verdict

__all__ = ["run_command", "validate_command"]

set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Put a value on top of the scenario, such as anonymise.size=4; may be repeated.",
)


@click.command("run")
@click.argument("scenario", type=click.Path(path_type=Path))
@store_option
@set_option
@rows_option
@send_option
@click.option("--dry-run", is_flag=True, help="List stages, files, and words that would be sent, and do nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes work at a time; all cores unless said. The results are the same for any number.",
)
@click.option("--memory", metavar="SIZE", help="What they may take together, such as 4G: fewer work at a time then.")
@click.option("--dask", metavar="ADDRESS", help="Send heavy pieces to the workers of this Dask scheduler.")
@click.option("-k", "only", metavar="TEXT", help="Only the variants that have this in their names.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print the verdict, whom it concerns, and what was expected; no table of attacks, no notes.",
)
@click.option("-v", "--verbose", is_flag=True, help="Tell on stderr what seconds the stages of each variant took.")
@ci_options
@form_option
def run_command(
    scenario: Path,
    store: Path,
    overrides: tuple[str, ...],
    rows: int,
    allow_send: tuple[str, ...],
    dry_run: bool,
    jobs: int | None,
    memory: str | None,
    dask: str | None,
    only: str | None,
    quiet: bool,
    verbose: bool,
    junit: Path | None,
    sarif: Path | None,
    form: str,
) -> int:
    """Run a scenario and print what its attacks won back.

    What the store has already is not done again. `decloak show --help` says what the figures mean. A variant that its
    method can make no release of is told, and the others go on. Exit code 3: an expectation does not hold, or cannot be
    judged; 2: a variant has no release, or something else that was asked for cannot be done.
    """
    from decloak.cells.mapping import cores
    from decloak.cells.memory import read_size
    from decloak.commands.carding import account_of
    from decloak.commands.rehearsing import print_rehearsal
    from decloak.runs.runner import run

    if quiet and verbose:
        raise DecloakError("--quiet and --verbose say the opposite of each other", hint="give one")
    if dry_run:
        print_rehearsal(scenario, store, overrides, allow_send, only, form)
        return 0
    with told_of_originals(store):
        with _progress(quiet, verbose) as progress:
            done = run(
                scenario,
                store=store,
                overrides=overrides,
                progress=progress,
                rows=rows,
                allow_send=allow_send,
                only=only,
                jobs=jobs or cores(),
                memory=None if memory is None else read_size(memory),
                dask=dask,
            )
        account = account_of(done.store, [variant.run for variant in done.variants])
        _print(done, account, form, quiet)
        _talk(done, quiet)
        judged = [_judged(verdict, scenario) for verdict in done.verdicts]
        judged += [Expected(f"{_titled(entry)}: release", None, f"no release: {entry.reason}", scenario.as_posix())
                   for entry in done.missing]  # fmt: skip
        write_ci(done.scenario, [account.verdict.text], judged, junit, sarif)
    return EXIT_EXPECTATION if not all(verdict.holds for verdict in done.verdicts) else 0 if done.ok else EXIT_INPUT


@click.command("validate")
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@set_option
def validate_command(scenarios: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Check scenarios without running them: every key, rule and variant, and that the files are there."""
    from decloak.runs.checking import plans
    from decloak.scenario.document import load
    from decloak.scenario.drawn import same_repetitions

    for scenario in scenarios:
        document = load(scenario, overrides)
        count = len(plans(document))
        for warning in same_repetitions(document):
            say(f"{WARNING}{shown(warning, 300)[1:-1]}", err=True)
        say(f"{scenario}: valid, {count} {'run' if count == 1 else 'runs'}")


def _print(done: "Run", account: "Account", form: str, quiet: bool) -> None:
    """What came of it: for people the verdict, whom it concerns and a table; for programs all figures."""
    from decloak.commands.carding import print_cards, print_pairs
    from decloak.report.run_table import coverage_lines, idle_lines, measure_rows
    from decloak.runs.runner import Measure

    if form == "json":
        cards = [card.as_json() for card in (*account.cards, *account.pooled)]
        pairs = [pair.as_json() for pair in account.pairs]
        emit_json({"verdict": account.verdict.as_json(), "cards": cards, "pairs": pairs} | _as_json(done))
        return
    if form != "table":
        emit(Measure._fields, done.measures, form)
        return
    say(f"{account.verdict.text}\n")
    print_cards(account, done.without_release)
    if quiet:
        return
    columns, rows = measure_rows(done)
    if rows:
        emit(columns, rows)
    for line in (*idle_lines(done), *coverage_lines(done), *_intervals(done)):
        say(line)
    print_pairs(account.pairs)


def _intervals(done: "Run") -> Iterator[str]:
    """What the intervals of a table are about."""
    names = {variant.name for variant in done.variants}
    with_interval = [measure for measure in done.measures if measure.low is not None]
    n = max((measure.n for measure in with_interval if measure.variant in names), default=0)
    if n:
        yield f"(in brackets 95% intervals, {n} repetitions: about further draws of one data set, not about other data)"
    if any(measure.variant not in names for measure in with_interval):
        yield "(over data sets: about further data sets of the kind, each by the mean of its repetitions)"


def _judged(verdict: "Verdict", scenario: Path) -> Expected:
    name = f"{verdict.variant}: {verdict.expected}"
    return Expected(name, verdict.holds, verdict.text, scenario.as_posix(), verdict.line, verdict.column)


def _as_json(done: "Run") -> dict[str, Any]:
    return {
        "scenario": done.scenario,
        "store": str(done.store),
        "ok": done.ok,
        "runs": [_run(variant) for variant in done.variants],
        "measures": [measure._asdict() for measure in done.measures],
        "missing": [entry._asdict() for entry in done.missing],
        "expect": [verdict._asdict() for verdict in done.verdicts],
        "warnings": list(done.warnings),
        "notes": notes(done),
    }


def _run(variant: "RunVariant") -> dict[str, Any]:
    attributes = ("run", "name", "repetition", "seed", "fresh", "notes")
    return {"variant" if key == "name" else key: getattr(variant, key) for key in attributes}


def notes(done: "Run") -> list[str]:
    """What runs could not measure or use, each said once, with the variants it is of where it is not of all."""
    having: dict[str, dict[str, None]] = {}
    for variant in done.variants:
        for note in variant.notes:
            having.setdefault(note, {})[variant.name] = None
    count = len({variant.name for variant in done.variants})
    return [note if len(names) == count else f"{_first(list(names))}: {note}" for note, names in having.items()]


def _first(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _without_release(done: "Run") -> Iterator[str]:
    """A line for each variant and reason, with how many of its repetitions lack a release where not all do."""
    ran = Counter(variant.name for variant in done.variants)
    counts = Counter((entry.variant, entry.reason) for entry in done.missing)
    lacking = Counter(entry.variant for entry in done.missing)
    for (variant, reason), count in counts.items():
        of = ran[variant] + lacking[variant]
        some = "" if count == of else f" ({count} of {of} repetitions)"
        yield f"{shown(variant, 200)[1:-1]}{some}: {reason}"


def _titled(entry: "Missing") -> str:
    return shown(entry.variant, 200)[1:-1] + (f" #{entry.repetition}" if entry.repetition > 1 else "")


def _talk(done: "Run", quiet: bool) -> None:
    """What goes to stderr: notes, what has no release, expectations, and where the results are; when quiet the middle
    two alone.
    """
    for note in (*(f"{WARNING}{warning}" for warning in done.warnings), *notes(done)):
        if note.startswith(WARNING):
            say(shown(note, 600)[1:-1], err=True)
        elif not quiet:
            say(f"note: {shown(note, 300)[1:-1]}", err=True)
    for line in _without_release(done):
        say(f"no release: {line}", err=True)
    several = len({verdict.variant for verdict in done.verdicts}) > 1
    for verdict in done.verdicts:
        where = f"{shown(verdict.variant)[1:-1]}: " if several else ""
        say(f"expect: {where}{verdict.text}", err=True)
    if quiet:
        return
    numbers = [variant.run for variant in done.variants]
    which = f"run {numbers[0]}" if len(numbers) == 1 else f"runs {min(numbers)} to {max(numbers)}"
    fresh = sum(variant.fresh for variant in done.variants)
    work = "" if fresh == len(numbers) else f" ({len(numbers) - fresh} of {len(numbers)} were there already)"
    say(f"{which} in {place(done.store)}{work}", err=True)
    if not done.shown:
        say("note: transactions, cells and findings are kept as arrays: `decloak rows` shows them as rows", err=True)


@contextmanager
def _progress(quiet: bool, verbose: bool) -> Iterator["Progress"]:
    """How far a run is, on stderr: drawn where somebody can see it, else in lines; or every stage, or nothing."""
    from decloak.report.progress import ProgressLines, Screen, StageTimes
    from decloak.runs.progress import Progress

    if quiet or verbose:
        yield StageTimes() if verbose else Progress()
        return
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.live import Live

    # Drawn by hand: a thread that does it would keep processes from being forked.
    console = Console(stderr=True, highlight=False)
    with Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as live:
        yield Screen(live)
