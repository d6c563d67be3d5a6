"""The evidence of findings: the cells that an attack judged, its findings with their sentences, and their sources."""

import json
import sqlite3
from typing import Any, NamedTuple

from decloak.errors import DecloakError
from decloak.store.relations import NODES, Scope, SqlValue
from decloak.store.sandbox import quoted

__all__ = [
    "FindingOrigin",
    "JudgedCell",
    "ScoredItem",
    "anchor_scores",
    "attackable",
    "cells_named",
    "contexts",
    "eliminations_named",
    "fact",
    "facts_sql",
    "find_finding",
    "finding_sentences",
    "node_name",
    "reason_sentence",
    "rule_text",
]  # fmt: skip


def rule_text(connection: sqlite3.Connection, attack: int) -> str:
    (text,) = connection.execute(
        "select u.text from attack a join rule u on u.id = a.rule where a.id = ?", (attack,)
    ).fetchone()
    return str(text)


class JudgedCell(NamedTuple):
    """A cell an attack judged: eliminated as some finding, or kept with some weight."""

    scoring: int
    distance_table: int
    table: int
    row: int
    col: int
    generalised: str
    d: float | None
    finding: int | None
    weight: float | None


def cells_named(connection: sqlite3.Connection, attack: int, transaction: str, item: str) -> list[JudgedCell]:
    """Return the cells of an item in a transaction, by their names, that `attack` judged."""
    cells = connection.execute(
        "select t.scoring, t.id, t.number, r.row, m.key, g.label, c.d, r.row * t.columns + m.key "
        "from attack a join release l on l.id = a.release join txn x on x.dataset = l.dataset "
        "join distance_row r on r.txn = x.id join distance_table t on t.id = r.distance_table "
        "and t.scoring = a.scoring join generalised g on g.id = t.generalised "
        "join json_each(t.members) m join item i on i.id = m.value "
        "join cell c on c.distance_table = t.id and c.row = r.row and c.col = m.key "
        "where a.id = ? and x.label = ? and i.name = ? order by t.number",
        (attack, transaction, item),
    )
    return [JudgedCell(*row, *_judgement(connection, attack, row[1], cell)) for *row, cell in cells.fetchall()]


def _judgement(
    connection: sqlite3.Connection, attack: int, table: int, cell: int
) -> tuple[int, float | None] | tuple[None, float | None]:
    """Return the finding of an attack on a cell of a table, None where it kept the cell, and the weight."""
    found = connection.execute(
        "select s.finding, s.weight from attack a join elimination e on e.attack = a.id join eliminated_member x "
        "on x.elimination = e.id and x.finding >= a.first and x.finding < a.first + a.findings "
        "join eliminated s on s.finding = x.finding where a.id = ? and e.distance_table = ? and x.cell = ?",
        (attack, table, cell),
    ).fetchone()
    kept = connection.execute(
        "select null, k.weight from kept k join distance_table t on t.id = k.distance_table "
        "where k.attack = ? and k.distance_table = ? and k.row * t.columns + k.col = ?",
        (attack, table, cell),
    ).fetchone()
    return found or kept or (None, None)


def eliminations_named(
    connection: sqlite3.Connection, attack: int, relation: str, transaction: str, item: str
) -> list[tuple[str, int | None]]:
    """Return the generalised items of a transaction that can replace an item. Each has the finding that eliminates the
    item there, or None.
    """
    return connection.execute(
        "select g.label, x.finding from attack a join release r on r.id = a.release "
        "join txn t on t.dataset = r.dataset "
        "join published_as p on p.txn = t.id join generalised g on g.id = p.generalised "
        "join member_of m on m.generalised = g.id join item i on i.id = m.item "
        f"left join (select s.*, f.attack from {quoted(f'found_{relation}')} s join fact f on f.id = s.finding) x "
        "on x.attack = a.id and x.txn = t.id and x.generalised = g.id and x.item = i.id "
        "where a.id = ? and t.label = ? and i.name = ? order by g.id",
        (attack, transaction, item),
    ).fetchall()


class ScoredItem(NamedTuple):
    """A context item of a cell, and how far the item is from it."""

    item: str
    score: float | None


def contexts(connection: sqlite3.Connection, cell: JudgedCell) -> list[ScoredItem]:
    rows = connection.execute(
        "select i.name, "
        "(select e.score from related e where e.relatedness = s.relatedness and e.a = i.id and e.b = k.item) "
        "from context x join item i on i.id = x.item "
        "join distance_col k on k.distance_table = x.distance_table and k.col = ? "
        "join scoring s on s.id = ? where x.distance_table = ? and x.row = ? order by i.name",
        (cell.col, cell.scoring, cell.distance_table, cell.row),
    )
    return [ScoredItem(*row) for row in rows]


def units_given(
    connection: sqlite3.Connection, attack: int, transaction: str, item: str
) -> list[tuple[int, float | None, str]]:
    """Every finding of an attack that gave a unit with an item to a record: its number, value and unit."""
    return connection.execute(
        "select s.finding, s.value, (select group_concat(value, ', ') from json_each(s.unit)) from attack a "
        "join assigned s on s.finding >= a.first and s.finding < a.first + a.findings join txn x on x.id = s.txn "
        "where a.id = ? and x.label = ? and exists (select 1 from json_each(s.unit) where value = ?)",
        (attack, transaction, item),
    ).fetchall()


def anchor_scores(connection: sqlite3.Connection, finding: int) -> list[ScoredItem]:
    """The items of the anchor of the record a unit was given to, with the mean of their scores for the unit."""
    rows = connection.execute(
        "select i.name, avg((select e.score from related e where e.relatedness = c.relatedness and e.a = i.id "
        "and e.b = b.id)) from assigned s join attack a on a.id = s.attack left join scoring c on c.id = a.scoring "
        "join contains t on t.txn = s.txn join item i on i.id = t.item, json_each(s.unit) u "
        "join item b on b.name = u.value where s.finding = ? group by i.name order by i.name",
        (finding,),
    )
    return [ScoredItem(*row) for row in rows]


def finding_sentences(
    connection: sqlite3.Connection, attack: int, because: str, table: str, *, most: int = -1
) -> list[tuple[int, str]]:
    """The findings of an attack with their sentences; `because` is SQL over `x`, a row of `table`."""
    return connection.execute(
        f"select x.finding, {because} from attack a join {table} x on x.finding >= a.first "
        "and x.finding < a.first + iif(?1 < 0, a.findings, min(?1, a.findings)) "
        "where a.id = ?2 group by x.finding order by x.finding",
        (most, attack),
    ).fetchall()


def reason_sentence(connection: sqlite3.Connection, finding: int, because: str, table: str) -> str:
    (text,) = connection.execute(f"select {because} from {table} x where x.finding = ? limit 1", (finding,)).fetchone()
    return str(text)


def facts_sql(relation: str) -> str:
    """The facts of a relation with their rounds, as a table expression."""
    return f"(select f.round, x.* from {quoted(f'found_{relation}')} x join fact f on f.id = x.finding)"


def node_name(connection: sqlite3.Connection, kind: str, number: Any) -> Any:
    """The name of a node, of the kinds that `NODES` lists; a number that no node has stays as it is."""
    row = connection.execute(f"select {NODES[kind]} from {kind} where id = ?", (number,)).fetchone()
    return number if row is None else row[0]


def fact(connection: sqlite3.Connection, finding: int, relation: str) -> dict[str, SqlValue]:
    cursor = connection.execute(f"select * from {quoted(f'found_{relation}')} where finding = ?", (finding,))
    names = [column[0] for column in cursor.description]
    return dict(zip(names, cursor.fetchone(), strict=True))


class FindingOrigin(NamedTuple):
    """The origin of a finding: its attack, the name in the scenario, the rule text that ran, and its input."""

    attack: int
    label: str
    text: str
    scope: Scope
    reads: dict[str, int]


def find_finding(connection: sqlite3.Connection, run: int, finding: int) -> FindingOrigin:
    """A finding of a run by its number."""
    row = connection.execute(
        "select a.id, ra.label, u.text, a.release, r.dataset, a.scoring, a.attacker, a.parameters, "
        "(select relatedness from scoring where id = a.scoring) "
        "from attack a join rule u on u.id = a.rule join release r on r.id = a.release "
        "join run_attack ra on ra.attack = a.id where a.first <= ?1 and ?1 < a.first + a.findings and ra.run = ?2",
        (finding, run),
    ).fetchone()
    if row is None:
        raise DecloakError(f"run {run} has no finding {finding}", hint="`decloak explain RUN` lists findings")
    attack, label, text, release, dataset, scoring, attacker, parameters, relatedness = row
    settings = json.loads(parameters)
    scope = Scope(release, dataset, scoring, attacker, settings.get("auxiliary"), relatedness)
    return FindingOrigin(attack, label, text, scope, settings["reads"])


def attackable(connection: sqlite3.Connection, run: int) -> tuple[list[str], list[str]]:
    """The transactions and the items that the findings of a run can be about."""
    labels = connection.execute(
        "select t.label from run r join release p on p.id = r.release join txn t on t.dataset = p.dataset "
        "where r.id = ? order by t.position",
        (run,),
    )
    members = connection.execute(
        "select i.name from run r join generalised g on g.release = r.release "
        "join member_of m on m.generalised = g.id join item i on i.id = m.item where r.id = ?1 "
        "union select i.name from run r join cluster c on c.release = r.release "
        "join chunk k on k.cluster = c.id join shows s on s.chunk = k.id join item i on i.id = s.item where r.id = ?1",
        (run,),
    )
    return [row[0] for row in labels], [row[0] for row in members]
