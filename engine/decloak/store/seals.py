"""A checksum for each stage of a store, to tell rows that something else changed or deleted from a fault of decloak.

A stage is a row of a table with a digest: a release, say. The rows that belong to it are the rows that are deleted with
it. Both are written in one transaction, and stay unchanged afterwards.
"""

import marshal
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from decloak.errors import DecloakError

__all__ = ["REMEDY", "broken_seals", "forget_gone", "seal_new", "stage_tables"]

_CHANGING = frozenset({"request", "seal"})
"""Tables whose rows change after the transaction of their stage."""
_AT_ONCE = 10_000
REMEDY = "run its scenarios into another store, or take a copy from before"
"""The remedy for a damaged store."""

Chains = Mapping[str, Sequence[str]]
"""By stage table: queries of the rows that belong to a stage of the number ?, beginning with the stage itself."""


@cache
def stage_tables() -> Chains:
    """Return the queries that read all rows of a stage, by the table of the stage, as the schema relates the tables."""
    from decloak.store.documentation import schema_text

    connection = sqlite3.connect(":memory:")
    connection.executescript(schema_text())
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table' order by 1")]
    columns = {name: connection.execute(f"pragma table_info({name})").fetchall() for name in tables}
    stages = [name for name in tables if any(column[1] == "digest" for column in columns[name])]
    inside: dict[str, list[tuple[str, str]]] = {name: [] for name in tables}
    for name in set(tables) - set(stages) - _CHANGING:
        for column, owner in _owners(connection, name, {row[1] for row in columns[name] if not row[3] and not row[5]}):
            inside[owner].append((column, name))
    connection.close()
    return {stage: list(_queries(stage, inside)) for stage in stages}


def _owners(connection: sqlite3.Connection, table: str, nullable: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns of `table` that name what its rows belong to, each with the table of that.

    This is the first required column among those with deletion together, or else each optional column.
    """
    keys = connection.execute(f"pragma foreign_key_list({table})").fetchall()[::-1]
    together = [(row[3], row[2]) for row in keys if row[6] == "CASCADE"]
    required = [key for key in together if key[0] not in nullable]
    yield from required[:1] or together


def _queries(stage: str, inside: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """Yield a query for each chain of tables from `stage` down."""
    chains = [f"{stage} where id = ?"]
    while chains:
        source = chains.pop()
        yield f"select * from {source}"
        for column, child in sorted(inside[source.partition(" ")[0]]):
            chains.append(f"{child} where {column} in (select id from {source})")


def _checksum(connection: sqlite3.Connection, queries: Sequence[str], number: int) -> int:
    checksum = 0
    for query in queries:
        rows = connection.execute(query, (number,))
        total = 0
        while block := rows.fetchmany(_AT_ONCE):
            # The order in which SQLite finds rows may be another one tomorrow.
            total += sum(zlib.crc32(marshal.dumps(row, 2)) for row in block)
        checksum = zlib.crc32(total.to_bytes(16, "little"), checksum)
    return checksum


def forget_gone(connection: sqlite3.Connection) -> None:
    """Delete the seals of last stages that were deleted with all that belongs to them: their numbers are free again.

    If another row still names one of them, the number would soon name another stage: this is an error.
    """
    for kind in stage_tables():
        (last,) = connection.execute(f"select coalesce(max(id), 0) from {kind}").fetchone()
        if last < _last_seal(connection, kind):
            for table, _, parent, _ in connection.execute("pragma foreign_key_check"):
                raise DecloakError(f"the store is damaged: {table} names what is not in {parent}", hint=REMEDY)
            connection.execute("delete from seal where kind = ? and id > ?", (kind, last))


def seal_new(connection: sqlite3.Connection) -> None:
    """Note a checksum of each stage that was written since the last call, inside the transaction that wrote it."""
    for kind, queries in stage_tables().items():
        last = _last_seal(connection, kind)
        for (number,) in connection.execute(f"select id from {kind} where id > ?", (last,)).fetchall():
            values = (kind, number, _checksum(connection, queries, number))
            connection.execute("insert into seal (kind, id, checksum) values (?, ?, ?)", values)


def _last_seal(connection: sqlite3.Connection, kind: str) -> int:
    (last,) = connection.execute("select coalesce(max(id), 0) from seal where kind = ?", (kind,)).fetchone()
    return int(last)


def broken_seals(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield each stage whose rows are not as they were written, in words."""
    for kind, queries in stage_tables().items():
        sealed = dict(connection.execute("select id, checksum from seal where kind = ?", (kind,)).fetchall())
        for (number,) in connection.execute(f"select id from {kind} order by id").fetchall():
            if sealed.get(number) != _checksum(connection, queries, number):
                yield f"what belongs to {kind} {number} is not as it was written"
