"""The rule form `query`: SQL over the graph in named steps, run once or until a round finds nothing new."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from decloak.errors import DecloakError, quote, suggest
from decloak.rules.because import record_phrase
from decloak.rules.model import RuleModel, RuleName, Settings, Sql
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import DerivedFacts, Explanation, ExplanationRequest, Operator, RuleOf, Value
from decloak.store import evidence
from decloak.store.evidence import COVER, Comparison, cover_comparison
from decloak.store.findings import idle
from decloak.store.inserting import quoted
from decloak.store.relations import ELIMINATION_COLUMNS, RELATIONS, Derives, taken
from decloak.store.sandbox import LAST_ROUND, THIS_ROUND, Derived, Sandbox, derive, fixpoint, make_steps
from decloak.yaml.source import Source

_DERIVES = re.compile(r"^([a-z][a-z0-9_]{0,40})\(([a-z][a-z0-9_]*(?:, *[a-z][a-z0-9_]*)*)\)$")


class QueryRule(RuleModel):
    """Content of a query rule file."""

    form: Literal["query"]
    derives: str = Field(description="the relation it derives, with its columns: cover(cluster, item)")
    let: dict[RuleName, Sql] = Field(default_factory=dict, description="named steps, each may read those above it")
    facts: Sql | None = Field(None, description="the facts, one row each")
    start: Sql | None = Field(None, description="the facts of the first round")
    repeat: Sql | None = Field(None, description="further facts from `last_round` and those found so far")
    state: str | None = Field(
        None, description="the relation that start and repeat make, where the facts are a selection of it"
    )
    notes: Sql | None = Field(
        None, description="notes of a run in addition to the facts, one a row; without facts, the reason"
    )
    evidence: list[RuleName] = Field(default_factory=list, description="steps whose rows lie behind a fact")

    @property
    def steps(self) -> Mapping[str, str]:
        return self.let

    @property
    def evidence_steps(self) -> Sequence[str]:
        return self.evidence

    @model_validator(mode="after")
    def _check_facts(self) -> "QueryRule":
        repeats = self.start is not None and self.repeat is not None
        one_alone = (self.start is None) != (self.repeat is None)
        # Without a state, rounds give the facts themselves; with one, the facts are selected from it.
        if one_alone or (self.facts is None) != (repeats and self.state is None) or (self.state and not repeats):
            hint = "write facts:, or start: and repeat:, or all of them and state:"
            raise DecloakError("a query gives its facts once, or repeats, or selects them from a state", hint=hint)
        return self


@dataclass(frozen=True)
class QueryFacts(DerivedFacts):
    """Facts of a query, with notes for the run; without facts, a note gives the reason."""

    notes: Sequence[str] = ()

    @property
    def idle_reason(self) -> str | None:
        return self.notes[0] if self.notes and not self.facts else None


_Rule = RuleOf[QueryRule, None, QueryFacts]


class QueryOperator(Operator[QueryRule, None, QueryFacts]):
    """The form of rules that derive a relation which they name."""

    model = QueryRule

    def derives(self, model: QueryRule, source: Source) -> Derives:
        return _signature("derives", model.derives, source)

    def compile(self, rule: _Rule, sandbox: Sandbox) -> None:
        model, derives = rule.model, rule.derives
        # A step with the name of a relation would hide it from the rule without an error.
        _check_names(rule)
        make_steps(sandbox, model.let, _places(rule))
        if model.notes is not None:  # they run before there are facts
            columns = _columns(rule, sandbox, "notes", model.notes)
            if len(columns) > 1:
                message = f"the notes have {len(columns)} columns"
                raise rule.source.error(("notes",), message, "select one, a sentence a row")
        state = _state(rule)
        if model.repeat is not None:
            # Its own relation is there only while it repeats: a rule that reads itself otherwise is refused.
            sandbox.fill(state.name, state.columns, ())
        if model.start is not None:  # before there is a last round, as when it runs
            rule.require("start", _columns(rule, sandbox, "start", model.start), state.columns)
            sandbox.fill(LAST_ROUND, state.columns, ())
        parts = {"facts": (model.facts, derives), "repeat": (model.repeat, state)}
        for key, (sql, made) in parts.items():
            if sql is not None:
                rule.require(key, _columns(rule, sandbox, key, sql), made.columns)

    def relations_read(self, rule: _Rule, view: AttackerView) -> frozenset[str]:
        return rule.reads | (_NEEDED_TO_CHECK if ELIMINATION_COLUMNS.issubset(rule.derives.columns) else frozenset())

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> QueryFacts:
        model, derives, places = rule.model, rule.derives, _places(rule)
        make_steps(view.sandbox, model.let, places)
        notes = () if model.notes is None else _notes(view.sandbox, model.notes, places["notes"])
        facts: Sequence[Derived] = ()
        if model.start is not None and model.repeat is not None:
            state = _state(rule)
            facts = fixpoint(view.sandbox, state.name, state.columns, model.start, model.repeat, places)
        if model.facts is not None:
            facts = derive(view.sandbox, model.facts, derives.columns, places["facts"])
        if ELIMINATION_COLUMNS.issubset(derives.columns):
            _check_eliminations(rule, view.sandbox, [fact.values for fact in facts])
        # No fact and no note may mean that the release lacks what the rule reads.
        return QueryFacts(derives, facts, notes if notes or facts else _nothing_to_read(rule, view.sandbox))

    def as_query(self, rule: _Rule) -> str:
        return rule.text.removesuffix("\n")

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison | None:
        return cover_comparison(connection, derives.name, finding) if COVER.issubset(derives.columns) else None

    def explain(self, request: ExplanationRequest) -> Iterator[Explanation]:
        """Yield the facts about an item in a record, for a rule whose facts eliminate items."""
        connection, attack, derives, transaction, item, sentence_of, _ = request
        if not ELIMINATION_COLUMNS.issubset(derives.columns) or idle(connection, attack.attack) is not None:
            return  # the rule had nothing to read, so that it kept the item means nothing
        for label, finding in evidence.eliminations_named(connection, attack.attack, derives.name, transaction, item):
            kept = f"{item} was not eliminated from {record_phrase(transaction)}: no fact is against it there"
            sentence = kept if finding is None else sentence_of(finding)
            yield Explanation(attack.label, finding, sentence, None, None, label, ())


def _signature(key: str, text: str, source: Source) -> Derives:
    """Return the relation that the `text` under `key` names with its columns; raise an error in `source`."""
    match = _DERIVES.match(text)
    if match is None:
        raise source.error((key,), f"cannot read {quote(text)}", "write a name and its columns: cover(cluster, item)")
    columns = tuple(column.strip() for column in match[2].split(","))
    problem = "is what rounds go by" if match[1] in (LAST_ROUND, THIS_ROUND) else taken(match[1])
    if len(set(columns)) < len(columns) or {"round", "finding", "run"} & set(columns):
        problem = problem or "repeats a column, or uses round, finding or run"
    if problem:
        raise source.error((key,), f"{quote(text)} {problem}", "choose other names")
    return Derives(match[1], columns)


def _state(rule: _Rule) -> Derives:
    """Return the relation that `start` and `repeat` make: the facts themselves, or the state they are taken from."""
    if rule.model.state is None:
        return rule.derives
    state = _signature("state", rule.model.state, rule.source)
    if state.name == rule.derives.name:
        raise rule.source.error(("state",), f"{quote(state.name)} is what the rule derives", "choose another name")
    return state


def _places(rule: _Rule) -> dict[str, str]:
    """Return the file and line of each step, and of the SQL of the facts."""
    steps = {name: rule.place("let", name) for name in rule.model.let}
    return steps | {key: rule.place(key) for key in ("facts", "start", "repeat", "notes")}


def _notes(sandbox: Sandbox, sql: str, place: str) -> tuple[str, ...]:
    return tuple(str(note) for (note,) in sandbox.select(sql, place)[1] if note is not None)


def _nothing_to_read(rule: _Rule, sandbox: Sandbox) -> tuple[str, ...]:
    """Return a note if the release has no rows that the rule reads: zero findings would look like safety."""
    reads = sorted(rule.reads)
    if not RELATIONS.keys() & rule.reads or any(
        sandbox.select(f"select 1 from {quoted(name)} limit 1")[1] for name in reads
    ):
        return ()
    return (f"this release lacks the relations of the rule {rule.name} looks at ({', '.join(reads)})",)


def _check_names(rule: _Rule) -> None:
    """Raise an error for a step that hides a relation of the rule, and for evidence that is no step."""
    model, source = rule.model, rule.source
    reserved = {LAST_ROUND, THIS_ROUND, rule.derives.name, _state(rule).name} if model.repeat is not None else set()
    for name in model.let:
        if problem := taken(name):
            raise source.error(("let", name), f"{quote(name)} {problem}", "choose another name")
        if name in reserved:
            raise source.error(("let", name), f"{quote(name)} is what rounds go by", "choose another name")
    for name in model.evidence:
        if name not in model.let:
            hint = suggest(name, model.let) or "name a step of let:"
            raise source.error(("evidence",), f"no step named {quote(name)}", hint)


_NEEDED_TO_CHECK = frozenset({"published_as", "member_of"})
"""Relations that decide whether facts eliminate members that the release shows."""
_ELIMINATED = ("txn", "generalised", "item")


def _check_eliminations(rule: _Rule, sandbox: Sandbox, facts: Sequence[tuple[Value, ...]]) -> None:
    """Raise an error for facts that eliminate members the release does not show: the figures would count them."""
    name = "eliminated by facts"  # no step can be called so
    sandbox.fill(name, rule.derives.columns, facts)
    wrong = sandbox.select(
        f"select s.txn, s.generalised, s.item from {quoted(name)} s "
        "left join published_as p on p.txn = s.txn and p.generalised = s.generalised "
        "left join member_of m on m.generalised = s.generalised and m.item = s.item "
        "where p.txn is null or m.item is null limit 1"
    )[1]
    if wrong:
        eliminated = ", ".join(f"{name} {quote(str(value))}" for name, value in zip(_ELIMINATED, wrong[0], strict=True))
        message = f"it eliminates {eliminated}, which the release does not show"
        hint = "eliminate members of generalised items in records that show these"
        raise rule.source.error(("derives",), message, hint)


def _columns(rule: _Rule, sandbox: Sandbox, key: str, sql: str) -> tuple[str, ...]:
    """Return the columns of the SQL under `key`; if the rule reads itself, the error explains how to write that."""
    relation = rule.derives.name
    try:
        return sandbox.columns(sql, rule.place(key))
    except DecloakError as error:
        if error.message.lower().endswith(LAST_ROUND) and key == "start":
            raise rule.source.error((key,), f"the start reads {LAST_ROUND}", "read it under repeat:") from None
        if f"no such table: {relation}" in error.message and key == "notes":
            hint = "write notes over relations and steps: they run before the facts are there"
            raise rule.source.error((key,), f"the notes read what the rule derives: {relation}", hint) from None
        if f"no such table: {relation}" in error.message:
            hint = "write start: and repeat: for a rule that reads what it derives"
            raise rule.source.error((key,), f"the rule reads itself: {relation}", hint) from None
        raise


QUERY = QueryOperator()
