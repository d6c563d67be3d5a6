"""Options that several commands share."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.data.formats.lines import location
from decloak.errors import quote
from decloak.report.terminal import say

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "EXIT_EXPECTATION", "EXIT_INPUT", "form_option", "listed_choices", "progress_bar",
    "send_option", "store_option", "tell_runs", "told_of_originals",
]  # fmt: skip

EXIT_INPUT = 2
"""The exit code of invalid input."""
EXIT_EXPECTATION = 3
"""The exit code of a failed expectation."""


def _noted(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Record the store of the command, so that a damaged store is reported as the cause of a failure."""
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
    help="SQLite file for the results. It contains the original data: do not share it.",
)


send_option = click.option(
    "--allow-send",
    "allow_send",
    multiple=True,
    metavar="HOST",
    help="Allow this run to send item names to HOST. Repeatable.",
)


def _form(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return "json" if context.params.pop("as_json", False) else value


def form_option(command: click.decorators.FC) -> click.decorators.FC:
    """Add the options `--format` and `--json` to a `command`."""
    command = click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv", "md"]),
        default="table",
        show_default=True,
        callback=_form,
        help="Output format.",
    )(command)
    return click.option("--json", "as_json", is_flag=True, is_eager=True, help="Short for --format json.")(command)


def listed_choices(names: Iterable[str]) -> str:
    """Names as a help text lists them.

    >>> listed_choices(["basket", "long", "onehot"])
    'basket, long or onehot'
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}"


def tell_runs(connection: "sqlite3.Connection", *names: str) -> None:
    """Print on stderr the number and title of each run that is named by a word, such as last; once all is done."""
    from decloak.report.wording import filled
    from decloak.store.results import find_run, run_title

    for name in names:
        number = find_run(connection, name)
        if name != str(number):
            said = f"{quote(name)[1:-1]} is run {number}: {quote(run_title(connection, number), 300)[1:-1]}"
            say(filled(said, "  "), err=True)


@contextmanager
def told_of_originals(store: Path) -> Iterator[None]:
    """Print on stderr, when all is done, that a store now contains original data, or that other users can read it."""
    from decloak.report.wording import filled
    from decloak.store.results import holds_originals

    before = holds_originals(store)
    try:
        yield
    finally:
        if holds_originals(store):
            name = location(store)
            if os.name == "posix" and store.stat().st_mode & 0o077:
                said = f"WARNING: {name} contains the original data, and other users can read it. Run:"
                say(f"{filled(said)}\n  chmod 600 {name}", err=True)
            elif not before:
                hint = "Share only files written by `decloak publish`."
                say(filled(f"CONFIDENTIAL: {name} contains the original data. {hint}"), err=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show the progress as a bar on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, of: bar.update(task, completed=done, total=of)
