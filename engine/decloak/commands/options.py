"""Options that several commands share.

The reading of data files by commands: with the options of the command, or with the detected format.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.data.formats.lines import FilePath, location
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.report.terminal import say

if TYPE_CHECKING:
    import sqlite3

    from decloak.data.dataset import Dataset
    from decloak.data.formats.look import Reading
    from decloak.data.formats.record import Options


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
    # Commands have one parameter for the output, and --json is only another name for a value of it.
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
    # Eager: its value must be there when `_form` reads it.
    return click.option("--json", "as_json", is_flag=True, is_eager=True, help="Short for --format json.")(command)


def listed_choices(names: Iterable[str]) -> str:
    """Return `names` as a help text lists them.

    >>> listed_choices(["basket", "long", "onehot"])
    'basket, long or onehot'
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}"


def print_run_titles(connection: "sqlite3.Connection", *names: str) -> None:
    """Print on stderr the number and title of each run that is named by a word, such as last; once all is done."""
    from decloak.report.wording import filled
    from decloak.store.results import find_run, run_title

    for name in dict.fromkeys(names):
        number = find_run(connection, name)
        if name != str(number):
            said = f"{quote(name)[1:-1]} is run {number}: {quote(run_title(connection, number), 300)[1:-1]}"
            say(filled(said, "  "), err=True)


@contextmanager
def warn_if_store_has_originals(store: Path) -> Iterator[None]:
    """Print on stderr, when all is done, that a store now contains original data, or that other users can read it."""
    from decloak.report.wording import filled
    from decloak.store.results import holds_originals

    # A store that had originals before is no news, unless others can read it.
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


HEADED = ("disassociated", "generalised", "itemset-table")
"""The formats of release files, which name their own format."""
_SPELT = {"tab": "\t", "blank": " "}
"""Separators that are awkward to type."""


def _mark(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else _SPELT.get(value, value)


def reading_options(command: click.decorators.FC) -> click.decorators.FC:
    """`--ids`, `--separator`, `--within`, `--header-line`, `--repeats` and `--as-said`."""
    by_word = "The character between names, when it is not a comma; tab and blank by these words."
    for option in (
        click.option("--as-said", is_flag=True, help="Keep these options, also if the file seems to need others."),
        click.option("--repeats", is_flag=True, help="Accept repeated records and ids: they are no copies."),
        click.option(
            "--header-line", "header", is_flag=True, help="The first line contains column names (basket, xlsx)."
        ),
        click.option("--header-row", type=click.IntRange(min=1), help="Line with the column names.  [default: 1]"),
        click.option("--fill-down", is_flag=True, help="A row without an id belongs to the id above (long)."),
        click.option("--column", "columns", multiple=True, help="Column whose values become items: sex=f. Repeatable."),
        click.option("--within", callback=_mark, help="Character between items of one value: p1,milk|tea."),
        click.option("--separator", callback=_mark, help=by_word),
        click.option("--ids", is_flag=True, help="The first value of each line is the record id."),
    ):
        command = option(command)
    return command


def plain_options(parameters: JsonObject) -> "Options":
    """Return the options for reading plain files among the `parameters` of a command."""
    from decloak.data.formats.record import Options  # with numpy, which a query does not need

    return Options(**{name: value for name, value in parameters.items() if name in Options._fields and value})


def reading_of(file: Path, kind: str | None, options: "Options", option: str) -> tuple[FilePath, str, "Options"]:
    """Return the file, its kind and its options: as they are given, else as `look_reading` finds them."""
    if kind is not None:
        return file, kind, options
    source, reading = look_reading(file, options, option)
    return source, reading.format, reading.options


def look_reading(file: Path, options: "Options", option: str) -> tuple[FilePath, "Reading"]:
    """Detect the format of a file and print it on stderr. Raise an error if the format is uncertain or contradicts the
    options.

    A release file says itself what it is. A pipe is returned as a file with its content.
    """
    from decloak.data.formats.look import Reading, look
    from decloak.data.formats.unpacked import unpacked_file

    # A pipe can be read once, and both the look and the reader need it.
    source: FilePath = file if file.is_file() or file.is_dir() else unpacked_file(file)
    seen = look(source, contents=False)
    # Repeats are the user's word: no look at a file can show that they are meant.
    settings = Reading("", options._replace(repeats=False)).settings.items()
    if settings and seen.problem is None:
        fitting = [choice for choice in (seen.reading, *seen.alternatives) if settings <= choice.settings.items()]
        if not fitting:
            hint = f"say with {option} what it is, or leave all to the look"
            raise DecloakError(f"seems to be {seen.reading}, not what the options say", str(file), hint)
        reading = fitting[0]
    else:
        reading = seen.sure_reading(option)
    reading = reading._replace(options=reading.options._replace(repeats=options.repeats))
    if reading.format not in HEADED:
        say(f"note: read as {reading} (detected)", err=True)
    return source, reading


def read_plain(file: FilePath, kind: str, options: "Options", *, as_said: bool) -> "Dataset":
    """Read records in a given format. A contradiction is an error, and a doubt is a warning on stderr."""
    from decloak.data.formats.look_check import read_fitting

    data = read_fitting(file, kind, options, as_said=as_said)
    for warning in data.warnings:
        say(f"WARNING: {warning}", err=True)
    return data


def flags(reading: "Reading") -> str:
    """Return the options that give this reading."""
    words = ["--input", reading.format]
    names = {mark: name for name, mark in _SPELT.items()}
    for name, value in reading.settings.items():
        flag = {"header": "--header-line", "columns": "--column"}.get(name, f"--{name.replace('_', '-')}")
        for one in value if isinstance(value, tuple) else (value,):
            words += [flag] if one is True else [flag, shlex.quote(names.get(one, str(one)))]
    return " ".join(words)
