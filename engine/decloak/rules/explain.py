"""Why an attack found something, or why it struck an item not, from what the store kept."""

import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from decloak.errors import DecloakError, nearest, shown
from decloak.rules.because import called, sentence_sql
from decloak.rules.load import read_text, sentence_columns, stranger
from decloak.rules.model import AnyRule, QueryRule
from decloak.store import evidence, findings, results
from decloak.store.derivation import make_steps
from decloak.store.evidence import Context, Finding, Judged
from decloak.store.relations import Derives
from decloak.store.results import Attacked
from decloak.store.sandbox import Sandbox, quoted
from decloak.store.sandbox_guard import open_sandbox

__all__ = ["Evidence", "Explanation", "Found", "explain", "explain_finding", "list_findings"]


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


class Found(NamedTuple):
    """A finding with its sentence."""

    attack: str
    finding: int
    sentence: str


class Evidence(NamedTuple):
    """The rows of one step of a query that lie behind a fact."""

    step: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def explain(
    connection: sqlite3.Connection, run: int, transaction: str, item: str, label: str | None = None
) -> list[Explanation]:
    """Explain what each attack of a run, or the one of that label, made of an item in a transaction."""
    attacks = _attacks(connection, run, label)
    found = [
        _explained(connection, one, cell, transaction, item)
        for one in attacks
        if one.form == "eliminate"
        for cell in evidence.cells_named(connection, one.attack, transaction, item)
    ]
    found += [
        _given(connection, one, *row)
        for one in attacks
        if one.form == "reassociate"
        for row in evidence.units_given(connection, one.attack, transaction, item)
    ]
    if not found:
        raise _not_there(connection, run, transaction, item)
    return found


def list_findings(connection: sqlite3.Connection, run: int, label: str | None, most: int) -> list[Found]:
    """The first findings of each attack of a run, or of the one of that label."""
    found = []
    for one in _attacks(connection, run, label):
        because, table = _because(one)
        rows = evidence.sentences(connection, one.attack, because, table, most=most)
        found += [Found(one.label, finding, sentence) for finding, sentence in rows]
    return found


def explain_finding(connection: sqlite3.Connection, path: Path, run: int, finding: int) -> tuple[Found, list[Evidence]]:
    """One finding, and for a query the rows of its evidence steps, derived again from what the rule saw."""
    where = evidence.find_finding(connection, run, finding)
    found = Found(where.label, finding, evidence.sentence(connection, finding, *_because(where)))
    model, derives = read_text(where.text)
    if not isinstance(model, QueryRule):
        return found, []
    with open_sandbox(path, where.scope, stranger(model.rule, where.text)) as sandbox:
        for attack in where.reads.values():
            other, others = _rule_of(connection, attack)
            findings.show_findings(sandbox, attack, others, other.form)
        make_steps(sandbox, model.let, {})
        fact = evidence.fact(connection, finding, derives.name)
        rows = [_behind(sandbox, step, fact) for step in model.evidence]
    return found, [_named(connection, one) for one in rows]


def _behind(sandbox: Sandbox, step: str, fact: dict[str, Any]) -> Evidence:
    """The rows of a step that agree with the fact in every column both have."""
    columns = sandbox.columns(f"select * from {quoted(step)}")
    shared = [column for column in columns if column in fact]
    values = [fact[column] for column in shared]
    where = " and ".join(f"{quoted(column)} is ?" for column in shared) or "true"
    return Evidence(step, columns, sandbox.engine(f"select * from temp.{quoted(step)} where {where}", values))


def _named(connection: sqlite3.Connection, step: Evidence) -> Evidence:
    """The same with names in the columns item and txn, where the store has numbers."""
    rows = [
        tuple(
            evidence.name_of(connection, column, value) if column in evidence.NAMED else value
            for column, value in zip(step.columns, row, strict=True)
        )
        for row in step.rows
    ]
    return step._replace(rows=rows)


def _attacks(connection: sqlite3.Connection, run: int, label: str | None) -> list[Attacked]:
    attacks = results.attacks_of(connection, run)
    chosen = [one for one in attacks if label in (None, one.label)]
    if not chosen:
        names = [one.label for one in attacks]
        hint = nearest(str(label), names) or f"its attacks are {', '.join(names)}"
        raise DecloakError(f"run {run} has no attack {shown(label)}", hint=hint)
    return chosen


def _because(attack: Attacked | Finding) -> tuple[str, str]:
    """The sentence of the rule text that ran, as SQL, and the findings it is about, as a table expression."""
    model, derives = read_text(attack.text)
    facts = findings.NAMED.get(model.form) or evidence.facts_sql(derives.name)
    return sentence_sql(model.because, sentence_columns(model, derives), "x"), facts


def _rule_of(connection: sqlite3.Connection, attack: int) -> tuple[AnyRule, Derives]:
    return read_text(evidence.rule_text(connection, attack))


def _explained(
    connection: sqlite3.Connection, attack: Attacked, cell: Judged, transaction: str, item: str
) -> Explanation:
    if cell.finding is None:
        text = _spared(cell, transaction, item)
    else:
        text = evidence.sentence(connection, cell.finding, *_because(attack))
    contexts = tuple(evidence.contexts(connection, cell))
    return Explanation(attack.label, cell.finding, text, cell.d, cell.weight, cell.generalised, contexts)


def _given(
    connection: sqlite3.Connection, attack: Attacked, finding: int, value: float | None, unit: str
) -> Explanation:
    """Why a unit went to a record: the items of its anchor with their scores for the items of the unit."""
    text = evidence.sentence(connection, finding, *_because(attack))
    contexts = tuple(evidence.anchor_scores(connection, finding))
    return Explanation(attack.label, finding, text, None, value, unit, contexts)


def _spared(cell: Judged, transaction: str, item: str) -> str:
    kept = f"{item} was not struck from {called(transaction)}"
    if cell.d is None:
        return f"{kept}: no context item has a score with it"
    left = "" if cell.weight in (None, cell.d) else f", weighted {cell.weight:.2f} at the end,"
    return f"{kept}: at distance {cell.d:.2f}{left} it never was the one to strike"


def _not_there(connection: sqlite3.Connection, run: int, transaction: str, item: str) -> DecloakError:
    labels, members = evidence.attackable(connection, run)
    if transaction not in labels:
        hint = nearest(transaction, labels) or "name a transaction by its id, or its line number"
        return DecloakError(f"run {run} attacked no transaction {shown(transaction)}", hint=hint)
    if item not in members:
        hint = nearest(item, members) or "name an item that generalised items or chunks hide"
        return DecloakError(f"run {run} hides no item {shown(item)}", hint=hint)
    return DecloakError(
        f"no attack of run {run} found anything about {shown(item)} in transaction {shown(transaction)}",
        hint="what has no score at all is left out of an attack; `decloak explain RUN` lists what was found",
    )
