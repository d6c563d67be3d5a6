"""The evidence of findings: the cells that an attack judged, its findings with their sentences, and their sources.

The alternatives of a finding: members of a generalised item, rows of a cluster, sub-records of a chunk.

A comparison has the known items on one side and the alternatives on the other, with the relatedness of each pair.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from decloak.errors import DecloakError
from decloak.store.inserting import quoted
from decloak.store.relations import NODES, Scope, SqlValue

ELIMINATED_AS = (
    "s.finding = ?1 and (s.attack, s.distance_table) = (select e.attack, e.distance_table from eliminated_members x "
    "join elimination e on e.id = x.elimination where x.first <= ?1 order by x.first desc limit 1)"
)
"""Whether a row `s` of the view eliminated is of the finding ?: SQLite reads the lists of one distance table alone."""


def rule_text(connection: sqlite3.Connection, attack: int) -> str:
    """Return the text of the rule of an attack."""
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
    left_in_row: int
    """Members of the row that the attack kept, scored or not."""
    left_in_column: int
    threshold: float | None


def cells_named(connection: sqlite3.Connection, attack: int, transaction: str, item: str) -> list[JudgedCell]:
    """Return the cells of an item in a record, by their names, that `attack` judged."""
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
    found = []
    for *row, cell in cells.fetchall():
        finding, weight = _judgement(connection, attack, row[1], cell)
        left = _count_members_left(connection, attack, row[1], row[3], row[4])
        found.append(JudgedCell._make((*row, finding, weight, *left)))
    return found


def _count_members_left(
    connection: sqlite3.Connection, attack: int, table: int, row: int, col: int
) -> tuple[int, int, float | None]:
    """Return the numbers of members that `attack` left in a row and a column of a `table`, and its threshold."""
    found = connection.execute(
        "select t.columns - count(x.cell) filter (where x.cell / t.columns = ?), "
        "(select count(*) from distance_row r where r.distance_table = t.id) "
        "- count(x.cell) filter (where x.cell % t.columns = ?), max(e.threshold) "
        "from distance_table t left join elimination e on e.distance_table = t.id and e.attack = ? "
        "left join eliminated_member x on x.elimination = e.id where t.id = ?",
        (row, col, attack, table),
    ).fetchone()
    return found[0], found[1], found[2]


def _judgement(
    connection: sqlite3.Connection, attack: int, table: int, cell: int
) -> tuple[int, float | None] | tuple[None, float | None]:
    """Return the finding of an attack on a cell of a table, None where it kept the cell, and the weight."""
    found = connection.execute(
        "select s.finding, s.weight from eliminated s join distance_table t on t.id = s.distance_table "
        "where s.attack = ? and s.distance_table = ? and s.row * t.columns + s.col = ?",
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
    """Return the generalised items of a record that can replace an item. Each has the finding that eliminates the
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
    """Return the items of the context of a cell, with their scores for its member."""
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
        "select s.finding, s.value, (select group_concat(value, ', ') from json_each(s.unit)) from assigned s "
        "join txn x on x.id = s.txn where s.attack = ? and x.label = ? "
        "and exists (select 1 from json_each(s.unit) where value = ?)",
        (attack, transaction, item),
    ).fetchall()


def anchor_scores(connection: sqlite3.Connection, finding: int) -> list[ScoredItem]:
    """Return the items of the anchor that a unit was assigned to, with their mean scores for the unit."""
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
    """Yield the findings of an attack with their sentences. `because` is SQL over `x`, a row of `table`."""
    return connection.execute(
        f"select x.finding, {because} from attack a join {table} x on x.finding >= a.first "
        "and x.finding < a.first + iif(?1 < 0, a.findings, min(?1, a.findings)) "
        "where a.id = ?2 group by x.finding order by x.finding",
        (most, attack),
    ).fetchall()


def reason_sentence(connection: sqlite3.Connection, finding: int, because: str, table: str) -> str:
    """Return the sentence that `because` gives for a finding in `table`."""
    (text,) = connection.execute(f"select {because} from {table} x where x.finding = ? limit 1", (finding,)).fetchone()
    return str(text)


def facts_sql(relation: str) -> str:
    """Return a table expression for the facts of a relation with their rounds."""
    return f"(select f.round, x.* from {quoted(f'found_{relation}')} x join fact f on f.id = x.finding)"


def node_name(connection: sqlite3.Connection, kind: str, number: Any) -> Any:
    """Return the name of a node of a kind in `NODES`, or the number if no node has it."""
    row = connection.execute(f"select {NODES[kind]} from {kind} where id = ?", (number,)).fetchone()
    return number if row is None else row[0]


def fact(connection: sqlite3.Connection, finding: int, relation: str) -> dict[str, SqlValue]:
    """Return the fact of a finding in `relation`, by column."""
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
    """Read a finding of a run by its number."""
    # A finding has no row that names its attack: the numbers of an attack follow each other.
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
    """Return the records and the items that the findings of a run can be about."""
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
    """Return all members of the generalised item of an eliminated member, with their distances to the context."""
    table, row, col, attack, scoring, label = connection.execute(
        "select s.distance_table, s.row, s.col, s.attack, t.scoring, x.label from eliminated s "
        "join distance_table t on t.id = s.distance_table "
        "join distance_row r on r.distance_table = t.id and r.row = s.row join txn x on x.id = r.txn "
        f"where {ELIMINATED_AS}",
        (finding,),
    ).fetchone()
    members = connection.execute(
        "select k.col, i.name, c.d, k.item from distance_col k join item i on i.id = k.item "
        "join cell c on c.distance_table = k.distance_table and c.row = ?2 and c.col = k.col "
        "where k.distance_table = ?1 order by c.d is null, c.d, k.col",
        (table, row),
    ).fetchall()
    eliminated = "select col, round from eliminated where attack = ? and distance_table = ? and row = ?"
    rounds = dict(connection.execute(eliminated, (attack, table, row)).fetchall())
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
    """Return the records of the cluster that a unit can belong to, by their anchors."""
    attack, chunk, unit, cluster, number = connection.execute(
        "select a.attack, a.chunk, a.unit, r.cluster, c.number from assigned a "
        "join cluster_row r on r.txn = a.txn join cluster c on c.id = r.cluster where a.finding = ?",
        (finding,),
    ).fetchone()
    rows = connection.execute(
        "with given as materialized (select txn, value, finding from assigned "
        "  where attack = ?1 and chunk = ?2 and unit = ?3) "
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
