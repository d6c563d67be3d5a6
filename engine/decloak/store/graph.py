"""The store as a networkx graph: the published data, the neighbourhood of a name, or the evidence of findings."""

import io
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import networkx as nx

from decloak.data.formats.lines import json_text
from decloak.errors import MARKS, DecloakError, quote, suggest
from decloak.store.evidence import ELIMINATED_AS, Comparison
from decloak.store.records import dataset_of

Graph: TypeAlias = "nx.MultiDiGraph[str]"

WITH_ORIGINALS = "CONFIDENTIAL: the graph contains original data"
"""The name, in every format, of a graph that shows more than the published data."""
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def whole(connection: sqlite3.Connection, originals: bool = False) -> Graph:
    """Return every node and edge of the published data, or of the whole store with the originals."""
    graph = _begun(originals)
    keys = _Keys(connection, originals)
    _add_nodes(graph, keys, connection.execute(_all("node", originals)))
    _add_edges(graph, keys, connection.execute(_all("edge", originals)))
    return graph


def _begun(originals: bool) -> Graph:
    graph: Graph = nx.MultiDiGraph()
    if originals:
        graph.graph["name"] = WITH_ORIGINALS
    return graph


class _Keys:
    """The names of nodes in a graph: by their kind and their number in the store.

    A graph of published data numbers the names again, in order of the names. A gap in the store's numbers would reveal
    the place of an unpublished name.
    """

    def __init__(self, connection: sqlite3.Connection, originals: bool = False) -> None:
        sql = "select kind, id from node where kind in ('item', 'generalised', 'concept') order by kind, label, id"
        grouped = groupby(connection.execute(sql) if not originals else (), key=lambda row: row[0])
        self._numbers = {row: number for _, rows in grouped for number, row in enumerate(rows, 1)}

    def node(self, kind: str, number: int) -> tuple[str, int]:
        return kind, self._numbers.get((kind, number), number)


def _all(view: str, originals: bool) -> str:
    """Return SQL over a view and over the rows that it leaves out."""
    more = f" union all select * from truth_{view}" if originals else ""
    return f"select * from {view}{more}"


def around(connection: sqlite3.Connection, name: str, hops: int, originals: bool = False) -> Graph:
    """Return the nodes within `hops` edges, in either direction, of every node labelled `name`."""
    nodes, edges = _all("node", originals), _all("edge", originals)
    start = connection.execute(f"select kind, id from ({nodes}) where label = ?", (name,)).fetchall()
    if not start:
        raise _unknown(connection, name, nodes, originals)
    connection.execute(_REACHED)
    connection.execute("create temp table frontier (kind text, id integer)")
    connection.executemany("insert into temp.frontier values (?, ?)", start)
    for _ in range(hops):
        _widen(connection, edges)
    connection.execute("insert or ignore into temp.reached select * from temp.frontier")
    return _induced(connection, originals)


def _induced(connection: sqlite3.Connection, originals: bool = False) -> Graph:
    """Return the nodes that the temporary table `reached` lists, and the edges between them."""
    nodes, edges = _all("node", originals), _all("edge", originals)
    graph = _begun(originals)
    keys = _Keys(connection, originals)
    _add_nodes(graph, keys, connection.execute(
        f"select n.kind, n.id, n.label from temp.reached r cross join ({nodes}) n on n.kind = r.kind and n.id = r.id"
    ))  # fmt: skip
    _add_edges(graph, keys, connection.execute(
        f"select e.* from temp.reached r cross join ({edges}) e on e.source_kind = r.kind and e.source_id = r.id "
        "join temp.reached t on t.kind = e.target_kind and t.id = e.target_id"
    ))  # fmt: skip
    return graph


_REACHED = "create temp table if not exists reached (kind text, id integer, primary key (kind, id))"
_OF_CLUSTER = """
with own as (select id, kind from chunk where cluster = ?1)
select 'cluster', ?1 union select 'txn', txn from cluster_row where cluster = ?1 union select 'chunk', id from own
union select 'subrecord', s.id from subrecord s join own on own.id = s.chunk
union select 'item', s.item from shows s join own on own.id = s.chunk"""
_MAY_HAVE = """
select 'txn', r.txn, 'may_have', 'subrecord', s.id, null from cluster_row r join chunk k on k.cluster = r.cluster
join subrecord s on s.chunk = k.id where r.cluster = ?1 and k.kind = 'record' and k.number > 0
union all select 'txn', r.txn, 'may_have', 'item', s.item, null from cluster_row r join chunk k on k.cluster = r.cluster
join shows s on s.chunk = k.id where r.cluster = ?1 and k.kind = 'term'"""


def cluster(connection: sqlite3.Connection, release: int, number: int) -> Graph:
    """Return the cluster `number` of a `release` with its chunks.

    An edge `may_have` leads from each record to each sub-record of a later chunk and to each term.
    """
    found = connection.execute("select id from cluster where release = ? and number = ?", (release, number)).fetchone()
    if found is None:
        (count,) = connection.execute("select count(*) from cluster where release = ?", (release,)).fetchone()
        hint = f"clusters are 0 to {count - 1}" if count else "only disassociated releases have clusters"
        raise DecloakError(f"the release has no cluster {number}", hint=hint)
    connection.execute(_REACHED)
    # The table belongs to the connection, and an earlier call may have filled it.
    connection.execute("delete from temp.reached")
    connection.execute(f"insert into temp.reached {_OF_CLUSTER}", found)
    graph = _induced(connection)
    _add_edges(graph, _Keys(connection), connection.execute(_MAY_HAVE, found))
    return graph


_SHOWING = """
select x.id, x.label from txn x where x.dataset = ?1 and x.id in (
  select txn from contains where item = ?2
  union select p.txn from published_as p join member_of m on m.generalised = p.generalised where m.item = ?2
  union select r.txn from cluster_row r join chunk k on k.cluster = r.cluster
    or k.joint in (select joint from joins j where j.cluster = r.cluster)
    join shows s on s.chunk = k.id where s.item = ?2 and not (k.kind = 'record' and k.number = 0))"""
"""The records of a data set that show an item, hide it in a generalised item, or may have it from another chunk."""


def candidates(connection: sqlite3.Connection, release: int, knows: Mapping[str, Collection[str]]) -> Graph:
    """Return the people of whom an attacker `knows` items, and the published records of `release` that fit each person.

    Edges `may_be` lead to records that have or may have all known items, edges `knows` to these items.
    """
    graph: Graph = nx.MultiDiGraph()
    keys, dataset = _Keys(connection), dataset_of(connection, release)
    sql = "select name, id from item where id in (select item from published_item)"
    items: dict[str, int] = dict(connection.execute(sql))
    for person, (name, known) in enumerate(knows.items(), 1):
        fitting: dict[int, str] | None = None
        _add_nodes(graph, keys, [("person", person, name)])
        for item in sorted(known):
            if item not in items:
                hint = suggest(item, items) or "name items that the release shows"
                raise DecloakError(f"no published record can have {quote(item)}", hint=hint)
            records = dict(connection.execute(_SHOWING, (dataset, items[item])))
            fitting = {txn: label for txn, label in records.items() if fitting is None or txn in fitting}
            _add_nodes(graph, keys, [("item", items[item], item)])
            _add_edges(graph, keys, [("person", person, "knows", "item", items[item], None)])
        _add_nodes(graph, keys, [("txn", txn, label) for txn, label in (fitting or {}).items()])
        _add_edges(graph, keys, [("person", person, "may_be", "txn", txn, None) for txn in fitting or ()])
    return graph


def _unknown(connection: sqlite3.Connection, name: str, nodes: str, originals: bool) -> DecloakError:
    labels = [row[0] for row in connection.execute(f"select distinct label from ({nodes}) limit 100000")]
    hidden = not originals and connection.execute("select 1 from truth_node where label = ?", (name,)).fetchone()
    if hidden:
        return DecloakError(f"nothing published is called {quote(name)}", hint="--originals takes in what is not")
    hint = suggest(name, labels) or '`decloak sql "select kind, label from node"` lists the names'
    return DecloakError(f"nothing in the store is called {quote(name)}", hint=hint)


def _widen(connection: sqlite3.Connection, edges: str) -> None:
    """Move the frontier one edge further, forgetting what was reached before."""
    connection.execute("insert or ignore into temp.reached select * from temp.frontier")
    neighbours = connection.execute(
        "select e.target_kind, e.target_id from temp.frontier f "
        # Cross joins keep this order for SQLite: first the few nodes of the frontier.
        f"cross join ({edges}) e on e.source_kind = f.kind and e.source_id = f.id "
        "union select e.source_kind, e.source_id from temp.frontier f "
        f"cross join ({edges}) e on e.target_kind = f.kind and e.target_id = f.id "
        "except select kind, id from temp.reached"
    ).fetchall()
    connection.execute("delete from temp.frontier")
    connection.executemany("insert into temp.frontier values (?, ?)", neighbours)


def evidence(connection: sqlite3.Connection, findings: Iterable[int]) -> Graph:
    """Add findings with their nodes as evidence, and the scores between these."""
    graph: Graph = nx.MultiDiGraph()
    keys = _Keys(connection)
    for finding in findings:
        _add_nodes(graph, keys, [("finding", finding, f"finding {finding}")])
        rests_on = connection.execute(
            "select f.kind, f.id, iif(f.kind = 'txn', (select label from txn x where x.id = f.id), "
            "(select name from item i where i.id = f.id)) from derived_from f where f.finding = ?", (finding,)
        ).fetchall()  # fmt: skip
        _add_nodes(graph, keys, rests_on)
        edges = [("finding", finding, "derived_from", kind, number, None) for kind, number, _ in rests_on]
        _add_edges(graph, keys, edges)
        scores = connection.execute(
            "select 'item', e.a, 'related', 'item', e.b, e.score from eliminated s "
            "join distance_table t on t.id = s.distance_table join scoring c on c.id = t.scoring "
            "join context x on x.distance_table = t.id and x.row = s.row "
            "join distance_col k on k.distance_table = t.id and k.col = s.col "
            "join related e on e.relatedness = c.relatedness and e.a = x.item and e.b = k.item "
            f"where {ELIMINATED_AS}",
            (finding,),
        )
        _add_edges(graph, keys, scores)
    return graph


def facts(finding: int, evidence: Iterable[tuple[str, Sequence[str], Sequence[Sequence[object]]]]) -> Graph:
    """Add a fact and the rows behind it as nodes, each with its step and its columns."""
    graph: Graph = nx.MultiDiGraph()
    graph.add_node(f"finding:{finding}", kind="finding", label=f"finding {finding}")
    for step, columns, rows in evidence:
        for number, row in enumerate(rows):
            label = ", ".join(f"{column}={value}" for column, value in zip(columns, row, strict=True))
            graph.add_node(f"{step}:{number}", kind=step, label=label)
            _add_edge(graph, f"finding:{finding}", f"{step}:{number}", "derived_from")
    return graph


def add_comparison(graph: Graph, finding: int, comparison: Comparison) -> None:
    """Add the alternatives of a finding, and the relatedness of each to the known items."""
    for place, name in enumerate(comparison.known):
        graph.add_node(f"known:{finding}.{place}", kind="known", label=name)
    for place, rival in enumerate(comparison.rivals):
        node = f"rival:{finding}.{place}"
        graph.add_node(node, kind="rival", label=rival.name, **rival._asdict())
        _add_edge(graph, f"finding:{finding}", node, "chosen_among")
    for (number, place), closeness in comparison.closeness.items():
        _add_edge(graph, f"known:{finding}.{number}", f"rival:{finding}.{place}", "near", closeness)


def _add_nodes(graph: Graph, keys: _Keys, rows: Iterable[tuple[str, int, str]]) -> None:
    # Sorted: the order of rows would show the order of the numbers that `_Keys` hides.
    nodes = sorted((*keys.node(kind, number), str(label)) for kind, number, label in rows)
    graph.add_nodes_from((f"{kind}:{number}", {"kind": kind, "label": label}) for kind, number, label in nodes)


def _add_edges(graph: Graph, keys: _Keys, rows: Iterable[tuple[str, int, str, str, int, float | None]]) -> None:
    edges = [(*keys.node(*row[:2]), row[2], *keys.node(*row[3:5]), row[5]) for row in rows]
    # Sorted without the weight, because None has no order.
    for source_kind, source, kind, target_kind, target, weight in sorted(edges, key=lambda edge: edge[:5]):
        _add_edge(graph, f"{source_kind}:{source}", f"{target_kind}:{target}", kind, weight)


def _add_edge(graph: Graph, source: str, target: str, kind: str, weight: float | None = None) -> None:
    """Add an edge, unless an equal one is there. Its key is unique in the graph: GraphML takes it as the id."""
    attributes = {"kind": kind} if weight is None else {"kind": kind, "weight": float(weight)}
    if attributes not in graph.get_edge_data(source, target, default={}).values():
        graph.add_edge(
            source, target, key=f"{source}.{kind}.{target}.{graph.number_of_edges(source, target)}", **attributes
        )


def make_writable(graph: Graph) -> Graph:
    """Replace characters that XML cannot hold, and drop empty attributes, so that networkx can write `graph`."""
    edges = (attributes for *_, attributes in graph.edges(data=True))
    for attributes in (*(attributes for _, attributes in graph.nodes(data=True)), *edges):
        for name, value in list(attributes.items()):
            if value is None:
                del attributes[name]
            elif isinstance(value, str):
                attributes[name] = _NOT_XML.sub("\ufffd", value)
    return graph


def serialise(graph: Graph, form: str) -> str:
    """Return the graph as GraphML, GEXF or node-link JSON."""
    if form == "json":
        return json_text(nx.node_link_data(graph, edges="edges"), indent=1)
    make_writable(graph)
    buffer = io.BytesIO()
    (nx.write_graphml_xml if form == "graphml" else nx.write_gexf)(graph, buffer)
    # XML allows these characters, but they hide or reorder text where the file is read.
    return MARKS.sub(lambda match: f"&#x{ord(match[0]):x};", buffer.getvalue().decode("utf-8"))
