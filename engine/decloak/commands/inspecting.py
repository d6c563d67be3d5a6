"""`schema`, `sql` and `graph`: look into a store."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option, store_option
from decloak.data.formats.writing import write_text
from decloak.errors import DecloakError, nearest, shown
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say, say_data
from decloak.store.opening import connect_readonly

if TYPE_CHECKING:
    from decloak.store.documentation import SchemaTable

__all__ = ["graph_command", "rows_command", "schema_command", "sql_command"]


@click.command("schema")
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--scenario", is_flag=True, help="Print the JSON Schema of scenario files instead.")
@click.option("--relations", is_flag=True, help="Print the relations that rules may read instead.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the reference page.")
@form_option
def schema_command(names: tuple[str, ...], scenario: bool, relations: bool, as_markdown: bool, form: str) -> None:
    """Describe the tables of the store, or the scenario language."""
    if scenario:
        from decloak.scenario.model import scenario_schema

        emit_json(scenario_schema())
    elif relations:
        from decloak.store.relations import RELATIONS

        rows = [(name, ", ".join(relation.columns), relation.meaning) for name, relation in RELATIONS.items()]
        emit(("relation", "columns", "meaning"), rows, form)
    else:
        _print_tables(names, as_markdown, form)


def _print_tables(names: Sequence[str], as_markdown: bool, form: str) -> None:
    from decloak.measure.registry import words_of_columns
    from decloak.store.documentation import WHOSE, schema_markdown, schema_tables

    described = {table.name: table for table in schema_tables(words_of_columns())}
    for name in names:
        if name not in described:
            hint = nearest(name, described) or "`decloak schema` lists them"
            raise DecloakError(f"no table or view {shown(name)}", hint=hint)
    chosen = [described[name] for name in names] or list(described.values())
    if as_markdown:
        say(schema_markdown(chosen))
    elif form == "table":
        say("\n\n".join([*([] if names else [WHOSE]), *map(_described, chosen)]))
    else:
        rows = [(table.name, table.kind, table.meaning, *column) for table in chosen for column in table.columns]
        emit(("table", "kind", "about", "column", "type", "meaning"), rows, form)


def _described(table: "SchemaTable") -> str:
    width = max(len(column.name) for column in table.columns)
    lines = [f"{table.name} ({table.kind}): {table.meaning}"]
    lines += [f"  {column.name:<{width}}  {column.type.lower():<7}  {column.meaning}" for column in table.columns]
    return "\n".join(line.rstrip() for line in lines)


@click.command("sql")
@click.argument("query")
@store_option
@form_option
def sql_command(query: str, store: Path, form: str) -> None:
    """Query the store with SQL, read-only.

    The views result, named_struck and named_cell carry names; `decloak schema` describes all of them.
    """
    from decloak.store.sandbox_guard import ask
    from decloak.store.showing import shown_for

    with shown_for(store, query) as file, ask(file, query, held=form == "table") as (columns, rows):
        emit(columns, rows, form)


@click.command("rows")
@click.argument("run", default="last")
@store_option
def rows_command(run: str, store: Path) -> None:
    """Show RUN as rows: a number, a variant's name, or last.

    A store keeps what is bulky as arrays, and shows it as rows when a run ends: transactions as those of txn, contains,
    published_as and cluster_row, distance tables and scores as cell, context and related, strikes and what was given to
    whom as finding, struck, spared and assigned. Where they are very many the arrays stay alone (`decloak run --rows`),
    until this command or a query asks for rows.
    """
    from decloak.store.results import find_run
    from decloak.store.showing import show_run

    with closing(connect_readonly(store)) as connection:
        number = find_run(connection, run)
    say(f"{show_run(store, number):,} rows show run {number}")


@click.command("graph")
@store_option
@click.option("--format", "form", type=click.Choice(["graphml", "gexf", "json"]), default="graphml", show_default=True)
@click.option("--around", metavar="NAME", help="Only what lies around the nodes of this name.")
@click.option("--hops", type=click.IntRange(min=1, max=20), default=1, show_default=True, help="How far around.")
@click.option("--originals", is_flag=True, help="Take in what is not published as well; the graph says so.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")
def graph_command(store: Path, form: str, around: str | None, hops: int, originals: bool, output: Path | None) -> None:
    """Export what is published and what attacks made of it, or a part of that, as a graph.

    Nodes and edges are those of the views node and edge. With --originals they are those of truth_node and truth_edge
    as well: original transactions, items that only they hold, what attackers were given to know, whole hierarchies. No
    graph says which published transaction was made from which original, but equal labels may.
    """
    from decloak.store import graph as graphs
    from decloak.store.showing import connect_shown

    with closing(connect_shown(store)) as connection:
        if around is None:
            graph = graphs.whole(connection, originals)
        else:
            graph = graphs.around(connection, around, hops, originals)
    text = graphs.serialise(graph, form)
    if originals:
        say(f"note: {graphs.WITH_ORIGINALS}", err=True)
    elif not len(graph):
        say("note: nothing in the store is published; --originals takes in what is not", err=True)
    if output is None:
        say_data(text)
        return
    write_text(text, output, private=originals)
    say(json.dumps({"nodes": len(graph), "edges": graph.number_of_edges(), "file": str(output)}))
