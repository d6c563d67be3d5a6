"""Steps that take a store from one version to the next; a new store gets schema.sql, which is the last version."""

import re
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from decloak.errors import DecloakError
from decloak.figures import all_metrics
from decloak.store.documentation import schema_statements, unwritten_figures, write_figures
from decloak.store.inserting import quoted
from decloak.store.seals import seal_new

if TYPE_CHECKING:
    from sqlite_utils import Database

Migration = Callable[["Database"], None]


def _make_table(database: "Database", name: str) -> None:
    """Make the table `name` of schema.sql in `database`, unless it has one."""
    database.conn.execute(dict(schema_statements("TABLE"))[name].replace("TABLE", "TABLE IF NOT EXISTS", 1))


def _keep_requests(database: "Database") -> None:
    """Give each request the number of its run in `database`, because their order was not recorded."""
    _make_table(database, "request")
    database.conn.execute("insert or ignore into request (id, run) select id, id from run")


def _write_lists(database: "Database") -> None:
    """Write what `database` has as rows or as arrays of numbers as JSON lists in the row of their node."""
    from decloak.store.array_stores import write_lists  # the process that runs untrusted SQL has no room for numpy

    try:
        write_lists(database.conn)
    except (zlib.error, ValueError, IndexError, KeyError, TypeError):  # arrays that make no sense together
        raise DecloakError("the store is damaged: its arrays make no rows", hint="take a copy from before") from None


FIGURES = {
    "struck": "eliminated",
    "chance": "baseline",
    "gain": "normalised_advantage",
    "f": "f1",
    "brier_chance": "brier_baseline",
    "certain_80": "certain_links",
    "certain_80_people": "certain_links_people",
    "identified_by_id": "reidentified_by_id",
    "identified_by_order": "reidentified_by_order",
    "identified_by_order_baseline": "reidentified_by_order_baseline",
}
"""The keys of figures in stores before version 10, and the keys since."""

RULE_KEYS = {"strike: coin": "eliminate: random", "strike: ": "eliminate: "}
"""The keys of rule texts in stores before version 14, and the keys since."""


def _make_tables(database: "Database") -> None:
    """Make the tables of `database` that checksums read, unless it has them."""
    for name in ("published_itemset", "part", "seal"):
        _make_table(database, name)
    _write_finding_lists(database)


def _write_finding_lists(database: "Database") -> None:
    """Write the findings that `database` has as rows as lists, and make all of its views again."""
    connection: sqlite3.Connection = database.conn
    rows = ("assigned_unit", "eliminated_member")
    if not connection.execute("select 1 from sqlite_master where type = 'table' and name = ?", rows[:1]).fetchone():
        return
    from decloak.store.array_stores import write_findings  # the process that runs untrusted SQL has no room for numpy

    for table in rows:
        _set_aside(connection, table)
    _rebuild(connection, "unit", dict(schema_statements("TABLE"))["unit"], ("id", "chunk", "items"))
    _make_table(database, "assigned_units")
    _make_table(database, "eliminated_members")
    write_findings(connection)
    for table in rows:
        connection.execute(f"drop table old_{table}")
    for _, sql in schema_statements("INDEX"):
        connection.execute(sql.replace("INDEX", "INDEX IF NOT EXISTS", 1))
    for name, sql in schema_statements("VIEW"):
        connection.execute(f"drop view if exists {name}")
        connection.execute(sql)
    connection.execute("delete from seal where kind = 'attack'")


def _add_tables(database: "Database", kind: str) -> None:
    """Make the missing tables of `database`, and note checksums of the stages of a `kind` that include them."""
    _make_tables(database)
    database.conn.execute("delete from seal where kind = ?", (kind,))
    seal_new(database.conn)


def _seal_stages(database: "Database") -> None:
    """Rename the figures of `database`, and note checksums of its stages as they are then."""
    for old, new in FIGURES.items():
        database.conn.execute("update or ignore measure set name = ? where name = ?", (new, old))
    database.conn.execute("update measurement set family = 'calibration' where family = 'certain'")
    _make_tables(database)
    seal_new(database.conn)


def _write_dictionary(database: "Database") -> None:
    """Write the dictionary of figures into `database`."""
    connection: sqlite3.Connection = database.conn
    _make_table(database, "figure")
    if connection.execute("select exists (select 1 from run)").fetchone()[0]:  # a published store has no figures
        write_figures(connection, unwritten_figures(connection, all_metrics()))


def _rename_rule_keys(database: "Database") -> None:
    """Rename keys of the rule texts of `database`."""
    for old, new in RULE_KEYS.items():
        database.conn.execute("update rule set text = replace(text, char(10) || ?, char(10) || ?)", (old, new))


RULE_FACTS = ("about", "id", "reference", "status", "wrong_when")
_TABLE = re.compile(r'\\?"table\\?"|(?<=[\s.(,])\[table\]|(?<=\{)table(?=[:}])')
_SIGNED = re.compile(r"\btable\b")


def _renamed_in_rule(text: str, form: str) -> str:
    """Return the `text` of a rule with the columns of today; `groups` has no columns."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if not line.startswith("groups:"):
            signed = line.startswith(("derives:", "state:"))
            lines[place] = (_SIGNED if signed else _TABLE).sub("item_group", line)
    text = "\n".join(lines)
    if form in ("itemsets", "claims"):
        return text.replace('"set"', "set_number")
    if form in ("eliminate", "reassociate"):
        text = re.sub(r"\{transaction(?=[:}])", "{record", re.sub(r"\{group(?=[:}])", "{group_kind", text))
    return text


def _renamed_in_view(sql: str) -> str:
    """Return the `sql` of the view of a rule with the columns of today."""
    sql = sql.replace('x."table"', "x.item_group")
    if " from named_" in sql:
        sql = sql.replace('x."transaction"', "x.record").replace('x."group"', "x.group_kind")
    return sql


def _set_aside(connection: sqlite3.Connection, table: str) -> None:
    """Rename `table` to old_TABLE."""
    connection.execute("pragma legacy_alter_table = on")  # what refers to the table goes on to refer to its name
    connection.execute(f"alter table {quoted(table)} rename to {quoted(f'old_{table}')}")
    connection.execute("pragma legacy_alter_table = off")


def _rebuild(connection: sqlite3.Connection, table: str, statement: str, now: Sequence[str]) -> None:
    """Make `table` again by `statement`; the columns `now` get the values that columns before them had."""
    _set_aside(connection, table)
    connection.execute(statement)
    connection.execute(f"insert into {quoted(table)} ({', '.join(now)}) select * from {quoted(f'old_{table}')}")
    connection.execute(f"drop table {quoted(f'old_{table}')}")


def _rename_columns(database: "Database") -> None:
    """Rename the columns of `database` that needed quotes; add columns of rules, and the table of criteria."""
    connection: sqlite3.Connection = database.conn
    _make_tables(database)
    names = "select name, sql from sqlite_master where type = '{}' and (name glob '{}' or name glob '{}')"
    of_rules = connection.execute(names.format("view", "why_*", "start_*")).fetchall()
    own, tables = dict(schema_statements("VIEW")), dict(schema_statements("TABLE"))
    for name in (*own, *(name for name, _ in of_rules)):
        connection.execute(f"drop view if exists {quoted(name)}")
    for name, sql in connection.execute(names.format("table", "found_*", "found_*")).fetchall():
        columns = [row[1] for row in connection.execute(f"pragma table_info({quoted(name)})")]
        if "table" in columns:
            renamed = [quoted("item_group" if column == "table" else column) for column in columns]
            _rebuild(connection, name, sql.replace('"table"', '"item_group"'), renamed)
    if not any(row[1] == "status" for row in connection.execute("pragma table_info(rule)")):
        _rebuild(connection, "rule", tables["rule"], ("id", "digest", "name", "form", "text"))
    for number, form, text in connection.execute("select id, form, text from rule").fetchall():
        _describe_rule(connection, number, _renamed_in_rule(text, form))
    _make_table(database, "criterion")
    for statement in (*own.values(), *(_renamed_in_view(sql) for _, sql in of_rules)):
        connection.execute(statement)
    # Only rows of these stages have changed. All other seals stay, and still find damage.
    connection.execute("delete from seal where kind in ('rule', 'attack')")
    seal_new(connection)


def _describe_rule(connection: sqlite3.Connection, number: int, text: str) -> None:
    """Write the `text` of the rule `number`, and in columns of their own the facts of it that people ask for."""
    from decloak.yaml.source import Source  # takes long to import

    try:
        said = Source.parse(text, "rule").value
    except DecloakError:  # a text that no version of decloak wrote
        said = None
    facts = [said.get(key) if isinstance(said, dict) else None for key in RULE_FACTS]
    told = [fact if isinstance(fact, str) else None for fact in facts]
    connection.execute(
        "update rule set text = ?, about = ?, identifier = ?, reference = ?, status = ?, wrong_when = ? where id = ?",
        (text, *told, number),
    )


def _keep_times(database: "Database") -> None:
    """Make the table of times in `database`, with the times of releases and attacks that it has in their rows."""
    connection: sqlite3.Connection = database.conn
    _make_table(database, "stage_time")
    data = "coalesce(o.original, r.dataset) from release r left join truth_release o on o.release = r.id"
    attacks = "join attack a on a.release = r.id join rule u on u.id = a.rule"
    for kind, row, told, joined in (
        ("release", "r.id, r.method", "r.loss, '$", ""),
        ("attack", "a.id, u.name", "a.parameters, '$.took", attacks),
    ):
        clocks = [f"json_extract({told}.{clock}')" for clock in ("cpu_seconds", "seconds")]
        is_number = " and ".join(f"typeof({clock}) in ('real', 'integer')" for clock in clocks)
        columns = f"'{kind}', {row}, {data.replace(' from', f', {clocks[0]}, {clocks[1]} from', 1)} {joined}"
        valid = f"json_valid({told.partition(',')[0]})"
        connection.execute(f"insert or ignore into stage_time select {columns} where {valid} and {is_number}")


def _list_findings(database: "Database") -> None:
    """Write the findings of `database` as lists, and note checksums of its attacks."""
    _write_finding_lists(database)
    seal_new(database.conn)


MIGRATIONS: Mapping[int, Migration] = {
    **dict.fromkeys(range(2, 8), lambda _: None),  # step 9 reads stores of every version before it
    8: _keep_requests,
    9: _write_lists,
    10: _seal_stages,
    11: _write_dictionary,
    12: partial(_add_tables, kind="attack"),
    13: partial(_add_tables, kind="release"),
    14: _rename_rule_keys,
    15: partial(_add_tables, kind="dataset"),
    16: _rename_columns,
    17: _keep_times,
    18: _list_findings,
}
"""By the version they lead to."""
