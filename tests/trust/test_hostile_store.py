"""To open somebody's store runs nothing that is in it, and a store of one's own is for one's own eyes."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ROOT
from decloak.errors import DecloakError
from decloak.store.documentation import _schema_objects, schema_text
from decloak.store.opening import connect_readonly, open_store

# evil() is nowhere: whatever calls it fails in other words than those of a refusal.
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
HOSTILE = {
    "trigger": "create trigger t after insert on item begin select evil(); end",
    "trigger on a view": "create trigger t instead of insert on node begin select evil(); end",
    "trigger on their own": "create table mine (a); create trigger t insert on mine begin select evil(); end",
    "view": "drop view result; create view result as select evil() as run, 1 as measure, 1 as attack, 1 as value",
    "endless view": f"drop view node; create view node as select '' as kind, i as id, '' as label from ({ENDLESS})",
    "view of a table": "drop table measure; create view measure as select 1 as measurement, evil() as value",
    "view of facts": "create view found_mine as select 1 as finding, evil() as a",
    "facts that are made up": "create table found_mine (finding integer primary key, a default (evil()))",
    "facts with a generated column": "create table found_mine (finding integer primary key references finding (id) "
    "on delete cascade, a, b as (abs(a)))",
    "table of sentences": "drop view why_rba; create table why_rba (because)",
    "check": "drop table measure; create table measure (a, check (abs(a) > 0))",
    "index": "create index i on run (scenario)",
    "expression in an index": "create index i on run (abs(length(scenario)))",
    "partial index": "create index i on run (id) where abs(length(scenario)) > 0",
    "index of ours": "drop index fact_attack; create index fact_attack on fact (abs(attack))",
    "full text": "create virtual table notes using fts5(a)",
    "function": "create virtual table json_each using fts5(value)",
    "view like a function": "create view json_each as select evil() as value",
    "pragma": "create table pragma_table_info (name)",
    "missing": "drop view result",
}
TAMPERED = {
    "text of a view": "update sqlite_master set sql = replace(sql, '''cluster ''', 'evil()') where name = 'node'",
    "comment in a name": "update sqlite_master set sql = replace(sql, '''cluster ''', "
    "'''cluster --'' || evil() || ''' || char(10) || ' ''') where name = 'node'",
    "second table": "insert into sqlite_master values ('view', 'TXN', 'TXN', 0, 'create view TXN as select 1')",
    "type": "update sqlite_master set type = 'view', sql = 'create view run as select evil() as id', rootpage = 0 "
    "where name = 'run'",
    "statistics": "insert into sqlite_master values "
    "('view', 'sqlite_stat1', 'sqlite_stat1', 0, 'create view sqlite_stat1 as select evil() as tbl')",
    "trigger": "insert into sqlite_master values "
    "('trigger', 't', 'item', 0, 'create trigger t after insert on item begin select evil(); end')",
}
HARMLESS = {
    "nothing": "",
    "statistics": "analyze",
    "table": "create table notes (id integer primary key, text text default 'x'); create index i on notes (text)",
    "view": "create view mine as select name from item",
    "facts": 'create table "found_my facts" (finding integer primary key references finding (id) on delete cascade, '
    '"a ""b""", "c")',
}
COMMANDS = {
    "runs": ["runs"],
    "show": ["show", "last"],
    "compare": ["compare", "1", "1"],
    "explain": ["explain", "last"],
    "publish": ["publish", "last", "release.txt"],
    "sql": ["sql", "select 1"],
    "graph": ["graph", "--format", "json"],
    "import": ["import", "data.txt", "--format", "basket"],
    "run": ["run", str(ROOT / "scenarios" / "quickstart.yaml")],
}


def changed(store: Path, script: str) -> Path:
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(script)
    return store


def tampered(store: Path, statement: str) -> Path:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("pragma writable_schema = on")
        assert connection.execute(statement).rowcount == 1
        connection.commit()
    return store


def schema(store: Path) -> list[tuple[str, ...]]:
    with closing(connect_readonly(store)) as connection:
        return connection.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()


def refused(way, store: Path) -> str:
    with pytest.raises(DecloakError) as told:
        way(store).close()
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize("way", [connect_readonly, open_store])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_store_with_something_in_it_that_may_run_is_refused(store, name, way):
    before = changed(store, HOSTILE[name]).read_bytes()
    message = refused(way, store)
    assert message.startswith(f"{store}: not as decloak makes a store: ")
    assert "ask for one made by `decloak publish`" in message
    assert store.read_bytes() == before


@pytest.mark.parametrize("way", [connect_readonly, open_store])
@pytest.mark.parametrize("name", TAMPERED)
def test_a_store_whose_list_of_tables_was_tampered_with_is_refused(store, name, way):
    message = refused(way, tampered(store, TAMPERED[name]))
    assert "not as decloak makes a store" in message or "damaged" in message


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_refuses_it_in_one_line(store, call, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text("milk, bread\n")
    said = call(*command, "--store", changed(store, HOSTILE["trigger"]))
    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert "not as decloak makes a store: the trigger 't'; it may do harm" in said.err
    assert not Path("release.txt").exists()


@pytest.mark.parametrize("script", HARMLESS.values(), ids=HARMLESS)
def test_what_a_user_adds_beside_our_tables_is_let_be(store, script):
    ours = schema(store)
    changed(store, script)
    added = schema(store)
    assert (added != ours) == bool(script)
    open_store(store).close()
    assert schema(store) == added


def test_a_view_of_sentences_is_never_asked(store, call):
    changed(store, "drop view why_rba; create view why_rba as select evil() as because")
    assert call("explain", "last", "p01", "insulin", "--attack", "rba", "--store", store).out.startswith("rba: round")
    assert "no such function: evil" in call("sql", "select * from why_rba", "--store", store).err


def test_a_view_cannot_call_what_is_not_sqlites_own(store):
    """Were a view let through all the same, what Python has added could not be called in it."""
    changed(store, "create view mine as select reached(1) as a")
    with closing(connect_readonly(store)) as connection:
        connection.create_function("reached", 1, lambda value: value)
        with pytest.raises(sqlite3.OperationalError, match=r"unsafe use of reached"):
            connection.execute("select * from mine")


def test_what_is_compared_is_what_the_schema_makes():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema_text())
        made = connection.execute("select name, type, sql from sqlite_master where sql is not null").fetchall()
    assert {name: (kind, sql) for name, kind, sql in made} == dict(_schema_objects())


def test_other_blanks_and_comments_are_no_other_schema(tmp_path):
    store = tmp_path / "store.db"
    open_store(store).close()
    tampered(store, "update sqlite_master set sql = replace(sql, 'AS id,', 'AS  id, -- a number') where name = 'node'")
    with closing(connect_readonly(store)) as connection:
        assert connection.execute("select count(*) from node").fetchone() == (0,)


@pytest.mark.parametrize(
    "script",
    [
        "drop table about; create view about as select evil() as n, 1 as stem, '' as texts, '' as made, '' as decloak",
        "create trigger t after insert on about begin select evil(); end",
    ],
    ids=["view", "trigger"],
)
def test_an_index_of_documents_runs_nothing_either(tmp_path, call, script):
    (tmp_path / "texts").write_text("milk and bread\n")
    assert call("corpus", "build", tmp_path / "texts", "--out", tmp_path / "index").code == 0
    changed(tmp_path / "index", script)
    said = call("corpus", "count", tmp_path / "index", "milk")
    assert (said.code, said.out) == (2, "")
    assert "an index of documents with views or triggers, which may do harm" in said.err


@pytest.mark.parametrize("before", [None, 0o022, 0o077], ids=repr)
def test_a_store_is_made_for_its_owner_alone(tmp_path, before):
    mask = os.umask(0 if before is None else before)
    try:
        with open_store(tmp_path / "store.db") as store, store.stage() as connection:
            connection.execute("insert into item (name) values ('x')")
            files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(mask)
    assert files == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)


def without_blanks(text: str) -> str:
    """The text as one word: where a line is broken depends on the length of the folder's name."""
    return "".join(text.split())


def test_run_tells_once_that_a_new_store_holds_the_originals(tmp_path, call):
    store = tmp_path / "new.db"
    scenario = ROOT / "scenarios" / "quickstart.yaml"
    note = f"CONFIDENTIAL: {store} contains the original data. Share only files written by "
    assert without_blanks(call("run", scenario, "--store", store).err).endswith(
        without_blanks(f"{note}`decloak publish`.")
    )
    assert "original data" not in call("run", scenario, "--store", store).err
    assert "original data" not in call("runs", "--store", store).err


def test_run_tells_of_a_store_with_originals_that_others_can_read(store, call):
    store.chmod(0o640)
    said = call("run", ROOT / "scenarios" / "quickstart.yaml", "--store", store)
    warning = f"WARNING: {store} contains the original data, and other users can read it. Run: chmod 600 {store}"
    assert without_blanks(said.err).endswith(without_blanks(warning))
    assert said.err.endswith(f"\n  chmod 600 {store}\n")
    assert store.stat().st_mode & 0o777 == 0o640


def test_a_store_without_originals_is_nothing_to_tell_of(example, call, tmp_path):
    (example / "auditor.yaml").write_text(
        "scenario: s\ndata: {published: published.txt}\nrelate: {measure: ngd, source: scores, file: scores.csv}\n"
        "attacker: {context: 1}\nattack: [rba]\n"
    )
    assert "original data" not in call("run", example / "auditor.yaml", "--store", tmp_path / "audit.db").err


def test_import_tells_as_well(tmp_path, call):
    (tmp_path / "data.txt").write_text("milk, bread\nmilk, tea\n")
    said = call("import", tmp_path / "data.txt", "--format", "basket", "--store", tmp_path / "new.db")
    assert without_blanks("new.db contains the original data") in without_blanks(said.err)
