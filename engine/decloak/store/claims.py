"""What attacks claimed and what chance would have had right, from the measures of a run."""

import sqlite3
from typing import NamedTuple

__all__ = ["Claim", "claims_of"]


class Claim(NamedTuple):
    """Of one attack, in one table or cluster, -1 for all: how often it claimed, was right, and would be by chance."""

    attack: str
    scope: int
    tried: float
    right: float
    by_chance: float


def claims_of(connection: sqlite3.Connection, run: int) -> list[Claim]:
    """The claims of every attack of a run of which somebody could say what was right."""
    rows = connection.execute(
        'select s.attack, s."table", s.whole, s.part, c.part from result s join result c '
        'on c.run = s.run and c.attack = s.attack and c."table" = s."table" and c.measure = \'chance\' '
        "where s.run = ? and s.measure in ('precision', 'accuracy') and s.whole > 0",
        (run,),
    )
    return [Claim(*row) for row in rows if None not in row]
