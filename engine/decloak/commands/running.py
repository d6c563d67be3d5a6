"""`run` and `validate`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.commands.options import EXIT_EXPECTATION, form_option, store_option
from decloak.data.formats.lines import place
from decloak.errors import shown
from decloak.report.table import emit, emit_json

if TYPE_CHECKING:
    from decloak.runs.runner import Measure, Progress, Run, RunVariant

__all__ = ["run_command", "validate_command"]

scenario_argument = click.argument("scenario", type=click.Path(path_type=Path))
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Put a value on top of the scenario, such as anonymise.size=4; may be repeated.",
)


@click.command("run")
@scenario_argument
@store_option
@set_option
@form_option
def run_command(scenario: Path, store: Path, overrides: tuple[str, ...], form: str) -> int:
    """Run a scenario and print what its attacks won back.

    What the store has already is not done again. `decloak show --help` says what the figures mean. Exit code 3: an
    expectation does not hold.
    """
    from decloak.runs.runner import run

    with _progress() as progress:
        done = run(scenario, store=store, overrides=overrides, progress=progress)
    if form == "json":
        emit_json(_as_json(done))
    else:
        columns, rows = measure_rows(done)
        emit(columns, rows, form)
    _talk(done)
    return 0 if done.ok else EXIT_EXPECTATION


@click.command("validate")
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@set_option
def validate_command(scenarios: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Check scenarios without running them: every key, rule and variant, and that the files are there."""
    from decloak.runs.checking import plans
    from decloak.scenario.model import load

    for scenario in scenarios:
        count = len(plans(load(scenario, overrides)))
        click.echo(f"{scenario}: valid, {count} {'run' if count == 1 else 'runs'}")


def measure_rows(done: "Run") -> tuple[list[str], list[list[Any]]]:
    """The results as a table: a row per variant and attack, a column per measure."""
    from decloak.measure.registry import figures

    several = len({one.name for one in done.variants}) > 1
    cells = {(one.variant, one.attack, one.measure): one for one in done.measures}
    measured = {one.measure for one in done.measures}
    # Every strike is a finding: the column says something new only beside rules that strike nothing.
    telling = measured if _others(done) else measured - {"findings"}
    present = [figure for figure in figures().values() if figure.column and figure.name in telling]
    columns = [*(["variant"] if several else []), "attack", *(figure.title for figure in present)]
    rows = []
    for variant, attack in dict.fromkeys((one.variant, one.attack) for one in done.measures):
        values = [_with_interval(cells.get((variant, attack, figure.name)), figure.count) for figure in present]
        rows.append([*([variant] if several else []), attack, *values])
    return columns, rows


def _others(done: "Run") -> bool:
    counted = {one.attack for one in done.measures if one.measure in ("struck", "assigned")}
    return any(one.attack not in counted for one in done.measures)


def _with_interval(one: "Measure | None", count: bool) -> str | float | int | None:
    """The mean with its 95% interval where repetitions differ, a whole number where it counts something."""
    if one is None or one.value is None:
        return None
    if one.low is not None and one.value - one.low > 1e-9:
        digits = 1 if one.value >= 100 else 3
        return f"{one.value:.{digits}f} ±{one.value - one.low:.{digits}f}"
    return round(one.value) if count else one.value


def _as_json(done: "Run") -> dict[str, Any]:
    return {
        "scenario": done.scenario,
        "store": str(done.store),
        "ok": done.ok,
        "runs": [_run(one) for one in done.variants],
        "measures": [one._asdict() for one in done.measures],
        "expect": [one._asdict() for one in done.verdicts],
        "notes": notes(done),
    }


def _run(one: "RunVariant") -> dict[str, Any]:
    said = {"run": one.run, "variant": one.name, "repetition": one.repetition, "seed": one.seed, "fresh": one.fresh}
    return {**said, "notes": one.notes}


def notes(done: "Run") -> list[str]:
    """What runs could not measure or use, each said once, with the variants it is of where it is not of all."""
    having: dict[str, dict[str, None]] = {}
    for one in done.variants:
        for note in one.notes:
            having.setdefault(note, {})[one.name] = None
    count = len({one.name for one in done.variants})
    return [note if len(some) == count else f"{_first(list(some))}: {note}" for note, some in having.items()]


def _first(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _talk(done: "Run") -> None:
    """What goes to stderr: notes, expectations, and where the results are."""
    for note in notes(done):
        click.echo(f"note: {shown(note, 300)[1:-1]}", err=True)
    several = len({one.variant for one in done.verdicts}) > 1
    for verdict in done.verdicts:
        where = f"{shown(verdict.variant)[1:-1]}: " if several else ""
        click.echo(f"expect: {where}{verdict.text}", err=True)
    numbers = [one.run for one in done.variants]
    which = f"run {numbers[0]}" if len(numbers) == 1 else f"runs {min(numbers)} to {max(numbers)}"
    fresh = sum(one.fresh for one in done.variants)
    work = "" if fresh == len(numbers) else f" ({len(numbers) - fresh} of {len(numbers)} were there already)"
    click.echo(f"{which} in {place(done.store)}{work}", err=True)


@contextmanager
def _progress() -> Iterator["Progress | None"]:
    """A line on stderr that says what is being done, when somebody can see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    from decloak.runs.runner import Progress

    with Console(stderr=True).status(Text("reading")) as status:

        class _Line(Progress):
            variant = ""

            def begin(self, variant: str, number: int, of: int) -> None:
                self.variant = f"{number}/{of} {shown(variant, 80)[1:-1]}"

            def stage(self, name: str) -> None:
                status.update(Text(f"{self.variant}: {name}"))

        yield _Line()
