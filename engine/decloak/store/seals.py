"""A checksum for each stage of a store, to separate changes by other programs from faults of decloak.

A stage is a row of a table with a digest: a release, say. The rows that belong to it are the rows that are deleted with
it. Both are written in one transaction, and stay unchanged afterwards. All stages share the tables of items and of
numbers, which only grow: each of them has one checksum, up to its last row.
"""

import marshal
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat

from decloak.errors import DecloakError
from decloak.store.documentation import schema_text
from decloak.store.inserting import quoted

_CHANGING = frozenset({"request", "seal", "stage_time"})
"""Tables whose rows change after the transaction of their stage."""
_GROWING = ("item", "number")
"""Tables that all stages share; their rows are never changed."""
_AT_ONCE = 10_000
REMEDY = "run its scenarios into another store, or take a copy from before"
"""The remedy for a damaged store."""

Chains = Mapping[str, Sequence[str]]
"""By stage table: queries of the rows that belong to a stage of the number ?, beginning with the stage itself."""


@cache
def stage_tables() -> Chains:
    """Return the queries that read all rows of a stage, by the table of the stage, as the schema relates the tables."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(schema_text())
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table' order by 1")]
    columns = {name: connection.execute(f"pragma table_info({name})").fetchall() for name in tables}
    stages = [name for name in tables if any(column[1] == "digest" for column in columns[name])]
    inside: dict[str, list[tuple[str, str]]] = {name: [] for name in tables}
    for name in set(tables) - set(stages) - _CHANGING:
        # SQLite lists columns of a primary key as optional, and they are not.
        for column, owner in _owners(connection, name, {row[1] for row in columns[name] if not row[3] and not row[5]}):
            inside[owner].append((column, name))
    connection.close()
    return {stage: list(_queries(stage, inside)) for stage in stages}


def _owners(connection: sqlite3.Connection, table: str, nullable: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns of `table` that name what its rows belong to, each with the table of that.

    This is the first required column among those with deletion together, or else each optional column.
    """
    # SQLite lists the keys of a table from its last column to its first.
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


def _checksum(connection: sqlite3.Connection, kind: str, number: int) -> int:
    """Return the checksum of the stage `number` in the table `kind`."""
    checksum = 0
    for query in stage_tables()[kind]:
        total = _total(connection.execute(query, (number,))) or 0
        checksum = zlib.crc32(total.to_bytes(16, "little"), checksum)
    for query in _findings(connection) if kind == "attack" else ():
        # A relation may get its table later: one without rows of this attack adds nothing.
        if (found := _total(connection.execute(query, (number,)))) is not None:
            checksum = zlib.crc32(found.to_bytes(16, "little"), checksum)
    return checksum


def _total(rows: sqlite3.Cursor) -> int | None:
    """Add up the checksums of rows, since SQLite may find them in another order; None without a row."""
    total = None
    while block := rows.fetchmany(_AT_ONCE):
        # Version 2 of marshal writes equal rows as equal bytes. Later ones depend on shared objects.
        total = (total or 0) + sum(map(zlib.crc32, map(marshal.dumps, block, repeat(2))))
    return total


def _findings(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield a query for each table of what rules derived."""
    query = "select name from sqlite_master where type = 'table' and name glob 'found_*' order by name"
    for (name,) in connection.execute(query).fetchall():
        yield f"select * from {quoted(name)} where finding in (select id from fact where attack = ?)"


def _grown(connection: sqlite3.Connection, table: str, last: int, checksum: int) -> tuple[int, int]:
    """Return the last number in `table` and the checksum up to there, from those of the row `last`."""
    rows = connection.execute(f"select * from {table} where id > ? order by id", (last,))
    while block := rows.fetchmany(_AT_ONCE):
        checksum = zlib.crc32(b"".join(map(marshal.dumps, block, repeat(2))), checksum)
        last = block[-1][0]
    return last, checksum


def _sealed(connection: sqlite3.Connection, table: str) -> tuple[int, int]:
    """Return the last number in `table` that is sealed, and the checksum up to there."""
    row = connection.execute("select id, checksum from seal where kind = ?", (table,)).fetchone()
    return row or (0, 0)


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
    for kind in stage_tables():
        last = _last_seal(connection, kind)
        for (number,) in connection.execute(f"select id from {kind} where id > ?", (last,)).fetchall():
            values = (kind, number, _checksum(connection, kind, number))
            connection.execute("insert into seal (kind, id, checksum) values (?, ?, ?)", values)
    for table in _GROWING:
        before = _sealed(connection, table)
        after = _grown(connection, table, *before)
        if after != before:
            connection.execute("delete from seal where kind = ?", (table,))
            connection.execute("insert into seal (kind, id, checksum) values (?, ?, ?)", (table, *after))


def _last_seal(connection: sqlite3.Connection, kind: str) -> int:
    (last,) = connection.execute("select coalesce(max(id), 0) from seal where kind = ?", (kind,)).fetchone()
    return int(last)


def broken_seals(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield each stage whose rows are not as they were written, in words."""
    for kind in stage_tables():
        sealed = dict(connection.execute("select id, checksum from seal where kind = ?", (kind,)).fetchall())
        for (number,) in connection.execute(f"select id from {kind} order by id").fetchall():
            if sealed.get(number) != _checksum(connection, kind, number):
                yield f"what belongs to {kind} {number} is not as it was written"
    for table in _GROWING:
        if _sealed(connection, table) != _grown(connection, table, 0, 0):
            yield f"the table {table} is not as it was written"
