"""The probabilities that attacks give their findings."""

import json
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.assignment import Assignment
from decloak.store.assigned import read_assigned
from decloak.store.lists import damaged, json_lists, json_references, read_numbers, read_references, write_numbers

__all__ = [
    "ProbableGift", "findings_count", "no_probabilities", "probabilities", "probability_teller", "probable_gifts",
    "write_probabilities",
]  # fmt: skip


class ProbableGift(NamedTuple):
    """A unit assigned to one row, and the probability that this is right."""

    assignment: Assignment
    probability: float


def findings_count(connection: sqlite3.Connection, attack: int) -> int:
    """Return the number of findings of `attack`."""
    return int(connection.execute("select findings from attack where id = ?", (attack,)).fetchone()[0])


def write_probabilities(connection: sqlite3.Connection, attack: int, p: Floats | None) -> None:
    """Write the probabilities `p` of the findings of `attack`, in order; None for an attack without probabilities."""
    if p is None:
        return
    (numbers,) = connection.execute("select numbers from attack where id = ?", (attack,)).fetchone()
    first, references = write_numbers(connection, p)
    numbers = first if numbers is None else numbers
    references[references >= 0] += first - numbers
    (text,) = json_lists([json_references(references)])
    connection.execute("update attack set numbers = ?, probabilities = ? where id = ?", (numbers, text, attack))


def probabilities(connection: sqlite3.Connection, attack: int) -> Floats | None:
    """Return the probabilities of the findings of `attack`, in order, NaN where one is not known.

    Return None for an attack without probabilities.
    """
    first, findings, text = connection.execute(
        "select numbers, findings, probabilities from attack where id = ?", (attack,)
    ).fetchone()
    if text is None:
        return None
    _, references = read_references([text], f"the probabilities of attack {attack}")
    if len(references) != findings:
        raise damaged(f"attack {attack} has other probabilities than findings")
    return read_numbers(connection, first or 1, references)


def no_probabilities(connection: sqlite3.Connection, attack: int) -> str:
    """Return the reason why `attack` has no probabilities."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return str(json.loads(parameters).get("unsure") or "it is of a store that kept none")


def probability_teller(connection: sqlite3.Connection, attack: int) -> Callable[[int], float | None]:
    """Return a function from the number of a finding of `attack` to its probability, or None."""
    p = probabilities(connection, attack)
    (first,) = connection.execute("select first from attack where id = ?", (attack,)).fetchone()

    def tell(finding: int) -> float | None:
        return None if p is None or not np.isfinite(p[finding - first]) else float(p[finding - first])

    return tell


def probable_gifts(connection: sqlite3.Connection, attack: int) -> list[ProbableGift]:
    """Return what a reassociate rule assigned, a row at a time, as far as its probability is known."""
    all_p = probabilities(connection, attack)
    if all_p is None:
        return []
    gifts = read_assigned(connection, attack).by_finding()
    return [
        ProbableGift(gift, p)
        for gift, p in zip(gifts, all_p.tolist(), strict=bool(gifts))  # eliminations assign nothing
        if np.isfinite(p)
    ]
