"""Attackers in the store: the itemsets each knows."""

import sqlite3
from collections.abc import Sequence
from itertools import groupby

from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers

__all__ = ["attacker_of", "read_knowledge", "write_attacker"]


def write_attacker(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    model: str,
    itemsets: Sequence[Sequence[str]],
    note: str | None,
) -> int:
    number = insert(connection, "attacker", digest=digest, release=release, model=model, note=note)
    items = item_numbers(connection, (item for itemset in itemsets for item in itemset))
    numbers = insert_numbered(connection, "knowledge (attacker)", [(number,)] * len(itemsets))
    rows = ((knowledge, items[item]) for knowledge, itemset in zip(numbers, itemsets, strict=True) for item in itemset)
    insert_rows(connection, "knows (knowledge, item)", rows)
    return number


def attacker_of(connection: sqlite3.Connection, attack: int) -> tuple[int, str | None]:
    """Return the number of the attacker of an attack, and the reason if the attacker's knowledge is not recorded."""
    number, note = connection.execute(
        "select k.id, k.note from attack a join attacker k on k.id = a.attacker where a.id = ?", (attack,)
    ).fetchone()
    return int(number), note


def read_knowledge(connection: sqlite3.Connection, attacker: int) -> list[tuple[str, ...]] | None:
    """the itemsets that an attacker knows. The strong attacker knows every pair and has none."""
    (model,) = connection.execute("select model from attacker where id = ?", (attacker,)).fetchone()
    if model == "strong":
        return None
    rows = connection.execute(
        "select k.id, i.name from knowledge k join knows w on w.knowledge = k.id join item i on i.id = w.item "
        "where k.attacker = ? order by k.id, i.name",
        (attacker,),
    )
    return [tuple(name for _, name in group) for _, group in groupby(rows, key=lambda row: row[0])]
