"""Why something was found: the sentence, the scores and the graph behind it."""

import doctest
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import networkx as nx
import pytest

import decloak
from conftest import DISTANCES, MEMBERS
from decloak.errors import DecloakError
from decloak.rules import because
from decloak.rules.because import record_phrase, sentence_sql
from decloak.rules.explain import explain, explain_finding, list_findings
from decloak.store.graph import evidence
from decloak.store.opening import add_functions, connect_readonly
from test_query_rules import SHOWS, scenario, written


@pytest.fixture
def worked(example, tmp_path):
    """The store of the worked example, its transactions named by number: 1 is heart disease."""
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        yield connection


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(because).failed == 0


def test_the_sentence_of_a_elimination_tells_rule_round_group_gap_and_threshold(worked):
    (found,) = explain(worked, 1, "3", "icd", "gba")
    assert found.sentence == (
        "round 1: icd was eliminated from record 3, the farthest in the column whose gap 0.80 exceeds 0.45"
    )
    assert found.attack == "gba"
    assert found.d == 2.93
    assert found.generalised == "(blood pressure, icd, limbs, injury)"
    assert [tuple(one) for one in found.contexts] == [("gangrene", 2.93)]


def test_every_attack_has_its_say(worked):
    found = explain(worked, 1, "2", "icd")
    assert [one.attack for one in found] == ["mda", "tba", "wba", "gba", "rba"]
    assert all(one.finding is None and "was not eliminated" in one.sentence for one in found)
    assert all("0.58" in one.sentence for one in found)


def test_the_view_says_the_same_in_any_sqlite_shell(worked, tmp_path):
    with closing(sqlite3.connect(tmp_path / "s.db")) as plain:
        for attack in ("mda", "tba", "wba", "gba", "rba"):
            said = dict(plain.execute(f"select finding, because from why_{attack}").fetchall())
            told = {
                one.finding: one.sentence
                for row in range(len(DISTANCES))
                for member in MEMBERS
                for one in explain(worked, 1, str(row + 1), member, attack)
                if one.finding is not None
            }
            assert said == told
            assert said
            assert [tuple(one)[1:] for one in list_findings(worked, 1, attack, 99)] == sorted(said.items())


def test_the_evidence_is_the_transaction_the_member_and_the_context(worked):
    (found,) = explain(worked, 1, "3", "icd", "gba")
    graph = evidence(worked, [found.finding])
    assert isinstance(graph, nx.MultiDiGraph)
    labels = nx.get_node_attributes(graph, "label")
    assert sorted(labels.values()) == sorted([f"finding {found.finding}", "3", "icd", "gangrene"])
    kinds = {(labels[a], labels[b]): data for a, b, data in graph.edges(data=True)}
    assert kinds["gangrene", "icd"] == {"kind": "related", "weight": 2.93}
    assert {b for a, b in kinds if a.startswith("finding")} == {"3", "icd", "gangrene"}


@pytest.mark.parametrize(
    ("template", "label", "expected"),
    [
        ("{item} from {record}", "p01", "x from p01"),
        ("{item} from {record}", "5", "x from record 5"),
        ("{item} from {record}", "0012", "x from record 0012"),
        ("{item} from {record}", "5a", "x from 5a"),
        ("{item} from {record}", "٣", "x from ٣"),
        ("{item} from transaction {record}", "5", "x from transaction 5"),
        ("{item} from record {record}", "5", "x from record 5"),
        ("Transaction {record} lost {item}", "5", "Transaction 5 lost x"),
        ("{record} lost {item}", "5", "record 5 lost x"),
        ("{n:txn} and {n:txn}", "5", "record 5 and record 5"),
        ("{n:txn} and {n:txn}", "p01", "p01 and p01"),
        ("transactions: {record}", None, "transactions: none"),
    ],
)
def test_a_sentence_says_record_before_a_number(template, label, expected):
    with closing(sqlite3.connect(":memory:")) as plain:
        plain.execute("create table txn (id, label)")
        plain.execute("insert into txn values (1, ?)", (label,))
        plain.execute("create table x (item, record, n)")
        plain.execute("insert into x values ('x', ?, 1)", (label,))
        sql = sentence_sql(template, ("item", "record", "n"), "x")
        assert plain.execute(f"select {sql} from x").fetchone() == (expected,)
    if template == "{item} from {record}":
        assert f"x from {record_phrase(label)}" == expected


@pytest.mark.parametrize(
    ("transaction", "item", "label", "expected"),
    [
        ("9", "icd", None, "run 1 attacked no record '9'; "),
        ("3", "idc", None, "run 1 hides no item 'idc'; did you mean 'icd'?"),
        ("3", "gangrene", None, "run 1 does not hide 'gangrene', so there is nothing to explain; "),
        ("3", "icd", "gbaa", "run 1 has no attack 'gbaa'; did you mean 'gba'?"),
        ("3\n\x1b[1m", "icd", None, "run 1 attacked no record '3\\x0a\\x1b[1m'; "),
        ("", "", None, "run 1 attacked no record ''; "),
    ],
)
def test_what_is_not_there_is_said(worked, transaction, item, label, expected):
    with pytest.raises(DecloakError) as caught:
        explain(worked, 1, transaction, item, label)
    assert str(caught.value).startswith(expected)


def test_a_cell_without_a_score_says_so(example, tmp_path):
    path = example / "scores.csv"
    path.write_text(path.read_text().replace("gangrene,icd,2.93", "gangrene,icd,"))
    text = (example / "scenario.yaml").read_text().replace("cap: none", "cap: none, unseen: none")
    (example / "scenario.yaml").write_text(text)
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (found,) = explain(connection, 1, "3", "icd", "gba")
    assert found.sentence == "icd was not eliminated from record 3: no context item has a score with it"
    assert found.d is None
    assert json.dumps(found.as_json())


def test_a_finding_of_a_query_is_explained_with_the_rows_behind_it(example, tmp_path):
    written(example, SHOWS, "shows.yaml")
    decloak.run(scenario(example, "[shows.yaml]"), store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        findings = list_findings(connection, 1, None, 3)
        assert len(findings) == 3
        found, rows = explain_finding(connection, 1, findings[0].finding)
        assert found == findings[0]
        (step,) = rows
        assert (step.step, step.columns) == ("held", ("txn", "item"))
        fact = connection.execute(
            "select t.label, i.name from found_seen f join txn t on t.id = f.txn join item i on i.id = f.item "
            "where f.finding = ?",
            (found.finding,),
        ).fetchone()
        assert step.rows == [fact]
        with pytest.raises(DecloakError, match="run 1 has no finding 999"):
            explain_finding(connection, 1, 999)


def test_a_finding_of_an_older_text_of_a_rule_keeps_its_sentence(example, tmp_path):
    """The view why_shows goes with the text that ran last."""
    path, store = scenario(example, "[shows.yaml]"), tmp_path / "s.db"
    for word in ("shows", "told", "shows"):
        written(example, SHOWS.replace("{txn:txn} shows", f"{{txn:txn}} {word}"), "shows.yaml")
        decloak.run(path, store=store)
    with closing(connect_readonly(store)) as connection:
        for run, word in ((1, "shows"), (2, "told")):
            findings = list_findings(connection, run, None, 9)
            assert findings
            assert all(f" {word} " in one.sentence for one in findings)
            assert explain_finding(connection, run, findings[0].finding)[0] == findings[0]


def test_a_column_called_because_is_not_the_sentence(example, tmp_path):
    text = SHOWS.replace("seen(txn, item)", "seen(txn, because)").replace(
        "select txn, item from held", "select txn, item as because from held"
    )
    written(example, text.replace("{item:item}", "{because:item}"), "shows.yaml")
    decloak.run(scenario(example, "[shows.yaml]"), store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert all(" shows " in one.sentence for one in list_findings(connection, 1, None, 9))


def test_explain_goes_by_the_rule_and_not_by_a_view_that_somebody_changed(worked, tmp_path):
    before = explain(worked, 1, "3", "icd", "gba")
    with closing(sqlite3.connect(tmp_path / "s.db")) as plain:
        (view,) = plain.execute("select sql from sqlite_master where name = 'why_gba'").fetchone()
        plain.execute("drop view why_gba")
        plain.execute(view.replace(" as because", " || ', so it is' as because", 1))
        plain.commit()
    assert explain(worked, 1, "3", "icd", "gba") == before


@pytest.mark.parametrize(
    ("template", "row", "expected"),
    [
        ("{a} and {b}", (1, None), "1 and none"),
        ("{a:.0f} {a:.2f} {b:.3f}", (1.007, None), "1 1.01 none"),
        ('it\'s {{a}} 100% "{a}"', ("'; drop table x; --", 0), "it's {a} 100% \"'; drop table x; --\""),
        ("{a:item} {b:txn}", (1, 1), "milk first"),
        ("{a:item} {b:txn}", (2, None), "none none"),
        ("", (1, 2), ""),
        ("é😀\u202e {a}", ("{b}", 2), "é😀\u202e {b}"),
    ],
)
def test_a_sentence_is_filled_in_by_sqlite_alone(template, row, expected):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            "create table x (a, b); create table item (id, name); create table txn (id, label);"
            "insert into item values (1, 'milk'); insert into txn values (1, 'first');"
        )
        connection.execute("insert into x values (?, ?)", row)
        assert connection.execute(f"select {sentence_sql(template, ('a', 'b'), 'x')} from x").fetchone() == (expected,)


@pytest.mark.parametrize("name", ["mda", "tba", "wba", "gba", "rba"])
def test_the_weights_before_the_first_round_are_in_the_store_for_any_sqlite_shell(example, tmp_path, name):
    """Figures 4.7 of the thesis and 4 of the paper, from SQL alone."""
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    golden = json.loads((Path(__file__).parents[1] / "golden" / "set-generalisation.json").read_text())["example"]
    expected = golden["table"] if name in ("mda", "tba") else golden[name]["start_weighted"]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        found = connection.execute(f"select row, col, w from start_{name} order by row, col").fetchall()
    assert [w for *_, w in found] == pytest.approx([w for row in expected for w in row], abs=1e-12)


def test_a_formula_over_the_whole_table_is_the_same_in_sql(example, tmp_path):
    rule = """\
rule: scaled
form: eliminate
about: distances as shares of the largest of the table
cells: select * from distance
weigh: d / max(d) - min(d) * ln(rows + cols) + min(1, mean(d))
groups: [table]
suspicion: largest
threshold: mean(w)
eliminate: all
because: "{item}"
reference: ours
wrong_when: never
"""
    (example / "scaled.yaml").write_text(rule)
    text = (example / "scenario.yaml").read_text()
    attacks = re.search(r"attack: \[.*\]", text)[0]
    (example / "scenario.yaml").write_text(text.replace(attacks, "attack: [scaled.yaml]"))
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        add_functions(connection)
        weights = dict(connection.execute("select row * 4 + col, w from start_scaled").fetchall())
        kept = dict(connection.execute("select row * 4 + col, weight from kept").fetchall())
        eliminated = dict(connection.execute("select row * 4 + col, weight from eliminated").fetchall())
    assert weights == pytest.approx(kept | eliminated, abs=1e-12)


def test_what_a_member_was_eliminated_among_is_drawn_and_in_the_graph(store, call, tmp_path):
    drawn = call("explain", "last", "p01", "insulin", "--attack", "rba", "--store", store, "--svg", tmp_path / "e.svg")
    assert drawn.code == 0, drawn.err
    picture = (tmp_path / "e.svg").read_text(encoding="utf-8")
    for text in ("insulin", "aspirin", "chest pain", "0.80, eliminated in round 42"):
        assert text in picture
    graph = json.loads(call("explain", "last", "p01", "insulin", "--attack", "rba", "--store", store, "--graph").out)
    rivals = {node["label"]: node for node in graph["nodes"] if node["kind"] == "rival"}
    assert rivals["insulin"]["subject"]
    assert rivals["insulin"]["eliminated"]
    assert rivals["aspirin"]["note"] == "0.70"
    assert not rivals["aspirin"]["eliminated"]


def test_an_item_that_nothing_was_found_about_cannot_be_drawn(store, call, tmp_path):
    done = call("explain", "last", "p01", "aspirin", "--attack", "rba", "--store", store, "--svg", tmp_path / "e.svg")
    assert done.code == 2
    assert "nothing was found that can be drawn" in done.err
    assert not (tmp_path / "e.svg").exists()
