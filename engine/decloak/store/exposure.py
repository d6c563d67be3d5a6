"""How the strikes of an attack that were right spread over records and items: counts, by what the evaluator knows."""

import sqlite3
from collections import Counter
from typing import NamedTuple

from decloak.store.outcomes import fact_outcomes, outcomes, true_tables
from decloak.store.reading import knows_originals
from decloak.store.relations import STRIKES, Derives
from decloak.store.transactions import extent

__all__ = ["Exposure", "exposure"]


class Exposure(NamedTuple):
    """How many records lost how many hiding items, and the items that were ruled out rightly most often."""

    records: dict[int, int]
    items: list[tuple[str, int]]


def exposure(connection: sqlite3.Connection, attack: int, derives: Derives, most: int) -> Exposure | None:
    """The spread of an attack, `most` items of it; None where it struck nothing or nobody can say what was right.

    It goes by arrays: a store that shows no rows is left as it is.
    """
    release, scoring, dataset = connection.execute(
        "select a.release, a.scoring, r.dataset from attack a join release r on r.id = a.release where a.id = ?",
        (attack,),
    ).fetchone()
    facts = STRIKES.issubset(derives.columns)
    if not knows_originals(connection, release) or (scoring is None and not facts):
        return None
    if facts:
        struck = fact_outcomes(connection, attack, derives.name)
    else:
        struck = outcomes(connection, attack, true_tables(connection, scoring))
    records, items = Counter[int](), Counter[str]()
    for outcome in struck:
        right = (outcome.order >= 0) & ~outcome.table.original
        records.update(dict(zip(outcome.table.places.tolist(), right.sum(axis=1).tolist(), strict=True)))
        items.update(dict(zip(outcome.table.members, right.sum(axis=0).tolist(), strict=True)))
    hit = Counter(count for count in records.values() if count)
    if not hit:
        return None
    counts = {0: extent(connection, dataset).transactions - hit.total(), **dict(sorted(hit.items()))}
    ranked = sorted((-times, item) for item, times in items.items() if times)
    return Exposure(counts, [(item, -times) for times, item in ranked[:most]])
