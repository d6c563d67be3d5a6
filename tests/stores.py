"""What a store holds: all that it shows, what it keeps as arrays, and the same as an older version had it."""

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.opening import APPLICATION, connect_readonly
from decloak.store.relations import RELATIONS, Scope
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_guard import open_sandbox

SHOWN = ("txn", "contains", "published_as", "truth_origin", "truth_marked", "finding", "struck", "spared",
         "cell", "context", "related", "cluster_row", "assigned")  # fmt: skip
ARRAYS = ("array", "truth_array", "attack_array", "scoring_array", "relatedness_array")
EXTENTS = ("extent", "attack_extent", "assigned_extent", "scoring_extent", "relatedness_extent")
GOLDEN = Path(__file__).parent / "golden"


def rows_of(path: Path, *tables: str) -> dict[str, list]:
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"select * from {table}").fetchall() for table in tables}


def whole(path: Path) -> dict[str, list]:
    """What a store shows, but for the times of runs, and what they and attacks took."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    content = rows_of(path, *(table for table in tables if table not in (*ARRAYS, "run", "release")))
    took = re.compile(r', "took": \{[^}]*\}')
    return {table: sorted(took.sub("", repr(row)) for row in rows) for table, rows in content.items()}


def old_store(new: Path, path: Path, version: int) -> None:
    """What a store shows, as a store of an older version."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((GOLDEN / f"schema-{version}.sql").read_text())
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {version}")
        connection.execute("attach ? as new", (str(new),))
        tables = connection.execute("select name from main.sqlite_master where type = 'table'").fetchall()
        for (table,) in tables:
            connection.execute(f"insert into main.{table} select * from new.{table}")


@contextmanager
def attackers_sandbox(
    store: Path,
    scope: Scope,
    stranger: str | None = None,
    relations: Collection[str] = RELATIONS.keys(),
    earlier: Sequence[Earlier] = (),
) -> Iterator[Sandbox]:
    """Open a sandbox over the attacker's database of a store."""
    with closing(connect_readonly(store)) as connection:
        sandbox = open_sandbox(AttackersDatabase(connection, scope), relations, earlier, stranger)
    with sandbox:
        yield sandbox
