"""What is bulky is kept as arrays and shown as rows: how many there are, whether they are there, and how to make them.

owner      what has arrays of its own, such as a data set, by the name of the table that lists it
extent     the table that says of each owner how much it has, and in `pending` whether rows show it
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from decloak.errors import DecloakError

__all__ = [
    "PENDING", "UNLIKE_FINDINGS", "Bulk", "make_rows", "pending_owners", "rows_of", "rows_of_all",
]  # fmt: skip

PENDING = "not there yet: kept as arrays; `decloak rows` makes its rows"
UNLIKE_FINDINGS = (
    "(select count(*) from finding f where f.attack = e.attack) <> iif(e.pending is null, e.findings, 0) or exists "
    "(select 1 from finding f where f.id >= e.first and f.id < e.first + e.findings and f.attack <> e.attack)"
)
"""The `unlike` of an extent that says how many findings an attack has, and which is the first."""


@dataclass(frozen=True, eq=False)
class Bulk:
    """A kind of what is bulky.

    `rows` is SQL over an extent: how many rows show it; `unlike` a condition on the extent `e` whose rows are not those
    that it says. `show` makes the rows of an owner. `of_run` is SQL for the owners that a run `?1` has.
    """

    owner: str
    extent: str
    rows: str
    unlike: str
    tables: tuple[str, ...]
    of_run: str
    show: Callable[[sqlite3.Connection, int], None]
    indexes: Mapping[str, str] = field(default_factory=dict)


def pending_owners(connection: sqlite3.Connection, bulk: Bulk) -> list[int]:
    """Those whose arrays no rows show yet."""
    rows = connection.execute(f"select {bulk.owner} from {bulk.extent} where pending is not null order by 1")
    return [number for (number,) in rows]


def rows_of_all(connection: sqlite3.Connection, bulk: Bulk) -> int:
    """How many rows show all there is of a kind once they are made."""
    (count,) = connection.execute(f"select coalesce(sum({bulk.rows}), 0) from {bulk.extent}").fetchone()
    return int(count)


def make_rows(connection: sqlite3.Connection, bulk: Bulk, owners: Iterable[int]) -> None:
    """Make the rows of owners that have none yet; indexes are built afterwards where the new rows are the most."""
    among = set(owners)
    waiting = [owner for owner in pending_owners(connection, bulk) if owner in among]
    anew = 2 * rows_of(connection, bulk, waiting) > rows_of_all(connection, bulk)
    for index in bulk.indexes if anew else ():
        connection.execute(f"drop index if exists {index}")
    for owner in waiting:
        with _told(bulk, owner):
            bulk.show(connection, owner)
        connection.execute(f"update {bulk.extent} set pending = null where {bulk.owner} = ?", (owner,))
    for index, columns in bulk.indexes.items() if anew else ():
        connection.execute(f"CREATE INDEX {index} ON {columns}")


@contextmanager
def _told(bulk: Bulk, owner: int) -> Iterator[None]:
    """Arrays may be sound one by one, and yet say something twice: then they are not decloak's."""
    try:
        yield
    except sqlite3.IntegrityError:
        message = f"the arrays of {bulk.owner} {owner} are damaged: they make no rows of {' and '.join(bulk.tables)}"
        raise DecloakError(message, hint="name another store, and run the scenario into it") from None


def rows_of(connection: sqlite3.Connection, bulk: Bulk, owners: Iterable[int]) -> int:
    """How many rows show what owners have once they are made."""
    sql = f"select {bulk.rows} from {bulk.extent} where {bulk.owner} = ?"
    return sum(count for owner in owners for (count,) in connection.execute(sql, (owner,)))
