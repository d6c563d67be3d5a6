"""The descriptions in schema.sql: tables, views and columns with their meaning."""

import json
import re
import sqlite3
import textwrap
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from decloak.figures import WAYS, Metric

__all__ = [
    "WHOSE", "Column", "Question", "SchemaTable", "questions", "schema_markdown", "schema_statements", "schema_tables",
    "schema_text", "unwritten_figures", "write_figures",
]  # fmt: skip


class Column(NamedTuple):
    name: str
    type: str
    meaning: str


class Question(NamedTuple):
    """A question of people and the query that answers it; `:run` and the like are its parameters."""

    name: str
    title: str
    sql: str


class SchemaTable(NamedTuple):
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
    return (files("decloak.store") / "schema.sql").read_text(encoding="utf-8")


@cache
def questions() -> tuple[Question, ...]:
    """Return the questions of questions.sql. The names of those about the original data begin with truth_."""
    text = (files("decloak.store") / "questions.sql").read_text(encoding="utf-8")
    matches = re.finditer(r"^-- (\w+): ([^\n]+)\n(.*?);$", text, re.MULTILINE | re.DOTALL)
    return tuple(Question(*match.groups()) for match in matches)


def schema_statements(kind: Literal["TABLE", "VIEW", "INDEX"]) -> list[tuple[str, str]]:
    """Return the statements that make tables, views or indexes, by name, in the order of schema.sql."""
    matches = re.finditer(rf"^CREATE {kind} (\w+).*?(?=;$)", schema_text(), re.MULTILINE | re.DOTALL)
    return [(match[1], match[0]) for match in matches]


def schema_tables(words: Mapping[str, str] | None = None) -> tuple[SchemaTable, ...]:
    """Every table and view in the order of schema.sql.

    `words` add to the description of a column, given as "table.column", facts that schema.sql lacks.
    """
    return tuple(table._replace(columns=tuple(_completed(table, words or {}))) for table in _tables())


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
    """The reference page of tables and views, as committed under docs/reference/."""
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
