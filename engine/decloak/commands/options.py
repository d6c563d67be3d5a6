"""Options that several commands share."""

from pathlib import Path

import click

__all__ = ["form_option", "store_option"]

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
