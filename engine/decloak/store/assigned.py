"""The assignments of reassociate rules, and the probabilities that attacks give their findings.

An assignment is a finding for each record that gets a sub-record.

    tied         of an attack by probability: the records that share the last places of a unit

The findings of a unit follow each other. The rows of a cluster follow each other among the records of the release.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.assignment import Assignment, AssignmentList, Kind, RowLists
from decloak.data.pairs import first_occurrences
from decloak.store.inserting import insert_rows, next_number
from decloak.store.lists import (
    damaged,
    finding_lists,
    read_findings,
    read_numbers,
    read_object,
    read_references,
    reference_lists,
    write_attack_numbers,
)

__all__ = [
    "as_read",
    "findings_count",
    "mark_units",
    "no_probabilities",
    "probabilities",
    "probability_teller",
    "probable_gifts",
    "read_assigned",
    "read_rows_given",
    "write_assigned",
    "write_assigned_lists",
    "write_probabilities",
]


def write_assigned(
    connection: sqlite3.Connection, attack: int, release: int, assignments: AssignmentList, values: Floats
) -> None:
    """Write a finding for every row that a unit was assigned to.

    `attack` made the `assignments` to rows of `release`. `values` ranked these rows; one that is not finite is unknown.
    """
    clusters = connection.execute("select id, size from cluster where release = ? order by number", (release,))
    ids, sizes = np.array(clusters.fetchall(), np.int64).reshape(-1, 2).T
    owner, rows = assignments.given.list_of_row, assignments.given.rows
    cluster = assignments.cluster[owner]
    first = next_number(connection, "finding")
    connection.execute("update attack set first = ?, findings = ? where id = ?", (first, len(rows), attack))
    codes = _units(connection, assignments)[owner] * sizes[cluster] + rows
    write_assigned_lists(connection, attack, first, ids[cluster], codes, values)
    firsts = assignments.given.start.tolist()
    sharing = {number: list(tied) for number, tied in zip(firsts, assignments.tied.tuples(), strict=False) if tied}
    if sharing:
        text = json.dumps(sharing, separators=(",", ":"))
        connection.execute("update attack set ties = ? where id = ?", (text, attack))


def write_assigned_lists(
    connection: sqlite3.Connection, attack: int, first: int, clusters: Ints, codes: Ints, values: Floats
) -> None:
    """Write the findings of `attack` from the number `first` on: the cluster of each, its unit with its row, and value.

    A code is the number of the unit times the size of the cluster, plus the row.
    """
    known = np.isfinite(values)
    ranked_by = write_attack_numbers(connection, attack, np.where(known, values, np.nan)) if known.any() else None
    rows = ((*row, attack) for row in finding_lists(first, clusters, codes, ranked_by))
    insert_rows(connection, "assigned_units (first, cluster, units, ranked_by, attack)", rows)


def _units(connection: sqlite3.Connection, assignments: AssignmentList) -> Ints:
    """Return the number of the unit of each assignment; new units get one."""
    kinds = first_occurrences([assignments.kind]).tolist()
    keys = [
        (str(chunk), json.dumps(items, ensure_ascii=False))
        for chunk, items in map(assignments.kinds.__getitem__, kinds)
    ]
    connection.executemany("insert or ignore into unit (chunk, items) values (?, ?)", keys)
    mark_units(connection)
    numbers = {
        (chunk, items): number for number, chunk, items in connection.execute("select id, chunk, items from unit")
    }
    of_kind = np.zeros(len(assignments.kinds), np.int64)
    of_kind[kinds] = [numbers[key] for key in keys]
    return of_kind[assignments.kind]


def mark_units(connection: sqlite3.Connection) -> None:
    """Write the mark of each unit that has one item alone."""
    connection.execute(
        "update unit set mark = (select ',' || i.id || ',' from item i where i.name = json_extract(items, '$[0]')) "
        "where mark is null and json_array_length(items) = 1"
    )


class _Findings(NamedTuple):
    """For each finding in order: cluster, row, and place of the sub-record in the lists of chunks and items."""

    clusters: Ints
    rows: Ints
    units: Ints
    chunks: Sequence[str]
    texts: Sequence[str]

    def kinds(self, attack: int) -> list[Kind]:
        """Return the chunk and the items of each unit of `attack`."""
        try:
            items = [tuple(json.loads(text)) for text in self.texts]
        except (ValueError, TypeError, RecursionError):
            raise damaged(f"attack {attack} assigns units that are no lists of names") from None
        return [(int(name) if name.isdigit() else name, unit) for name, unit in zip(self.chunks, items, strict=True)]

    @property
    def read_order(self) -> Ints:
        """Return the findings by cluster, chunk, unit and row: the order in which assignments are read."""
        rank = _ranks(list(zip(self.chunks, self.texts, strict=True)))
        return np.lexsort((self.rows, rank[self.units], self.clusters))


def _findings(connection: sqlite3.Connection, attack: int) -> _Findings | None:
    release, form, *whole = connection.execute(
        "select a.release, u.form, a.first, a.findings from attack a join rule u on u.id = a.rule where a.id = ?",
        (attack,),
    ).fetchone()
    if form != "reassociate":
        return None
    listed = connection.execute(
        "select c.number, c.size, x.first, x.units from assigned_units x join cluster c on c.id = x.cluster "
        "and c.release = ? where x.attack = ? order by x.first",
        (release, attack),
    ).fetchall()
    lengths, codes = read_findings([row[2:] for row in listed], whole, f"the units of attack {attack}")
    clusters, sizes = np.repeat(np.array([row[:2] for row in listed], np.int64).reshape(-1, 2), lengths, axis=0).T
    different, places = np.unique(codes // sizes, return_inverse=True)
    known = {number: texts for number, *texts in connection.execute("select id, chunk, items from unit")}
    try:
        units = [known[number] for number in different.tolist()]
    except KeyError:
        raise damaged(f"attack {attack} assigns a unit that is not there") from None
    chunks, texts = ([pair[side] for pair in units] for side in (0, 1))
    return _Findings(clusters, codes % sizes, places.reshape(-1), chunks, texts)


def as_read(assignments: Iterable[Assignment]) -> AssignmentList:
    """Return `assignments`, the rows of each ascending, in the order in which they are read from a store.

    >>> as_read([Assignment(0, "T", ("b",), (0, 2)), Assignment(0, 1, ("a",), (1,))])[1].unit
    ('b',)
    """
    listed = AssignmentList.of(assignments)
    texts = [(str(chunk), json.dumps(items, ensure_ascii=False)) for chunk, items in listed.kinds]
    return listed.select(np.lexsort((_ranks(texts)[listed.kind], listed.cluster)))


def _ranks(texts: Sequence[tuple[str, str]]) -> Ints:
    """Return the place of each chunk and its items as text among all of them in ascending order."""
    rank = np.zeros(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank


def read_assigned(connection: sqlite3.Connection, attack: int) -> AssignmentList:
    """Return what `attack` assigned, by cluster, chunk and unit."""
    findings = _findings(connection, attack)
    if findings is None:
        return AssignmentList.of()
    order = findings.read_order
    clusters, units, rows = findings.clusters[order], findings.units[order], findings.rows[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (clusters[1:] != clusters[:-1]) | (units[1:] != units[:-1])
    start = np.flatnonzero(begins)
    kinds, given = findings.kinds(attack), RowLists(np.append(start, len(order)), rows)
    keys = list(zip(clusters[start].tolist(), units[start].tolist(), strict=True))
    ties = _ties(connection, attack, findings, keys)
    return AssignmentList(clusters[start], units[start], kinds, given, ties, order)


def _ties(
    connection: sqlite3.Connection, attack: int, findings: _Findings, keys: Sequence[tuple[int, int]]
) -> RowLists | None:
    """Return the rows that share the last places of each of `keys`, a cluster and the place of a unit."""
    (text,) = connection.execute("select ties from attack where id = ?", (attack,)).fetchone()
    if text is None:
        return None
    sharing = read_object(text, f"the ties of attack {attack}")
    try:
        rows = {(int(findings.clusters[number]), int(findings.units[number])): tied for number, tied in sharing.items()}
        return RowLists.of([rows.get(key, ()) for key in keys])
    except (IndexError, TypeError, ValueError):
        raise damaged(f"the ties of attack {attack} are of no finding") from None


def read_rows_given(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, str, str, int]]:
    """Yield the rows that `attack` assigned units to: cluster, chunk, unit as a JSON list, and row."""
    findings = _findings(connection, attack)
    if findings is None:
        return
    columns = (column.tolist() for column in findings[:3])
    for cluster, row, unit in zip(*columns, strict=True):
        yield cluster, findings.chunks[unit], findings.texts[unit], row


class ProbableGift(NamedTuple):
    """A unit assigned to one row, and the probability that this is right."""

    assignment: Assignment
    probability: float


def findings_count(connection: sqlite3.Connection, attack: int) -> int:
    """Return the number of findings of `attack`."""
    sql = "select coalesce(json_extract(parameters, '$.in_files'), findings) from attack where id = ?"
    return int(connection.execute(sql, (attack,)).fetchone()[0])


def write_probabilities(connection: sqlite3.Connection, attack: int, p: Floats | None) -> None:
    """Write the probabilities `p` of the findings of `attack`, in order; None for an attack without probabilities."""
    if p is None:
        return
    (text,) = reference_lists(write_attack_numbers(connection, attack, p), np.zeros(1, np.int64))
    connection.execute("update attack set probabilities = ? where id = ?", (text, attack))


def probabilities(connection: sqlite3.Connection, attack: int) -> Floats | None:
    """Return the probabilities of the findings of `attack`, in order, NaN where one is not known.

    Return None for an attack without probabilities.
    """
    first, findings, text = connection.execute(
        "select numbers, findings, probabilities from attack where id = ?", (attack,)
    ).fetchone()
    if text is None:
        return None
    _, references = read_references([text], f"the probabilities of attack {attack}")
    if len(references) != findings:
        raise damaged(f"attack {attack} has other probabilities than findings")
    return read_numbers(connection, first or 1, references)


def no_probabilities(connection: sqlite3.Connection, attack: int) -> str:
    """Return the reason why `attack` has no probabilities."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return str(json.loads(parameters).get("unsure") or "it is of a store that kept none")


def probability_teller(connection: sqlite3.Connection, attack: int) -> Callable[[int], float | None]:
    """Return a function from the number of a finding of `attack` to its probability, or None."""
    p = probabilities(connection, attack)
    (first,) = connection.execute("select first from attack where id = ?", (attack,)).fetchone()

    def tell(finding: int) -> float | None:
        return None if p is None or not np.isfinite(p[finding - first]) else float(p[finding - first])

    return tell


def probable_gifts(connection: sqlite3.Connection, attack: int) -> list[ProbableGift]:
    """Return what a reassociate rule assigned, a row at a time, as far as its probability is known."""
    all_p = probabilities(connection, attack)
    if all_p is None:
        return []
    gifts = read_assigned(connection, attack).by_finding()
    return [
        ProbableGift(gift, p)
        for gift, p in zip(gifts, all_p.tolist(), strict=bool(gifts))  # eliminations assign nothing
        if np.isfinite(p)
    ]
