"""The command `runs`: list the runs of a store."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import form_option, store_option
from decloak.report.table import emit
from decloak.store import results
from decloak.store.opening import connect_readonly


@click.command("runs")
@store_option
@form_option
def runs_command(store: Path, form: str) -> None:
    """List the runs of a store."""
    with closing(connect_readonly(store)) as connection:
        rows = results.list_runs(connection)
    emit(("run", "scenario", "variant", "repetition", "started", "attacks"), rows, form)
