"""`runs`, `compare` and `explain`: what is in a store."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from decloak.commands.options import form_option, store_option
from decloak.errors import DecloakError, shown
from decloak.report.table import emit, emit_json
from decloak.store import results
from decloak.store.opening import connect_readonly

__all__ = ["compare_command", "explain_command", "runs_command"]


@click.command("runs")
@store_option
@form_option
def runs_command(store: Path, form: str) -> None:
    """List the runs of a store."""
    with closing(connect_readonly(store)) as connection:
        rows = results.runs(connection)
    emit(("run", "scenario", "variant", "repetition", "started", "attacks"), rows, form)


@click.command("compare")
@click.argument("first")
@click.argument("second")
@store_option
@form_option
def compare_command(first: str, second: str, store: Path, form: str) -> None:
    """Compare the pooled measures of two runs, attack by attack."""
    with closing(connect_readonly(store)) as connection:
        one, other = (results.pooled_figures(connection, results.find_run(connection, run)) for run in (first, second))
    rows = []
    for measure, attack in dict.fromkeys((*one, *other)):
        values = one.get((measure, attack)), other.get((measure, attack))
        change = None if None in values else values[1] - values[0]  # type: ignore[operator]
        rows.append((attack, measure, *values, change))
    names = (first, second) if first != second else (first, f"{second} again")
    emit(("attack", "measure", *names, "change"), rows, form)


@click.command("explain")
@click.argument("run")
@click.argument("transaction", required=False)
@click.argument("item", required=False)
@click.option("--attack", "label", metavar="NAME", help="Only this attack of the run.")
@click.option("--finding", type=int, metavar="NUMBER", help="One finding, with the rows behind it.")
@click.option("--most", type=click.IntRange(min=1), default=10, show_default=True, help="Findings to list per attack.")
@click.option("--graph", "graph", is_flag=True, help="Print the evidence as a graph instead, as node-link JSON.")
@store_option
@form_option
def explain_command(
    run: str,
    transaction: str | None,
    item: str | None,
    label: str | None,
    finding: int | None,
    most: int,
    graph: bool,
    store: Path,
    form: str,
) -> None:
    """Say why ITEM was struck from TRANSACTION in RUN: a number, a variant's name, or last.

    Without an item the findings of the run are listed; a finding of any rule is explained by its number.
    """
    if (transaction is None) != (item is None) or (transaction is not None and finding is not None):
        raise DecloakError("explain takes a transaction and an item, or --finding, or neither", hint="name both")
    with closing(connect_readonly(store)) as connection:
        number = results.find_run(connection, run)
        if transaction is not None and item is not None:
            _explain_item(connection, number, transaction, item, label, graph, form)
        elif finding is not None:
            _explain_finding(connection, store, number, finding, graph, form)
        else:
            from decloak.rules.explain import list_findings

            emit(("attack", "finding", "because"), list_findings(connection, number, label, most), form)


def _explain_item(
    connection: sqlite3.Connection, run: int, transaction: str, item: str, label: str | None, graph: bool, form: str
) -> None:
    from decloak.rules.explain import explain

    found = explain(connection, run, transaction, item, label)
    if graph:
        _print_graph(connection, [one.finding for one in found if one.finding is not None])
    elif form == "json":
        emit_json([one.as_json() for one in found])
    elif form == "csv":
        emit(("attack", "finding", "because"), [(one.attack, one.finding, one.sentence) for one in found], form)
    else:
        click.echo("\n".join(line for one in found for line in _lines(one)))


def _explain_finding(
    connection: sqlite3.Connection, store: Path, run: int, finding: int, graph: bool, form: str
) -> None:
    from decloak.rules.explain import explain_finding
    from decloak.store import graph as graphs

    found, evidence = explain_finding(connection, store, run, finding)
    if graph and evidence:
        click.echo(graphs.serialise(graphs.facts(finding, evidence), "json"))
    elif graph:
        _print_graph(connection, [finding])
    elif form == "json":
        emit_json(found._asdict() | {"evidence": [one._asdict() for one in evidence]})
    else:
        click.echo(f"{shown(found.attack)[1:-1]}: {shown(found.sentence, 1000)[1:-1]}")
        for one in evidence:
            click.echo(f"\n{one.step}:")
            emit(one.columns, one.rows, form)


def _print_graph(connection: sqlite3.Connection, findings: list[int]) -> None:
    from decloak.store.graph import evidence, serialise

    if not findings:
        raise DecloakError("nothing was struck, so there is no evidence", hint="leave --graph out to see why")
    click.echo(serialise(evidence(connection, findings), "json"))


def _lines(one: Any) -> list[str]:
    text = [f"{shown(one.attack)[1:-1]}: {shown(one.sentence, 1000)[1:-1]}"]
    text += [f"  {shown(context.item)[1:-1]}: {_score(context.score)}" for context in one.contexts]
    return text


def _score(score: float | None) -> str:
    return "no score" if score is None else f"distance {score:.3f}"
