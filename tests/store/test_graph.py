"""The store as a networkx graph, whole, around a name, and written in three formats."""

import io
import json
import sqlite3
from contextlib import closing

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import decloak
from decloak.errors import DecloakError
from decloak.store.graph import around, serialise, whole
from decloak.store.opening import connect_readonly
from slowly import slow_but


@pytest.fixture
def connection(store):
    with closing(connect_readonly(store)) as opened:
        yield opened


def test_the_whole_graph_has_every_node_and_edge_of_the_views(connection):
    columns = "source_kind, source_id, kind, target_kind, target_id, weight"
    for originals in (False, True):
        graph = whole(connection, originals)
        more = " union all select {} from truth_{}" if originals else ""
        nodes = connection.execute(
            "select kind, id, label from node" + more.format("kind, id, label", "node")
        ).fetchall()
        edges = connection.execute(f"select {columns} from edge" + more.format(columns, "edge")).fetchall()
        names = sorted((kind, label) for kind, _, label in nodes)
        assert sorted((data["kind"], data["label"]) for _, data in graph.nodes(data=True)) == names
        called = {(kind, number): (kind, label) for kind, number, label in nodes}
        label_of = {node: (data["kind"], data["label"]) for node, data in graph.nodes(data=True)}
        assert {
            (label_of[a], data["kind"], label_of[b], data.get("weight")) for a, b, data in graph.edges(data=True)
        } == {
            (called[source_kind, source], kind, called[target_kind, target], weight)
            for source_kind, source, kind, target_kind, target, weight in edges
        }


def test_a_graph_of_all_has_the_numbers_of_the_store_and_one_of_what_is_published_the_order_of_names(connection):
    numbers = {f"{kind}:{number}": label for kind, number, label in connection.execute(
        "select * from node union all select * from truth_node")}  # fmt: skip
    assert dict(whole(connection, True).nodes(data="label")) == numbers
    items = [label for _, label in sorted(
        (int(node.removeprefix("item:")), data["label"])
        for node, data in whole(connection).nodes(data=True) if data["kind"] == "item")]  # fmt: skip
    assert items == sorted(items)


@pytest.mark.parametrize("hops", slow_but([1, 3], [1, 2, 3, 20]))
@pytest.mark.parametrize("name", ["p01", "aspirin", "sets", "(aspirin, insulin, lithium, penicillin)", "original.txt"])
def test_around_a_name_is_the_ball_in_the_whole_graph(connection, name, hops):
    graph = whole(connection)
    centres = [node for node, data in graph.nodes(data=True) if data["label"] == name]
    if not centres:
        with pytest.raises(DecloakError, match="nothing in the store is called"):
            around(connection, name, hops)
        return
    undirected = graph.to_undirected(as_view=True)
    ball = set().union(*(nx.single_source_shortest_path_length(undirected, centre, hops) for centre in centres))
    found = around(connection, name, hops)
    assert set(found) == ball
    assert set(found.edges(data="kind")) == set(graph.subgraph(ball).edges(data="kind"))


def test_a_name_that_several_nodes_have_is_a_centre_of_each(connection):
    named = connection.execute("select label from node group by label having count(*) > 1 limit 1").fetchone()
    assert named is not None
    found = around(connection, named[0], 1)
    assert sum(data["label"] == named[0] for _, data in found.nodes(data=True)) > 1


def test_nothing_is_written_by_looking(connection, store):
    before = store.read_bytes()
    around(connection, "p01", 3)
    whole(connection)
    assert store.read_bytes() == before
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("create table x (a)")


labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


numbers = st.integers(0, 9)


@given(st.dictionaries(numbers, labels, min_size=1), st.lists(st.tuples(numbers, numbers)))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_label_is_read_back_or_replaced_where_xml_cannot_hold_it(names, pairs):
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((f"item:{number}", {"kind": "item", "label": name}) for number, name in names.items())
    for a, b in pairs:
        if a in names and b in names:
            graph.add_edge(f"item:{a}", f"item:{b}", key="related", kind="related", weight=0.5)
    expected = {node: data["label"] for node, data in graph.nodes(data=True)}
    read = {
        "json": lambda text: nx.node_link_graph(json.loads(text), edges="edges"),
        "graphml": lambda text: nx.parse_graphml(text, force_multigraph=True),
        "gexf": lambda text: nx.read_gexf(io.BytesIO(text.encode()), version="1.2draft"),
    }
    for form, reader in read.items():
        found = reader(serialise(graph.copy(), form))
        assert set(found) == set(graph)
        assert sorted(found.edges()) == sorted(graph.edges())
        for node, label in expected.items():
            kept = found.nodes[node].get("label", "")
            if form == "json":
                assert kept == label
            else:
                assert len(kept) == len(label)
                for one, other in zip(kept, label, strict=True):
                    assert one == other or (one == "\ufffd" and not other.isprintable())


def test_writing_a_graph_does_not_change_it(connection):
    graph = whole(connection)
    before = json.dumps(nx.node_link_data(graph, edges="edges"))
    serialise(graph, "json")
    assert json.dumps(nx.node_link_data(graph, edges="edges")) == before


def test_a_name_that_is_not_there_is_answered_with_the_nearest(connection):
    with pytest.raises(DecloakError, match="nothing in the store is called 'aspirn'; did you mean 'aspirin'"):
        around(connection, "aspirn", 1)
    with pytest.raises(DecloakError, match="lists the names"):
        around(connection, "\x00\x1b", 1)


def test_the_same_run_gives_the_same_graph(example, tmp_path):
    texts = []
    for name in ("1.db", "2.db"):
        decloak.run(example / "scenario.yaml", store=tmp_path / name)
        with closing(connect_readonly(tmp_path / name)) as connection:
            texts.append([serialise(whole(connection), form) for form in ("json", "graphml")])
    assert texts[0] == texts[1]
