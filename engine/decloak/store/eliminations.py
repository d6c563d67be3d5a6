"""The results of eliminate attacks on distance tables: members eliminated in order, and the weights of the members
kept.

A finding is one eliminated member. Its round is its place in the order: a rule eliminates one member a round.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, NumberArray
from decloak.store.distance_tables import read_distances
from decloak.store.inserting import insert, insert_rows, next_number
from decloak.store.lists import (
    damaged,
    finding_lists,
    read_findings,
    read_numbers,
    read_references,
    reference_lists,
    write_attack_numbers,
)

__all__ = [
    "GROUPS",
    "MEMBERS",
    "ConcatenatedEliminations",
    "Eliminations",
    "TableEliminations",
    "concatenate_eliminations",
    "read_eliminated",
    "read_eliminations",
    "write_eliminations",
]  # fmt: skip

GROUPS = ("table", "row", "column")
"""The kinds of groups, by their numbers in the store."""
MEMBERS = "eliminated_members (first, elimination, cells, weights, suspicions)"
"""The table of eliminated members with its columns."""


class TableEliminations(NamedTuple):
    """The result of an eliminate rule on one distance table: eliminated members, and the weights of the others."""

    table: int
    rounds: Ints
    rows: Ints
    cols: Ints
    groups: Ints
    suspicions: Floats
    threshold: float | None
    weights: Floats
    kept_rows: Ints
    kept_cols: Ints
    kept_weights: Floats


class Eliminations(NamedTuple):
    """The results of an attack on all of its tables, by their numbers in the store."""

    tables: Ints
    rows: Ints
    cols: Ints
    rounds: Ints
    groups: Ints
    suspicions: Floats
    thresholds: Floats
    weights: Floats
    kept_tables: Ints
    kept_rows: Ints
    kept_cols: Ints
    kept_weights: Floats


_FLOATS = {"suspicions", "weights", "kept_weights"}
_GATHERED = (
    "rows", "cols", "rounds", "groups", "suspicions", "weights", "kept_rows", "kept_cols", "kept_weights",
)  # fmt: skip


class ConcatenatedEliminations(NamedTuple):
    """The eliminations of all tables: table numbers, thresholds, numbers of eliminated and kept cells, and columns."""

    tables: Ints
    thresholds: Floats
    eliminated: Ints
    kept: Ints
    columns: dict[str, NumberArray]


def concatenate_eliminations(tables: Sequence[TableEliminations]) -> ConcatenatedEliminations:
    """Return the eliminations of `tables` in a few arrays: many small ones take long to be sent to another process."""
    columns: dict[str, NumberArray] = {}
    for name in _GATHERED:
        none = np.zeros(0, np.float64 if name in _FLOATS else np.int64)
        columns[name] = np.concatenate([none, *(getattr(table, name) for table in tables)])
    return ConcatenatedEliminations(
        np.array([table.table for table in tables], np.int64),
        np.array([np.nan if table.threshold is None else table.threshold for table in tables], np.float64),
        np.array([len(table.rows) for table in tables], np.int64),
        np.array([len(table.kept_rows) for table in tables], np.int64),
        columns,
    )


class _Tables(NamedTuple):
    """The distance tables of a scoring by their numbers in it: number in the store, rows, columns."""

    ids: Ints
    heights: Ints
    widths: Ints


def _tables(connection: sqlite3.Connection, attack: int) -> _Tables:
    rows = connection.execute(
        "select t.id, count(r.row), t.columns from attack a join distance_table t on t.scoring = a.scoring "
        "left join distance_row r on r.distance_table = t.id where a.id = ? group by t.id order by t.number",
        (attack,),
    ).fetchall()
    return _Tables(*np.array(rows, np.int64).reshape(-1, 3).T)


def write_eliminations(
    connection: sqlite3.Connection, attack: int, result: ConcatenatedEliminations, first: int | None = None
) -> None:
    """Write the findings of an eliminate rule, and the weights of the cells it kept.

    `attack` is the attack that made `result`. `first` is the number of its first finding, the next free one if None.
    """
    tables, columns = _tables(connection, attack), result.columns
    widths, heights = tables.widths[result.tables], tables.heights[result.tables]
    cells = columns["rows"] * np.repeat(widths, result.eliminated) + columns["cols"]
    kept_cells = columns["kept_rows"] * np.repeat(widths, result.kept) + columns["kept_cols"]
    is_weighted = not _are_distances(connection, attack, result, cells, kept_cells)
    is_suspected = not np.array_equal(columns["suspicions"], columns["weights"], equal_nan=True)
    first = next_number(connection, "finding") if first is None else first
    count = int(result.eliminated.sum())
    connection.execute("update attack set first = ?, findings = ? where id = ?", (first, count, attack))
    columns_of = ("kept_weights", "weights", "suspicions")
    kept, weights, suspicions = (
        write_attack_numbers(connection, attack, columns[name]) if needed else None
        for name, needed in zip(columns_of, (is_weighted, is_weighted, is_suspected), strict=True)
    )
    kept_lists = _kept_lists(heights * widths, result.kept, kept_cells, kept)
    begins = first + np.cumsum(result.eliminated) - result.eliminated
    eliminations = [
        insert(
            connection, "elimination", attack=attack, distance_table=table, first=begin,
            threshold=None if np.isnan(limit) else limit, weighted=is_weighted, suspected=is_suspected, kept=text,
        )
        for table, begin, limit, text in zip(
            tables.ids[result.tables].tolist(), begins.tolist(), result.thresholds.tolist(), kept_lists, strict=True
        )
    ]  # fmt: skip
    owner = np.repeat(np.array(eliminations, np.int64), result.eliminated)
    codes = 3 * cells + columns["groups"]
    insert_rows(connection, MEMBERS, finding_lists(first, owner, codes, weights, suspicions))


def _kept_lists(sizes: Ints, counts: Ints, kept_cells: Ints, references: Ints | None) -> Iterator[str]:
    """Yield the list of each table: 0 for an eliminated cell, else its reference counted from 1; None is an empty list.

    `sizes` are the numbers of cells of the tables, `counts` the numbers of kept cells. `kept_cells` are the
    kept cells of all tables with the `references` of their weights; without references each has 1.
    """
    starts = np.cumsum(sizes) - sizes
    whole = np.zeros(int(sizes.sum()), np.int64)
    whole[np.repeat(starts, counts) + kept_cells] = (
        1 if references is None else np.where(references < 0, -1, references + 1)
    )
    return reference_lists(whole, starts)


def _are_distances(
    connection: sqlite3.Connection, attack: int, result: ConcatenatedEliminations, cells: Ints, kept_cells: Ints
) -> bool:
    """Return whether the weights of all cells are their distances, so that the distances replace them."""
    columns = result.columns
    if np.isnan(columns["weights"]).any() or np.isnan(columns["kept_weights"]).any():
        return False
    distances = read_distances(connection, _scoring(connection, attack))
    chosen = [distances[table].ravel() for table in result.tables.tolist()]
    starts = np.cumsum([0, *map(len, chosen)])[:-1]
    d = np.concatenate([np.zeros(0), *chosen])
    return np.array_equal(d[np.repeat(starts, result.eliminated) + cells], columns["weights"]) and np.array_equal(
        d[np.repeat(starts, result.kept) + kept_cells], columns["kept_weights"]
    )


def _scoring(connection: sqlite3.Connection, attack: int) -> int:
    (scoring,) = connection.execute("select scoring from attack where id = ?", (attack,)).fetchone()
    return int(scoring)


def read_eliminations(connection: sqlite3.Connection, attack: int) -> Eliminations | None:
    """Return the members that `attack` eliminated and kept, or None if it changed no distance table."""
    eliminations = connection.execute(
        "select id, distance_table, first, threshold, weighted, suspected, kept from elimination where attack = ? "
        "order by first, id",
        (attack,),
    ).fetchall()
    if not eliminations:
        return None
    ids, of, first, thresholds, weighted, suspected, kept = zip(*eliminations, strict=True)
    tables = _tables(connection, attack)
    order = _places(np.array(of), tables.ids)
    sizes, widths = (tables.heights * tables.widths)[order], tables.widths[order]
    listed = connection.execute(
        "select x.first, x.cells, x.elimination, x.weights, x.suspicions from elimination e "
        "join eliminated_members x on x.elimination = e.id where e.attack = ? order by x.first",
        (attack,),
    ).fetchall()
    base, begin, count = connection.execute(
        "select numbers, first, findings from attack where id = ?", (attack,)
    ).fetchone()
    what = f"the members that attack {attack} eliminated"
    counts, codes = read_findings([row[:2] for row in listed], (begin, count), what)
    owners, *judged = list(zip(*listed, strict=True))[2:] or [()] * 3
    cells, groups = codes // 3, codes % 3
    place = np.repeat(_places(np.array(owners, np.int64), np.array(ids)), counts)
    lengths, references = read_references(kept, f"the weights of attack {attack}")
    if not np.array_equal(lengths, sizes) or (cells < 0).any() or (cells >= sizes[place]).any():
        raise damaged(f"attack {attack} is on other cells than those of its distance tables")
    is_kept = np.flatnonzero(references != 0)
    ends = np.cumsum(sizes)
    kept_place = np.searchsorted(ends, is_kept, side="right")
    kept_cells = is_kept - (ends - sizes)[kept_place]
    if any(weighted):
        weights = _numbers(connection, attack, base, judged[0], count)
        kept_weights = read_numbers(connection, base, references[is_kept] - 1)
    else:
        all_d = read_distances(connection, _scoring(connection, attack))
        d = np.concatenate([np.zeros(0), *(all_d[number].ravel() for number in order.tolist())])
        weights, kept_weights = d[(ends - sizes)[place] + cells], d[is_kept]
    limits = np.array([np.nan if limit is None else limit for limit in thresholds], np.float64)
    of_table, firsts = np.array(of, np.int64), np.array(first, np.int64)
    return Eliminations(
        tables=of_table[place],
        rows=cells // widths[place],
        cols=cells % widths[place],
        rounds=begin + np.arange(count) - firsts[place] + 1,
        groups=groups,
        suspicions=_numbers(connection, attack, base, judged[1], count) if any(suspected) else weights,
        thresholds=limits[place],
        weights=weights,
        kept_tables=of_table[kept_place],
        kept_rows=kept_cells // widths[kept_place],
        kept_cols=kept_cells % widths[kept_place],
        kept_weights=kept_weights,
    )


def _numbers(connection: sqlite3.Connection, attack: int, base: int, texts: Sequence[str | None], count: int) -> Floats:
    """Return the numbers of `attack`, counted from `base`, for its `count` findings: the references are in `texts`."""
    _, references = read_references((text or "" for text in texts), f"the weights of attack {attack}")
    if len(references) != count:
        raise damaged(f"attack {attack} has other weights than findings")
    return read_numbers(connection, base, references)


def _places(values: Ints, among: Ints) -> Ints:
    """Return the place of each of `values` in `among`, where it has to be."""
    order = np.argsort(among)
    ascending = np.append(among[order], -1)  # a value beyond the last one is at the end
    at = np.searchsorted(ascending[:-1], values)
    if not np.array_equal(ascending[at], values):
        raise damaged("an elimination is of no distance table")
    places: Ints = order[at]
    return places


def read_eliminated(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the cells that `attack` eliminated: number of the table in its scoring, row, column and round."""
    yield from connection.execute(
        "select t.number, x.cell / t.columns, x.cell % t.columns, x.finding - e.first + 1 from elimination e "
        "join eliminated_member x on x.elimination = e.id join distance_table t on t.id = e.distance_table "
        "where e.attack = ? order by x.finding",
        (attack,),
    )
