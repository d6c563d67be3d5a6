"""How sure an attack is of what it found: findings with the probability it gave them."""

import json
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.assignment import Assignment
from decloak.store.arrays import damaged, read_array, write_array
from decloak.store.assigned import read_given
from decloak.store.strikes import findings_count

__all__ = [
    "ProbableGift", "no_probabilities", "probabilities", "probability_teller", "probable_gifts",
    "write_probabilities",
]  # fmt: skip


class ProbableGift(NamedTuple):
    """A unit given to one row, and the probability."""

    assignment: Assignment
    probability: float


def write_probabilities(connection: sqlite3.Connection, attack: int, p: Floats | None) -> None:
    """Keep the probabilities of the findings of an attack, in order."""
    if p is not None:
        write_array(connection, attack, "probabilities", p, table="attack_array")


def probabilities(connection: sqlite3.Connection, attack: int) -> Floats | None:
    """The probabilities of the findings of an attack, in order, NaN where none is known; None where there are none."""
    p = read_array(connection, attack, "probabilities", table="attack_array")
    if p is not None and (p.dtype.kind != "f" or len(p) != findings_count(connection, attack)):
        raise damaged(attack, "probabilities", "attack_array")
    return p


def no_probabilities(connection: sqlite3.Connection, attack: int) -> str:
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return str(json.loads(parameters).get("unsure") or "it is of a store that kept none")


def probability_teller(connection: sqlite3.Connection, attack: int) -> Callable[[int], float | None]:
    """Tells the probability of a finding of an attack by its number, None where it has none."""
    p = probabilities(connection, attack)
    (first,) = connection.execute("select min(id) from finding where attack = ?", (attack,)).fetchone()

    def tell(finding: int) -> float | None:
        return None if p is None or not np.isfinite(p[finding - first]) else float(p[finding - first])

    return tell


def probable_gifts(connection: sqlite3.Connection, attack: int) -> list[ProbableGift]:
    """What a reassociate rule gave, a row at a time, as far as its probability is known."""
    all_p = probabilities(connection, attack)
    if all_p is None:
        return []
    gifts = read_given(connection, attack)
    return [
        ProbableGift(gift, p)
        for gift, p in zip(gifts, all_p.tolist(), strict=bool(gifts))  # strikes are no gifts
        if np.isfinite(p)
    ]
