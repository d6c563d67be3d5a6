"""Each question of the how-to of SQL is answered in four tools alike, by views without a column that needs quotes."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
import sqlite_utils

import decloak
from decloak.data.generators.clinic import generate
from decloak.measure.registry import metrics_by_key
from decloak.rules.load import Catalogue
from decloak.scenario.criteria import PRESETS, Criterion
from decloak.store.documentation import questions, schema_tables
from decloak.store.relations import RELATIONS

ROOT = Path(__file__).parents[2]
ASKED = {"run": 1, "record": "0.0", "first": 1, "second": 2, "measure": "accuracy"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "store.db"
    scenario = {
        "scenario": "s",
        "anonymise": {"method": "disassociation", "k": 3, "m": 2},
        "attack": ["random", "aba"],
        "attacker": {"knows": ["release"]},
        "measure": ["accuracy", "exposure", "utility"],
        "vary": {"anonymise.k": [2, 3]},
    }
    decloak.run(scenario, data=decloak.Dataset.of(list(generate(80, 3).transactions)), store=path)
    return path


def by_sqlite3(store, sql, asked):
    with closing(sqlite3.connect(store)) as connection:
        return [list(row) for row in connection.execute(sql, asked)]


def by_pandas(store, sql, asked):
    with closing(sqlite3.connect(store)) as connection:
        frame = pd.read_sql_query(sql, connection, params=asked)
    return json.loads(frame.to_json(orient="values", double_precision=15))


def by_sqlite_utils(store, sql, asked):
    database = sqlite_utils.Database(store)
    rows = [list(row.values()) for row in database.query(sql, asked)]
    database.close()
    return rows


def by_datasette(store, sql, asked):
    from datasette.app import Datasette

    sqlite3.enable_callback_tracebacks(False)  # which Datasette sets for the whole process

    async def answer():
        client = Datasette(immutables=[str(store)], settings={"num_sql_threads": 0}).client
        response = await client.get(f"/store.json?{urlencode({'sql': sql.rstrip(';'), '_shape': 'arrays'} | asked)}")
        return response.json()["rows"]

    return asyncio.run(answer())


def close_to(rows):
    return [[pytest.approx(cell) if isinstance(cell, float) else cell for cell in row] for row in rows]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("question", questions(), ids=lambda question: question.name)
def test_a_question_has_the_same_answer_in_each_tool(store, question):
    asked = {name: ASKED[name] for name in re.findall(r":(\w+)", question.sql)}
    rows = by_sqlite3(store, question.sql, asked)
    assert rows, question.title
    for tool in (by_pandas, by_sqlite_utils, by_datasette):
        assert tool(store, question.sql, asked) == close_to(rows), tool.__name__


def test_there_are_twelve_questions_and_the_how_to_has_each():
    page = (ROOT / "docs" / "how-to" / "sql.md").read_text(encoding="utf-8")
    assert len(questions()) == 12
    assert re.findall(r"```sql\n(.*?)\n```", page, re.DOTALL) == [question.sql for question in questions()]


def test_no_column_of_a_table_or_view_needs_quotes(store):
    with closing(sqlite3.connect(store)) as connection:
        for table in schema_tables():
            columns = [column.name for column in table.columns]
            found = connection.execute(f"select {', '.join(columns)} from {table.name} limit 1")
            assert [column[0] for column in found.description] == columns


def test_no_column_of_a_relation_that_rules_read_or_derive_needs_quotes():
    relations = {name: relation.columns for name, relation in RELATIONS.items()}
    catalogue = Catalogue()
    for rule in map(catalogue.rule, catalogue.names):
        relations[f"found_by_{rule.name}"] = {*rule.derives.columns, *rule.operator.sentence_columns(rule.derives)}
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, columns in relations.items():
            connection.execute(f"create table {name} ({', '.join(columns)})")
            found = connection.execute(f"select {', '.join(columns)} from {name}")
            assert [column[0] for column in found.description] == list(columns)


def test_the_criteria_of_advise_are_a_table_with_the_source_of_each_limit(store):
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("select preset, figure, at_most, source from criterion order by preset, position")
        found = {}
        for preset, *limit in rows:
            found.setdefault(preset, []).append(Criterion(*limit))
    assert found == {name: list(criteria) for name, criteria in PRESETS.items()}


def test_the_rules_that_ran_are_a_table_with_their_status_and_what_makes_them_wrong(store):
    with closing(sqlite3.connect(store)) as connection:
        sql = "select name, identifier, status, about, reference, wrong_when from rule order by name"
        found = connection.execute(sql).fetchall()
    catalogue = Catalogue()
    models = {name: catalogue.rule(name).model for name in ("aba", "random")}
    assert found == [
        (name, one.id, one.status, one.about, one.reference, one.wrong_when) for name, one in models.items()
    ]


def test_only_views_of_truth_compare_findings_with_the_original_data():
    columns = {table.name: {column.name for column in table.columns} for table in schema_tables()}
    for view, held in columns.items():
        assert view.startswith("truth_") or "correct" not in held, view
    assert {"correct", "person"} <= columns["truth_finding"] & columns["truth_exposed_record"]


def test_the_right_findings_are_as_many_as_the_measure_says(example, tmp_path):
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        measured = "select attack, part, whole from result where measure = 'precision' order by attack"
        counted = "select attack, sum(correct), count(*) from truth_finding group by attack order by attack"
        of_people = (
            "select attack, sum(correct), sum(findings) from truth_exposed_record group by attack order by attack"
        )
        assert connection.execute(measured).fetchall() == connection.execute(counted).fetchall()
        assert connection.execute(counted).fetchall() == connection.execute(of_people).fetchall()
        totals = "select attack, sum(findings) from {} group by attack order by attack"
        assert (
            connection.execute(totals.format("exposed_record")).fetchall()
            == connection.execute(totals.format("exposed_item")).fetchall()
        )


def test_assignments_are_counted_alike_by_finding_and_by_person(store):
    with closing(sqlite3.connect(store)) as connection:
        by_finding = (
            "select run, attack, person, count(*), sum(correct) from truth_finding group by 1, 2, 3 order by 1, 2, 3"
        )
        by_person = "select run, attack, person, findings, correct from truth_exposed_record order by 1, 2, 3"
        assert connection.execute(by_finding).fetchall() == connection.execute(by_person).fetchall()
        naive = 0
        for person, unit in connection.execute(
            "select o.original, u.items from assigned_unit a join truth_origin o on o.txn = a.txn "
            "join unit u on u.id = a.unit join run_attack r on r.attack = a.attack"
        ).fetchall():
            names = {
                name
                for (name,) in connection.execute(
                    "select i.name from contains c join item i on i.id = c.item where c.txn = ?", (person,)
                )
            }
            naive += names.issuperset(json.loads(unit))
        assert connection.execute("select sum(correct) from truth_finding").fetchone() == (naive,)
        assert naive > 0


def test_the_baseline_is_beside_the_figure(store):
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(
            "select n.measure, n.baseline, b.value from named_result n join result b on b.run = n.run "
            "and b.attack = n.attack and b.measure = case n.measure when 'accuracy' then 'baseline' "
            "else n.measure || '_baseline' end where n.baseline is not null"
        ).fetchall()
    assert {"accuracy", "singled_out_3"} <= {measure for measure, *_ in rows}
    assert all(baseline == value for _, baseline, value in rows)
    assert {measure for measure, *_ in rows} <= metrics_by_key().keys()
