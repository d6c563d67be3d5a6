"""`show`: the figures of a run."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import form_option, store_option, tell_runs
from decloak.data.repeats import WARNING
from decloak.errors import DecloakError, quote
from decloak.measure.registry import families_in_words, metrics_by_key
from decloak.report.table import as_count, emit
from decloak.report.terminal import say
from decloak.report.wording import WIDTH, filled
from decloak.store import results
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs

__all__ = ["show_command"]

HELP = f"""\
Show all figures of RUN: a number, the name of a variant, or last.

decloak prints the verdict and the people exposed, with all repetitions and
variants. Then it prints every family of figures of this run. JSON and CSV
have one row per figure. A share is the column part divided by the column of.

{families_in_words()}
"""


@click.command("show", help=HELP)
@click.argument("run", default="last")
@click.option("--controls", is_flag=True, help="Print negative controls and ablations as well.")
@click.option("--tables", is_flag=True, help="Show each distance table separately.")
@store_option
@form_option
def show_command(run: str, controls: bool, tables: bool, store: Path, form: str) -> None:
    """Print the measures of a run."""
    counts = {key for key, metric in metrics_by_key().items() if metric.count}
    with closing(connect_readonly(store)) as connection:
        number = results.find_run(connection, run)
        knows = {attack.label: attack.knows or None for attack in results.attacks_of(connection, number)}
        rows, notes = results.run_figures(connection, number, tables=tables), results.notes_of(connection, number)
        if not rows:
            raise DecloakError("the run has no such measures", hint="run its scenario with measure: [recovery]")
        tell_runs(connection, run)
    if form == "table" and not tables:
        _print_grouped(store, number, knows, controls)
    else:
        printed = [
            (
                *(attack, knows[attack], *([table] if tables else [])),
                *(measure, as_count(value) if measure in counts else value, *map(as_count, of)),
            )
            for attack, table, measure, value, *of in rows
        ]
        emit(
            ("attack", "knows", *(["table"] if tables else []), "measure", "value", "part", "of"),
            printed,
            form,
        )
    for note in notes:
        prefix = "" if note.startswith(WARNING) else "note: "
        say(filled(f"{prefix}{quote(note, 300)[1:-1]}", "  "), err=True)


def _print_grouped(store: Path, number: int, knows: Mapping[str, str | None], controls: bool) -> None:
    """Print the verdict of the run with its repetitions and variants, people exposed, and a table for each family."""
    from decloak.commands.risk_card import print_cards, print_pairs
    from decloak.report.account import account_of
    from decloak.report.attack_table import coverage_lines
    from decloak.report.grouped import family_tables

    with closing(connect_readonly(store)) as connection:
        runs = [run.run for run in chosen_runs(connection, [str(number)])]
    account = account_of(store, runs)
    say(f"{account.verdict.text}\n")
    print_cards(account, costs=True)
    with closing(connect_readonly(store)) as connection:
        figures = results.pooled_figures(connection, number)
        measured = results.measured_families(connection, number)
    if not controls:
        figures = {key: figure for key, figure in figures.items() if knows.get(key[1]) != "control"}
    for table in family_tables(figures, measured, knows):
        say(table.title)
        emit(table.columns, table.rows, "table", width=WIDTH)
        say("")
    for line in coverage_lines(figures):
        say(line)
    print_pairs(account.pairs)
