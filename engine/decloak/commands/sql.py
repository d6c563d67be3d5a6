"""The command `sql`: query the store, read-only."""

from pathlib import Path

import click

from decloak.commands.options import form_option, store_option
from decloak.report.table import emit


@click.command("sql")
@click.argument("query")
@store_option
@click.option("--parts", is_flag=True, help="Query records in files, with DuckDB: tables record and contains.")
@form_option
def sql_command(query: str, store: Path, parts: bool, form: str) -> None:
    """Query the store with SQL (read-only).

    The views result, named_eliminated and named_cell contain names. `decloak schema` describes all tables and views.
    In the table request, the row with the highest id belongs to the run that other commands call last.
    """
    from decloak.store.opening import current_file
    from decloak.store.sandbox_guard import ask

    if parts:
        from decloak.store.files_sql import ask_files

        with ask_files(store, query) as (columns, rows):
            emit(columns, rows, form)
        return
    with current_file(store) as file, ask(file, query, held=form == "table") as (columns, rows):
        emit(columns, rows, form)
