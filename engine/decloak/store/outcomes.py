"""What eliminate attacks did to distance tables, with the truth of the cells beside it."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.data.rows import CodedRows
from decloak.store.arrays import damaged
from decloak.store.strikes import read_strikes
from decloak.store.transactions import extent, read_marked, read_origin_places, read_transactions

__all__ = ["TableOutcome", "TrueTable", "outcomes", "scoring_of", "true_tables"]


class TrueTable(NamedTuple):
    """A distance table, by its numbers in the store and in its scoring; arrays of its shape."""

    id: int
    number: int
    original: NDArray[np.bool_]  # truth: whether the transaction really has the member
    scored: NDArray[np.bool_]
    places: NDArray[np.int64]  # of the transactions, a row each, among those of the release
    members: tuple[str, ...]  # a column each


class TableOutcome(NamedTuple):
    """What an attack did to one distance table; arrays of its shape."""

    table: TrueTable
    order: NDArray[np.int64]  # when the cell was struck, from 0; -1 where it was spared
    weight: NDArray[np.float64]  # the weight of the cells spared


def scoring_of(connection: sqlite3.Connection, attack: int) -> int:
    """The scoring whose tables an attack worked on."""
    (number,) = connection.execute("select scoring from attack where id = ?", (attack,)).fetchone()
    return int(number)


class _Truth(NamedTuple):
    """Which transaction of a release really had which item: numbers of both as one, ascending."""

    connection: sqlite3.Connection
    first: int
    origins: NDArray[np.int64]
    held: NDArray[np.int64]
    marked: NDArray[np.int64]
    items: int

    @classmethod
    def of(cls, connection: sqlite3.Connection, scoring: int) -> "_Truth":
        release, dataset = connection.execute(
            "select r.id, r.dataset from scoring s join release r on r.id = s.release where s.id = ?", (scoring,)
        ).fetchone()
        whole = extent(connection, dataset)
        (items,) = connection.execute("select coalesce(max(id), 0) + 1 from item").fetchone()
        none = np.zeros(0, np.int64)
        origins, held = none, none
        row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
        if row is not None and (places := read_origin_places(connection, dataset)) is not None:
            rows = read_transactions(connection, *row).rows
            origins, held = places.astype(np.int64), np.sort(_pairs(rows, items))
        marks = read_marked(connection, dataset)
        marked = np.sort(marks[:, 0] * items + marks[:, 1])
        return cls(connection, whole.first, origins, held, marked, items)

    def holds(self, txns: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the transactions, a row each, had the items, a column each."""
        places = txns - self.first
        original = _among(places[:, None] * self.items + items, self.marked)
        if len(self.origins):
            original |= _among(self.origins[places][:, None] * self.items + items, self.held)
        return original


def _pairs(rows: CodedRows[int], items: int) -> NDArray[np.int64]:
    return rows.row * items + np.array(rows.names, np.int64)[rows.codes]


def _among(values: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    among: NDArray[np.bool_] = np.append(ascending, -1)[np.searchsorted(ascending, values)] == values
    return among


def true_tables(connection: sqlite3.Connection, scoring: int) -> list[TrueTable]:
    """The distance tables of a scoring: the same for every attack on them."""
    truth = _Truth.of(connection, scoring)
    tables = connection.execute("select id, number from distance_table where scoring = ? order by number", (scoring,))
    return [_table(truth, *table) for table in tables.fetchall()]


def _table(truth: _Truth, table: int, number: int) -> TrueTable:
    sides = "select txn from distance_row {0} order by row", "select item from distance_col {0} order by col"
    txns, items = (_column(truth.connection, sql, table) for sql in sides)
    # A comparison with a distance that is null is null itself: no score.
    cells = "select coalesce(d >= 0 and d < 9e999, 0) from cell {0} order by row, col"
    scored = _column(truth.connection, cells, table).astype(bool).reshape(len(txns), len(items))
    names = "select i.name from distance_col k join item i on i.id = k.item where k.distance_table = ? order by k.col"
    members = tuple(name for (name,) in truth.connection.execute(names, (table,)))
    return TrueTable(table, number, truth.holds(txns, items), scored, txns - truth.first, members)


def _column(connection: sqlite3.Connection, sql: str, table: int) -> NDArray[np.int64]:
    rows = connection.execute(sql.format("where distance_table = ?"), (table,))
    return np.fromiter((value for (value,) in rows), np.int64)


def outcomes(connection: sqlite3.Connection, attack: int, tables: Sequence[TrueTable]) -> Iterator[TableOutcome]:
    """What an attack did to each of its tables."""
    strikes = read_strikes(connection, attack)
    if strikes is None:
        return
    struck, left = _by_table(strikes.tables), _by_table(strikes.spared_tables)
    for table in tables:
        order, weight = np.full(table.scored.shape, -1, np.int64), np.full(table.scored.shape, np.nan)
        places, others = struck.get(table.id, _NONE), left.get(table.id, _NONE)
        try:
            order[strikes.rows[places], strikes.cols[places]] = np.arange(len(places))
            weight[strikes.spared_rows[others], strikes.spared_cols[others]] = strikes.spared_weights[others]
        except IndexError:
            raise damaged(attack, "rows", "attack_array") from None
        yield TableOutcome(table, order, weight)


_NONE = np.zeros(0, np.intp)


def _by_table(tables: NDArray[Any]) -> dict[int, NDArray[np.intp]]:
    """The places of each table, ascending."""
    order = np.argsort(tables, kind="stable")
    first = np.flatnonzero(np.diff(tables[order].astype(np.int64), prepend=-1))
    return dict(zip(tables[order[first]].tolist(), np.split(order, first[1:]), strict=False))
