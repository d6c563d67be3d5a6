"""Attacks in the store: their rules and findings, the views that say why, and facts about how each attack ran."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from decloak.errors import DecloakError
from decloak.store.inserting import insert, insert_rows, next_number, quoted
from decloak.store.records import read_records
from decloak.store.relations import Derives
from decloak.store.sandbox import Derived


def write_rule(connection: sqlite3.Connection, columns: Mapping[str, str | None]) -> int:
    """Write a rule text with its `columns`, unless the store has it; return its number."""
    row = connection.execute("select id from rule where digest = ?", (columns["digest"],)).fetchone()
    return int(row[0]) if row else insert(connection, "rule", **columns)


def write_attack(
    connection: sqlite3.Connection,
    digest: str,
    rule: int,
    release: int,
    scoring: int | None,
    attacker: int | None,
    parameters: Mapping[str, object],
) -> int:
    """Write the node all findings of one attack hang on."""
    return insert(
        connection,
        "attack",
        digest=digest,
        rule=rule,
        release=release,
        scoring=scoring,
        attacker=attacker,
        parameters=json.dumps(parameters),
    )


def write_facts(
    connection: sqlite3.Connection, attack: int, relation: str, columns: Sequence[str], facts: Iterable[Derived]
) -> None:
    """Write the findings of a rule that derives a relation of its own, into the table found_<relation>."""
    _make_relation(connection, relation, columns)
    facts = list(facts)
    first = next_number(connection, "finding")
    numbers = range(first, first + len(facts))
    connection.execute("update attack set first = ?, findings = ? where id = ?", (first, len(facts), attack))
    rows = ((number, attack, fact.round) for number, fact in zip(numbers, facts, strict=True))
    insert_rows(connection, "fact (id, attack, round)", rows)
    marks = ", ".join("?" * (1 + len(columns)))
    connection.executemany(
        f"insert into {quoted(f'found_{relation}')} values ({marks})",
        ((number, *fact.values) for number, fact in zip(numbers, facts, strict=True)),
    )


def _make_relation(connection: sqlite3.Connection, relation: str, columns: Sequence[str]) -> None:
    table = f"found_{relation}"
    present = [row[1] for row in connection.execute(f"pragma table_info({quoted(table)})")]
    if not present:
        connection.execute(
            f"create table {quoted(table)} (finding integer primary key references fact (id) on delete cascade, "
            f"{', '.join(map(quoted, columns))})"
        )
    elif present != ["finding", *columns]:
        message = f"the store holds a relation {relation}({', '.join(present[1:])}), the rule derives other columns"
        raise DecloakError(message, hint="give the relation another name, or use another store")


def write_why(connection: sqlite3.Connection, rule: str, digest: str, named: str, because: str) -> None:
    """(Re)make the view why_<rule>: each finding of this rule text with its sentence in the column `because`.

    `because` is SQL over `x`, a row of `named`, the view of findings by name.
    """
    _remake(
        connection,
        f"why_{rule}",
        f"select x.*, {because} as because from {named} x "
        f"join attack a on a.id = x.attack_number join rule u on u.id = a.rule "
        # A view has no parameters. A digest consists of hexadecimal digits.
        f"where u.digest = '{digest}'",
    )


def write_why_derived(connection: sqlite3.Connection, rule: str, digest: str, relation: str, because: str) -> None:
    """Write the view of a rule that derives a relation of its own; `x` is a fact."""
    _remake(
        connection,
        f"why_{rule}",
        f"select ra.run, ra.label as attack, x.*, {because} as because "
        f"from (select f.round, f.attack as of_attack, x.* from {quoted(f'found_{relation}')} x "
        f"join fact f on f.id = x.finding) x "
        f"join attack a on a.id = x.of_attack join rule u on u.id = a.rule "
        f"join run_attack ra on ra.attack = a.id where u.digest = '{digest}'",
    )


def _remake(connection: sqlite3.Connection, view: str, sql: str) -> None:
    connection.execute(f"drop view if exists {quoted(view)}")
    connection.execute(f"create view {quoted(view)} as {sql}")


START = {
    "d": "x.scored",
    "rows": "x.rows",
    "cols": "x.cols",
    "row_left": "x.cols",
    "col_left": "x.rows",
    "row_weight": "(1.0 / x.cols)",
    "col_weight": "(1.0 / x.rows)",
}
"""The values of the names in a `weigh` formula before the first round, as SQL over the cells of a table."""


def write_start(connection: sqlite3.Connection, rule: str, weigh: str) -> None:
    """(Re)make the view start_<rule>: every cell with the weight a rule gives it before the first round.

    `weigh` is the formula as SQL with the names of START and its aggregates over the cells of a table.
    """
    _remake(
        connection,
        f"start_{rule}",
        f"select x.scoring, x.item_group, x.row, x.col, x.record, x.item, x.d, {weigh} as w "
        "from (select n.*, case when n.d >= 0 and n.d < 9e999 then n.d end as scored, "
        "max(n.row) over (partition by n.distance_table) + 1 as rows, "
        "max(n.col) over (partition by n.distance_table) + 1 as cols from named_cell n) x",
    )


def read_facts(connection: sqlite3.Connection, attack: int, derives: Derives) -> Iterator[Derived]:
    """Yield the facts that an attack derived, in the order in which it found them."""
    chosen = ", ".join(f"x.{quoted(column)}" for column in derives.columns)
    rows = connection.execute(
        f"select f.round, {chosen} from fact f join {quoted(f'found_{derives.name}')} x on x.finding = f.id "
        "where f.attack = ? order by f.id",
        (attack,),
    )
    return (Derived(number, tuple(values)) for number, *values in rows)


def read_covers(connection: sqlite3.Connection, attack: int, relation: str) -> list[tuple[object, ...]]:
    """Return the covers that a rule derived: cluster, chunk, item, earlier chunk, size, support, covered item.

    An item is null where there is none.
    """
    return connection.execute(
        "select x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name "
        f"from fact f join {quoted(f'found_{relation}')} x on x.finding = f.id "
        "left join item i on i.id = x.item left join item c on c.id = x.covered "
        "where f.attack = ? order by x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name",
        (attack,),
    ).fetchall()


def idle(connection: sqlite3.Connection, attack: int) -> str | None:
    """Return why an attack had nothing to do, or None."""
    (reason,) = connection.execute(
        "select json_extract(parameters, '$.idle') from attack where id = ?", (attack,)
    ).fetchone()
    return None if reason is None else str(reason)


def seconds_of(connection: sqlite3.Connection, attack: int) -> dict[str, float]:
    """Return the time of an attack by the name of the clock; empty for an attack that was not timed."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return dict(json.loads(parameters).get("took", {}))


def coverage_of(connection: sqlite3.Connection, attack: int) -> dict[str, tuple[int, int]]:
    """Return the coverage of the scores that an attack needs: counts known and needed, by kind."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    counts = json.loads(parameters).get("coverage") or {}
    return {name: (count[0], count[1]) for name, count in counts.items() if count is not None}


def hides_nothing(connection: sqlite3.Connection, attack: int) -> bool:
    """Return whether an eliminate attack was idle because no record contains a generalised item."""
    sql = (
        "select 1 from attack a join rule u on u.id = a.rule where a.id = ? and u.form = 'eliminate' "
        "and not exists (select 1 from generalised g where g.release = a.release)"
    )
    return connection.execute(sql, (attack,)).fetchone() is not None


def lacks_context(connection: sqlite3.Connection, attack: int) -> bool:
    """Return whether an eliminate attack lacks tables because generalised and plain items never occur together."""
    without_tables = connection.execute(
        "select r.dataset from attack a join rule u on u.id = a.rule join release r on r.id = a.release "
        "where a.id = ? and u.form = 'eliminate' "
        "and not exists (select 1 from distance_table t where t.scoring = a.scoring) "
        "and exists (select 1 from generalised g where g.release = a.release)",
        (attack,),
    ).fetchone()
    if without_tables is None:
        return False
    rows = read_records(connection, *without_tables).rows
    plain = np.array(rows.names, np.int64)[rows.codes] > 0
    shows = [np.bincount(rows.row_of_code[mask], minlength=len(rows)) > 0 for mask in (plain, ~plain)]
    return not (shows[0] & shows[1]).any()
