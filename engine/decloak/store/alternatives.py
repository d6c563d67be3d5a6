"""The alternatives of a finding: members of a generalised item, rows of a cluster, sub-records of a chunk.

A comparison has the known items on one side and the alternatives on the other, with the relatedness of each pair.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from decloak.store.sandbox import quoted

__all__ = ["COVER", "Comparison", "Rival", "cover_comparison", "member_comparison", "row_comparison"]

COVER = frozenset({"cluster", "item", "earlier", "covered"})
"""Columns that a relation must have so that its facts are compared as cover problems."""


class Rival(NamedTuple):
    """An alternative: its name, the known items, and the result of the attack for it."""

    name: str
    note: str
    subject: bool
    """True for the alternative that the finding names."""
    eliminated: bool


class Comparison(NamedTuple):
    """Known items, alternatives, and the relatedness of each pair by place, from 0 to 1."""

    about: str
    known: tuple[str, ...]
    rivals: tuple[Rival, ...]
    closeness: dict[tuple[int, int], float]


def member_comparison(connection: sqlite3.Connection, finding: int) -> Comparison:
    """The members of the generalised item that a member was eliminated from, with their distances to the context."""
    table, row, col, attack, scoring, label = connection.execute(
        "select s.distance_table, s.row, s.col, s.attack, t.scoring, x.label from eliminated s "
        "join distance_table t on t.id = s.distance_table "
        "join distance_row r on r.distance_table = t.id and r.row = s.row join txn x on x.id = r.txn "
        "where s.finding = ?",
        (finding,),
    ).fetchone()
    members = connection.execute(
        "select k.col, i.name, c.d, k.item from distance_col k join item i on i.id = k.item "
        "join cell c on c.distance_table = k.distance_table and c.row = ?2 and c.col = k.col "
        "where k.distance_table = ?1 order by c.d is null, c.d, k.col",
        (table, row),
    ).fetchall()
    rounds = dict(connection.execute(
        "select s.col, s.round from attack a join eliminated s on s.finding >= a.first "
        "and s.finding < a.first + a.findings where a.id = ? and s.distance_table = ? and s.row = ?",
        (attack, table, row),
    ).fetchall())  # fmt: skip
    contexts = connection.execute(
        "select x.item, i.name from context x join item i on i.id = x.item "
        "where x.distance_table = ? and x.row = ? order by i.name",
        (table, row),
    ).fetchall()
    scores = _scores(connection, scoring, [item for item, _ in contexts], [item for *_, item in members])
    rivals = tuple(
        Rival(name, _distance(d, rounds.get(number)), number == col, number in rounds) for number, name, d, _ in members
    )
    return Comparison(label, tuple(name for _, name in contexts), rivals, _closeness(scores))


def _scores(
    connection: sqlite3.Connection, scoring: int | None, contexts: Sequence[int], members: Sequence[int]
) -> dict[tuple[int, int], float | None]:
    """How far apart items are, by their places among the contexts and the members, as far as there are scores."""
    sql = (
        "select e.score from related e join scoring s on s.relatedness = e.relatedness "
        "where s.id = ? and e.a = ? and e.b = ?"
    )
    return {
        (number, place): score
        for number, context in enumerate(contexts)
        for place, member in enumerate(members)
        for (score,) in connection.execute(sql, (scoring, context, member))
    }


def row_comparison(connection: sqlite3.Connection, finding: int) -> Comparison:
    """The records of the cluster that a unit might have gone to, by their anchors."""
    attack, chunk, unit, cluster, number = connection.execute(
        "select a.attack, a.chunk, a.unit, r.cluster, c.number from assigned a "
        "join cluster_row r on r.txn = a.txn join cluster c on c.id = r.cluster where a.finding = ?",
        (finding,),
    ).fetchone()
    rows = connection.execute(
        "with given as materialized (select s.txn, s.value, s.finding from attack t join assigned s "
        "  on s.finding >= t.first and s.finding < t.first + t.findings "
        "  where t.id = ?1 and s.chunk = ?2 and s.unit = ?3) "
        "select x.id - c.first, (select group_concat(i.name, ', ') from contains e join item i on i.id = e.item "
        "  where e.txn = x.id), a.value, a.finding from cluster c "
        "join record x on x.id >= c.first and x.id < c.first + c.size left join given a on a.txn = x.id "
        "where c.id = ?4 order by a.value is null, a.value desc, x.id",
        (attack, chunk, unit, cluster),
    ).fetchall()
    rivals = tuple(
        Rival(f"row {row}: {anchor or 'no anchor'}", _value_note(value, by), by == finding, False)
        for row, anchor, value, by in rows
    )
    near = {(0, place): 1.0 for place, (*_, by) in enumerate(rows) if by is not None}
    return Comparison(f"cluster {number}", (", ".join(json.loads(unit)),), rivals, near)


def cover_comparison(connection: sqlite3.Connection, relation: str, finding: int) -> Comparison:
    """Compare the sub-records of the chunk whose item covers: those with this item are drawn to the implied item."""
    number, item, earlier, covered, release = connection.execute(
        f"select x.cluster, x.item, x.earlier, x.covered, a.release from {quoted(f'found_{relation}')} x "
        "join fact f on f.id = x.finding join attack a on a.id = f.attack where x.finding = ?",
        (finding,),
    ).fetchone()
    names = dict(connection.execute("select id, name from item where id in (?, ?)", (item, covered)))
    rows = connection.execute(
        "select s.number, group_concat(i.name, ', '), max(i.id = ?4) from subrecord s join chunk c on c.id = s.chunk "
        "join cluster l on l.id = c.cluster join json_each(s.items) h join item i on i.id = h.value "
        "where l.release = ?1 and l.number = ?2 and c.kind = 'record' and c.number = ?3 group by s.id "
        "order by s.number",
        (release, number, earlier, covered),
    ).fetchall()
    rivals = tuple(Rival(items, f"sub-record {at}", bool(holds), False) for at, items, holds in rows)
    near = {(0, place): 1.0 for place, (*_, holds) in enumerate(rows) if holds}
    covering = (f"{names[item]}, by {names[covered]}",)
    return Comparison(f"cluster {number}, chunk {earlier}", covering, rivals, near)


def _distance(d: float | None, eliminated: int | None) -> str:
    text = "no score" if d is None else f"{d:.2f}"
    return text if eliminated is None else f"{text}, eliminated in round {eliminated}"


def _value_note(value: float | None, finding: int | None) -> str:
    if finding is None:
        return "not given"
    return "given" if value is None else f"given, {value:.2f}"


def _closeness(scores: dict[tuple[int, int], float | None]) -> dict[tuple[int, int], float]:
    """How close items are, from 0 for the farthest."""
    distances = {pair: score for pair, score in scores.items() if score is not None}
    farthest = max(distances.values(), default=0.0)
    return {pair: 1 - d / farthest if farthest else 1.0 for pair, d in distances.items()}
