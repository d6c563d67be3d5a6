"""Why something was found: the cells an attack judged, its findings with their sentences, and what they rest on."""

import json
import sqlite3
from typing import Any, NamedTuple

from decloak.errors import DecloakError
from decloak.store.relations import NODES, Scope
from decloak.store.sandbox import quoted

__all__ = [
    "FindingOrigin", "JudgedCell", "ScoredItem", "anchor_scores", "attackable", "cells_named", "contexts",
    "fact", "facts_sql", "find_finding", "finding_sentences", "node_name", "reason_sentence", "rule_text",
    "strikes_named",
]  # fmt: skip


def rule_text(connection: sqlite3.Connection, attack: int) -> str:
    (text,) = connection.execute(
        "select u.text from attack a join rule u on u.id = a.rule where a.id = ?", (attack,)
    ).fetchone()
    return str(text)


class JudgedCell(NamedTuple):
    """A cell an attack judged: struck as some finding, or spared with some weight."""

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
    rows = connection.execute(
        'select n.scoring, n.distance_table, n."table", n.row, n.col, n.generalised, n.d, f.id, '
        "coalesce(s.weight, p.weight) from attack a join named_cell n on n.scoring = a.scoring "
        "left join (struck s join finding f on f.id = s.finding) on f.attack = a.id "
        "  and s.distance_table = n.distance_table and s.row = n.row and s.col = n.col "
        "left join spared p on p.attack = a.id and p.distance_table = n.distance_table "
        "  and p.row = n.row and p.col = n.col "
        'where a.id = ? and n."transaction" = ? and n.item = ? order by n."table"',
        (attack, transaction, item),
    )
    return [JudgedCell(*row) for row in rows]


def strikes_named(
    connection: sqlite3.Connection, attack: int, relation: str, transaction: str, item: str
) -> list[tuple[str, int | None]]:
    """The generalised items of a transaction that may stand for an item, each with the finding of a rule whose facts
    strike it there, None where it has none.
    """
    return connection.execute(
        "select g.label, x.finding from attack a join release r on r.id = a.release "
        "join txn t on t.dataset = r.dataset "
        "join published_as p on p.txn = t.id join generalised g on g.id = p.generalised "
        "join member_of m on m.generalised = g.id join item i on i.id = m.item "
        f"left join (select s.*, f.attack from {quoted(f'found_{relation}')} s join finding f on f.id = s.finding) x "
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
        "select i.name, e.score from context x join item i on i.id = x.item "
        "join distance_col k on k.distance_table = x.distance_table and k.col = ? "
        "join scoring s on s.id = ? "
        "left join related e on e.relatedness = s.relatedness and e.a = x.item and e.b = k.item "
        "where x.distance_table = ? and x.row = ? order by i.name",
        (cell.col, cell.scoring, cell.distance_table, cell.row),
    )
    return [ScoredItem(*row) for row in rows]


def units_given(
    connection: sqlite3.Connection, attack: int, transaction: str, item: str
) -> list[tuple[int, float | None, str]]:
    """Every finding of an attack that gave a unit with an item to a record: its number, value and unit."""
    return connection.execute(
        "select f.id, s.value, (select group_concat(value, ', ') from json_each(s.unit)) from finding f "
        "join assigned s on s.finding = f.id join txn x on x.id = s.txn where f.attack = ? and x.label = ? "
        "and exists (select 1 from json_each(s.unit) where value = ?)",
        (attack, transaction, item),
    ).fetchall()


def anchor_scores(connection: sqlite3.Connection, finding: int) -> list[ScoredItem]:
    """The items of the anchor of the record a unit was given to, with the mean of their scores for the unit."""
    rows = connection.execute(
        "select i.name, avg(e.score) from assigned s join finding f on f.id = s.finding "
        "join attack a on a.id = f.attack left join scoring c on c.id = a.scoring "
        "join contains t on t.txn = s.txn join item i on i.id = t.item, json_each(s.unit) u "
        "join item b on b.name = u.value "
        "left join related e on e.relatedness = c.relatedness and e.a = i.id and e.b = b.id "
        "where s.finding = ? group by i.name order by i.name",
        (finding,),
    )
    return [ScoredItem(*row) for row in rows]


def finding_sentences(
    connection: sqlite3.Connection, attack: int, because: str, table: str, *, most: int = -1
) -> list[tuple[int, str]]:
    """The findings of an attack with their sentences; `because` is SQL over `x`, a row of `table`."""
    return connection.execute(
        f"select x.finding, {because} from {table} x join finding f on f.id = x.finding "
        "where f.attack = ? group by x.finding order by x.finding limit ?",
        (attack, most),
    ).fetchall()


def reason_sentence(connection: sqlite3.Connection, finding: int, because: str, table: str) -> str:
    (text,) = connection.execute(f"select {because} from {table} x where x.finding = ? limit 1", (finding,)).fetchone()
    return str(text)


def facts_sql(relation: str) -> str:
    """The facts of a relation with their rounds, as a table expression."""
    return f"(select f.round, x.* from {quoted(f'found_{relation}')} x join finding f on f.id = x.finding)"


def node_name(connection: sqlite3.Connection, kind: str, number: Any) -> Any:
    """The name of a node, of the kinds that `NODES` lists; a number that no node has stays as it is."""
    row = connection.execute(f"select {NODES[kind]} from {kind} where id = ?", (number,)).fetchone()
    return number if row is None else row[0]


def fact(connection: sqlite3.Connection, finding: int, relation: str) -> dict[str, Any]:
    cursor = connection.execute(f"select * from {quoted(f'found_{relation}')} where finding = ?", (finding,))
    names = [column[0] for column in cursor.description]
    return dict(zip(names, cursor.fetchone(), strict=True))


class FindingOrigin(NamedTuple):
    """Where a finding comes from: its attack, what the scenario calls it, the rule text that ran, and what that saw."""

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
        "from finding f join attack a on a.id = f.attack join rule u on u.id = a.rule "
        "join release r on r.id = a.release join run_attack ra on ra.attack = a.id where f.id = ? and ra.run = ?",
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
