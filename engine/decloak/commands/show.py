"""`show`: the figures of a run.

The figures of runs by family, each family a table of its own, with titles; only what says something.

Columns without values are left out. A family with equal values for every attack has one row.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click

from decloak.commands.options import form_option, print_run_titles, store_option
from decloak.data.repeats import WARNING
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.figures import WAYS, Metric
from decloak.measure.family import Family
from decloak.measure.registry import FAMILIES, families_in_words, metrics_by_key
from decloak.report.risk_card import ROWS
from decloak.report.table import as_count, emit
from decloak.report.terminal import say
from decloak.report.wording import WIDTH, filled
from decloak.store import results
from decloak.store.opening import connect_readonly
from decloak.store.results import PooledFigure, chosen_runs

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
        print_run_titles(connection, run)
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
    from decloak.report.attack_table import coverage_lines
    from decloak.report.verdict_lines import account_of

    with closing(connect_readonly(store)) as connection:
        runs = [run.run for run in chosen_runs(connection, [str(number)])]
    account = account_of(store, runs)
    say(f"{account.verdict.text}\n")
    print_cards(account, costs=True)
    with closing(connect_readonly(store)) as connection:
        figures = results.pooled_figures(connection, number)
        measured = results.measured_families(connection, number)
    # Controls must fail: beside attacks they would look like weak ones.
    if not controls:
        figures = {key: figure for key, figure in figures.items() if knows.get(key[1]) != "control"}
    for table in family_tables(figures, measured, knows):
        say(table.title)
        emit(table.columns, table.rows, "table", width=WIDTH)
        say("")
    for line in coverage_lines(figures):
        say(line)
    print_pairs(account.pairs)


Figures = Mapping[tuple[str, str], PooledFigure]
ALL = "all attacks"
LINES = ("figure", "original data", "release", "control", "attack", "after attack", "baseline")


class Grouped(NamedTuple):
    """The table of one family."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def family_tables(figures: Figures, measured: Collection[str], knows: Mapping[str, str | None]) -> Iterator[Grouped]:
    """Yield a table for each family that was measured; the card has the other figures of exposure.

    `knows` names the knowledge of each attack.
    """
    attacks = list(dict.fromkeys(attack for _, attack in figures))
    for family in (family for family in FAMILIES if family.name in measured):
        if family.ways_in_columns:
            if lines := _lines(family, figures):
                yield Grouped(f"{family.name}: {family.about}", LINES, lines)
            continue
        shown = [metric for metric in family.metrics if any((metric.key, attack) in figures for attack in attacks)]
        if shown:
            rows = [[row[0], knows.get(row[0]), *row[1:]] for row in _rows(family, shown, attacks, figures)]
            if rows:
                columns = ("attack", "attacker knows", *(metric.title for metric in shown))
                yield Grouped(f"{family.name}: {family.about}", columns, rows)


def _lines(family: Family, figures: Figures) -> list[list[str | None]]:
    """Return a line for each figure that no card has, and each attack that has it."""
    attacks = list(dict.fromkeys(attack for _, attack in figures))
    on_card = {row.key for row in ROWS}
    lines: list[list[str | None]] = []
    for key, ways in family.lines.items():
        if key in on_card:
            continue
        of = {ending: [_in_people(metric, figures, attack) for attack in attacks] for ending, metric in ways.items()}
        none: list[str | None] = [None] * len(attacks)
        bare = ways.get("")
        if bare is not None and bare.of_release:
            # What the release alone has is no figure after an attack.
            of["_release"] = of.pop("")
        alone = [next(filter(None, of.get(ending, ())), None) for ending in ("_original", "_release", "_control")]
        done = zip(attacks, of.get("", none), of.get("_baseline", none), strict=True)
        attacked = [[attack, *values] for attack, *values in done if any(values)]
        if any(alone) or attacked:
            ending, metric = next(iter(ways.items()))
            title = metric.title.removesuffix(f", {WAYS[ending]}")
            # A figure that no attack has keeps its line.
            lines += [[title, *alone, *after] for after in attacked or [[None] * 3]]
    return lines


def _in_people(metric: Metric, figures: Figures, attack: str) -> str | None:
    """Return a figure of an attack in words, with the number of people that it counts among."""
    figure = figures.get((metric.key, attack))
    if figure is None or figure.value is None:
        return None
    if not metric.count:
        ends = [figures.get((f"{metric.key}_{side}", attack)) for side in ("low", "high")]
        low, high = (None if end is None else end.value for end in ends)
        around = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        return f"{figure.value:.3f}{around}"
    value = f"{figure.value:,.0f}" if figure.value == round(figure.value) else f"{figure.value:,.1f}"
    return value if figure.whole is None else f"{value} of {figure.whole:,.0f}"


def _rows(family: Family, shown: list[Metric], attacks: Sequence[str], figures: Figures) -> list[list[Any]]:
    """Return the rows of a table, and leave in `shown` only the columns with values."""
    values: dict[str, JsonObject] = {}
    for attack in attacks:
        if any((metric.key, attack) in figures for metric in shown):
            values[attack] = {metric.key: _value(figures.get((metric.key, attack)), metric) for metric in shown}
    shown[:] = [metric for metric in shown if any(of_attack[metric.key] is not None for of_attack in values.values())]
    rows = [[attack, *(of_attack[metric.key] for metric in shown)] for attack, of_attack in values.items()]
    # A figure of the release is the same below every attack.
    if len(rows) > 1 and all(row[1:] == rows[0][1:] for row in rows) and family.of_release:
        return [[ALL, *rows[0][1:]]]
    return rows if shown else []


def _value(figure: PooledFigure | None, metric: Metric) -> float | int | str | None:
    if figure is None or figure.value is None:
        return None
    if metric.count and figure.value == round(figure.value):
        whole = round(figure.value)
        return f"{whole:,} of {figure.whole:,.0f}" if figure.whole is not None and metric.before else whole
    return figure.value
