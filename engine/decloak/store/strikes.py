"""What eliminate attacks struck and spared: arrays in the store, shown as rows of finding, struck and spared.

    tables, rows, cols          the distance table, row and column of each strike, in order
    rounds, groups              its round, and the kind of group its cell was the farthest in, by place in GROUPS
    suspicions, thresholds      what was compared, with what; NaN where there is none
    weights                     the weighted distance of the cell just before
    spared_tables, spared_rows, spared_cols, spared_weights    the same of the cells that were left

Findings are numbered in order from `first` on, whether rows show them or not.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.store.arrays import damaged, read_compact, read_floats, write_array
from decloak.store.bulk import PENDING, UNLIKE_FINDINGS, Bulk
from decloak.store.inserting import insert, insert_rows, next_number

__all__ = [
    "GROUPS", "STORED_STRIKES", "GatheredStrikes", "Strikes", "TableStrikes", "findings_count", "gathered",
    "read_strikes", "read_struck", "write_strikes",
]  # fmt: skip

GROUPS = ("table", "row", "column")
"""What the store calls the kinds of groups."""


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
    columns: list[NDArray[Any]] = []
    for place, name in enumerate(Strikes._fields):
        column = (read_floats if name in _FLOATS else read_compact)(connection, attack, name, "attack_array")
        if len(column) != row[place >= _STRUCK]:
            raise damaged(attack, name, "attack_array")
        columns.append(column)
    strikes = Strikes(*columns)
    if int(strikes.groups.max(initial=0)) >= len(GROUPS):
        raise damaged(attack, "groups", "attack_array")
    return strikes


def read_struck(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, int, int, int]]:
    """Read the cells that an attack struck: number of the table in its scoring, row, column and round."""
    strikes = read_strikes(connection, attack)
    if strikes is None:
        return
    tables = dict(
        connection.execute(
            "select t.id, t.number from attack a join distance_table t on t.scoring = a.scoring where a.id = ?",
            (attack,),
        ).fetchall()
    )
    columns = (strikes.tables, strikes.rows, strikes.cols, strikes.rounds)
    for table, *cell in zip(*(column.tolist() for column in columns), strict=True):
        if table not in tables:
            raise damaged(attack, "tables", "attack_array")
        yield tables[table], *cell


def findings_count(connection: sqlite3.Connection, attack: int) -> int:
    row = connection.execute(
        "select findings from attack_extent where attack = ?1 union all "
        "select findings from assigned_extent where attack = ?1",
        (attack,),
    ).fetchone()
    if row is None:
        row = connection.execute("select count(*) from finding where attack = ?", (attack,)).fetchone()
    return int(row[0])


def _show(connection: sqlite3.Connection, attack: int) -> None:
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
    names = 'struck (finding, distance_table, row, col, "group", suspicion, threshold, weight)'
    insert_rows(connection, names, zip(*columns, strict=True))
    spared = [column.tolist() for column in strikes[_STRUCK:]]
    names = "spared (attack, distance_table, row, col, weight)"
    insert_rows(connection, names, zip((attack for _ in spared[0]), *spared, strict=True))


STORED_STRIKES = Bulk(
    owner="attack",
    extent="attack_extent",
    rows="2 * findings + spared",
    unlike=UNLIKE_FINDINGS,
    tables=("finding", "struck", "spared"),
    of_run="select attack from run_attack where run = ?1",
    show=_show,
    indexes={"finding_attack": "finding (attack)", "struck_cell": "struck (distance_table, row, col)"},
)
"""What eliminate attacks struck and spared."""
