"""The command `graph`: export the store as a graph."""

import json
from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import store_option
from decloak.data.formats.writing import write_text
from decloak.errors import DecloakError, quote
from decloak.report.terminal import say, say_data


@click.command("graph")
@store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["graphml", "gexf", "json"]),
    default="graphml",
    show_default=True,
    help="Format of the graph.",
)
@click.option("--around", metavar="NAME", help="Only the neighbourhood of the nodes with this name.")
@click.option(
    "--hops",
    type=click.IntRange(min=1, max=20),
    default=1,
    show_default=True,
    help="Size of the neighbourhood, in edges.",
)
@click.option("--cluster", type=click.IntRange(min=0), help="Only this cluster of a disassociated release.")
@click.option("--finding", type=click.IntRange(min=1), help="Only the evidence of this finding.")
@click.option(
    "--knows",
    multiple=True,
    metavar="PERSON=ITEM",
    help="Only this person, an item that an attacker knows, and the records that fit. Repeat it for each item.",
)
@click.option("--run", default="last", show_default=True, help="The run of --cluster, --finding and --knows.")
@click.option("--originals", is_flag=True, help="Include original data. The graph states this.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File to write.  [default: standard output]"
)
def graph_command(
    store: Path,
    form: str,
    around: str | None,
    hops: int,
    cluster: int | None,
    finding: int | None,
    knows: tuple[str, ...],
    run: str,
    originals: bool,
    output: Path | None,
) -> None:
    """Export a release and its findings as a graph.

    The nodes and edges are those of the views node and edge. --originals adds truth_node and truth_edge: original
    records, items that only they contain, the knowledge of attackers, and complete hierarchies. No edge connects a
    published record with its original record, but equal names can.
    """
    from decloak.library import inspecting
    from decloak.store import graph as graphs
    from decloak.store.opening import connect_readonly

    known = _known(knows)
    if all(part is None for part in (cluster, finding, known)):
        with closing(connect_readonly(store)) as connection:
            in_files = "select 1 from part join dataset d on d.id = part.dataset where d.kind = 'published'"
            if connection.execute(in_files).fetchone():
                say("note: releases in files are left out; `decloak sql --parts` queries them", err=True)
    if around is None:
        # Without a variant, a part is of the last run, and a graph without a part is of the whole store.
        variant = None if run == "last" else run
        graph = inspecting.graph(
            store, cluster=cluster, finding=finding, knows=known, originals=originals, variant=variant
        )
    elif any(part is not None for part in (cluster, finding, known)):
        raise DecloakError("a graph shows one part", hint="give one of --around, --cluster, --finding and --knows")
    else:
        with closing(connect_readonly(store)) as connection:
            graph = graphs.around(connection, around, hops, originals)
    text = graphs.serialise(graph, form)
    if originals:
        say(f"note: {graphs.WITH_ORIGINALS}", err=True)
    elif not len(graph):
        say("note: the store contains no release; --originals includes original data", err=True)
    if output is None:
        say_data(text)
        return
    # Only their owner may read a file with original data.
    write_text(text, output, private=originals)
    say(json.dumps({"nodes": len(graph), "edges": graph.number_of_edges(), "file": str(output)}))


def _known(texts: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Return the known items of each person from texts PERSON=ITEM; None without a text."""
    known: dict[str, list[str]] = {}
    for text in texts:
        person, equals, item = text.partition("=")
        if not (person and equals and item):
            raise DecloakError(f"cannot read --knows {quote(text)}", hint="write --knows Ann=cough --knows Ann=asthma")
        known.setdefault(person, []).append(item)
    return known or None
