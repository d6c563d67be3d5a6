"""Who was given what, the findings of a reassociate rule: arrays in the store, shown as rows of finding and assigned.

    places       the record that each finding gives a unit to, by its place in the release
    chunks       the chunk of the unit, by number in `chunk_names`
    units        the unit, by number in `unit_texts`: its items as a JSON list
    values       what the row was ranked by; NaN where nothing is known
tied         of an attack by probability: the records that share the last places of a unit, unit by unit
tied_until   where those of each unit end; the findings of a unit follow each other

Findings are numbered in order from `first` on, whether rows show them or not. The rows of clusters lie one after the
other in the release, so that a place says which cluster and which row it is.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby, repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.assignment import Assigned, Assignment, Unit
from decloak.store.arrays import damaged, read_array, read_floats, read_numbers, read_texts, write_array, write_texts
from decloak.store.bulk import PENDING, UNLIKE_FINDINGS, Bulk
from decloak.store.inserting import insert, insert_rows, next_number
from decloak.store.transactions import dataset_of, extent

__all__ = ["STORED_ASSIGNED", "as_read", "read_assigned", "read_given", "read_rows_given", "write_assigned"]

ARRAY = "attack_array"


def write_assigned(
    connection: sqlite3.Connection,
    attack: int,
    release: int,
    assignments: Iterable[tuple[Assignment, Sequence[float | None]]],
    ties: Mapping[Unit, Sequence[int]] | None = None,
) -> None:
    """Write who gets what: a finding for every row a unit was given to, with what the row was ranked by; `ties` are the
    rows that share the last places of a unit.
    """
    given = list(assignments)
    times = [len(assignment.rows) for assignment, _ in given]
    clusters = np.repeat(np.array([assignment.cluster for assignment, _ in given], np.int64), times)
    rows = np.fromiter(chain.from_iterable(assignment.rows for assignment, _ in given), np.int64, len(clusters))
    values = np.array([value for _, values in given for value in values], np.float64)
    names = [str(assignment.chunk) for assignment, _ in given]
    units = [assignment.unit for assignment, _ in given]  # many clusters have the same ones
    texts = {unit: json.dumps(unit, ensure_ascii=False) for unit in set(units)}
    arrays = {"places": _starts(connection, release)[clusters] + rows, "values": values}
    for name, listed, of_each in (
        ("chunks", "chunk_names", names),
        ("units", "unit_texts", [texts[unit] for unit in units]),
    ):
        different = sorted(set(of_each))
        number = {text: place for place, text in enumerate(different)}
        arrays[name] = np.repeat(np.array([number[text] for text in of_each], np.int64), times)
        write_texts(connection, attack, listed, different, table=ARRAY)
    sharing = [list((ties or {}).get(assignment[:3], ())) for assignment, _ in given]
    if any(sharing):
        counts = [len(rows) for rows in sharing]
        begin = _starts(connection, release)[[assignment.cluster for assignment, _ in given]]
        arrays["tied"] = np.repeat(begin, counts) + np.array(list(chain.from_iterable(sharing)), np.int64)
        arrays["tied_until"] = np.cumsum(counts)
    for name, array in arrays.items():
        write_array(connection, attack, name, array, table=ARRAY)
    first = next_number(connection, "finding")
    insert(connection, "assigned_extent", attack=attack, first=first, findings=len(clusters), pending=PENDING)


def _starts(connection: sqlite3.Connection, release: int) -> Ints:
    """The place of the first row of each cluster of a release, and of what would come after the last."""
    sizes = connection.execute("select size from cluster where release = ? order by number", (release,))
    return np.cumsum([0, *(size for (size,) in sizes)])


class _Given(NamedTuple):
    """Of each finding in order: places of records, chunks and units by number in what follows, and values."""

    places: Ints
    chunks: Ints
    units: Ints
    values: Floats
    chunk_names: Sequence[str]
    unit_texts: Sequence[str]


def _read(connection: sqlite3.Connection, attack: int) -> _Given | None:
    row = connection.execute("select findings from assigned_extent where attack = ?", (attack,)).fetchone()
    if row is None:
        return None
    places, chunks, units = (read_numbers(connection, attack, name, ARRAY) for name in ("places", "chunks", "units"))
    values = read_floats(connection, attack, "values", ARRAY)
    names, texts = (_texts(connection, attack, name) for name in ("chunk_names", "unit_texts"))
    if {len(places), len(chunks), len(units), len(values)} != {row[0]}:
        raise damaged(attack, "places", ARRAY)
    for name, codes, listed in (("chunks", chunks, names), ("units", units, texts)):
        if int(codes.max(initial=-1)) >= len(listed):
            raise damaged(attack, name, ARRAY)
    return _Given(places, chunks, units, values, names, texts)


def _texts(connection: sqlite3.Connection, attack: int, name: str) -> Sequence[str]:
    texts = read_texts(connection, attack, name, table=ARRAY)
    if texts is None:
        raise damaged(attack, name, ARRAY)
    return texts


class _Findings(NamedTuple):
    """Of each finding in order: cluster, chunk, unit, row, place in the release; chunks, units by number in lists."""

    clusters: Ints
    chunks: Ints
    units: Ints
    rows: Ints
    chunk_of: Sequence[int | str]
    unit_of: Sequence[tuple[str, ...]]
    places: Ints

    def ties(self, connection: sqlite3.Connection, attack: int) -> dict[Unit, tuple[int, ...]]:
        """Return the rows that share the last places of units."""
        tied, until = (read_array(connection, attack, name, table=ARRAY) for name in ("tied", "tied_until"))
        if tied is None or until is None:
            return {}
        differs = [np.diff(column, prepend=-1) != 0 for column in (self.clusters, self.chunks, self.units)]
        first = np.flatnonzero(np.logical_or.reduce(differs))
        if len(until) != len(first) or until[-1] != len(tied) or (np.diff(until, prepend=0) < 0).any():
            raise damaged(attack, "tied_until", ARRAY)
        places = np.split(tied, until[:-1])
        begin = self.places[first] - self.rows[first]
        return {
            (cluster, self.chunk_of[chunk], self.unit_of[unit]): tuple((part - low).tolist())
            for cluster, chunk, unit, part, low in zip(
                *(column[first].tolist() for column in (self.clusters, self.chunks, self.units)),
                places, begin.tolist(), strict=True,
            )
            if len(part)
        }  # fmt: skip


def _findings(connection: sqlite3.Connection, attack: int) -> _Findings | None:
    given = _read(connection, attack)
    if given is None:
        return None
    (release,) = connection.execute("select release from attack where id = ?", (attack,)).fetchone()
    starts = _starts(connection, release)
    if int(given.places.max(initial=-1)) >= starts[-1]:
        raise damaged(attack, "places", ARRAY)
    clusters = np.searchsorted(starts, given.places, side="right") - 1
    chunk_of = [int(name) if name.isdigit() else name for name in given.chunk_names]
    unit_of = [_unit(attack, text) for text in given.unit_texts]
    rows = given.places - starts[clusters]
    return _Findings(clusters, given.chunks, given.units, rows, chunk_of, unit_of, given.places)


def _unit(attack: int, text: str) -> tuple[str, ...]:
    try:
        return tuple(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise damaged(attack, "unit_texts", ARRAY) from None


def as_read(assignments: Iterable[Assignment]) -> list[Assignment]:
    """Assignments, the rows of each ascending, as they are read once they are written: who measures them finds the same
    either way.

    >>> as_read([Assignment(0, "T", ("b",), (0, 2)), Assignment(0, 1, ("a",), (1,))])[1].unit
    ('b',)
    """
    text_of = cache(lambda unit: json.dumps(unit, ensure_ascii=False))
    return sorted(assignments, key=lambda assigned: (assigned[0], str(assigned[1]), text_of(assigned[2])))


def read_assigned(connection: sqlite3.Connection, attack: int) -> Assigned:
    """Who was given what, by cluster, chunk and unit."""
    findings = _findings(connection, attack)
    if findings is None:
        return Assigned()
    clusters, chunks, units, rows, chunk_of, unit_of, _ = findings
    order = np.lexsort((rows, units, chunks, clusters))
    ordered = zip(*(column[order].tolist() for column in (clusters, chunks, units, rows)), strict=True)
    return Assigned(
        (
            Assignment(cluster, chunk_of[chunk], unit_of[unit], tuple(row for *_, row in group))
            for (cluster, chunk, unit), group in groupby(ordered, key=lambda finding: finding[:3])
        ),
        findings.ties(connection, attack),
    )


def read_given(connection: sqlite3.Connection, attack: int) -> list[Assignment]:
    """The same, a row at a time in the order of the findings."""
    findings = _findings(connection, attack)
    if findings is None:
        return []
    columns = (column.tolist() for column in findings[:4])
    return [
        Assignment(cluster, findings.chunk_of[chunk], findings.unit_of[unit], (row,))
        for cluster, chunk, unit, row in zip(*columns, strict=True)
    ]


def read_rows_given(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, str, str, int]]:
    """Read the rows that an attack gave units to: cluster, chunk, unit as a JSON list, and row."""
    findings, given = _findings(connection, attack), _read(connection, attack)
    if findings is None or given is None:
        return
    columns = zip(*(column.tolist() for column in findings[:4]), strict=True)
    for cluster, chunk, unit, row in columns:
        yield cluster, given.chunk_names[chunk], given.unit_texts[unit], row


def _show(connection: sqlite3.Connection, attack: int) -> None:
    given = _read(connection, attack)
    assert given is not None
    first, release = connection.execute(
        "select e.first, a.release from assigned_extent e join attack a on a.id = e.attack where e.attack = ?",
        (attack,),
    ).fetchone()
    numbers = range(first, first + len(given.places))
    insert_rows(connection, "finding (id, attack, round)", zip(numbers, repeat(attack), repeat(1), strict=False))
    txns = given.places + extent(connection, dataset_of(connection, release)).first
    chunks = map(given.chunk_names.__getitem__, given.chunks.tolist())
    units = map(given.unit_texts.__getitem__, given.units.tolist())
    rows = zip(numbers, txns.tolist(), chunks, units, given.values.tolist(), strict=True)  # SQLite reads NaN as null
    insert_rows(connection, "assigned (finding, txn, chunk, unit, value)", rows)


STORED_ASSIGNED = Bulk(
    owner="attack",
    extent="assigned_extent",
    rows="2 * findings",
    unlike=UNLIKE_FINDINGS,
    tables=("finding", "assigned"),
    of_run="select attack from run_attack where run = ?1",
    show=_show,
    indexes={"finding_attack": "finding (attack)", "assigned_txn": "assigned (txn)"},
)
"""Who was given what."""
