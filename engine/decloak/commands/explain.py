"""The command `explain`: say why an item was eliminated."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option, print_run_titles, store_option
from decloak.data.formats.writing import check_new
from decloak.errors import DecloakError, quote
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say, say_data
from decloak.store import results
from decloak.store.opening import connect_readonly

if TYPE_CHECKING:
    from decloak.rules.operators.operator import Explanation

FINDING_COLUMNS = ("attack", "finding", "because")


@click.command("explain")
@click.argument("run")
@click.argument("transaction", required=False)
@click.argument("item", required=False)
@click.option("--attack", "label", metavar="NAME", help="Only this attack.")
@click.option("--finding", type=int, metavar="NUMBER", help="Explain one finding, with its evidence.")
@click.option(
    "--most", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum number of findings per attack."
)
@click.option("--graph", "graph", is_flag=True, help="Print the evidence as a graph in node-link JSON.")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw the finding and its alternatives.")
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
    svg: Path | None,
    store: Path,
    form: str,
) -> None:
    """Explain why an attack eliminated ITEM from TRANSACTION in RUN.

    RUN is a number, the name of a variant, or last. Without an item, decloak lists the findings of the run. --finding
    explains a finding of any rule.
    """
    if (transaction is None) != (item is None) or (transaction is not None and finding is not None):
        ways = "RUN RECORD ITEM", "RUN --finding N", "RUN"
        raise DecloakError("missing ITEM", hint="use " + ", ".join(f"`decloak explain {way}`" for way in ways))
    from decloak.store.records import require_records

    if svg is not None:
        check_new(svg)
    with closing(connect_readonly(store)) as connection:
        number = results.find_run(connection, run)
        require_records(connection, results.release_of(connection, number))
        if transaction is not None and item is not None:
            findings = _explain_item(connection, number, transaction, item, label, graph, form)
        elif finding is not None:
            findings = [finding]
            _explain_finding(connection, number, finding, graph, form)
        else:
            from decloak.rules.explain import list_findings

            listed = list_findings(connection, number, label, most)
            findings = [explained.finding for explained in listed]
            emit(FINDING_COLUMNS, listed, form)
        print_run_titles(connection, run)
        if svg is not None:
            _draw(connection, number, findings, svg)


def _explain_item(
    connection: sqlite3.Connection, run: int, transaction: str, item: str, label: str | None, graph: bool, form: str
) -> list[int]:
    """Print the explanations; return their findings."""
    from decloak.rules.explain import explain

    explanations = explain(connection, run, transaction, item, label)
    # An item that an attack kept is explained too, and has no finding.
    findings = [explained.finding for explained in explanations if explained.finding is not None]
    if graph:
        _print_graph(connection, run, findings)
    elif form == "json":
        emit_json([explained.as_json() for explained in explanations])
    elif form in ("csv", "md"):
        rows = [(explained.attack, explained.finding, explained.sentence) for explained in explanations]
        emit(FINDING_COLUMNS, rows, form)
    else:
        say("\n".join(line for explained in explanations for line in _lines(explained)))
    return findings


def _explain_finding(connection: sqlite3.Connection, run: int, finding: int, graph: bool, form: str) -> None:
    from decloak.rules.explain import explain_finding

    if graph:
        _print_graph(connection, run, [finding])
        return
    explained, evidence = explain_finding(connection, run, finding)
    if form == "json":
        emit_json(explained._asdict() | {"evidence": [step._asdict() for step in evidence]})
    else:
        say(f"{quote(explained.attack)[1:-1]}: {quote(explained.sentence, 1000)[1:-1]}")
        for step in evidence:
            say(f"\n{step.step}:")
            emit(step.columns, step.rows, form)


def _print_graph(connection: sqlite3.Connection, run: int, findings: list[int]) -> None:
    import networkx as nx

    from decloak.rules.explain import graph_of_finding
    from decloak.store.graph import serialise

    if not findings:
        raise DecloakError(
            "this attack eliminated no item, so there is no evidence", hint="leave --graph out to see why"
        )
    say_data(serialise(nx.compose_all([graph_of_finding(connection, run, finding) for finding in findings]), "json"))


def _draw(connection: sqlite3.Connection, run: int, findings: list[int], file: Path) -> None:
    """Draw the first finding that can be."""
    from decloak.data.formats.writing import write_text
    from decloak.report.charts import comparison_svg
    from decloak.rules.explain import compare_alternatives

    comparisons = (compare_alternatives(connection, run, finding) for finding in findings)
    drawable = next((comparison for comparison in comparisons if comparison is not None), None)
    if drawable is None:
        raise DecloakError("nothing was found that can be drawn", hint="leave --svg out to see why")
    write_text(f"{comparison_svg(drawable)}\n", file)
    say(f"wrote {file}", err=True)


def _lines(explained: "Explanation") -> Iterator[str]:
    yield f"{quote(explained.attack)[1:-1]}: {quote(explained.sentence, 1000)[1:-1]}"
    for context in explained.contexts:
        score = "no score" if context.score is None else f"distance {context.score:.3f}"
        yield f"  {quote(context.item)[1:-1]}: {score}"
