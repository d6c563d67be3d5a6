"""How commands read a file: as the command says, or as a look finds it to be, which is told."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.data.formats.lines import FilePath
from decloak.data.formats.record import Options
from decloak.errors import DecloakError
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset
    from decloak.data.formats.look import Reading

__all__ = ["HEADED", "flags", "look_reading", "plain_options", "read_plain", "reading_of", "reading_options"]

HEADED = ("disassociated", "generalised")
"""What a look calls the release files that say themselves what they are."""
_SPELT = {"tab": "\t", "blank": " "}
"""Separators that are awkward to type."""


def _mark(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else _SPELT.get(value, value)


def reading_options(command: click.decorators.FC) -> click.decorators.FC:
    """`--ids`, `--separator`, `--within`, `--header-line`, `--repeats` and `--as-said`."""
    by_word = "The character between names, when it is not a comma; tab and blank by these words."
    for option in (
        click.option("--as-said", is_flag=True, help="Read the file as said even where it does not look so."),
        click.option("--repeats", is_flag=True, help="Records and ids that repeat are meant: nothing is a copy."),
        click.option("--header-line", "header", is_flag=True, help="The first line names columns (basket, xlsx)."),
        click.option("--within", callback=_mark, help="The character between names inside one value: p1,milk|tea."),
        click.option("--separator", callback=_mark, help=by_word),
        click.option("--ids", is_flag=True, help="The first name of a line is the transaction's id."),
    ):
        command = option(command)
    return command


def plain_options(parameters: dict[str, Any]) -> Options:
    return Options(**{name: value for name, value in parameters.items() if name in Options._fields and value})


def reading_of(file: Path, kind: str | None, options: Options, option: str) -> tuple[FilePath, str, Options]:
    """How a file is read: as a kind that is said, else as `look_reading` has it."""
    if kind is not None:
        return file, kind, options
    source, reading = look_reading(file, options, option)
    return source, reading.format, reading.options


def look_reading(file: Path, options: Options, option: str) -> tuple[FilePath, "Reading"]:
    """What a look takes a file for, told on stderr; an error where it is not sure, or sees what the options deny.

    A release file says itself what it is. The file comes back to be read: a pipe with what was in it.
    """
    from decloak.data.formats.look import Reading, look
    from decloak.data.formats.unpacked import unpacked_file

    source: FilePath = file if file.is_file() or file.is_dir() else unpacked_file(file)
    seen = look(source)
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
        say(f"note: read as {reading}, by the look of it", err=True)
    return source, reading


def read_plain(file: FilePath, kind: str, options: Options, *, as_said: bool) -> "Dataset":
    """Transactions of a format that is said; what does not fit is an error, what is doubtful a warning on stderr."""
    from decloak.data.formats.look_fit import read_fitting

    data = read_fitting(file, kind, options, as_said=as_said)
    for warning in data.warnings:
        say(f"WARNING: {warning}", err=True)
    return data


def flags(reading: "Reading") -> str:
    """What to type so that a file is read so."""
    words = ["--input", reading.format]
    names = {mark: name for name, mark in _SPELT.items()}
    for name, value in reading.settings.items():
        flag = "--header-line" if name == "header" else f"--{name}"
        words += [flag] if value is True else [flag, shlex.quote(names.get(value, value))]
    return " ".join(words)
