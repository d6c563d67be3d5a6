"""What eliminate attacks struck and spared: arrays in the store, shown as rows of finding, struck and spared.

    tables, rows, cols          the distance table, row and column of each strike, in order
    rounds, groups              its round, and the kind of group its cell was the farthest in, by place in GROUPS
    suspicions, thresholds      what was compared, with what; NaN where there is none
    weights                     the weighted distance of the cell just before
    spared_tables, spared_rows, spared_cols, spared_weights    the same of the cells that were left

Findings are numbered in order from `first` on, whether rows show them or not.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.store.arrays import damaged, read_array, write_array
from decloak.store.inserting import insert, insert_rows, next_number

__all__ = [
    "GROUPS", "GatheredStrikes", "Strikes", "TableStrikes", "findings_count", "gathered", "make_strike_rows",
    "pending_attacks", "read_strikes", "rows_of_attacks", "write_strikes",
]  # fmt: skip

GROUPS = ("table", "row", "column")
"""What the store calls the kinds of groups."""
PENDING = "not there yet: kept as arrays; `decloak rows` makes its rows"
_INDEXES = {"finding_attack": "finding (attack)", "struck_cell": "struck (distance_table, row, col)"}


class TableStrikes(NamedTuple):
    """What an eliminate rule did to one distance table: strikes in order, and the weights of what it spared."""

    table: int
    rounds: Ints
    rows: Ints
    cols: Ints
    groups: Ints
    suspicions: Floats
    threshold: float | None
    weights: Floats
    spared_rows: Ints
    spared_cols: Ints
    spared_weights: Floats


class Strikes(NamedTuple):
    """What an attack did to all of its tables, by their numbers in the store."""

    tables: Ints
    rows: Ints
    cols: Ints
    rounds: Ints
    groups: Ints
    suspicions: Floats
    thresholds: Floats
    weights: Floats
    spared_tables: Ints
    spared_rows: Ints
    spared_cols: Ints
    spared_weights: Floats


_STRUCK = Strikes._fields.index("spared_tables")
_FLOATS = {"suspicions", "thresholds", "weights", "spared_weights"}


class GatheredStrikes(NamedTuple):
    """The same of all tables together: their numbers, how many cells of each were struck and spared, and columns."""

    tables: Ints
    struck: Ints
    spared: Ints
    columns: dict[str, NDArray[Any]]


def gathered(tables: Sequence[TableStrikes]) -> GatheredStrikes:
    """What was done to tables, in a few arrays: many small ones take long to be handed on."""
    struck = [len(table.rows) for table in tables]
    limits = np.array([np.nan if table.threshold is None else table.threshold for table in tables], np.float64)
    columns: dict[str, NDArray[Any]] = {"thresholds": np.repeat(limits, struck)}
    for name in Strikes._fields:
        if name in TableStrikes._fields:
            none = np.zeros(0, np.float64 if name in _FLOATS else np.int64)
            columns[name] = np.concatenate([none, *(getattr(table, name) for table in tables)])
    spared = [len(table.spared_rows) for table in tables]
    numbers = np.array([table.table for table in tables], np.int64)
    return GatheredStrikes(numbers, np.array(struck, np.int64), np.array(spared, np.int64), columns)


def write_strikes(connection: sqlite3.Connection, attack: int, strikes: GatheredStrikes) -> None:
    """Keep the findings of an eliminate rule."""
    numbers = dict(
        connection.execute(
            "select t.number, t.id from distance_table t join attack a on a.scoring = t.scoring where a.id = ?",
            (attack,),
        ).fetchall()
    )
    named = np.array([numbers[table] for table in strikes.tables.tolist()], np.int64)
    columns = {"tables": np.repeat(named, strikes.struck), "spared_tables": np.repeat(named, strikes.spared)}
    columns |= strikes.columns
    for name in Strikes._fields:
        write_array(connection, attack, name, columns[name], table="attack_array")
    first = next_number(connection, "finding")
    insert(
        connection, "attack_extent",
        attack=attack, first=first,
        findings=int(strikes.struck.sum()), spared=int(strikes.spared.sum()), pending=PENDING,
    )  # fmt: skip


def read_strikes(connection: sqlite3.Connection, attack: int) -> Strikes | None:
    """What an attack struck and spared; None where it is none that does."""
    row = connection.execute("select findings, spared from attack_extent where attack = ?", (attack,)).fetchone()
    if row is None:
        return None
    columns = []
    for place, name in enumerate(Strikes._fields):
        column = read_array(connection, attack, name, table="attack_array")
        kind = "f" if name in _FLOATS else "iu"
        if column is None or column.dtype.kind not in kind or len(column) != row[place >= _STRUCK]:
            raise damaged(attack, name, "attack_array")
        if kind == "iu" and column.dtype.kind == "i" and int(column.min(initial=0)) < 0:
            raise damaged(attack, name, "attack_array")
        columns.append(column)
    strikes = Strikes(*columns)
    if int(strikes.groups.max(initial=0)) >= len(GROUPS):
        raise damaged(attack, "groups", "attack_array")
    return strikes


def findings_count(connection: sqlite3.Connection, attack: int) -> int:
    row = connection.execute("select findings from attack_extent where attack = ?", (attack,)).fetchone()
    if row is None:
        row = connection.execute("select count(*) from finding where attack = ?", (attack,)).fetchone()
    return int(row[0])


def pending_attacks(connection: sqlite3.Connection) -> list[int]:
    """The attacks whose strikes no rows show yet."""
    rows = connection.execute("select attack from attack_extent where pending is not null order by 1")
    return [number for (number,) in rows]


def rows_of_attacks(connection: sqlite3.Connection) -> int:
    """How many rows show all strikes, and what they left, once they are made."""
    (count,) = connection.execute("select coalesce(sum(2 * findings + spared), 0) from attack_extent").fetchone()
    return int(count)


def make_strike_rows(connection: sqlite3.Connection, attacks: Iterable[int]) -> None:
    """Make the rows of attacks that have none yet; indexes are built afterwards where the new rows are the most."""
    among = set(attacks)
    waiting = [attack for attack in pending_attacks(connection) if attack in among]
    marks = ", ".join("?" * len(waiting))
    sql = f"select coalesce(sum(2 * findings + spared), 0) from attack_extent where attack in ({marks})"
    (fresh,) = connection.execute(sql, waiting).fetchone()
    anew = 2 * fresh > rows_of_attacks(connection)
    for index in _INDEXES if anew else ():
        connection.execute(f"drop index if exists {index}")
    for attack in waiting:
        _make(connection, attack)
        connection.execute("update attack_extent set pending = null where attack = ?", (attack,))
    for index, columns in _INDEXES.items() if anew else ():
        connection.execute(f"CREATE INDEX {index} ON {columns}")


def _make(connection: sqlite3.Connection, attack: int) -> None:
    strikes = read_strikes(connection, attack)
    assert strikes is not None
    (first,) = connection.execute("select first from attack_extent where attack = ?", (attack,)).fetchone()
    numbers = range(first, first + len(strikes.tables))
    rounds = zip(numbers, (attack for _ in numbers), strikes.rounds.tolist(), strict=True)
    insert_rows(connection, "finding (id, attack, round)", rounds)
    groups = [GROUPS[group] for group in strikes.groups.tolist()]
    struck = (strikes.tables, strikes.rows, strikes.cols)
    told = (strikes.suspicions, strikes.thresholds, strikes.weights)  # SQLite reads NaN as null
    columns = (numbers, *(column.tolist() for column in struck), groups, *(column.tolist() for column in told))
    into = 'struck (finding, distance_table, row, col, "group", suspicion, threshold, weight)'
    insert_rows(connection, into, zip(*columns, strict=True))
    spared = [column.tolist() for column in strikes[_STRUCK:]]
    into = "spared (attack, distance_table, row, col, weight)"
    insert_rows(connection, into, zip((attack for _ in spared[0]), *spared, strict=True))
