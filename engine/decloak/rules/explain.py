"""Explanations of findings from the store: why an attack found something, or kept an item."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from decloak.errors import DecloakError, quote, suggest
from decloak.rules.load import checked, parse_rule, untrusted_name
from decloak.rules.operators.operator import Explanation, ExplanationRequest, Rule, Value
from decloak.rules.operators.query import QueryRule
from decloak.store import evidence, results
from decloak.store.assigned import probability_teller
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.evidence import Comparison
from decloak.store.findings import read_facts
from decloak.store.inserting import quoted
from decloak.store.relations import Row
from decloak.store.results import RunAttack
from decloak.store.sandbox import LAST_ROUND, Sandbox, make_steps
from decloak.store.sandbox_guard import open_sandbox

if TYPE_CHECKING:
    from decloak.store.graph import Graph

MOST_KNOWN = 5_000
"""Largest number of facts among which a proof is searched."""
_NAMED = ("item", "txn")
"""Columns of evidence steps that are printed with names."""


class ListedFinding(NamedTuple):
    """A finding with its sentence."""

    attack: str
    finding: int
    sentence: str


class Evidence(NamedTuple):
    """Rows of one step of a query that are the evidence for a fact."""

    step: str
    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


def explain(
    connection: sqlite3.Connection, run: int, transaction: str, item: str, label: str | None = None
) -> list[Explanation]:
    """Return the explanations of each attack of a `run` for an `item` in a `transaction`; `label` selects one attack.

    `connection` reads the store.
    """
    explanations = [
        explanation
        for attack in _attacks(connection, run, label)
        for explanation in _explain_attack(connection, attack, transaction, item)
    ]
    if not explanations:
        raise _nothing_found_error(connection, run, transaction, item)
    return explanations


def _explain_attack(
    connection: sqlite3.Connection, attack: RunAttack, transaction: str, item: str
) -> list[Explanation]:
    rule = parse_rule(attack.text)
    sentence_of = _sentence_of(connection, attack.attack, attack.text)
    request = ExplanationRequest(connection, attack, rule.derives, transaction, item, sentence_of, rule.model)
    return list(rule.operator.explain(request))


def _sentence_of(connection: sqlite3.Connection, attack: int, text: str) -> Callable[[int], str]:
    """Return a function that explains a finding of an `attack` with the rule `text`."""
    because, suffix = _because(text), _probability_suffix(connection, attack, text)
    return lambda finding: evidence.reason_sentence(connection, finding, *because) + suffix(finding)


def _probability_suffix(connection: sqlite3.Connection, attack: int, text: str) -> Callable[[int], str]:
    """Return a function that states the probability of a finding, if it is known and the sentence lacks it."""
    rule = parse_rule(text)
    chance = probability_teller(connection, attack)

    def sentence_of(finding: int) -> str:
        p = None if "probability" in rule.model.because else chance(finding)
        return "" if p is None else f"; right with probability {p:.2f}"

    return sentence_of


def list_findings(connection: sqlite3.Connection, run: int, label: str | None, most: int) -> list[ListedFinding]:
    """Return the first `most` findings of each attack of a `run`; `label` selects one attack.

    `connection` reads the store.
    """
    listed = []
    for attack in _attacks(connection, run, label):
        because, table = _because(attack.text)
        sentences = evidence.finding_sentences(connection, attack.attack, because, table, most=most)
        suffix = _probability_suffix(connection, attack.attack, attack.text)
        listed += [ListedFinding(attack.label, finding, sentence + suffix(finding)) for finding, sentence in sentences]
    return listed


def explain_finding(connection: sqlite3.Connection, run: int, finding: int) -> tuple[ListedFinding, list[Evidence]]:
    """Return one `finding` of a `run`, and for a query its evidence, derived again from what the rule read.

    `connection` reads the store.
    """
    where = evidence.find_finding(connection, run, finding)
    sentence = _sentence_of(connection, where.attack, where.text)(finding)
    explained = ListedFinding(where.label, finding, sentence)
    rule = parse_rule(where.text)
    steps = rule.model.evidence_steps
    repeats = isinstance(rule.model, QueryRule) and rule.model.repeat is not None and rule.model.state is None
    if not steps and not repeats:
        return explained, []
    # Steps are not stored: they are derived again from what the rule saw, other rules' findings among it.
    database = AttackersDatabase(connection, where.scope)
    others = {attack: parse_rule(evidence.rule_text(connection, attack)) for attack in where.reads.values()}
    # The rule may read what other rules found in this run, so that the check needs their relations.
    reads = checked(rule, tuple(other.derives for other in others.values())).reads
    earlier = [other.operator.earlier(other, connection, attack, database) for attack, other in others.items()]
    with open_sandbox(database, reads, earlier, untrusted_name(rule.name, where.text)) as sandbox:
        make_steps(sandbox, rule.model.steps, {})
        columns, values = rule.derives.columns, evidence.fact(connection, finding, rule.derives.name)
        nodes = rule.nodes
        (row,) = database.numbering.derived(nodes, columns, [[values[column] for column in columns]])
        fact = dict(zip(columns, row, strict=True))
        rows = [_evidence_rows(sandbox, step, fact) for step in steps]
        if repeats:
            every = list(read_facts(connection, where.attack, rule.derives))
            rounds = [number for number, _ in every]
            known = list(
                zip(rounds, database.numbering.derived(nodes, columns, [row for _, row in every]), strict=True)
            )
            proof = _proof(sandbox, rule, known, row)
            rows += [Evidence("proof", ("round", *columns), proof)] if len(proof) > 1 else []
    return explained, [_with_names(connection, database, step, nodes) for step in rows]


def _proof(sandbox: Sandbox, rule: Rule, known: Sequence[tuple[int, Row]], fact: Row) -> list[Row]:
    """Return the `known` facts from which `fact` follows, each with its round: a proof of the least height.

    A fact of a round follows from facts of the round before. The proof has as few of these as it needs. No proof is
    returned among more than MOST_KNOWN facts.
    """
    (height,) = {number for number, row in known if row == fact}
    if len(known) > MOST_KNOWN:
        return []
    proof, wanted = [(height, *fact)], {fact}
    for number in range(height, 1, -1):
        # A round reads all facts found before it, those of the last round and older ones.
        sandbox.fill(rule.derives.name, rule.derives.columns, [row for earlier, row in known if earlier < number])
        before = [row for earlier, row in known if earlier == number - 1]
        # Numbers, names and null in one column have no order, but their texts have.
        wanted = {row for goal in sorted(wanted, key=repr) for row in _premises(sandbox, rule, before, goal)}
        proof += [(number - 1, *row) for row in sorted(wanted, key=repr)]
    return proof[::-1]


def _premises(sandbox: Sandbox, rule: Rule, rows: list[Row], goal: Row) -> list[Row]:
    """Return facts of the last round, of `rows`, without any of which the `goal` does not follow."""
    chosen = ", ".join(map(quoted, rule.derives.columns))
    size = len(rows)
    # Halves first, then single facts: most facts are not needed, and each try is a query.
    while size:
        for start in range(len(rows), -1, -size):
            fewer = [*rows[:start], *rows[start + size :]]
            sandbox.fill(LAST_ROUND, rule.derives.columns, fewer)
            if len(fewer) < len(rows) and goal in sandbox.select(f"select {chosen} from ({rule.model.repeat}\n)")[1]:
                rows = fewer
        size //= 2
    return rows


def compare_alternatives(connection: sqlite3.Connection, run: int, finding: int) -> Comparison | None:
    """Return the alternatives that the attack rejected for a `finding` of a `run`; None where its rule does not say.

    `connection` reads the store.
    """
    rule = parse_rule(evidence.find_finding(connection, run, finding).text)
    return rule.operator.comparison(connection, rule.derives, finding)


def graph_of_finding(connection: sqlite3.Connection, run: int, finding: int) -> "Graph":
    """Return the evidence of a `finding` of a `run` as a graph, with the alternatives that the attack rejected.

    `connection` reads the store.
    """
    from decloak.store import graph as graphs  # imports networkx, which sentences do not need

    _, steps = explain_finding(connection, run, finding)
    graph = graphs.facts(finding, steps) if steps else graphs.evidence(connection, [finding])
    comparison = None if steps else compare_alternatives(connection, run, finding)
    if comparison is not None:
        graphs.add_comparison(graph, finding, comparison)
    return graph


def _evidence_rows(sandbox: Sandbox, step: str, fact: dict[str, Value]) -> Evidence:
    """Return the rows of a step that agree with the fact in every column that both have."""
    columns = sandbox.columns(f"select * from {quoted(step)}")
    shared = [column for column in columns if column in fact]
    values = [fact[column] for column in shared]
    # `is` finds null as well, which `=` never does.
    where = " and ".join(f"{quoted(column)} is ?" for column in shared) or "true"
    return Evidence(step, columns, sandbox.engine(f"select * from temp.{quoted(step)} where {where}", values))


def _with_names(
    connection: sqlite3.Connection, database: AttackersDatabase, step: Evidence, nodes: Mapping[str, str]
) -> Evidence:
    """Return the step with names instead of numbers in the columns item and txn, and in a proof in those of `nodes`."""
    kinds = {name: name for name in _NAMED} | (dict(nodes) if step.step == "proof" else {})

    def named(kind: str, value: Value) -> Value:
        number = database.numbering.stored(kind, value)
        return value if number is None else evidence.node_name(connection, kind, number)

    rows = [
        tuple(
            named(kinds[column], value) if column in kinds else value
            for column, value in zip(step.columns, row, strict=True)
        )
        for row in step.rows
    ]
    return step._replace(rows=rows)


def _attacks(connection: sqlite3.Connection, run: int, label: str | None) -> list[RunAttack]:
    attacks = results.attacks_of(connection, run)
    chosen = [attack for attack in attacks if label in (None, attack.label)]
    if not chosen:
        names = [attack.label for attack in attacks]
        hint = suggest(str(label), names) or f"its attacks are {', '.join(names)}"
        raise DecloakError(f"run {run} has no attack {quote(label)}", hint=hint)
    return chosen


def _because(text: str) -> tuple[str, str]:
    """Return the sentence of a rule text as SQL over `x`, and the table expression that `x` is a row of.

    The why_ view of the store is not used: it may belong to a newer text of the rule, or to another author.
    """
    rule = parse_rule(text)
    return rule.because_sql("x"), rule.operator.findings_sql(rule.derives)


def _nothing_found_error(connection: sqlite3.Connection, run: int, transaction: str, item: str) -> DecloakError:
    labels, members = evidence.attackable(connection, run)
    if transaction not in labels:
        hint = suggest(transaction, labels) or "use the id of a record, or its line number"
        return DecloakError(f"run {run} attacked no record {quote(transaction)}", hint=hint)
    if item not in members:
        if near := suggest(item, members):
            return DecloakError(f"run {run} hides no item {quote(item)}", hint=near)
        message = f"run {run} does not hide {quote(item)}, so there is nothing to explain"
        example = quote(next(iter(sorted(members)), "insulin"), 200)
        return DecloakError(message, hint=f"choose a hidden item, for example {example}")
    return DecloakError(
        f"no attack of run {run} found anything about {quote(item)} in record {quote(transaction)}",
        hint="an attack omits items without a score; `decloak explain RUN` lists the findings",
    )
