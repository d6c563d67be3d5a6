"""Options that several commands share."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.data.formats.lines import place
from decloak.errors import shown
from decloak.report.terminal import say

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "EXIT_EXPECTATION", "EXIT_INPUT", "form_option", "listed_choices", "progress_bar", "rows_option",
    "send_option", "store_option", "tell_runs", "told_of_originals",
]  # fmt: skip

EXIT_INPUT = 2
"""The exit code where what somebody asked for cannot be done."""
EXIT_EXPECTATION = 3
"""The exit code where all went well and something that was expected does not hold."""


def _noted(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Tell who runs the command which store it uses: where that is damaged, what goes wrong is no fault of ours."""
    if isinstance(context.obj, dict):
        context.obj["store"] = value
    return value


store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default="store.db",
    show_default=True,
    envvar="DECLOAK_STORE",
    callback=_noted,
    help="The SQLite file to use.",
)


send_option = click.option(
    "--allow-send",
    "allow_send",
    multiple=True,
    metavar="HOST",
    help="Words of the data may be sent to this host, now and with this scenario and its files; may be repeated.",
)


def _form(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return "json" if context.params.pop("as_json", False) else value


def form_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--format table|json|csv|md`, and `--json` for short."""
    command = click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv", "md"]),
        default="table",
        show_default=True,
        callback=_form,
        help="How to print rows.",
    )(command)
    return click.option("--json", "as_json", is_flag=True, is_eager=True, help="The same as --format json.")(command)


rows_option = click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=2_000_000,
    show_default=True,
    help="Rows beyond which a store keeps arrays alone, see `decloak rows`.",
)


def listed_choices(names: Iterable[str]) -> str:
    """Names as a help text lists them.

    >>> listed_choices(["basket", "long", "onehot"])
    'basket, long or onehot'
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}"


def tell_runs(connection: "sqlite3.Connection", *names: str) -> None:
    """Tell on stderr which runs these are that are not named by their numbers, such as last; once all is done."""
    from decloak.store.results import find_run, run_title

    for name in names:
        number = find_run(connection, name)
        if name != str(number):
            say(f"{shown(name)[1:-1]} is run {number}: {shown(run_title(connection, number), 300)[1:-1]}", err=True)


@contextmanager
def told_of_originals(store: Path) -> Iterator[None]:
    """Tell on stderr, when all is done, that a store has come to hold original data, or that others can read them."""
    from decloak.store.results import holds_originals

    before = holds_originals(store)
    try:
        yield
    finally:
        if holds_originals(store):
            name = place(store)
            if os.name == "posix" and store.stat().st_mode & 0o077:
                say(f"{name} holds the original data, and others can read it: chmod 600 {name}", err=True)
            elif not before:
                hint = "keep it, and hand out what `decloak publish` writes"
                say(f"{name} holds the original data from now on: {hint}", err=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Told how much of how much is done, a bar on stderr when somebody can see it; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, of: bar.update(task, completed=done, total=of)
