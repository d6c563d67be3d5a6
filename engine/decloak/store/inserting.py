"""Tools of every writer of the store: look up a stage, number items and new rows, insert rows."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice


def quoted(name: str) -> str:
    """Return `name` as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


_STAGES = {"dataset", "release", "relatedness", "scoring", "attack", "attacker", "measurement", "run", "rule"}


def find(connection: sqlite3.Connection, stage: str, digest: str) -> int | None:
    """Return the number of the stage with the key `digest`, or None before it is complete."""
    # The name of a table cannot be a parameter of SQL.
    assert stage in _STAGES
    row = connection.execute(f"select id from {stage} where digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def item_numbers(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the numbers of items by name; new names get the next free numbers, in the order of `names`.

    Names that come early get short numbers. No rule sees these numbers: they reveal the order in which names came.
    """
    rows = [(name,) for name in dict.fromkeys(names)]
    # A table to join with: one statement takes a few thousand values at most, a data set may have more items.
    connection.execute("create temp table if not exists wanted (place integer primary key, name text)")
    connection.execute("delete from temp.wanted")
    connection.executemany("insert into temp.wanted (name) values (?)", rows)
    connection.execute(
        "insert into main.item (name) select name from temp.wanted where name not in (select name from main.item) "
        "order by place"
    )
    return dict(connection.execute("select i.name, i.id from temp.wanted w join main.item i on i.name = w.name"))


def item_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the names of all items by their numbers."""
    return dict(connection.execute("select id, name from item"))


def numbers_by_name(names: Iterable[str], taken: set[int]) -> Iterator[tuple[str, int]]:
    """Give each name, in order, the number that its letters make, or the next that is not in `taken`."""
    for name in names:
        number = int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], "big") >> 1
        while number in taken:  # of a hundred thousand names, two or three
            number = (number + 1) % (1 << 31)
        taken.add(number)
        yield name, number


def insert(connection: sqlite3.Connection, table: str, **columns: object) -> int:
    """Insert one row and return its number."""
    names = ", ".join(map(quoted, columns))
    marks = ", ".join("?" * len(columns))
    cursor = connection.execute(f"insert into {table} ({names}) values ({marks})", tuple(columns.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def insert_rows(connection: sqlite3.Connection, into: str, rows: Iterable[Sequence[object]]) -> None:
    """Insert rows into a table that is named with its columns, as in "knows (knowledge, item)"."""
    width = into.count(",") + 1
    marks = f"({', '.join('?' * width)})"
    values = chain.from_iterable(rows)
    # A statement for many rows takes less than half the time of one for each.
    while held := list(islice(values, _AT_ONCE * _BLOCK * width)):
        whole = len(held) // (_AT_ONCE * width) * _AT_ONCE * width
        for part, at_once in ((held[:whole], _AT_ONCE), (held[whole:], 1)):
            if not part:
                continue
            statement = f"insert into {into} values {', '.join([marks] * at_once)}"
            connection.executemany(statement, zip(*[iter(part)] * (at_once * width), strict=True))


_AT_ONCE, _BLOCK = 50, 1 << 8
"""Rows of a statement, and statements whose rows are gathered before they are carried out."""


def insert_numbered(connection: sqlite3.Connection, into: str, rows: Iterable[Sequence[object]]) -> range:
    """Insert rows as `insert_rows` does, with consecutive numbers in the column id, and return the numbers."""
    table, columns = into.split(" (")
    first = next_number(connection, table)
    # Numbered here and not by SQLite: executemany does not say which numbers it gave.
    insert_rows(connection, f"{table} (id, {columns}", ((number, *row) for number, row in enumerate(rows, first)))
    (last,) = connection.execute(f"select coalesce(max(id), {first - 1}) from {table} where id >= {first}").fetchone()
    return range(first, int(last) + 1)


_FREE = {
    "record": "select coalesce(max(first + records), 1) from dataset",
    "finding": "select coalesce(max(first + findings), 1) from attack",
}
"""SQL for the first free number of rows that follow each other within their owner."""


def next_number(connection: sqlite3.Connection, table: str) -> int:
    """Return the first free number of `table`."""
    sql = _FREE.get(table, f"select coalesce(max(id), 0) + 1 from {table}")
    return int(connection.execute(sql).fetchone()[0])
