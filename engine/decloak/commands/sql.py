"""The command `sql`: query the store, read-only."""

from pathlib import Path

import click

from decloak.commands.options import form_option, store_option
from decloak.report.table import emit

__all__ = ["sql_command"]


@click.command("sql")
@click.argument("query")
@store_option
@form_option
def sql_command(query: str, store: Path, form: str) -> None:
    """Query the store with SQL (read-only).

    The views result, named_eliminated and named_cell contain names. `decloak schema` describes all tables and views.
    In the table request, the row with the highest id belongs to the run that other commands call last.
    """
    from decloak.store.opening import current_file
    from decloak.store.sandbox_guard import ask

    with current_file(store) as file, ask(file, query, held=form == "table") as (columns, rows):
        emit(columns, rows, form)
