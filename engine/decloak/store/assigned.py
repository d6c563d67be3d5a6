"""The assignments of reassociate rules: a finding for each record that gets a sub-record.

    tied         of an attack by probability: the records that share the last places of a unit

The findings of a unit follow each other. The rows of a cluster follow each other among the records of the release.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby, repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.data.assignment import Assignment, AssignmentList, Unit
from decloak.store.inserting import next_number
from decloak.store.lists import damaged, read_object
from decloak.store.records import dataset_of, extent

__all__ = ["as_read", "read_assigned", "read_given", "read_places", "read_rows_given", "write_assigned"]


def write_assigned(
    connection: sqlite3.Connection,
    attack: int,
    release: int,
    assignments: Iterable[tuple[Assignment, Sequence[float | None]]],
    ties: Mapping[Unit, Sequence[int]] | None = None,
) -> None:
    """Write a finding for every row that a unit was assigned to.

    `attack` made the `assignments` to rows of `release`; with each come the values that its rows were ranked by. `ties`
    are the rows that share the last places of a unit.
    """
    given = list(assignments)
    times = [len(assignment.rows) for assignment, _ in given]
    begins = (
        _starts(connection, release)[[assignment.cluster for assignment, _ in given]] if given else np.zeros(0, int)
    )
    rows = np.fromiter(chain.from_iterable(assignment.rows for assignment, _ in given), np.int64, sum(times))
    txns = np.repeat(begins, times) + rows
    units = np.repeat(np.array(_units(connection, [assignment for assignment, _ in given]), np.int64), times)
    first = next_number(connection, "finding")
    connection.execute("update attack set first = ?, findings = ? where id = ?", (first, len(rows), attack))
    values = chain.from_iterable(values for _, values in given)
    connection.executemany(
        "insert into assigned_unit (finding, attack, txn, unit, value) values (?, ?, ?, ?, ?)",
        zip(range(first, first + len(rows)), repeat(attack), txns.tolist(), units.tolist(), values, strict=False),
    )
    numbers = (np.cumsum(times) - times).tolist() if given else []
    sharing = {
        number: list(tied)
        for number, (assignment, _) in zip(numbers, given, strict=True)
        if (tied := (ties or {}).get(assignment[:3], ()))
    }
    if sharing:
        text = json.dumps(sharing, separators=(",", ":"))
        connection.execute("update attack set ties = ? where id = ?", (text, attack))


def _units(connection: sqlite3.Connection, assignments: Sequence[Assignment]) -> list[int]:
    """Return the number of the unit of each assignment; new units get one."""
    texts = {unit: json.dumps(unit, ensure_ascii=False) for unit in {assignment.unit for assignment in assignments}}
    keys = [(str(assignment.chunk), texts[assignment.unit]) for assignment in assignments]
    connection.executemany("insert or ignore into unit (chunk, items) values (?, ?)", dict.fromkeys(keys))
    numbers = {(chunk, items): number for number, chunk, items in connection.execute("select * from unit")}
    return [numbers[key] for key in keys]


def _starts(connection: sqlite3.Connection, release: int) -> Ints:
    """Return the number of the first record of each cluster of `release`."""
    rows = connection.execute("select first from cluster where release = ? order by number", (release,))
    return np.array([first for (first,) in rows], np.int64)


class _Findings(NamedTuple):
    """For each finding in order: cluster, row, and place of the sub-record in the lists of chunks and items."""

    clusters: Ints
    rows: Ints
    units: Ints
    chunks: Sequence[str]
    texts: Sequence[str]

    def chunk(self, place: int) -> int | str:
        """Return the chunk of the unit at `place`."""
        name = self.chunks[place]
        return int(name) if name.isdigit() else name

    @property
    def read_order(self) -> Ints:
        """Return the findings by cluster, chunk, unit and row: the order in which assignments are read."""
        rank = np.zeros(len(self.texts), np.int64)
        by_name = sorted(range(len(self.texts)), key=lambda place: (self.chunks[place], self.texts[place]))
        rank[by_name] = np.arange(len(self.texts))
        return np.lexsort((self.rows, rank[self.units], self.clusters))


def _findings(connection: sqlite3.Connection, attack: int) -> _Findings | None:
    release, first, count, form = connection.execute(
        "select a.release, a.first, a.findings, u.form from attack a join rule u on u.id = a.rule where a.id = ?",
        (attack,),
    ).fetchone()
    if form != "reassociate":
        return None
    rows = connection.execute(
        "select txn, unit from assigned_unit where finding >= ?1 and finding < ?1 + ?2 order by finding", (first, count)
    ).fetchall()
    txns, units = np.array(rows, np.int64).reshape(-1, 2).T
    starts = _starts(connection, release)
    whole = extent(connection, dataset_of(connection, release))
    if len(txns) and not whole.first <= int(txns.min()) <= int(txns.max()) < whole.first + whole.records:
        raise damaged(f"attack {attack} assigns to records that its release does not have")
    clusters = np.searchsorted(starts, txns, side="right") - 1
    different, places = np.unique(units, return_inverse=True)
    known = {number: texts for number, *texts in connection.execute("select id, chunk, items from unit")}
    try:
        listed = [known[number] for number in different.tolist()]
    except KeyError:
        raise damaged(f"attack {attack} assigns a unit that is not there") from None
    chunks, texts = ([pair[side] for pair in listed] for side in (0, 1))
    begins = starts[clusters] if len(txns) else txns
    return _Findings(clusters, txns - begins, places.reshape(-1), chunks, texts)


def _items(attack: int, texts: Sequence[str]) -> list[tuple[str, ...]]:
    try:
        return [tuple(json.loads(text)) for text in texts]
    except (ValueError, TypeError, RecursionError):
        raise damaged(f"attack {attack} assigns units that are no lists of names") from None


def as_read(assignments: Iterable[Assignment]) -> list[Assignment]:
    """Return `assignments`, the rows of each ascending, in the order in which they are read from a store.

    >>> as_read([Assignment(0, "T", ("b",), (0, 2)), Assignment(0, 1, ("a",), (1,))])[1].unit
    ('b',)
    """
    text_of = cache(lambda unit: json.dumps(unit, ensure_ascii=False))
    return sorted(assignments, key=lambda assigned: (assigned[0], str(assigned[1]), text_of(assigned[2])))


def read_assigned(connection: sqlite3.Connection, attack: int) -> AssignmentList:
    """Return what `attack` assigned, by cluster, chunk and unit."""
    findings = _findings(connection, attack)
    if findings is None:
        return AssignmentList()
    units, order = _items(attack, findings.texts), findings.read_order
    ordered = zip(
        *(column[order].tolist() for column in (findings.clusters, findings.units, findings.rows)), strict=True
    )
    return AssignmentList(
        (
            Assignment(cluster, findings.chunk(unit), units[unit], tuple(row for *_, row in group))
            for (cluster, unit), group in groupby(ordered, key=lambda finding: finding[:2])
        ),
        _ties(connection, attack, findings, units),
    )


def _ties(
    connection: sqlite3.Connection, attack: int, findings: _Findings, units: Sequence[tuple[str, ...]]
) -> dict[Unit, tuple[int, ...]]:
    """Return the rows that share the last places of units."""
    (text,) = connection.execute("select ties from attack where id = ?", (attack,)).fetchone()
    sharing = {} if text is None else read_object(text, f"the ties of attack {attack}")
    try:
        return {
            (int(findings.clusters[number]), findings.chunk(unit), units[unit]): tuple(rows)
            for number, rows in sharing.items()
            for unit in [int(findings.units[number])]
        }
    except (IndexError, TypeError):
        raise damaged(f"the ties of attack {attack} are of no finding") from None


def read_places(connection: sqlite3.Connection, attack: int) -> Ints:
    """Return the place of each finding of `attack` among all rows of its assignments, in the order of `as_read`."""
    findings = _findings(connection, attack)
    return np.zeros(0, np.int64) if findings is None else np.argsort(findings.read_order)


def read_given(connection: sqlite3.Connection, attack: int, chosen: Ints | None = None) -> list[Assignment]:
    """Return the assignments of `attack`, a row at a time in the order of its findings; with `chosen`, of these."""
    findings = _findings(connection, attack)
    if findings is None:
        return []
    units = _items(attack, findings.texts)
    columns = ((column if chosen is None else column[chosen]).tolist() for column in findings[:3])
    return [
        Assignment(cluster, findings.chunk(unit), units[unit], (row,))
        for cluster, row, unit in zip(*columns, strict=True)
    ]


def read_rows_given(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, str, str, int]]:
    """Yield the rows that `attack` assigned units to: cluster, chunk, unit as a JSON list, and row."""
    findings = _findings(connection, attack)
    if findings is None:
        return
    columns = (column.tolist() for column in findings[:3])
    for cluster, row, unit in zip(*columns, strict=True):
        yield cluster, findings.chunks[unit], findings.texts[unit], row
