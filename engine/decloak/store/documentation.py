"""The descriptions in schema.sql: tables, views and columns with their meaning.

Check that the tables and views of a store are decloak's own, so that opening a foreign store runs none of its code.

A view, a trigger, a generated column, a check or an index may hold SQL that runs when a table is read or written. So
what has a name of ours must be written as schema.sql writes it, and nothing else may be tied to it. Other tables and
views of the user stay untouched: decloak reads them only when SQL names them.
"""

import json
import re
import sqlite3
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from decloak.data.formats.lines import location
from decloak.errors import DecloakError, quote
from decloak.figures import WAYS, Metric


class Column(NamedTuple):
    """A column of a table with its type and meaning."""

    name: str
    type: str
    meaning: str


class DocumentedQuestion(NamedTuple):
    """A question of people and the query that answers it; names such as `:run` are its parameters."""

    name: str
    title: str
    sql: str


class SchemaTable(NamedTuple):
    """A table or view with its meaning and columns."""

    name: str
    kind: str  # table or view
    meaning: str
    columns: tuple[Column, ...]


WHOSE = """\
A store that a run made holds the original data: the data sets of kind `original`, and the tables `truth_*`, which link
a release to them. Only its owner can read it (mode 0600). Share only files written by `decloak publish`, never the
store."""
"""The description of all tables together."""
RULES_ADD = """\
Rules that have run add tables and views. `found_<relation>` is the table of the facts of a query or itemsets rule.
`why_<rule>` is the view of a rule's findings with their sentences in the column `because`.
`start_<rule>` is the view of every cell with its weight `w` before the first round of an eliminate rule."""

_OBJECT = re.compile(
    r"(?P<comment>(?:^--[^\n]*\n)+)CREATE (?P<kind>TABLE|VIEW) (?P<name>\w+)(?P<body>.*?);\n", re.MULTILINE | re.DOTALL
)
_TABLE_COLUMN = re.compile(r'^  "?(?P<name>[a-z_]+)"? (?P<type>INTEGER|TEXT|REAL|BLOB)\b.*?--\s*(?P<meaning>.+)$')
_VIEW_COLUMN = re.compile(r'^.*?(?:\bAS )?"?(?P<name>[a-z_]+)"?,?\s+--\s*(?P<meaning>.+)$')


@cache
def schema_text() -> str:
    """Return the text of schema.sql."""
    return (files("decloak.store") / "schema.sql").read_text(encoding="utf-8")


@cache
def questions() -> tuple[DocumentedQuestion, ...]:
    """Return the questions of questions.sql. The names of those about the original data begin with truth_."""
    text = (files("decloak.store") / "questions.sql").read_text(encoding="utf-8")
    matches = re.finditer(r"^-- (\w+): ([^\n]+)\n(.*?);$", text, re.MULTILINE | re.DOTALL)
    return tuple(DocumentedQuestion(*match.groups()) for match in matches)


def schema_statements(kind: Literal["TABLE", "VIEW", "INDEX"]) -> list[tuple[str, str]]:
    """Return the statements that make tables, views or indexes, by name, in the order of schema.sql."""
    return [(name, sql) for name, (of, sql) in _schema_objects().items() if of == kind.lower()]


def schema_tables(words: Mapping[str, str] | None = None) -> tuple[SchemaTable, ...]:
    """Every table and view in the order of schema.sql.

    `words` add to the description of a column, given as "table.column", facts that schema.sql lacks.
    """
    if not words:
        return _tables()
    return tuple(table._replace(columns=tuple(_completed(table, words))) for table in _tables())


@cache
def _tables() -> tuple[SchemaTable, ...]:
    return tuple(_read(match) for match in _OBJECT.finditer(schema_text()))


def _completed(table: SchemaTable, words: Mapping[str, str]) -> Iterable[Column]:
    for column in table.columns:
        more = words.get(f"{table.name}.{column.name}")
        yield column if more is None else column._replace(meaning=f"{column.meaning}: {more}")


def _read(match: re.Match[str]) -> SchemaTable:
    meaning = " ".join(line.removeprefix("--").strip() for line in match["comment"].splitlines())
    pattern = _TABLE_COLUMN if match["kind"] == "TABLE" else _VIEW_COLUMN
    columns = tuple(
        Column(column["name"], column.groupdict().get("type") or "", column["meaning"].strip())
        for line in match["body"].splitlines()
        if (column := pattern.match(line))
    )
    return SchemaTable(match["name"], match["kind"].lower(), meaning, columns)


def schema_markdown(chosen: Iterable[SchemaTable]) -> str:
    """Return the reference page of tables and views, as committed under docs/reference/."""
    parts = ["# The store", "", "Generated from schema.sql by `decloak schema --markdown`; do not edit.", ""]
    parts += [WHOSE, "", RULES_ADD, ""]
    for table in chosen:
        parts += [f"## {table.name} ({table.kind})", "", textwrap.fill(table.meaning, 110), ""]
        parts += ["| column | type | meaning |", "|---|---|---|"]
        parts += [f"| {column.name} | {column.type.lower()} | {column.meaning} |" for column in table.columns]
        parts.append("")
    return "\n".join(parts)


def unwritten_figures(connection: sqlite3.Connection, metrics: Iterable[Metric]) -> list[tuple[object, ...]]:
    """Return the rows of the table figure for `metrics` that the store does not have yet."""
    rows = [
        (
            *(one.key, position, one.title, one.unit, str(one.direction), one.definition, one.base),
            *(WAYS[one.way] if len(one.ways) > 1 else None, json.dumps(one.families)),
        )
        for position, one in enumerate(metrics)
    ]
    written = set(connection.execute("select * from figure"))
    return [row for row in rows if row not in written]


def write_figures(connection: sqlite3.Connection, rows: Iterable[tuple[object, ...]]) -> None:
    """Write `rows` of the dictionary of figures, from `unwritten_figures`. Keys of older runs stay."""
    connection.executemany("insert or replace into figure values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def write_criteria(connection: sqlite3.Connection, rows: Iterable[tuple[str, str, int, float, str]]) -> None:
    """Write all `rows` of the table criterion, in place of those there."""
    connection.execute("delete from criterion")
    connection.executemany("insert into criterion values (?, ?, ?, ?, ?)", rows)


_STATEMENT = re.compile(r"^CREATE (TABLE|VIEW|INDEX) (\w+).*?(?=;$)", re.MULTILINE | re.DOTALL)
# Quoted text stands as it is: what looks like a comment in it is none, and may have SQL behind it.
_BLANK_OR_QUOTED = re.compile(r"""(?P<blank>(?:--[^\n]*|\s)+)|'[^']*'|"[^"]*\"""")
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_FACTS = re.compile(
    rf"create table {_NAME} \(finding integer primary key references (?:fact|finding) \(id\) on delete cascade"
    rf"(?:, {_NAME})+\)",
    re.IGNORECASE,
)
"""The table of a rule's facts, as decloak makes it: columns without types."""
_RETIRED = {
    "contains_item", "published_as_generalised", "finding_attack", "eliminated_cell", "assigned_txn", "subrecord_chunk",
}  # fmt: skip
"""Indexes that versions before 9 have."""
_FAMILIES = {"found_": "table", "why_": "view", "start_": "view"}
"""The prefixes of the names that rules add."""

Row = tuple[str, str, str, str]
"""A row of sqlite_master: type, name, the table it belongs to, SQL."""


def distrust(connection: sqlite3.Connection) -> None:
    """Disable calls from the file to functions outside it, before anything of the file is read."""
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")
    # Older Pythons cannot set these. `check_schema` refuses triggers on all of them.
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)


def check_schema(connection: sqlite3.Connection, path: Path, *, current: bool) -> None:
    """Refuse a store with something in it that is not ours; one that is not `current` is yet to be migrated."""
    # SQL ignores the case of names, so another case must not hide an object.
    rows: list[Row] = connection.execute(
        "select type, lower(name), lower(tbl_name), coalesce(sql, '') from sqlite_master"
    ).fetchall()
    # SQL reads a table in place of a function that is a table, if both have the same name.
    modules = {name.lower() for (name,) in connection.execute("select name from pragma_module_list")}
    for fault in (*_foreign_objects(rows, modules, current), *(_differing(rows) if current else ())):
        hint = "it may do harm: ask for one made by `decloak publish`, or drop from yours what was added"
        raise DecloakError(f"not as decloak makes a store: {fault}", location(path), hint)


def _foreign_objects(rows: list[Row], modules: set[str], current: bool) -> Iterator[str]:
    """Yield objects that may run code, or hide a table, in a store of any version."""
    known = _schema_objects().keys() | (frozenset() if current else _RETIRED)
    for kind, name, table, sql in rows:
        if _schema_objects().get(name) == (kind, sql):
            continue
        if kind == "trigger":
            yield f"the trigger {quote(name)}"
        elif kind == "table" and not sql.lower().startswith("create table "):
            yield f"the virtual table {quote(name)}"
        elif name in modules or name.startswith("pragma_"):
            yield f"the {kind} {quote(name)}, called like a function"
        elif name.startswith("sqlite_") and kind == "view":
            yield f"the view {quote(name)}, called like what is SQLite's"
        # An index without SQL is one that SQLite made for a key.
        elif kind == "index" and table in _schema_objects() and name not in known and sql:
            yield f"the index {quote(name)} on {table}"
        elif not _fits_family(kind, name, sql):
            yield f"the {kind} {quote(name)}"


def _fits_family(kind: str, name: str, sql: str) -> bool:
    """Return whether an object named like a table of rules is one; decloak reads these tables itself."""
    expected = next((kind for start, kind in _FAMILIES.items() if name.startswith(start)), kind)
    return kind == expected and (not name.startswith("found_") or _FACTS.fullmatch(_plain(sql)) is not None)


def _differing(rows: list[Row]) -> Iterator[str]:
    """Yield objects that differ from schema.sql: each name once, compared without blanks and comments."""
    count = Counter(name for _, name, *_ in rows)
    present = {name: (kind, sql) for kind, name, _, sql in rows}
    for name, (kind, sql) in _schema_objects().items():
        if count[name] != 1:
            yield f"{'no' if name not in present else 'more than one'} {kind} {quote(name)}"
        elif present[name] != (kind, sql) and (present[name][0], _plain(present[name][1])) != (kind, _plain(sql)):
            yield f"another {kind} {quote(name)}"


@cache
def _schema_objects() -> Mapping[str, tuple[str, str]]:
    """Return the objects of schema.sql, by name: kind and text."""
    return {match[2]: (match[1].lower(), match[0]) for match in _STATEMENT.finditer(schema_text())}


def _plain(sql: str) -> str:
    """Return SQL with one blank for every run of blanks and comments."""
    return _BLANK_OR_QUOTED.sub(lambda match: " " if match["blank"] else match[0], sql)
