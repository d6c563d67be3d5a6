"""Why an attack struck an item from a transaction, or why it did not, from what the store kept."""

import sqlite3
from dataclasses import asdict, dataclass
from typing import Any

from decloak.errors import DecloakError, nearest, shown
from decloak.positions import Source
from decloak.rules.because import sentence_sql
from decloak.rules.load import SENTENCE
from decloak.store import results
from decloak.store.results import Attacked, Context, Judged

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """What one attack made of one member in one transaction."""

    attack: str
    finding: int | None
    sentence: str
    d: float | None
    weight: float | None
    generalised: str
    contexts: tuple[Context, ...]

    def as_json(self) -> dict[str, Any]:
        """It as plain values."""
        return asdict(self) | {"contexts": [one._asdict() for one in self.contexts]}


def explain(
    connection: sqlite3.Connection, run: int, transaction: str, item: str, label: str | None = None
) -> list[Explanation]:
    """Explain what each attack of a run, or the one of that label, made of an item in a transaction."""
    attacks = [one for one in results.attacks_of(connection, run) if one.form == "eliminate"]
    if label is not None:
        chosen = [one for one in attacks if one.label == label]
        if not chosen:
            names = [one.label for one in attacks]
            hint = nearest(label, names) or f"its attacks are {', '.join(names)}"
            raise DecloakError(f"run {run} has no attack {shown(label)}", hint=hint)
        attacks = chosen
    found = [
        _explained(connection, one, cell, transaction, item)
        for one in attacks
        for cell in results.cells_named(connection, one.attack, transaction, item)
    ]
    if not found:
        raise _not_there(connection, run, transaction, item)
    return found


def _explained(
    connection: sqlite3.Connection, attack: Attacked, cell: Judged, transaction: str, item: str
) -> Explanation:
    if cell.finding is None:
        text = _spared(attack, cell, transaction, item)
    else:
        because = Source.parse(attack.text, "rule").value["because"]
        text = results.sentence(connection, cell.finding, sentence_sql(because, SENTENCE["eliminate"], "x"))
    contexts = tuple(results.contexts(connection, cell))
    return Explanation(attack.label, cell.finding, text, cell.d, cell.weight, cell.generalised, contexts)


def _spared(attack: Attacked, cell: Judged, transaction: str, item: str) -> str:
    kept = f"{item} was not struck from {transaction}"
    if cell.d is None:
        return f"{kept}: no context item has a score with it"
    left = "" if cell.weight is None or cell.weight == cell.d else f", weighted {cell.weight:.2f} when the attack ended"
    return f"{kept}: at distance {cell.d:.2f}{left} it never was the one to strike"


def _not_there(connection: sqlite3.Connection, run: int, transaction: str, item: str) -> DecloakError:
    labels, members = results.attackable(connection, run)
    if transaction not in labels:
        hint = nearest(transaction, labels) or "name a transaction by its id, or its line number"
        return DecloakError(f"run {run} attacked no transaction {shown(transaction)}", hint=hint)
    if item not in members:
        hint = nearest(item, members) or "name a member of one of its generalised items"
        return DecloakError(f"no generalised item of run {run} has the member {shown(item)}", hint=hint)
    return DecloakError(
        f"{shown(item)} is in no generalised item of transaction {shown(transaction)} that was attacked",
        hint="a member or a transaction without any score is left out of the attack",
    )
