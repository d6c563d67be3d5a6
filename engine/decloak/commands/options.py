"""Options that several commands share."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

__all__ = ["EXIT_EXPECTATION", "form_option", "listed_choices", "progress_bar", "store_option"]

EXIT_EXPECTATION = 3
"""The exit code where all went well and something that was expected does not hold."""

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default="store.db",
    show_default=True,
    envvar="DECLOAK_STORE",
    help="The SQLite file to use.",
)


def _form(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return "json" if context.params.pop("as_json", False) else value


def form_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--format table|json|csv`, and `--json` for short."""
    command = click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        show_default=True,
        callback=_form,
        help="How to print rows.",
    )(command)
    return click.option("--json", "as_json", is_flag=True, is_eager=True, help="The same as --format json.")(command)


def listed_choices(names: Iterable[str]) -> str:
    """Names as a help text lists them.

    >>> listed_choices(["basket", "long", "onehot"])
    'basket, long or onehot'
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}"


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
