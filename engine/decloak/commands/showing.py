"""`show`: the figures of a run."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import form_option, store_option, tell_runs
from decloak.errors import DecloakError, shown
from decloak.measure.registry import families_in_words, figure_titles
from decloak.report.table import as_count, emit
from decloak.report.terminal import say
from decloak.store import results
from decloak.store.opening import connect_readonly
from decloak.store.studies import chosen_runs

__all__ = ["show_command"]

HELP = f"""\
Print the measures of RUN: a number, a variant's name, or last.

First the verdict and the people exposed, of the run with its repetitions and
variants; then every family of figures of the run alone. As JSON or CSV every figure has a row, and a
value that is a share is the column part by the column of.

{families_in_words()}
"""


@click.command("show", help=HELP)
@click.argument("run", default="last")
@click.option("--tables", is_flag=True, help="Every distance table instead of all of them pooled.")
@store_option
@form_option
def show_command(run: str, tables: bool, store: Path, form: str) -> None:
    """Print the measures of a run."""
    counts = {figure.name for figure in figure_titles().values() if figure.count}
    with closing(connect_readonly(store)) as connection:
        number = results.find_run(connection, run)
        knows = {attack.label: attack.knows or None for attack in results.attacks_of(connection, number)}
        rows, notes = results.run_figures(connection, number, tables=tables), results.notes_of(connection, number)
        if not rows:
            raise DecloakError("the run has no such measures", hint="run its scenario with measure: [recovery]")
        tell_runs(connection, run)
    if form == "table" and not tables:
        _print_grouped(store, number, knows)
    else:
        printed = [
            (
                *(attack, knows[attack], *([table] if tables else [])),
                *(measure, as_count(value) if measure in counts else value, *map(as_count, of)),
            )
            for attack, table, measure, value, *of in rows
        ]
        emit(("attack", "knows", *(["table"] if tables else []), "measure", "value", "part", "of"), printed, form)
    for note in notes:
        say(f"note: {shown(note, 300)[1:-1]}", err=True)


def _print_grouped(store: Path, number: int, knows: Mapping[str, str | None]) -> None:
    """Print the verdict of the run with its repetitions and variants, people exposed, and a table for each family."""
    from decloak.commands.carding import account_of, print_cards, print_pairs
    from decloak.report.grouped import family_tables

    with closing(connect_readonly(store)) as connection:
        runs = [run.run for run in chosen_runs(connection, [str(number)])]
    account = account_of(store, runs)
    say(f"{account.verdict.text}\n")
    print_cards(account)
    with closing(connect_readonly(store)) as connection:
        figures = results.pooled_figures(connection, number)
        measured = results.measured_families(connection, number)
    for table in family_tables(figures, measured, knows):
        say(table.title)
        emit(table.columns, table.rows, "table")
        say("")
    if account.pairs:
        print_pairs(account.pairs)
