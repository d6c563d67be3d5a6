"""An attack rule sees the relations of one release, writes nothing, and comes to an end."""

import json
import random
import re
import sqlite3
import time
from contextlib import closing, suppress

import pytest

import decloak
from decloak.errors import DecloakError
from decloak.rules.load import Catalogue
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.documentation import schema_tables
from decloak.store.opening import connect_readonly
from decloak.store.relations import RELATIONS, Scope
from decloak.store.sandbox import Sandbox
from slowly import slow_but
from stores import attackers_sandbox
from test_store import content

TRUTH = [one.name for one in schema_tables() if one.name.startswith("truth_")]
STORED = [one.name for one in schema_tables()]


@pytest.fixture
def scope(store):
    with closing(connect_readonly(store)) as connection:
        return Scope(*connection.execute("select release, 2, scoring from attack").fetchone())


@pytest.fixture
def sandbox(store, scope):
    with attackers_sandbox(store, scope) as opened:
        yield opened


WAYS = {
    "select": lambda sandbox, sql: sandbox.select(sql, "r.yaml:1:1"),
    "check": lambda sandbox, sql: sandbox.columns(sql, "r.yaml:1:1"),
    "step": lambda sandbox, sql: sandbox.make("step", sql, "r.yaml:1:1"),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def outcome(sandbox, sql, way):
    """The column n that some SQL gives, each way as far as it goes: what is checked has its rows by a step of ours."""
    told = way(sandbox, sql)
    if way is WAYS["select"]:
        return told
    if way is WAYS["check"]:
        sandbox.make("step", sql)
    rows = sandbox.engine("select n from temp.step")
    sandbox.engine("drop table temp.step")
    return told or ("n",), rows


def refused(sandbox, sql, way=WAYS["select"]) -> str:
    with pytest.raises(DecloakError) as caught:
        way(sandbox, sql)
    assert caught.value.place == "r.yaml:1:1"
    assert "\n" not in str(caught.value)
    return caught.value.message


def test_there_is_a_truth_to_hide():
    assert {"truth_cell", "truth_marked", "truth_origin", "truth_release"} <= set(TRUTH)


READING = """
select * from {0}
select * from main.{0}
select count(*) from main.{0}
select 1 from main.{0}
select * from "{0}"
select * from [main].[{0}]
select * from `main`.`{0}`
select * from 'main'.'{0}'
select * from mAiN.{1}
select * from main . /* x */ {0} -- y
select * from main.{0} as txn
select txn.* from main.{0} txn
select * from (select * from (select * from main.{0}))
select (select count(*) from main.{0})
select * from txn where exists (select 1 from main.{0})
select * from txn t where t.txn = (select max(rowid) from main.{0} where rowid = t.txn)
select * from txn where txn in (select 1 from main.{0})
select * from txn where txn in main.{0}
select txn from txn union select 1 from main.{0}
select txn from txn except select 1 from main.{0}
select * from txn join main.{0}
select * from txn left join main.{0} x on 1
select * from main.{0} cross join txn
with x as (select * from main.{0}) select * from x
with txn as (select * from main.{0}) select * from txn
with distance as (select * from main.{0}), contains as (select * from distance) select * from contains
with recursive x(n) as (select 1 union all select count(*) from main.{0}) select * from x limit 1
with {0} as (select * from main.{0}) select * from {0}
with _0123456789abcdef0123456789abcdef as (select * from main.{0}) select * from _0123456789abcdef0123456789abcdef
select sum(x) over () from (select count(*) as x from main.{0})
select case when exists (select 1 from main.{0}) then 1 else 0 end
select * from txn order by (select count(*) from main.{0})
select * from txn limit (select count(*) from main.{0})
select * from txn group by (select count(*) from main.{0})
select txn from txn group by txn having count(*) > (select count(*) from main.{0})
select * from json_each((select json_group_array(1) from main.{0}))
select max((select count(*) from main.{0}), 1)
values ((select count(*) from main.{0}))
""".strip().splitlines()


@every_way
@pytest.mark.parametrize("table", TRUTH)
def test_no_rule_reads_the_truth(sandbox, table, way):
    for text in READING:
        sql = text.format(table, table.upper())
        message = refused(sandbox, sql, way)
        assert message == f"a rule may not read '{table}': only the evaluator knows the truth" or "json_" in sql, sql
        assert not sandbox._connection.in_transaction


def test_the_same_texts_read_what_may_be_read():
    """Otherwise the test above could pass for another reason."""
    for text in READING:
        sql = re.sub(r"(?i)[\[`']?\bmain\b[\]`']? ?\. ?", "", text).format("truth_cell", "TRUTH_CELL")
        if "with truth_cell" not in sql and "json_" not in sql:
            with Sandbox.empty({"txn": ("txn",), "truth_cell": ("n",)}) as sandbox:
                sandbox.select(sql)
                assert "truth_cell" in sandbox.read, sql


@every_way
def test_no_table_of_the_store_is_read_but_through_a_relation(sandbox, way):
    for table in (*STORED, "sqlite_master", "sqlite_schema"):
        ways = ["select * from {}", "select count(*) from {}", "with txn as (select * from {}) select * from txn"]
        for sql in ways if table not in RELATIONS else ():
            assert refused(sandbox, sql.format(f'main."{table}"'), way).startswith("a rule may not read")
            assert refused(sandbox, sql.format(table), way).startswith("a rule may not read")


@every_way
def test_rows_of_relations_and_steps_can_be_counted(sandbox, way):
    """count(*) reads no column, and SQLite asks in another way."""
    sandbox.make("held", "select txn, count(*) as n from contains group by txn")
    sandbox.fill("given", ("x",), [(1,)])
    for table in ("txn", "TXN", "main.txn", "held", "given"):
        (count,) = sandbox.engine(f"select count(*) from {table}")
        assert outcome(sandbox, f"select count(*) as n from {table}", way) == (("n",), [count])


@every_way
def test_rows_of_a_select_with_a_name_can_be_counted(sandbox, way):
    """It has no table, and SQLite asks by the name that it has in the SQL alone."""
    for name in ("n", "nodes", '"N M"'):
        rows = f"with recursive {name}(i) as (select 1 union all select i + 1 from {name} limit 3)"
        for sql, expected in (
            (f"select count(*) as n from {name}", [(3,)]),
            (f"select 1 as n from {name}", [(1,), (1,), (1,)]),
            (f"select sum(2) as n from {name} a, {name} b", [(18,)]),
        ):
            assert outcome(sandbox, f"{rows} {sql}", way) == (("n",), expected)


@every_way
def test_no_name_that_means_something_is_counted_as_if_it_were_ones_own(sandbox, way):
    tables = [*STORED, "sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_sequence", "sqlite_stat1"]
    functions = ["json_each('[1]')", "json_tree('[1]')", "pragma_table_info('txn')", "pragma_table_list", "dbstat"]
    for table in (*tables, *functions, "pragma_database_list", "pragma_module_list", "bytecode('select 1')"):
        for sql in ("select count(*) as n from {}", "select 1 as n from {}", "select count(*) as n from {} a, txn b"):
            if table not in RELATIONS:
                refused(sandbox, sql.format(table), way)
                refused(sandbox, sql.format(table), way)  # SQLite asks less of a function that it has made already


@every_way
@pytest.mark.parametrize(
    "table",
    ["sqlite_temp_master", "sqlite_temp_schema", "temp.sqlite_master", "temp.sqlite_schema", "temp.sqlite_temp_master"],
)
def test_the_names_of_the_doors_cannot_be_learnt(sandbox, table, way):
    assert refused(sandbox, f"select name, sql from {table}", way).startswith("a rule may not read")


@pytest.mark.parametrize(
    "source",
    [
        "pragma_table_list", "pragma_table_xinfo('txn')", "pragma_database_list", "pragma_table_info('truth_origin')",
        "pragma_function_list", "pragma_module_list", "sqlite_dbpage", "sqlite_stmt", "dbstat", "bytecode('select 1')",
        "tables_used('select * from txn')", "sqlite_sequence", "sqlite_stat1", "fts5vocab", "generate_series(1, 3)",
        "zipfile('x')", "fsdir('/')", "csv('x')",
    ],
)  # fmt: skip
def test_no_other_source_is_open(sandbox, source):
    refused(sandbox, f"select * from {source}")


WRITING = """
insert into item values (1, 'x')
insert into main.item values (1, 'x')
insert or ignore into main.item (name) select 'x'
replace into main.item values (1, 'x')
update main.item set name = 'x'
update txn set label = 'x'
delete from main.item
delete from item
with x as (select 1) delete from main.item
with x as (select 1) insert into main.item (name) select 'x'
insert into main.item values (1, 'x') returning id
create table x (a)
create temp table x (a)
create table main.x as select 1
create view x as select 1
create temp view x as select * from main.truth_origin
create index main.x on item (name)
create trigger x after insert on main.item begin select 1; end
create temp trigger x after insert on main.item begin select 1; end
create virtual table x using fts5(a)
drop table main.item
drop view main.node
drop view txn
drop index main.contains_item
alter table main.item rename to other
alter table main.item add column x
attach ':memory:' as x
attach '{path}' as x
detach main
pragma user_version
pragma user_version = 7
pragma query_only = off
pragma writable_schema = on
pragma main.table_info('truth_origin')
pragma foreign_keys = off
pragma trusted_schema = on
vacuum
vacuum into '{path}'
begin
commit
rollback
savepoint x
release x
analyze
reindex
""".strip().splitlines()


@every_way
def test_no_rule_writes_or_sets_anything(store, sandbox, tmp_path, way):
    before = content(store)
    for sql in WRITING:
        refused(sandbox, sql.format(path=tmp_path / "other.db"), way)
        assert not (tmp_path / "other.db").exists()
        assert not sandbox._connection.in_transaction
        assert sandbox.select("select count(*) from txn")[1][0][0] > 0
    assert content(store) == before


@every_way
@pytest.mark.parametrize(
    "call",
    [
        "load_extension('x')", "random()", "RANDOM()", "abs(random() % 2)", "randomblob(3)", "hex(randomblob(3))",
        "last_insert_rowid()", "changes()", "total_changes()", "current_timestamp", "current_date", "current_time",
        "datetime('now')", "date()", "time('now')", "julianday('now')", "strftime('%s', 'now')", "unixepoch()",
        "readfile('/etc/passwd')", "writefile('x', 'y')", "edit('x')", "fts3_tokenizer('simple')", "eval('select 1')",
    ],
)  # fmt: skip
def test_what_reaches_outside_or_differs_between_runs_is_refused(sandbox, call, way):
    for sql in (f"select {call}", f"select * from txn order by {call}", f"select txn from txn where {call} > 0"):
        refused(sandbox, sql, way)


NOT_ONE_SELECT = """
select 1; select 2
select 1; drop table item
select 1; --
;
select
selec 1
select 'open
select "open
select [open
select (1
select 1)
select 1) union select * from (select 1
select * from txn) limit 0 --
explain select 1
explain query plan select * from txn
select * from nowhere
select nothing from txn
select x.y.z.w from txn
select ?
select :name
select @name + 1
select * from txn where
select abs('x', 2)
select nofunction(1)
select 1 union select 1, 2
with x as select 1
""".strip().splitlines()


@pytest.mark.parametrize(
    "sql", [*NOT_ONE_SELECT, "", " ", "-- comment", "/* open", "\0", "select 1\0", "\ud800", "select '\ud800'"]
)
def test_what_is_not_one_select_is_an_error(sandbox, sql):
    refused(sandbox, sql, WAYS["check"])
    for way in WAYS.values():
        with suppress(DecloakError):  # and nothing else: steps may be laxer than the check
            way(sandbox, sql)


def test_huge_sql_is_an_error_or_works(sandbox):
    assert sandbox.select("select " + "1 + " * 500 + "1")[1] == [(501,)]
    for sql in (
        "select " + "(" * 5_000 + "1" + ")" * 5_000,
        "select " + "1 + " * 100_000 + "1",
        "select " + ", ".join(map(str, range(40_000))),
        "select 1" + " union select 1" * 5_000,
        "select '" + "x" * 11_000_000 + "'",
        "select " + " -" * 5_000 + "1",
    ):  # fmt: skip
        refused(sandbox, sql)


def test_an_error_in_the_middle_of_the_rows_is_an_error_of_the_rule(sandbox):
    overflow = "select abs(column1) from (values (1), (-9223372036854775807 - 1))"
    assert "integer overflow" in refused(sandbox, overflow)
    assert "UTF-8" in refused(sandbox, "select cast(x'ff' as text)")
    assert "too big" in refused(sandbox, "select zeroblob(100000000)")
    assert "JSON" in refused(sandbox, "select json_extract(label, '$') from txn")


COUNT = "with recursive n(x) as (select 1 union all select x + 1 from n) "
ENDLESS = [
    COUNT + "select x from n",
    COUNT + "select sum(x) from n",
    COUNT + "select x from n order by -x",
    COUNT.replace(" all", "") + "select x from n",
    COUNT + "select a.x from n a, n b where a.x = -b.x",
]


@pytest.mark.parametrize("sql", ENDLESS)
@pytest.mark.parametrize("way", slow_but([WAYS["step"]], [WAYS["select"], WAYS["step"]]), ids=["select", "step"])
def test_a_rule_that_never_ends_is_stopped_when_it_is_checked(sql, way):
    with Sandbox.empty({"txn": ("txn",)}) as sandbox:
        started = time.process_time()
        assert refused(sandbox, sql, way) == "the SQL takes too long, or too much memory"
        assert time.process_time() - started < 20
        assert sandbox.select("select count(*) from txn")[1] == [(0,)]


def test_what_rules_may_store_is_bounded(store, scope):
    hoard = COUNT + "select x, zeroblob(4000) from n limit {}"
    for opening in (attackers_sandbox(store, scope), Sandbox.empty({})):
        with opening as sandbox:
            ((pages,),), ((size,),) = (sandbox.engine(f"pragma temp.{one}") for one in ("max_page_count", "page_size"))
            assert pages * size == 1_024_000_000
            sandbox.engine("pragma temp.max_page_count = 500")  # for the test not to take a gigabyte
            assert refused(sandbox, hoard.format(1000), WAYS["step"]) == "the SQL takes too long, or too much memory"
            sandbox.make("few", hoard.format(100))
            assert sandbox.select("select count(*) from few")[1] == [(100,)]


def test_checking_does_not_run_the_last_step(sandbox):
    assert sandbox.columns(ENDLESS[0]) == ("x",)


def test_other_releases_and_original_data_are_invisible(tmp_path, example):
    path = tmp_path / "both.db"
    names = {}
    for number, word in enumerate(("red", "blue")):
        folder = tmp_path / word
        folder.mkdir()
        for file in example.iterdir():
            text = file.read_text()
            for item in ("heart disease", "icd", "limbs", "injury", "knee"):
                text = text.replace(item, f"{word} {item}")
            (folder / file.name).write_text(text)
        with (folder / "original.txt").open("a") as file:
            file.write(f"only the original has {word}, and its {word} disease\n")
        with (folder / "published.txt").open("a") as file:
            file.write(f"{word} published\n")
        with (folder / "original.txt").open("a") as file:
            file.write(f"{word} published, {word} suppressed\n" if number else f"{word} published\n")
        text = (folder / "published.txt").read_text().splitlines()
        (folder / "published.txt").write_text("\n".join([*text[:4], f"and its {word} disease", text[4]]) + "\n")
        decloak.run(folder / "scenario.yaml", store=path)
    with closing(connect_readonly(path)) as connection:
        attacks = connection.execute("select distinct release, scoring from attack order by release").fetchall()
        datasets = dict(connection.execute("select id, dataset from release").fetchall())
    for (release, scoring), word, other in zip(attacks, ("red", "blue"), ("blue", "red"), strict=True):
        with attackers_sandbox(path, Scope(release, datasets[release], scoring)) as sandbox:
            found = {name: sandbox.select(f'select * from "{name}"')[1] for name in RELATIONS}
        names[word] = {name for _, name in found["item"]}
        text = repr(found)
        assert f"{word} icd" in text
        assert other not in text
        assert "only the original" not in text
        assert "suppressed" not in text
        shown = {row[0] for row in found["txn"]}
        assert len(shown) == 6
        assert {row[0] for row in found["contains"]} | {row[0] for row in found["published_as"]} == shown
        assert {table for table, *_ in found["distance"]} == {0}
    assert names["red"] & names["blue"] == {"anesthesia", "gangrene", "blood pressure"}


def test_what_a_relation_gives_does_not_depend_on_the_rest_of_the_store(store, scope, example):
    before = {}
    with attackers_sandbox(store, scope) as sandbox:
        before = {name: sorted(map(repr, sandbox.select(f'select * from "{name}"')[1])) for name in RELATIONS}
    decloak.run(example / "scenario.yaml", store=store)
    with attackers_sandbox(store, scope) as sandbox:
        after = {name: sorted(map(repr, sandbox.select(f'select * from "{name}"')[1])) for name in RELATIONS}
    assert after == before
    assert before["item"]


def test_every_relation_has_the_columns_it_is_said_to_have(store, scope):
    with attackers_sandbox(store, scope) as sandbox:
        for name, relation in RELATIONS.items():
            assert sandbox.columns(f'select * from "{name}"') == relation.columns
            assert relation.meaning


DISASSOCIATED = """\
scenario: disassociated
data: {file: original.txt, format: basket}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 4}
relate: {measure: ngd, source: scores, file: scores.csv}
attacker: {model: moderate, share: 0.5}
attack: [aba, cover]
measure: [breach]
"""


@pytest.fixture
def disassociated(example, tmp_path):
    """A store with an attacked disassociated release beside the worked example."""
    decloak.run(example / "scenario.yaml", store=tmp_path / "disassociated.db")
    rows = ("a, b, c", "a, b, d", "a, c, d", "b, c, e", "a, b, c, f", "d, e, f", "c, d, e", "a, e")
    (example / "original.txt").write_text("\n".join(rows))
    (example / "scores.csv").write_text("a,b,ngd\na,b,0.5\na,c,0.3\nb,c,0.2\nd,a,0.7\n")
    (example / "scenario.yaml").write_text(DISASSOCIATED)
    decloak.run(example / "scenario.yaml", store=tmp_path / "disassociated.db")
    return tmp_path / "disassociated.db"


def read_in_parts(sandbox, name, columns, others) -> int:
    """Read a relation with every column but one left out, and with none read at all; return its rows."""
    (count,) = sandbox.select(f"select count(*) from {name}")[1][0]
    assert sandbox.select(f"select exists (select 1 from {name})")[1] == [(count > 0,)]
    assert sandbox.select(f"select 1 from {name}")[1] == [(1,)] * count
    assert sandbox.select(f"select count(*) from {name} x, txn y")[1] == [(count * others,)]
    for column in columns:
        assert len(sandbox.select(f'select "{column}" from {name} where 1')[1]) == count
        assert sandbox.select(f'select count(*) from {name} where "{column}" is not 77777')[1] == [(count,)]
        sandbox.select(f'select 1 from {name} x left join {name} y on y."{column}" = x."{column}" limit 9')
    return count


@pytest.fixture
def table(tmp_path):
    """A store with an itemset table."""
    scenario = {
        "scenario": "s",
        "data": {"file": "rows.txt", "format": "basket"},
        "anonymise": {"method": "itemsets", "k": 2},
        "attack": ["differenced"],
    }
    (tmp_path / "rows.txt").write_text("a, b\nb\na\nc\n" * 3)
    (tmp_path / "table.yaml").write_text(json.dumps(scenario))
    return decloak.run(tmp_path / "table.yaml", store=tmp_path / "table.db").store


@pytest.mark.parametrize("kind", ["generalised", "disassociated", "table"])
def test_any_part_of_a_relation_can_be_read(request, store, kind):
    """What rules leave unread must not make SQLite forget that a view of ours did the reading."""
    path = store if kind == "generalised" else request.getfixturevalue(kind)
    with closing(connect_readonly(path)) as connection:
        release, dataset = connection.execute("select id, dataset from release order by id desc").fetchone()
        scoring, attacker = connection.execute(
            "select max(scoring), (select max(id) from attacker where release = ?1) from attack where release = ?1",
            (release,),
        ).fetchone()
        attacks = dict(connection.execute("select label, attack from run_attack"))
        (txns,) = connection.execute("select count(*) from txn where dataset = ?", (dataset,)).fetchone()
    derived = {
        "generalised": [Catalogue().rule("gba")],
        "disassociated": [Catalogue().rule("aba"), Catalogue().rule("cover")],
        "table": [],
    }
    itemsets = {"published_itemset", "published_itemset_item"}
    empty = {
        "generalised": {"cluster", "subrecord_item", "term", "knows", "attacker", "auxiliary", *itemsets},
        "disassociated": {"published_as", "member_of", "auxiliary", "matching", *itemsets},
        "table": set(RELATIONS) - itemsets - {"stated", "item"},
    }
    scope = Scope(release, dataset, scoring, attacker)
    with closing(connect_readonly(path)) as connection:
        database = AttackersDatabase(connection, scope)
        earlier = [
            one._replace(rows=list(one.rows))
            for rule in derived[kind]
            for one in [rule.operator.earlier(rule, connection, attacks[rule.name], database)]
        ]
    with attackers_sandbox(path, scope, earlier=earlier) as sandbox:
        for derives, *_ in earlier:
            assert read_in_parts(sandbox, derives.name, derives.columns, txns) > 0
        counts = {name: read_in_parts(sandbox, name, one.columns, txns) for name, one in RELATIONS.items()}
        names = {name for _, name in sandbox.select("select * from item")[1]}
    distances = {name for name in RELATIONS if name.startswith("distance") or name in ("context", "related")}
    assert {name for name, count in counts.items() if not count} - distances == empty[kind] - distances
    assert names == {"disassociated": set("abcdef"), "table": set("abc")}.get(kind, names)


def test_what_was_read_is_known():
    relations = {"one": ("x",), "two": ("x",), "three": ("x",), "four": ("x",)}
    with Sandbox.empty(relations) as sandbox:
        sandbox.columns('select 1 from one where exists (select 1 from TWO) union select count(*) from "three"')
        assert sandbox.read & relations.keys() == {"one", "two", "three"}


@pytest.mark.parametrize(
    "sql",
    [
        "select one.x from one join TWO using (x)",
        "select one.x from one natural join two",
        "select 1 from one left join two using (x)",
        "select count(*) from one, two",
        "with mine as (select * from two) select mine.x from one join mine using (x)",
        "select x from one where x in (select a.x from one a join two b using (x))",
    ],
)
def test_a_relation_of_which_only_joined_columns_are_read_is_read(sql):
    with Sandbox.empty({"one": ("x",), "two": ("x",), "three": ("x",)}) as sandbox:
        sandbox.columns(sql)
        assert sandbox.read & {"one", "two", "three"} == {"one", "two"}


def test_hostile_names_and_values_are_only_that():
    names = ['a"b', "a;b", "a--b", "a'b", "select", "é", " ", "%s", "{0}"]
    with Sandbox.empty({}) as sandbox:
        sandbox.fill("t", names, [tuple(names)] * 2)
        columns, rows = sandbox.select("select * from t")
        assert columns == tuple(names)
        assert rows == [tuple(names)] * 2


def test_random_text_is_an_error_or_a_select_and_never_anything_else(store, scope):
    words = ["select", "from", "main.", "truth_origin", "txn", "(", ")", "*", ",", "with", "as", "union", "'", '"', ";",
             "--", "/*", "*/", "temp.", "sqlite_master", "x", "1", "create", "table", "insert", "into", "values",
             "explain", "where", "in", "attach", "pragma", "\n", "limit"]  # fmt: skip
    draw = random.Random(7)
    before = content(store)
    with attackers_sandbox(store, scope) as sandbox:
        for _ in range(3_000):
            sql = " ".join(draw.choices(words, k=draw.randint(1, 9))).replace(". ", ".")
            for way in WAYS.values():
                with suppress(DecloakError):
                    way(sandbox, sql)
                    assert "truth_origin" not in sql or any(mark in sql for mark in ("'", '"', "--", "/*")), sql
                sandbox.engine("drop table if exists temp.step")
        assert sandbox.select("select count(*) from txn")[1][0][0] > 0
    assert content(store) == before


def test_sqlite_knows_every_action_that_is_not_reading():
    """Whatever a later SQLite adds is refused: only SELECT and recursion are let through unseen."""
    with closing(sqlite3.connect(":memory:")) as connection:
        sandbox = Sandbox(connection)
        for action in range(1, 60):
            allowed = sandbox._authorize(action, "item", None, "main", None) == sqlite3.SQLITE_OK
            known = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION}
            assert allowed == (action in known), action


@pytest.mark.parametrize("callback", ["_calling", "_reading", "_step"])
def test_ctrl_c_while_sqlite_asks_us_something_is_a_ctrl_c(monkeypatch, callback):
    def pressed(*_: object) -> int:
        raise KeyboardInterrupt

    with Sandbox.empty({"item": ("item", "name")}) as sandbox:
        monkeypatch.setattr("decloak.store.sandbox._STRIDE", 1)
        monkeypatch.setattr(sandbox, callback, pressed)
        sandbox._connection.set_progress_handler(sandbox._step, 1)
        with pytest.raises(KeyboardInterrupt):
            sandbox.select("select min(item) from item")


@pytest.mark.parametrize("callback", ["_authorize", "_step"])
def test_ctrl_c_inside_what_the_engine_asks_is_a_ctrl_c(monkeypatch, callback):
    def pressed(*_: object) -> int:
        raise KeyboardInterrupt

    with Sandbox.empty({"item": ("item", "name")}) as sandbox:
        monkeypatch.setattr(sandbox, callback, pressed)
        sandbox._connection.set_authorizer(sandbox._authorize)
        sandbox._connection.set_progress_handler(sandbox._step, 1)
        with pytest.raises(KeyboardInterrupt):
            sandbox.fill("more", ("x",), [(1,)])
