"""The store as a networkx graph: all of it, what lies around a name, or the evidence behind findings."""

import io
import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import networkx as nx

from decloak.errors import DecloakError, nearest, shown
from decloak.store.rivals import Comparison

__all__ = ["add_comparison", "around", "evidence", "facts", "serialise", "whole"]

Graph: TypeAlias = "nx.MultiDiGraph[str]"

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def whole(connection: sqlite3.Connection) -> Graph:
    """Every node and edge of the store."""
    graph: Graph = nx.MultiDiGraph()
    _add_nodes(graph, connection.execute("select kind, id, label from node"))
    _add_edges(graph, connection.execute("select * from edge"))
    return graph


def around(connection: sqlite3.Connection, name: str, hops: int) -> Graph:
    """What can be reached from every node labelled `name` within so many edges, either way."""
    start = connection.execute("select kind, id from node where label = ?", (name,)).fetchall()
    if not start:
        labels = [row[0] for row in connection.execute("select distinct label from node limit 100000")]
        hint = nearest(name, labels) or '`decloak sql "select kind, label from node"` lists the names'
        raise DecloakError(f"nothing in the store is called {shown(name)}", hint=hint)
    connection.execute("create temp table reached (kind text, id integer, primary key (kind, id))")
    connection.execute("create temp table frontier (kind text, id integer)")
    connection.executemany("insert into temp.frontier values (?, ?)", start)
    for _ in range(hops):
        _widen(connection)
    connection.execute("insert or ignore into temp.reached select * from temp.frontier")
    graph: Graph = nx.MultiDiGraph()
    _add_nodes(graph, connection.execute(
        "select n.kind, n.id, n.label from temp.reached r cross join node n on n.kind = r.kind and n.id = r.id"
    ))  # fmt: skip
    _add_edges(graph, connection.execute(
        "select e.* from temp.reached r cross join edge e on e.source_kind = r.kind and e.source_id = r.id "
        "join temp.reached t on t.kind = e.target_kind and t.id = e.target_id"
    ))  # fmt: skip
    return graph


def _widen(connection: sqlite3.Connection) -> None:
    """Move the frontier one edge further, forgetting what was reached before."""
    connection.execute("insert or ignore into temp.reached select * from temp.frontier")
    neighbours = connection.execute(
        "select e.target_kind, e.target_id from temp.frontier f "
        "cross join edge e on e.source_kind = f.kind and e.source_id = f.id "
        "union select e.source_kind, e.source_id from temp.frontier f "
        "cross join edge e on e.target_kind = f.kind and e.target_id = f.id "
        "except select kind, id from temp.reached"
    ).fetchall()
    connection.execute("delete from temp.frontier")
    connection.executemany("insert into temp.frontier values (?, ?)", neighbours)


def evidence(connection: sqlite3.Connection, findings: Iterable[int]) -> Graph:
    """Findings with the nodes they rest on, and the scores between those."""
    graph: Graph = nx.MultiDiGraph()
    for finding in findings:
        _add_nodes(graph, [("finding", finding, f"finding {finding}")])
        rests_on = connection.execute("select kind, id from derived_from where finding = ?", (finding,)).fetchall()
        for kind, number in rests_on:
            (label,) = connection.execute("select label from node where kind = ? and id = ?", (kind, number)).fetchone()
            _add_nodes(graph, [(kind, number, label)])
            graph.add_edge(f"finding:{finding}", f"{kind}:{number}", key="derived_from", kind="derived_from")
        scores = connection.execute(
            "select 'item', e.a, 'related', 'item', e.b, e.score from struck s "
            "join distance_table t on t.id = s.distance_table join scoring c on c.id = t.scoring "
            "join context x on x.distance_table = t.id and x.row = s.row "
            "join distance_col k on k.distance_table = t.id and k.col = s.col "
            "join related e on e.relatedness = c.relatedness and e.a = x.item and e.b = k.item "
            "where s.finding = ?",
            (finding,),
        )
        _add_edges(graph, scores)
    return graph


def facts(finding: int, evidence: Iterable[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]) -> Graph:
    """A fact with the rows behind it, a node each: the step it is of, and its columns."""
    graph: Graph = nx.MultiDiGraph()
    _add_nodes(graph, [("finding", finding, f"finding {finding}")])
    for step, columns, rows in evidence:
        for number, row in enumerate(rows):
            label = ", ".join(f"{column}={value}" for column, value in zip(columns, row, strict=True))
            graph.add_node(f"{step}:{number}", kind=step, label=label)
            graph.add_edge(f"finding:{finding}", f"{step}:{number}", key="derived_from", kind="derived_from")
    return graph


def add_comparison(graph: Graph, finding: int, comparison: Comparison) -> None:
    """Add what a finding was chosen among, and how close each rival is to what is known."""
    for place, name in enumerate(comparison.known):
        graph.add_node(f"known:{finding}.{place}", kind="known", label=name)
    for place, rival in enumerate(comparison.rivals):
        node = f"rival:{finding}.{place}"
        graph.add_node(node, kind="rival", label=rival.name, **rival._asdict())
        graph.add_edge(f"finding:{finding}", node, key="chosen_among", kind="chosen_among")
    for (known, place), closeness in comparison.closeness.items():
        graph.add_edge(
            f"known:{finding}.{known}", f"rival:{finding}.{place}", key="near", kind="near", weight=closeness
        )


def _add_nodes(graph: Graph, rows: Iterable[tuple[str, int, str]]) -> None:
    graph.add_nodes_from((f"{kind}:{number}", {"kind": kind, "label": str(label)}) for kind, number, label in rows)


def _add_edges(graph: Graph, rows: Iterable[tuple[str, int, str, str, int, float | None]]) -> None:
    for source_kind, source, kind, target_kind, target, weight in rows:
        attributes: dict[str, Any] = {"kind": kind}
        if weight is not None:
            attributes["weight"] = float(weight)
        graph.add_edge(f"{source_kind}:{source}", f"{target_kind}:{target}", key=kind, **attributes)


def serialise(graph: Graph, form: str) -> str:
    """The graph as GraphML, GEXF or node-link JSON."""
    if form == "json":
        return json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False, indent=1)
    for _, attributes in graph.nodes(data=True):
        attributes["label"] = _NOT_XML.sub("\ufffd", attributes["label"])
    buffer = io.BytesIO()
    (nx.write_graphml_xml if form == "graphml" else nx.write_gexf)(graph, buffer)
    return buffer.getvalue().decode("utf-8")
