"""What a store shows in SQL, and the same in a store of an older version."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.opening import APPLICATION, connect_readonly
from decloak.store.relations import RELATIONS, Scope
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_guard import open_sandbox

SHOWN = (
    "txn", "contains", "published_as", "truth_origin", "truth_marked", "truth_cut", "finding", "eliminated", "kept",
    "cell", "context", "related", "cluster_row", "assigned", "shows", "has_item", "distance_col", "total", "item",
    "generalised", "member_of", "truth_release", "measure", "measurement", "concept", "is_a", "knows", "rule",
    "named_eliminated", "named_assigned", "named_cell", "truth_cell", "derived_from", "node", "edge", "result",
    "result_by_table", "figure",
)  # fmt: skip
"""Tables and views that show what a store has, however it is kept."""
_OLD = {
    "struck": "select finding, distance_table, row, col, group_kind, suspicion, threshold, weight from new.eliminated",
    "eliminated_member": "select finding, elimination, cell, group_kind, weight, suspicion from new.eliminated_member",
    "spared": "select attack, distance_table, row, col, weight from new.kept",
}
"""What older tables hold, as SQL over a new store."""
GOLDEN = Path(__file__).parents[1] / "golden"


def rows_of(path: Path, *tables: str) -> dict[str, list]:
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"select * from {table}").fetchall() for table in tables}


def whole(path: Path) -> dict[str, list]:
    """Return the rows of all tables and views in SHOWN, and what rules derived."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where name like 'found_%'")]
    return {name: sorted(rows, key=repr) for name, rows in rows_of(path, *SHOWN, *tables).items()}


def old_store(new: Path, path: Path, version: int) -> None:
    """Write what a store shows as a store of an older version, with rows for everything."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((GOLDEN / f"schema-{version}.sql").read_text())
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {version}")
        connection.execute("attach ? as new", (str(new),))
        tables = connection.execute("select name from main.sqlite_master where type = 'table'").fetchall()
        known = {name for (name,) in connection.execute("select name from new.sqlite_master")}
        for (table,) in tables:
            before, now = ([row[1] for row in connection.execute(f"pragma {schema}.table_info({table})")]
                           for schema in ("main", "new"))  # fmt: skip
            shared = ", ".join(f'"{name}"' for name in before if name in now)
            if table in _OLD:
                connection.execute(f"insert into main.{table} {_OLD[table]}")
            elif table in known:
                connection.execute(f"insert into main.{table} ({shared}) select {shared} from new.{table}")


@contextmanager
def attackers_sandbox(
    store: Path,
    scope: Scope,
    untrusted_name: str | None = None,
    relations: Collection[str] = RELATIONS.keys(),
    earlier: Sequence[Earlier] = (),
) -> Iterator[Sandbox]:
    """Open a sandbox over the attacker's database of a store."""
    with closing(connect_readonly(store)) as connection:
        sandbox = open_sandbox(AttackersDatabase(connection, scope), relations, earlier, untrusted_name)
    with sandbox:
        yield sandbox
