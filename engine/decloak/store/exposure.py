"""How the strikes of an attack that were right spread over records and items: counts, by what the evaluator knows."""

import sqlite3
from typing import NamedTuple

from decloak.store.relations import STRIKES, Derives
from decloak.store.sandbox import quoted

__all__ = ["Exposure", "exposure"]

_STRIKES = (
    "select r.txn, k.item from finding f join struck s on s.finding = f.id "
    "join truth_cell c on c.distance_table = s.distance_table and c.row = s.row and c.col = s.col "
    "join distance_row r on r.distance_table = s.distance_table and r.row = s.row "
    "join distance_col k on k.distance_table = s.distance_table and k.col = s.col "
    "where f.attack = ? and not c.original"
)
_FACTS = (
    "select x.txn, x.item from finding f join {} x on x.finding = f.id where f.attack = ? and not exists ("
    "select 1 from truth_origin o join contains c on c.txn = o.original where o.txn = x.txn and c.item = x.item)"
)


class Exposure(NamedTuple):
    """How many records lost how many hiding items, and the items that were ruled out rightly most often."""

    records: dict[int, int]
    items: list[tuple[str, int]]


def exposure(connection: sqlite3.Connection, attack: int, derives: Derives, most: int) -> Exposure | None:
    """The spread of an attack, `most` items of it; None where it struck nothing or nobody can say what was right."""
    facts = STRIKES.issubset(derives.columns)
    right = _FACTS.format(quoted(f"found_{derives.name}")) if facts else _STRIKES
    (known,) = connection.execute(
        "select exists (select 1 from truth_release t join attack a on a.release = t.release where a.id = ?)", (attack,)
    ).fetchone()
    per_record = connection.execute(f"select count(*) from ({right}) group by txn", (attack,)).fetchall()
    if not known or not per_record:
        return None
    (size,) = connection.execute(
        "select count(*) from attack a join release r on r.id = a.release join txn t on t.dataset = r.dataset "
        "where a.id = ?",
        (attack,),
    ).fetchone()
    counts = {0: size - len(per_record)}
    for (count,) in sorted(per_record):
        counts[count] = counts.get(count, 0) + 1
    items = connection.execute(
        f"select i.name, x.times from (select item, count(*) as times from ({right}) group by item) x "
        "join item i on i.id = x.item order by x.times desc, i.name limit ?",
        (attack, most),
    ).fetchall()
    return Exposure(counts, items)
