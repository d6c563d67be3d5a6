"""The command `run`: run a scenario, and print what was found."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.ci import ci_options, write_ci
from decloak.commands.options import (
    EXIT_EXPECTATION,
    EXIT_INPUT,
    form_option,
    send_option,
    store_option,
    warn_if_store_has_originals,
)
from decloak.data.formats.lines import location
from decloak.data.formats.writing import write_text
from decloak.data.repeats import WARNING
from decloak.ending import every
from decloak.errors import DecloakError, quote
from decloak.report.ci import Expected
from decloak.report.risk_tables import short_titles
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say
from decloak.report.wording import WIDTH, filled

if TYPE_CHECKING:
    from decloak.pipeline.dry_run import DryRun, Estimate
    from decloak.pipeline.permission import OutgoingRequest
    from decloak.pipeline.progress import Progress, RunVariant
    from decloak.pipeline.run import Missing, Run, Verdict
    from decloak.report.compare.runs import ComparedFigures
    from decloak.report.verdict_lines import Account


FIRST = 3
"""The number of words to send that a preview shows."""


def print_dry_run(
    scenario: Path, store: Path, overrides: Sequence[str], allow_send: Sequence[str], only: str | None, form: str
) -> None:
    """Print what would run, be read and be sent."""
    from decloak.pipeline.dry_run import dry_run

    plan = dry_run(scenario, store=store, overrides=overrides, allow_send=allow_send, only=only)
    if form == "json":
        emit_json({
            "runs": plan.runs,
            "time": plan.estimate._asdict(),
            "stages": [stage._asdict() for stage in plan.stages],
            "files": [file._asdict() for file in plan.files],
            "sendings": [
                request._asdict() | {"words": len(request.words), "first": request.words[:FIRST],
                                     "allowed": request.host in plan.allowed}
                for request in plan.requests
            ],
        })  # fmt: skip
        return
    emit(("what", "name", "state"), list(_rows(plan)), form)


def _rows(plan: "DryRun") -> Iterator[tuple[str, str, str]]:
    for stage in plan.stages:
        counts = ((stage.to_run, "to run"), (stage.kept, "there already"))
        yield "stage", stage.stage, ", ".join(f"{count:,} {state}" for count, state in counts if count)
    yield "time", "one process", _time(plan.estimate)
    for file in plan.files:
        yield "file", file.name, f"outside the folder: {file.outside}" if file.outside else "in the folder"
    for request in plan.requests:
        yield "sent to", request.address, _permission(request, request.host in plan.allowed)


def _time(estimate: "Estimate") -> str:
    from decloak.pipeline.progress import duration

    unknown = ", ".join(quote(name)[1:-1] for name in estimate.unknown)
    if estimate.seconds is None:
        return f"not known: this store has no times of {unknown}"
    text = "nothing to make" if not estimate.seconds else duration(estimate.seconds)
    return f"{text}; not known of {unknown}" if unknown else text


def _permission(request: "OutgoingRequest", allowed: bool) -> str:
    words = ", ".join(map(quote, request.words[:FIRST])) + (", …" if len(request.words) > FIRST else "")
    consent = "allowed" if allowed else f"not allowed: --allow-send {request.host}"
    return f"{len(request.words):,} words: {words}; {consent}"


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a scenario key, for example anonymise.k=4. Repeatable.",
)


@click.command("run")
@click.argument("scenario", type=click.Path(path_type=Path))
@store_option
@set_option
@send_option
@click.option("--dry-run", is_flag=True, help="List the stages, the files and the words to send. Run nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of parallel processes. The results do not depend on it.  [default: number of cores]",
)
@click.option("--memory", metavar="SIZE", help="Memory limit for all processes, for example 4G.")
@click.option("--dask", metavar="ADDRESS", help="Use the workers of a Dask scheduler.")
@click.option("-k", "only", metavar="TEXT", help="Run only the variants whose name contains TEXT.")
@click.option("--brief", is_flag=True, help="Print only the line RESULT, warnings and expectations.")
@click.option("-v", "--verbose", is_flag=True, help="Print the seconds of each stage.")
@click.option("--figures", type=click.Path(path_type=Path), help="Write the figures as JSON Lines, for --against.")
@click.option("--against", metavar="FILE|RUN", help="Compare with earlier figures: no figure may be worse.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Accept figures that are worse by up to this share (--against).",
)
@ci_options
@form_option
def run_command(
    scenario: Path,
    store: Path,
    overrides: tuple[str, ...],
    allow_send: tuple[str, ...],
    dry_run: bool,
    jobs: int | None,
    memory: str | None,
    dask: str | None,
    only: str | None,
    brief: bool,
    verbose: bool,
    figures: Path | None,
    against: str | None,
    tolerance: float,
    junit: Path | None,
    sarif: Path | None,
    form: str,
) -> int:
    """Run a scenario: anonymise the data, attack the release, measure the result.

    decloak prints the verdict, the people exposed and a row for each attack. The store keeps the results, and decloak
    runs only stages that changed. `decloak show --help` lists the meaning of each figure.

    --against prints one line for each figure of exposure or loss that is worse than before, the worst first. FILE was
    written by --figures. RUN is a number, the name of a variant, or last. A tolerance of 0.01 accepts one point of a
    share, 1% of the people, and 1% of any other figure.

    Exit codes: 0 success; 2 invalid input, or a variant without a release; 3 an expectation failed or has no figure, or
    a figure is worse.
    """
    from decloak.memory import read_size
    from decloak.parallel import cores
    from decloak.pipeline.run import run
    from decloak.report.compare.runs import earlier_figures, figures_text, not_worse
    from decloak.report.verdict_lines import account_of

    if brief and verbose:
        raise DecloakError("--brief and --verbose exclude each other", hint="give one")
    if dry_run:
        print_dry_run(scenario, store, overrides, allow_send, only, form)
        return 0
    # Before the run, which may take hours: a wrong name should not wait for its end.
    earlier = None if against is None else earlier_figures(against, store)
    with warn_if_store_has_originals(store):
        with _progress(brief, verbose) as progress:
            done = run(
                scenario,
                store=store,
                overrides=overrides,
                progress=progress,
                allow_send=allow_send,
                only=only,
                jobs=jobs or cores(),
                memory=None if memory is None else read_size(memory),
                dask=dask,
            )
        account = account_of(done.store, [variant.run for variant in done.variants])
        # With -k the other variants did not run, and have not become worse.
        comparison = None if earlier is None else not_worse(earlier, done.measures, tolerance, some=only is not None)
        # The verdict goes to standard output before any talk, so that the worst news is first.
        _print(done, account, comparison, form, brief)
        _print_notes(done, brief)
        if figures is not None:
            write_text(figures_text(done.measures), figures)
        judged = [_judged(verdict, scenario) for verdict in done.verdicts]
        # A variant without a release was not judged, and must not look like a success to CI.
        judged += [Expected(f"{_titled(entry)}: release", None, f"no release: {entry.reason}", scenario.as_posix())
                   for entry in done.missing]  # fmt: skip
        if comparison is not None:
            _print_worse(comparison, str(against), tolerance)
            judged += _not_worse(done, comparison, str(against), scenario)
        write_ci(done.scenario, [account.verdict.text], judged, junit, sarif)
    worse = comparison is not None and comparison.worse
    if worse or not all(verdict.holds for verdict in done.verdicts):
        return EXIT_EXPECTATION
    return 0 if done.ok else EXIT_INPUT


def _print_worse(comparison: "ComparedFigures", against: str, tolerance: float) -> None:
    """Print the figures that are worse than those of `against` on stderr, the worst first."""
    names = dict.fromkeys(line.variant for line in comparison.worse)
    titles = dict(zip(names, short_titles(list(names)), strict=True))
    for line in comparison.worse:
        where = f" ({quote(titles[line.variant])[1:-1]})" if len(names) > 1 else ""
        say(filled(f"{quote(line.text, 300)[1:-1]}{where}", "  "), err=True)
    name = quote(against, 300)[1:-1]
    count = len(comparison.worse)
    worse = f"{count} {'line is' if count == 1 else 'lines are'} worse" if count else "no figure is worse"
    say(f"Compared {comparison.compared:,} figures of exposure or loss with {name}: {worse} (tolerance {tolerance:g}).",
        err=True)  # fmt: skip


def _not_worse(done: "Run", comparison: "ComparedFigures", against: str, scenario: Path) -> Iterator[Expected]:
    """Yield an expectation for each variant: no figure is worse than in `against`."""
    variants = [*(variant.name for variant in done.variants), *(line.variant for line in comparison.worse)]
    for variant in dict.fromkeys(variants):
        lines = [line.text for line in comparison.worse if line.variant == variant]
        said = "; ".join(lines) or "no figure is worse"
        yield Expected(f"{variant}: not worse than {against}", not lines, said, scenario.as_posix())


def _print(done: "Run", account: "Account", comparison: "ComparedFigures | None", form: str, brief: bool) -> None:
    """Print the result: for people the verdict, people exposed and strongest attacks; otherwise all figures."""
    from decloak.commands.risk_card import print_cards
    from decloak.pipeline.run import Measure

    if form == "json":
        cards = [card.as_json() for card in (*account.cards, *account.pooled)]
        pairs = [pair.as_json() for pair in account.pairs]
        worse = {} if comparison is None else {"worse": [line._asdict() for line in comparison.worse]}
        emit_json({"verdict": account.verdict.as_json(), "cards": cards, "pairs": pairs} | _as_json(done) | worse)
        return
    if form != "table":
        emit(Measure._fields, done.measures, form)
        return
    if brief:
        say(account.verdict.result)
        return
    say(f"{account.verdict.text}\n")
    print_cards(account, done.without_release)
    _print_tables(done, account)


def _print_tables(done: "Run", account: "Account") -> None:
    """Print the strongest attacks, the cost of each release, and the comparison of attacks."""
    from decloak.report.attack_table import attack_tables, idle_lines, release_rows, untested_lines
    from decloak.report.compare.attacks import describe_pairs

    attacks = attack_tables(done)
    for columns, rows in (*attacks.tables, release_rows(done)):
        if rows:
            emit(columns, rows, width=WIDTH)
            say("")
    if attacks.rows < attacks.of:
        example = done.variants[0].run
        more = f"`decloak show {example}` prints all figures of run {example}"
        say(filled(f"{attacks.rows} of {attacks.of} attack rows: the strongest of each variant. {more}."))
    for line in (*idle_lines(done), *untested_lines(done)):
        say(line)
    if account.pairs:
        say(filled(f"Comparison of attacks: {describe_pairs(account.pairs)}."))


def _judged(verdict: "Verdict", scenario: Path) -> Expected:
    name = f"{verdict.variant}: {verdict.expected}"
    return Expected(name, verdict.holds, verdict.text, scenario.as_posix(), verdict.line, verdict.column)


def _as_json(done: "Run") -> dict[str, object]:
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


def _run(variant: "RunVariant") -> dict[str, object]:
    attributes = ("run", "name", "repetition", "seed", "fresh", "notes")
    return {"variant" if key == "name" else key: getattr(variant, key) for key in attributes}


def notes(done: "Run") -> list[str]:
    """Return the notes of the runs, each once, with the names of its variants."""
    having: dict[str, dict[str, None]] = {}
    for variant in done.variants:
        for note in variant.notes:
            having.setdefault(note, {})[variant.name] = None
    variants = list(dict.fromkeys(variant.name for variant in done.variants))
    titles = dict(zip(variants, short_titles(variants), strict=True))
    return [
        note if len(names) == len(variants) else f"{note} ({_first([titles[name] for name in names])})"
        for note, names in having.items()
    ]


def _first(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _without_release(done: "Run") -> Iterator[str]:
    """Return a line for each variant and reason, with the number of repetitions without a release unless it is all."""
    ran = Counter(variant.name for variant in done.variants)
    counts = Counter((entry.variant, entry.reason) for entry in done.missing)
    lacking = Counter(entry.variant for entry in done.missing)
    for (variant, reason), count in counts.items():
        of = ran[variant] + lacking[variant]
        some = "" if count == of else f", {count} of {of} repetitions"
        yield f"{reason} ({quote(variant, 200)[1:-1]}{some})"


def _titled(entry: "Missing") -> str:
    return quote(entry.variant, 200)[1:-1] + (f" #{entry.repetition}" if entry.repetition > 1 else "")


def _print_notes(done: "Run", brief: bool) -> None:
    """Print warnings, missing releases and expectations on stderr, and unless `brief` notes and numbers of runs."""
    for note in (*(f"{WARNING}{warning}" for warning in done.warnings), *notes(done)):
        if note.startswith(WARNING):
            say(filled(quote(note, 600)[1:-1], "  "), err=True)
        elif not brief:
            say(filled(f"note: {quote(note, 300)[1:-1]}", "  "), err=True)
    for line in _without_release(done):
        say(filled(f"no release: {line}", "  "), err=True)
    names = list(dict.fromkeys(verdict.variant for verdict in done.verdicts))
    several, titles = len(names) > 1, dict(zip(names, short_titles(names), strict=True))
    for verdict in done.verdicts:
        where = f" ({quote(titles[verdict.variant])[1:-1]})" if several else ""
        say(filled(f"{verdict.text}{where}", "  "), err=True)
    if brief:
        return
    numbers = [variant.run for variant in done.variants]
    which = f"run {numbers[0]}" if len(numbers) == 1 else f"runs {min(numbers)} to {max(numbers)}"
    fresh = sum(variant.fresh for variant in done.variants)
    work = "" if fresh == len(numbers) else f" ({len(numbers) - fresh} of {len(numbers)} were there already)"
    saved = f"Saved as {which} in {location(done.store)}{work}."
    say(filled(f"{saved} Next: decloak show last, decloak report last"), err=True)


@contextmanager
def _progress(brief: bool, verbose: bool) -> Iterator["Progress"]:
    """Show the progress on stderr: a bar on a terminal, otherwise lines, with the time of every stage, or nothing."""
    from decloak.pipeline.progress import Progress
    from decloak.report.progress import HEARTBEAT, ProgressLines, Screen, StageTimes

    if brief:
        yield Progress()
        return
    if verbose or not sys.stderr.isatty():
        lines = StageTimes() if verbose else ProgressLines()
        # A log without a line for long looks like a process that hangs.
        with every(HEARTBEAT, lines.tick):
            yield lines
        return
    from rich.console import Console
    from rich.live import Live

    # Drawn by hand: a thread that does it would keep processes from being forked.
    console = Console(stderr=True, highlight=False)
    with Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as live:
        yield Screen(live)
