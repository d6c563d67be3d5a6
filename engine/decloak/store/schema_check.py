"""Check that the tables and views of a store are decloak's own, so that opening a foreign store runs none of its code.

A view, a trigger, a generated column, a check or an index may hold SQL that runs when a table is read or written. So
what has a name of ours must be written as schema.sql writes it, and nothing else may be tied to it. Other tables and
views of the user stay untouched: decloak reads them only when SQL names them.
"""

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from decloak.data.formats.lines import location
from decloak.errors import DecloakError, quote
from decloak.store.documentation import schema_text

__all__ = ["check_schema", "distrust"]

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
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)


def check_schema(connection: sqlite3.Connection, path: Path, *, current: bool) -> None:
    """Refuse a store with something in it that is not ours; one that is not `current` is yet to be migrated."""
    rows: list[Row] = connection.execute(
        "select type, lower(name), lower(tbl_name), coalesce(sql, '') from sqlite_master"
    ).fetchall()
    for fault in (*_foreign_objects(rows, _modules(connection), current), *(_differing(rows) if current else ())):
        hint = "it may do harm: ask for one made by `decloak publish`, or drop from yours what was added"
        raise DecloakError(f"not as decloak makes a store: {fault}", location(path), hint)


def _modules(connection: sqlite3.Connection) -> frozenset[str]:
    """The functions that are tables: a table called like one would be read in its place."""
    return frozenset(name.lower() for (name,) in connection.execute("select name from pragma_module_list"))


def _foreign_objects(rows: list[Row], modules: frozenset[str], current: bool) -> Iterator[str]:
    """Yield objects that may run code, or hide a table, in a store of any version."""
    known = _own().keys() | (frozenset() if current else _RETIRED)
    for kind, name, table, sql in rows:
        if kind == "trigger":
            yield f"the trigger {quote(name)}"
        elif kind == "table" and not sql.lower().startswith("create table "):
            yield f"the virtual table {quote(name)}"
        elif name in modules or name.startswith("pragma_"):
            yield f"the {kind} {quote(name)}, called like a function"
        elif name.startswith("sqlite_") and kind == "view":
            yield f"the view {quote(name)}, called like what is SQLite's"
        elif kind == "index" and table in _own() and name not in known and sql:
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
    for name, (kind, sql) in _own().items():
        if count[name] != 1:
            yield f"{'no' if name not in present else 'more than one'} {kind} {quote(name)}"
        elif present[name] != (kind, sql) and (present[name][0], _plain(present[name][1])) != (kind, _plain(sql)):
            yield f"another {kind} {quote(name)}"


@cache
def _own() -> Mapping[str, tuple[str, str]]:
    """Return the objects of schema.sql, by name: kind and text."""
    return {match[2]: (match[1].lower(), match[0]) for match in _STATEMENT.finditer(schema_text())}


def _plain(sql: str) -> str:
    """SQL with one blank for every run of blanks and comments."""
    return _BLANK_OR_QUOTED.sub(lambda match: " " if match["blank"] else match[0], sql)
