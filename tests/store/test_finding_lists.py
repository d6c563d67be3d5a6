"""Findings in lists show in views as findings in rows did: the twin is a store of version 17, with rows."""

import json
import sqlite3
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.assignment import Assignment, AssignmentList
from decloak.store import graph, lists
from decloak.store.assigned import read_assigned, write_assigned
from decloak.store.eliminations import (
    TableEliminations,
    concatenate_eliminations,
    read_eliminations,
    write_eliminations,
)
from decloak.store.evidence import member_comparison
from decloak.store.seals import stage_tables
from stores import old_store

SCENARIO = """\
scenario: findings
data: {{generate: clinic, transactions: 24, seed: 7}}
anonymise: {{method: {method}}}
relate: {{measure: ngd, source: release}}
attack: [{rule}]
"""
METHODS = {"aba": "disassociation, k: 2, m: 2, max_cluster: 8, refine: true", "wba": "sets, size: 8"}
VIEWS = (
    "assigned", "eliminated", "finding", "named_assigned", "named_eliminated", "named_finding", "exposed_record",
    "exposed_item", "truth_finding", "truth_exposed_record", "derived_from", "probability",
)  # fmt: skip
CHUNKS = st.sampled_from(["T", 0, "S0.1"])
VALUES = st.sampled_from([0.1, 0.30000000000000004, -2.5, 1e300, np.nan, np.inf])
JUDGED = st.sampled_from([0.1, 1 / 3, 7.0, np.nan])


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Return the connections to a store with lists and to its twin with rows, by the rule that ran there."""
    folder, made = tmp_path_factory.mktemp("lists"), {}
    for rule, method in METHODS.items():
        (folder / "s.yaml").write_text(SCENARIO.format(method=method, rule=rule))
        decloak.run(folder / "s.yaml", store=folder / f"{rule}.db")
        old_store(folder / f"{rule}.db", folder / f"{rule}-17.db", 17)
        made[rule] = tuple(sqlite3.connect(folder / f"{rule}{end}.db", isolation_level=None) for end in ("", "-17"))
    yield made
    for connection in (one for pair in made.values() for one in pair):
        connection.close()


def further_attack(connection: sqlite3.Connection) -> tuple[int, int]:
    """Add another attack like the one of a store to its run; return its number, and that of its first finding."""
    connection.execute("begin")
    connection.execute(
        "insert into attack (digest, rule, release, scoring, attacker, parameters) "
        "select 'another', rule, release, scoring, attacker, parameters from attack"
    )
    (attack,) = connection.execute("select max(id) from attack").fetchone()
    connection.execute("insert into run_attack values (1, 1, 'another', ?)", (attack,))
    (first,) = connection.execute("select max(first + findings) from attack").fetchone()
    return attack, first


def assert_equal_views(new: sqlite3.Connection, old: sqlite3.Connection) -> None:
    new.execute("pragma trusted_schema = off")  # as many clients have it
    for view in VIEWS:
        rows = [sorted(one.execute(f"select * from {view}").fetchall(), key=repr) for one in (new, old)]
        assert rows[0] == rows[1], view


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_assigned_units_in_lists_show_as_rows_did(stores, data):
    new, old = stores["aba"]
    clusters = new.execute("select id, number, first, size from cluster order by number").fetchall()
    names = st.sampled_from([name for (name,) in new.execute("select name from item order by id limit 5")])
    units = st.tuples(CHUNKS, st.lists(names, min_size=1, max_size=2, unique=True).map(tuple))
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(clusters), units), unique=True, max_size=12))
    given_to = [(*pair, data.draw(st.lists(st.integers(0, pair[0][3] - 1), unique=True, min_size=1).map(sorted)))
                for pair in drawn]  # fmt: skip
    values = np.array([data.draw(VALUES) for *_, rows in given_to for _ in rows], np.float64)
    try:
        attack, _ = further_attack(new)
        assignments = AssignmentList.of(
            Assignment(number, chunk, items, tuple(rows)) for (_, number, *_), (chunk, items), rows in given_to
        )
        with mock.patch.object(lists, "MOST", data.draw(st.sampled_from([1, 3, 32]))):
            write_assigned(new, attack, 1, assignments, values)
        _, finding = further_attack(old)
        for (_, _, first, _), (chunk, items), rows in given_to:
            text = json.dumps(items, ensure_ascii=False)
            old.execute("insert or ignore into unit (chunk, items) values (?, ?)", (str(chunk), text))
            (unit,) = old.execute("select id from unit where chunk = ? and items = ?", (str(chunk), text)).fetchone()
            for row in rows:
                line = (finding, attack, first + row, unit)
                old.execute("insert into assigned_unit (finding, attack, txn, unit) values (?, ?, ?, ?)", line)
                finding += 1
        begin = finding - len(values)
        known = [(value, begin + place) for place, value in enumerate(values.tolist()) if np.isfinite(value)]
        old.executemany("update assigned_unit set value = ? where finding = ?", known)
        old.execute("update attack set first = ?, findings = ? where id = ?", (begin, len(values), attack))
        assert_equal_views(new, old)
        assert list(read_assigned(new, attack).by_finding()) == [Assignment(number, chunk, items, (row,))
                         for (_, number, *_), (chunk, items), rows in given_to for row in rows]  # fmt: skip
    finally:
        for connection in (new, old):
            connection.execute("rollback")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_eliminated_members_in_lists_show_as_rows_did(stores, data):
    new, old = stores["wba"]
    shapes = new.execute(
        "select t.id, t.number, count(*), t.columns from distance_table t join distance_row r "
        "on r.distance_table = t.id group by t.id"
    ).fetchall()
    chosen = data.draw(st.lists(st.sampled_from(shapes), unique=True, max_size=4))
    tables, rows = [], []
    for place, (table, number, height, width) in enumerate(chosen):
        cells = data.draw(st.lists(st.integers(0, height * width - 1), unique=True, max_size=9))
        kept = np.setdiff1d(np.arange(height * width), cells)
        groups = [data.draw(st.integers(0, 2)) for _ in cells]
        weights, suspicions = (np.array([data.draw(JUDGED) for _ in cells], np.float64) for _ in range(2))
        where = (np.array(cells, np.int64) // width, np.array(cells, np.int64) % width)
        tables.append(
            TableEliminations(
                number, np.arange(len(cells)) + 1, *where, np.array(groups, np.int64), suspicions, 0.5, weights,
                kept // width, kept % width, np.full(len(kept), 0.25),
            )
        )  # fmt: skip
        rows += [(place, table, *row) for row in zip(cells, groups, weights.tolist(), suspicions.tolist(), strict=True)]
    try:
        attack, _ = further_attack(new)
        with mock.patch.object(lists, "MOST", data.draw(st.sampled_from([1, 3, 32]))):
            write_eliminations(new, attack, concatenate_eliminations(tables))
        _, first = further_attack(old)
        suspected = int(any(not (w == s or (w != w and s != s)) for *_, w, s in rows))
        for place, (table, *_) in enumerate(chosen):
            begin = first + sum(row[0] < place for row in rows)
            line = (attack, table, begin, 0.5, 1, suspected, "[]")
            columns = "(attack, distance_table, first, threshold, weighted, suspected, kept)"
            number = old.execute(f"insert into elimination {columns} values (?, ?, ?, ?, ?, ?, ?)", line).lastrowid
            of_table = ((finding, number, *row[2:]) for finding, row in enumerate(rows, first) if row[0] == place)
            old.executemany("insert into eliminated_member values (?, ?, ?, ?, ?, ?)", of_table)
        old.execute("update attack set first = ?, findings = ? where id = ?", (first, len(rows), attack))
        assert_equal_views(new, old)
        read = read_eliminations(new, attack)
        if tables:
            told = zip(read.weights.tolist(), read.suspicions.tolist(), read.groups.tolist(), strict=True)
            assert list(map(repr, told)) == [repr((weight, suspicion, group)) for *_, group, weight, suspicion in rows]
    finally:
        for connection in (new, old):
            connection.execute("rollback")


@pytest.mark.parametrize("rule", METHODS)
def test_the_checksum_of_an_attack_reads_no_findings_of_others(stores, rule):
    plans = [
        row[3]
        for query in stage_tables()["attack"]
        for row in stores[rule][0].execute(f"explain query plan {query}", (1,))
    ]
    assert any("assigned_units_attack" in plan for plan in plans)
    assert not [plan for plan in plans if plan.startswith("SCAN") and "LIST" not in plan]


def test_the_evidence_of_an_elimination_reads_no_findings_of_other_tables(stores):
    new, _ = stores["wba"]
    (finding,) = new.execute("select max(finding) from eliminated").fetchone()
    asked = []
    new.set_trace_callback(asked.append)
    try:
        member_comparison(new, finding)
        graph.evidence(new, [finding])
    finally:
        new.set_trace_callback(None)
    of_lists = [sql for sql in asked if " from eliminated " in sql]
    assert len(of_lists) == 3
    steps = [row[3] for sql in of_lists for row in new.execute(f"explain query plan {sql}")]
    assert any("eliminated_members_elimination" in step for step in steps)
    assert not [step for step in steps if step.startswith("SCAN") and "VIRTUAL" not in step]
