"""What a rule found that derives cover problems, with items by name."""

import sqlite3
from typing import Any

from decloak.store.sandbox import quoted

__all__ = ["read_covers"]


def read_covers(connection: sqlite3.Connection, attack: int, relation: str) -> list[tuple[Any, ...]]:
    """Cluster, chunk, item, earlier chunk, size, support and a covered item; an item is null where there is none."""
    return connection.execute(
        "select x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name "
        f"from finding f join {quoted(f'found_{relation}')} x on x.finding = f.id "
        "left join item i on i.id = x.item left join item c on c.id = x.covered "
        "where f.attack = ? order by x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name",
        (attack,),
    ).fetchall()
