"""The store: what is in it is documented, and nothing is ever half written."""

import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlite_utils import Database

import decloak
from decloak.errors import DecloakError
from decloak.store.documentation import schema_markdown, schema_tables
from decloak.store.inserting import insert, insert_rows
from decloak.store.opening import APPLICATION, VERSION, connect_readonly, open_store
from stores import old_store


def content(path: Path) -> list[str]:
    """Everything in a database, and whose it says it is."""
    with closing(sqlite3.connect(path)) as connection:
        owner = [str(connection.execute(f"pragma {one}").fetchone()) for one in ("application_id", "user_version")]
        return owner + list(connection.iterdump())


def refused(path: Path, way=open_store) -> str:
    with pytest.raises(DecloakError) as caught:
        way(path).close()
    message = str(caught.value)
    assert "\n" not in message
    assert "; " in message, "no remedy"
    return message


def test_a_file_that_is_not_there_becomes_a_store(tmp_path):
    path = tmp_path / "store.db"
    open_store(path).close()
    with closing(connect_readonly(path)) as connection:
        assert connection.execute("pragma application_id").fetchone() == (APPLICATION,)
        assert connection.execute("pragma user_version").fetchone() == (VERSION,)
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "store.db").touch()
    open_store(tmp_path / "store.db").close()
    with closing(connect_readonly(tmp_path / "store.db")) as connection:
        assert connection.execute("pragma application_id").fetchone() == (APPLICATION,)
        assert connection.execute("select count(*) from run").fetchone() == (0,)


@pytest.mark.parametrize("name", ["we?ird#%20 &.db", "é😀.db", "new\nline.db", ":memory:", "-.db", "a'b\".db"])
def test_any_file_name_will_do(tmp_path, name):
    open_store(tmp_path / name).close()
    connect_readonly(tmp_path / name).close()
    assert (tmp_path / name).stat().st_size > 0


def test_the_documentation_lists_exactly_what_the_store_has(tmp_path):
    with open_store(tmp_path / "store.db") as store:
        known = store.connection.execute("select name, type from sqlite_master where type in ('table', 'view')")
        found = {
            (name, kind): [
                (row[1], row[2]) for row in store.connection.execute(f'pragma table_info("{name}")').fetchall()
            ]
            for name, kind in known.fetchall()
        }
    told = {(one.name, one.kind): [(column.name, column.type) for column in one.columns] for one in schema_tables()}
    assert told.keys() == found.keys()
    for key, columns in found.items():
        names = [name for name, _ in columns]
        assert [name for name, _ in told[key]] == names
        if key[1] == "table":
            assert told[key] == columns


def test_every_table_view_and_column_has_a_meaning():
    for table in schema_tables():
        assert len(table.meaning) > 10, table.name
        assert table.columns, table.name
        for column in table.columns:
            assert len(column.meaning) > 3, (table.name, column.name)
            assert "--" not in column.meaning, (table.name, column.name)


def test_the_reference_page_has_every_column():
    page = schema_markdown(schema_tables())
    for table in schema_tables():
        assert f"## {table.name} ({table.kind})" in page
        for column in table.columns:
            assert f"| {column.name} | {column.type.lower()} | {column.meaning} |" in page


def test_every_table_is_strict_and_its_references_lead_somewhere(tmp_path):
    with open_store(tmp_path / "store.db") as store:
        connection = store.connection
        names = {row[1]: row for row in connection.execute("pragma main.table_list") if row[2] == "table"}
        names = {name: row for name, row in names.items() if not name.startswith("sqlite_")}
        assert all(row[5] == 1 for row in names.values())
        for name in names:
            for reference in connection.execute(f'pragma foreign_key_list("{name}")').fetchall():
                assert reference[2] in names, (name, reference)


def old(path: Path) -> list[str]:
    """A store of version 1 at `path`; its content."""
    open_store(path, version=1).close()
    return content(path)


def test_migrations_run_in_order_from_the_version_of_the_store(tmp_path):
    old(tmp_path / "store.db")
    ran = []

    def step(number: int):
        def migrate(database: Database) -> None:
            version = database.execute("pragma user_version").fetchone()[0]
            assert version == number - 1
            ran.append(number)
            database["item"].insert({"id": number, "name": f"made by {number}"})

        return migrate

    steps = {number: step(number) for number in (4, 2, 3, 1)}
    open_store(tmp_path / "store.db", migrations=steps, version=4).close()
    assert ran == [2, 3, 4]
    open_store(tmp_path / "store.db", migrations=steps, version=4).close()
    assert ran == [2, 3, 4]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("pragma user_version").fetchone() == (4,)
        assert [row[0] for row in connection.execute("select id from item")] == [2, 3, 4]


CHANGES = {
    "sql": lambda database: database.execute("create table half (a)"),
    "script": lambda database: database.executescript("create table half (a); create table quarter (a);"),
    "insert": lambda database: database["item"].insert({"id": 1, "name": "half"}),
    "create": lambda database: database["half"].create({"id": int}),
    "column": lambda database: database["item"].add_column("half", str),
    "transform": lambda database: database["item"].transform(rename={"name": "half"}),
    "drop": lambda database: database["measure"].drop(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, sqlite3.OperationalError], ids=lambda x: x.__name__)
def test_a_migration_that_fails_half_way_leaves_the_old_version(tmp_path, change, fault):
    before = old(tmp_path / "store.db")

    def migrate(database: Database) -> None:
        change(database)
        raise fault("half way")

    expected = DecloakError if fault is sqlite3.OperationalError else fault
    with pytest.raises(expected, match="half way"):
        open_store(tmp_path / "store.db", migrations={2: migrate}, version=2)
    assert content(tmp_path / "store.db") == before
    with open_store(tmp_path / "store.db", migrations={2: change}, version=2):
        assert content(tmp_path / "store.db") != before


def test_a_good_step_before_a_bad_one_stays(tmp_path):
    old(tmp_path / "store.db")

    def bad(database: Database) -> None:
        database["item"].insert({"id": 3, "name": "bad"})
        raise RuntimeError

    with pytest.raises(RuntimeError):
        open_store(tmp_path / "store.db", migrations={2: CHANGES["insert"], 3: bad}, version=3)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("pragma user_version").fetchone() == (2,)
        assert connection.execute("select name from item").fetchall() == [("half",)]


def test_an_older_store_gets_the_views_of_this_version(tmp_path):
    with open_store(tmp_path / "new.db") as store:
        views = "select name, sql from sqlite_master where type = 'view' order by name"
        right = store.connection.execute(views).fetchall()
    old_store(tmp_path / "new.db", tmp_path / "old.db", 1)
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        for name in ("node", "edge"):
            connection.execute(f"drop view {name}")
        connection.execute("create view node as select 'txn' as kind, id, label from txn")
        connection.commit()
    with open_store(tmp_path / "old.db") as store:
        assert store.connection.execute(views).fetchall() == right


def marked(path: Path, version: int, application: int = APPLICATION) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {application}")
        connection.execute(f"pragma user_version = {version}")
    return path


def theirs(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table txn (id integer primary key)")
        connection.execute("insert into txn values (7)")
        connection.commit()
    return path


@pytest.mark.parametrize("way", [open_store, connect_readonly])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: marked(path, VERSION + 1), f"a store of version {VERSION + 1}, newer than this decloak"),
        (lambda path: marked(path, 0), "a store of version 0"),
        (theirs, "a SQLite database, but no store of decloak"),
        (lambda path: marked(path, 3, application=0), "a SQLite database, but no store of decloak"),
        (lambda path: marked(path, 0, application=99), "a SQLite database, but no store of decloak"),
        (lambda path: path.write_bytes(b"tid,item\n1,milk\n" * 500), "not a SQLite database"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000), "not a SQLite database"),
    ],
    ids=["newer", "zero", "theirs", "theirs-version", "theirs-application", "text", "damaged"],
)
def test_what_is_no_store_of_ours_is_refused_and_left_alone(tmp_path, make, expected, way):
    path = tmp_path / "some.db"
    make(path)
    before = path.read_bytes()
    assert refused(path, way).startswith(f"{path}: {expected}")
    assert path.read_bytes() == before


def test_a_truncated_store_is_refused(store):
    store.write_bytes(store.read_bytes()[:100_000])
    assert "damaged" in refused(store)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "a folder, not a store"),
        ("missing/store.db", "no such folder"),
        ("file/store.db", "no such folder"),
        ("nul\0/store.db", "no such folder"),
        ("nul\0.db", "no such folder"),
        ("/dev/full", "a pipe or a device, not a file"),
        ("/proc/store.db", "the store cannot be written here"),
        ("/dev/null", "a pipe or a device, not a file"),
        ("/proc/self/status", "the store cannot be written here"),
    ],
)
def test_where_nothing_can_be_written_is_refused(tmp_path, path, expected):
    # Permissions would not stop root, who runs many a CI; these places stop everybody.
    (tmp_path / "file").touch()
    assert expected in refused(tmp_path / path)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    assert "no store there" in refused(tmp_path / "store.db", connect_readonly)
    assert not (tmp_path / "store.db").exists()


def test_a_reader_cannot_write(store):
    with closing(connect_readonly(store)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("insert into item (name) values ('x')")


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, SystemExit, DecloakError, GeneratorExit])
def test_what_fails_inside_a_stage_leaves_nothing(store, fault):
    before = content(store)

    def half_way(connection: sqlite3.Connection) -> None:
        insert(connection, "item", name="unfinished")
        connection.execute("create table unfinished (a)")
        raise fault("half way")

    with open_store(store) as opened:
        with pytest.raises(fault), opened.stage() as connection:
            half_way(connection)
        assert not opened.connection.in_transaction
        with opened.stage() as connection:
            insert(connection, "item", name="whole")
    after = content(store)
    assert not any("unfinished" in line for line in after)
    seal = "INSERT INTO \"seal\" VALUES('item',"
    written = [line for line in after if "'whole'" in line or line.startswith(seal)]
    assert Counter(after) - Counter(before) == Counter(written)


def test_what_a_stage_writes_is_seen_when_it_ends_and_not_before(store):
    counted = "select count(*) from item"
    with open_store(store) as opened, closing(connect_readonly(store)) as reader:
        before = reader.execute(counted).fetchone()[0]
        with opened.stage() as connection:
            insert(connection, "item", name="new")
            assert reader.execute(counted).fetchone()[0] == before
        assert reader.execute(counted).fetchone()[0] == before + 1


def test_a_stage_that_breaks_a_reference_fails_and_leaves_nothing(store):
    before = content(store)

    def breaking(connection: sqlite3.Connection) -> None:
        insert(connection, "item", name="half")
        insert(connection, "record", dataset=999, elements="[]")

    with open_store(store) as opened, pytest.raises(sqlite3.IntegrityError), opened.stage() as connection:
        breaking(connection)
    assert content(store) == before


def test_a_store_that_another_holds_is_an_error_in_plain_words(store):
    with open_store(store) as one, open_store(store) as other:
        other.connection.execute("pragma busy_timeout = 1")
        with one.stage(), pytest.raises(DecloakError, match="another run holds the store"), other.stage():
            pass


def dangling(connection: sqlite3.Connection) -> list[tuple]:
    return connection.execute(
        "select * from edge e "
        "where not exists (select 1 from node n where n.kind = e.source_kind and n.id = e.source_id) "
        "or not exists (select 1 from node n where n.kind = e.target_kind and n.id = e.target_id) limit 5"
    ).fetchall()


def test_every_edge_joins_two_nodes(store):
    with closing(connect_readonly(store)) as connection:
        assert not dangling(connection)
        assert connection.execute("select count(*) from edge").fetchone()[0] > 1000
        assert not connection.execute("select kind, id from node group by kind, id having count(*) > 1").fetchall()
        assert not connection.execute("pragma foreign_key_check").fetchall()


# One row of everything, so that no arm of the two views goes untried: what runs do not write yet is in here too.
EVERYTHING = """
insert into dataset values (1, 'd1', 'original', 'o', 'f', null, 1, 1), (2, 'd2', 'published', 'o', 'f', 'n', 2, 1);
insert into item values (1, 'a'), (2, 'b');
insert into hierarchy values (1, 'h', 'o');
insert into release values (1, 'r', 2, 'm', '{}', 1, '{}', '[]', null);
insert into generalised values (1, 1, '(a, b)');
insert into member_of values (1, 0, 1), (1, 1, 2);
insert into truth_release values (1, 1);
insert into concept values (1, 1, '(a, b)', null), (2, 1, 'leaf', 1);
insert into is_a values (2, 1);
insert into cluster values (1, 1, 0, 3, 2);
insert into record values (1, 1, null, null, '[]'), (2, 2, 1, null, '[1,-1]');
insert into truth_origin values (2, 1);
insert into joint values (1, 1, 0);
insert into joins values (1, 1);
insert into chunk values (1, 1, null, 0, 'record', '[]'), (2, 1, null, 0, 'term', '[2]');
insert into chunk values (3, null, 1, 0, 'shared', '[]');
insert into subrecord values (1, 1, 0, '[1]');
insert into number values (1, 0.5);
insert into attacker values (1, 'k', 1, 'weak', null);
insert into knowledge values (1, 1);
insert into knows values (1, 2);
insert into relatedness values (1, 's', 'ngd', 'o', '[]', 1);
insert into scored_item values (1, 1, '{"2":0}');
insert into scoring values (1, 's', 1, 1, '2', 1);
insert into distance_table values (1, 1, 0, 1, '[2]', 1);
insert into distance_row values (1, 0, 2, '[1]', '[0]');
insert into rule values (1, 'u', 'gba', 'eliminate', '', null, 'stable', 'a', 'r', 'w');
insert into attack values (1, 'a', 1, 1, 1, 1, '{}', 1, 1, 1, null, null);
insert into elimination values (1, 1, 1, 1, 0.5, 0, 1, '[0]');
insert into eliminated_members values (1, 1, '[1]', null, '[0]');
insert into run values (1, 'r', 's', 'base', 1, 0, '{}', 'now', 1);
insert into run_attack values (1, 0, 'gba', 1);
"""


def test_the_whole_graph_is_consistent(tmp_path):
    with open_store(tmp_path / "store.db") as store:
        with store.stage() as connection:
            for line in EVERYTHING.strip().splitlines():
                connection.execute(line)
        assert not dangling(store.connection)
        edges, nodes = (
            {
                kind
                for view in (name, f"truth_{name}")
                for (kind,) in store.connection.execute(f"select kind from {view}")
            }
            for name in ("edge", "node")
        )
        assert store.connection.execute("select weight from edge where kind = 'related'").fetchall() == [(0.5,)]
    said = [(kind, word or table.name) for table in schema_tables() for kind, word in tags(table.meaning)]
    assert {word for kind, word in said if kind == "node"} == nodes
    assert {word for kind, word in said if kind == "edge"} == edges - {
        "in_dataset",
        "publishes",
        "stands_for",
        "generalises_in",
        "in_hierarchy",
        "in_release",
        "in_joint",
        "has",
        "made",
        "derived_from",
    }


def tags(meaning: str) -> list[tuple[str, str]]:
    """What a table's comment says it is: [node, edge in_cluster] is a node of its own name and that kind of edge."""
    said = re.match(r"\[([a-z_, ]+)\]", meaning)
    return [one.partition(" ")[::2] for one in said[1].split(", ")] if said else []


def test_deleting_a_data_set_leaves_nothing_of_it(store):
    with open_store(store) as opened:
        with opened.stage() as connection:
            connection.execute("delete from run")
            connection.execute("delete from dataset")
        rows = {
            one.name: opened.connection.execute(f'select count(*) from "{one.name}"').fetchone()[0]
            for one in schema_tables()
            if one.kind == "table"
        }
    assert {name for name, count in rows.items() if count} == {
        "item", "relatedness", "scored_item", "number", "rule", "seal", "figure", "criterion",
    }  # fmt: skip


def test_a_copy_of_the_file_is_the_whole_store(store, tmp_path):
    with open_store(store) as opened, opened.stage() as connection:
        insert(connection, "item", name="last")
    copy = Path(shutil.copy(store, tmp_path / "copy.db"))
    with closing(connect_readonly(copy)) as connection:
        assert connection.execute("select count(*) from item where name = 'last'").fetchone() == (1,)


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.text(max_size=2)), max_size=200), st.integers(1, 3))
@example([(1, "a"), (2, None)] * 50, 2)
def test_rows_are_inserted_as_they_come_however_many(rows, repeated):
    held = rows * repeated
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (a, b)")
        insert_rows(connection, "t (a, b)", iter(held))
        assert connection.execute("select a, b from t order by rowid").fetchall() == held


def test_more_rows_than_are_gathered_at_once_are_inserted_in_order():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (a)")
        insert_rows(connection, "t (a)", ((number,) for number in range(30_001)))
        assert [a for (a,) in connection.execute("select a from t order by rowid")] == list(range(30_001))


def test_the_dictionary_of_figures_explains_every_result(store):
    with closing(connect_readonly(store)) as connection:
        unexplained = (
            "select measure from result union select measure from result_by_table except select key from figure"
        )
        assert connection.execute(unexplained).fetchall() == []
        columns = "key, title, unit, direction, base, way"
        rows = connection.execute(f"select {columns} from figure where key like 'precision%'").fetchall()
        (definitions,) = connection.execute("select count(*) from figure where definition = ''").fetchone()
    assert rows == [("precision", "precision", "share", "more is exposed", "precision", None)]
    assert definitions == 0


def test_results_of_a_run_and_of_its_tables_are_apart(store):
    with closing(connect_readonly(store)) as connection:
        measured = "select count(*) from run_measurement join measure using (measurement) where scope"
        for view, which in {"result": "= -1", "result_by_table": ">= 0"}.items():
            count = connection.execute(f"{measured} {which}").fetchone()
            assert connection.execute(f"select count(*) from {view}").fetchone() == count > (0,)
        twice = "select 1 from result group by run, attack, measure having count(*) > 1"
        assert connection.execute(twice).fetchall() == []
        assert connection.execute("select min(scope) from result_by_table").fetchone() >= (0,)


def test_a_run_brings_the_dictionary_of_an_older_decloak_up_to_date(example, tmp_path):
    scenario, path = example / "scenario.yaml", tmp_path / "store.db"
    decloak.run(scenario, store=path)
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute("select * from figure order by key").fetchall()
        connection.execute("delete from figure where key = 'recall'")
        connection.execute("update figure set title = 'old' where key = 'precision'")
        connection.execute("insert into figure values ('gone', 999, 'g', 'share', '', 'gone', 'gone', null, '[]')")
        connection.commit()
    decloak.run(scenario, store=path)
    with closing(connect_readonly(path)) as connection:
        after = connection.execute("select * from figure where key <> 'gone' order by key").fetchall()
        assert connection.execute("select title from figure where key = 'gone'").fetchone() == ("g",)
    assert after == before


def test_a_published_store_has_no_figures(store, tmp_path, call):
    assert call("publish", "last", tmp_path / "p.db", "--store", store).code == 0
    with closing(connect_readonly(tmp_path / "p.db")) as connection:
        assert connection.execute("select count(*) from figure").fetchone() == (0,)
