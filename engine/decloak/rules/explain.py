"""Why an attack found something, or why it struck an item not, from what the store kept."""

import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from decloak.errors import DecloakError, nearest, shown
from decloak.rules.load import checked, parse_rule, stranger
from decloak.rules.operators.operator import Explanation, Inquiry
from decloak.store import evidence, results
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.probabilities import probability_teller
from decloak.store.results import RunAttack
from decloak.store.rivals import Comparison
from decloak.store.sandbox import Sandbox, quoted
from decloak.store.sandbox_guard import open_sandbox

__all__ = ["Evidence", "Explanation", "Finding", "compared", "explain", "explain_finding", "list_findings"]


_NAMED = ("item", "txn")
"""The columns of steps that are told by name."""


class Finding(NamedTuple):
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
    explanations = [
        explanation
        for attack in _attacks(connection, run, label)
        for explanation in _explained(connection, attack, transaction, item)
    ]
    if not explanations:
        raise _not_there(connection, run, transaction, item)
    return explanations


def _explained(connection: sqlite3.Connection, attack: RunAttack, transaction: str, item: str) -> list[Explanation]:
    because = cache(lambda: _because(attack.text))
    sure = _sure(connection, attack.attack, attack.text)

    def say(finding: int) -> str:
        return evidence.reason_sentence(connection, finding, *because()) + sure(finding)

    rule = parse_rule(attack.text)
    return list(rule.operator.explain(Inquiry(connection, attack, rule.derives, transaction, item, say)))


def _sure(connection: sqlite3.Connection, attack: int, text: str) -> Callable[[int], str]:
    """Says how likely a finding is right, where that is known and its own sentence does not."""
    rule = parse_rule(text)
    chance = probability_teller(connection, attack)

    def say(finding: int) -> str:
        p = None if "probability" in rule.model.because else chance(finding)
        return "" if p is None else f"; right with probability {p:.2f}"

    return say


def list_findings(connection: sqlite3.Connection, run: int, label: str | None, most: int) -> list[Finding]:
    """The first findings of each attack of a run, or of the one of that label."""
    listed = []
    for attack in _attacks(connection, run, label):
        because, table = _because(attack.text)
        sentences = evidence.finding_sentences(connection, attack.attack, because, table, most=most)
        sure = _sure(connection, attack.attack, attack.text)
        listed += [Finding(attack.label, finding, sentence + sure(finding)) for finding, sentence in sentences]
    return listed


def explain_finding(connection: sqlite3.Connection, run: int, finding: int) -> tuple[Finding, list[Evidence]]:
    """One finding, and for a query the rows of its evidence steps, derived again from what the rule saw."""
    where = evidence.find_finding(connection, run, finding)
    sentence = evidence.reason_sentence(connection, finding, *_because(where.text))
    explained = Finding(where.label, finding, sentence + _sure(connection, where.attack, where.text)(finding))
    rule = parse_rule(where.text)
    steps = rule.operator.evidence_steps(rule.model)
    if not steps:
        return explained, []
    # Steps are not stored: they are derived again from what the rule saw, other rules' findings among it.
    database = AttackersDatabase(connection, where.scope)
    others = {attack: parse_rule(evidence.rule_text(connection, attack)) for attack in where.reads.values()}
    reads = checked(rule, tuple(other.derives for other in others.values())).reads
    earlier = [other.operator.earlier(other, connection, attack, database) for attack, other in others.items()]
    with open_sandbox(database, reads, earlier, stranger(rule.name, where.text)) as sandbox:
        rule.operator.retrace(rule.model, sandbox)
        columns, values = rule.derives.columns, evidence.fact(connection, finding, rule.derives.name)
        nodes = rule.operator.nodes(rule)
        (row,) = database.numbering.derived(nodes, columns, [[values[column] for column in columns]])
        fact = dict(zip(columns, row, strict=True))
        rows = [_behind(sandbox, step, fact) for step in steps]
    return explained, [_named(connection, database, step) for step in rows]


def compared(connection: sqlite3.Connection, run: int, finding: int) -> Comparison | None:
    """What a finding was chosen among, None where its rule cannot tell."""
    rule = parse_rule(evidence.find_finding(connection, run, finding).text)
    return rule.operator.comparison(connection, rule.derives, finding)


def _behind(sandbox: Sandbox, step: str, fact: dict[str, Any]) -> Evidence:
    """The rows of a step that agree with the fact in every column both have."""
    columns = sandbox.columns(f"select * from {quoted(step)}")
    shared = [column for column in columns if column in fact]
    values = [fact[column] for column in shared]
    where = " and ".join(f"{quoted(column)} is ?" for column in shared) or "true"
    return Evidence(step, columns, sandbox.engine(f"select * from temp.{quoted(step)} where {where}", values))


def _named(connection: sqlite3.Connection, database: AttackersDatabase, step: Evidence) -> Evidence:
    """The same with names in the columns item and txn, where the database has numbers."""

    def named(kind: str, value: Any) -> Any:
        number = database.numbering.stored(kind, value)
        return value if number is None else evidence.node_name(connection, kind, number)

    rows = [
        tuple(
            named(column, value) if column in _NAMED else value for column, value in zip(step.columns, row, strict=True)
        )
        for row in step.rows
    ]
    return step._replace(rows=rows)


def _attacks(connection: sqlite3.Connection, run: int, label: str | None) -> list[RunAttack]:
    attacks = results.attacks_of(connection, run)
    chosen = [attack for attack in attacks if label in (None, attack.label)]
    if not chosen:
        names = [attack.label for attack in attacks]
        hint = nearest(str(label), names) or f"its attacks are {', '.join(names)}"
        raise DecloakError(f"run {run} has no attack {shown(label)}", hint=hint)
    return chosen


def _because(text: str) -> tuple[str, str]:
    """The sentence of the rule text that ran, as SQL over `x`, and the table expression that `x` is a row of.

    The why_ view of the store is not asked: it may be of a newer text of the rule, or of somebody else's making.
    """
    rule = parse_rule(text)
    return rule.because_sql("x"), rule.operator.findings_sql(rule.derives)


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
