"""Relations that graph algorithms compute from published relations, against networkx and against every way."""

import math
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.rows import CodedRows
from decloak.rules.load import Catalogue
from decloak.store.attackers_database import component_of_rows, core_numbers, least_matching
from decloak.store.opening import connect_readonly

records = st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=4).map(sorted), max_size=8)


@settings(max_examples=200)
@given(records)
def test_components_are_those_of_the_graph_of_records_and_labels(rows):
    coded = CodedRows.of(rows)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(rows)))
    graph.add_edges_from((number, label) for number, row in enumerate(rows) for label in row)
    expected, seen = [], []
    for number in range(len(rows)):
        reached = nx.node_connected_component(graph, number)
        seen += [] if any(number in other for other in seen) else [reached]
        expected.append(1 + next(place for place, other in enumerate(seen) if number in other))
    assert component_of_rows(coded.start, coded.codes, len(coded.names)).tolist() == expected


@settings(max_examples=200)
@given(records)
def test_core_numbers_are_those_of_networkx(rows):
    coded = CodedRows.of(rows)
    graph = nx.Graph()
    graph.add_nodes_from(coded.names)
    graph.add_edges_from(pair for row in rows for pair in combinations(row, 2))
    core = core_numbers(coded.start, coded.codes, len(coded.names)).tolist()
    assert dict(zip(coded.names, core, strict=True)) == nx.core_number(graph)


@settings(max_examples=200)
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_a_matching_is_a_largest_one_of_least_distance(height, width, data):
    cell = st.integers(0, 5).map(lambda x: x / 5) | st.just(math.nan)
    d = np.array([[data.draw(cell) for _ in range(width)] for _ in range(height)])
    ways = [
        [(row, col) for row, col in pairs if not math.isnan(d[row, col])]
        for pairs in (
            [list(zip(range(height), cols, strict=False)) for cols in permutations(range(width), height)]
            if height <= width
            else [list(zip(rows, range(width), strict=False)) for rows in permutations(range(height), width)]
        )
    ]
    best = min((-len(way), sum(d[cell] for cell in way)) for way in ways)
    found = least_matching(d)
    assert -len(found) == best[0]
    assert sum(d[cell] for cell in found) == pytest.approx(best[1])
    assert all(len({cell[side] for cell in found}) == len(found) for side in (0, 1))


ALONE = """\
rule: alone
form: query
about: Records that no other record shares a label with, items of a core, and members that a matching keeps.
derives: alone(kind, number, value)
facts: |
  select 'component' as kind, txn as number, component as value from component
  union all select 'core', item, core from k_core
  union all select 'matching', row, col from matching
because: "{kind}: {number} {value}"
reference: ours
wrong_when: never
"""


def test_a_rule_reads_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.csv").write_text("t,a,b\nx,0.1*,0.9\ny,0.8,0.2*\n")
    (tmp_path / "alone.yaml").write_text(ALONE)
    (tmp_path / "s.yaml").write_text("scenario: s\ndata: {distances: clinic.csv}\nattack: [rba, alone.yaml]\n")
    assert Catalogue().rule("alone.yaml").reads == {"component", "k_core", "matching"}
    decloak.run("s.yaml", store="s.db")
    with connect_readonly("s.db") as connection:
        found = connection.execute("select kind, value from found_alone order by 1, 2").fetchall()
    assert found == [("component", 1), ("component", 1), ("matching", 0), ("matching", 1)]
