"""One attack: a rule, the view of its attacker, and the findings of the attacks that it reads."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from decloak.anonymisers.method import Stopwatch
from decloak.data.assignment import AssignmentList
from decloak.data.knowledge_levels import level_name
from decloak.errors import DecloakError
from decloak.parallel import ClusterError
from decloak.pipeline import remote
from decloak.pipeline.material import Material
from decloak.pipeline.plan import PlannedAttack, StageKey
from decloak.pipeline.workspace import Write
from decloak.rules.confidence import Confidence
from decloak.rules.coverage import Coverage
from decloak.rules.load import untrusted_name
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import NotRun, Result, Writer
from decloak.store import findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.probabilities import write_probabilities
from decloak.store.relations import Scope
from decloak.store.sandbox_guard import open_sandbox

__all__ = ["MadeAttack", "run_attack"]


class MadeAttack(NamedTuple):
    """The function that writes an attack, and its assignments, for measures that come before it is written."""

    write: Write
    assigned: AssignmentList | None


class _Outcome(NamedTuple):
    """The result of an attack, the time it took, and how sure and how complete it is."""

    result: Result
    took: Mapping[str, float]
    confidence: Confidence
    coverage: Coverage | None


def run_attack(planned: PlannedAttack, material: Material, view: AttackerView) -> MadeAttack:
    """Run the rule of `planned` with `view`, in a sandbox that has the attacker's database."""
    rule, scope = planned.rule, material.scope
    database = AttackersDatabase(material.workspace.connection, scope)
    reads, found = _earlier_findings(planned, material, database)
    untrusted = untrusted_name(rule.name, rule.text)
    with open_sandbox(database, rule.operator.relations_read(rule, view), found, untrusted) as sandbox:
        outcome = _run_rule(planned, material, replace(view, sandbox=sandbox), database)
    parameters = _parameters(planned, outcome) | {"reads": reads}
    if "auxiliary" in rule.reads and scope.auxiliary is not None:
        parameters["auxiliary"] = scope.auxiliary
    named = (rule.digest, rule.name, rule.model.form, rule.text)
    write = partial(
        _write_attack,
        digest=planned.digest, rule=named, scope=scope, parameters=parameters,
        write=outcome.result.writer(), confidence=outcome.confidence,
    )  # fmt: skip
    return MadeAttack(write, outcome.result.assigned())


def _earlier_findings(
    planned: PlannedAttack, material: Material, database: AttackersDatabase
) -> tuple[dict[str, int], Sequence[Earlier]]:
    """Return the attacks that a rule reads: their numbers by relation, and their findings."""
    reads, found, by_rule = {}, [], material.plan.by_rule()
    for name in planned.needs:
        rule, number = by_rule[name].rule, material.workspace.number(StageKey("attack", by_rule[name].digest))
        reads[rule.derives.name] = number
        found.append(rule.operator.earlier(rule, material.workspace.connection, number, database))
    return reads, found


def _run_rule(planned: PlannedAttack, material: Material, view: AttackerView, database: AttackersDatabase) -> _Outcome:
    rule, settings, clock = planned.rule, planned.settings, Stopwatch()
    result: Result
    try:
        with material.reporting_compilation("attack"):
            result, took = remote.attack(rule, view, settings, material.workspace)
            result = result.with_store_ids(rule, database)
            confidence = rule.operator.confidence(rule, result, view, settings)
            # A negative control is no attack, so nobody asks how much of it had scores.
            coverage = None if settings.control else rule.operator.coverage(rule, result, view)
    except DecloakError as error:
        if not planned.audit or isinstance(error, ClusterError):
            raise
        reason = f"{rule.name} was not run: {error.message}"
        result = NotRun(rule.derives, (), reason, (reason,))
        return _Outcome(result, clock.seconds, Confidence.unavailable(reason), None)
    return _Outcome(result, took, confidence, coverage)


def _parameters(planned: PlannedAttack, outcome: _Outcome) -> dict[str, Any]:
    """Return the description of an attack in the store, without its findings."""
    parameters = planned.settings.model_dump(exclude_none=True) | {"took": outcome.took}
    parameters["knows"] = "control" if planned.settings.control else level_name(planned.knowledge_levels)
    optional = {
        "unsure": outcome.confidence.reason,
        "coverage": None if outcome.coverage is None else outcome.coverage._asdict(),
        "idle": outcome.result.idle_reason,
        "notes": list(outcome.result.notes) or None,
    }
    return parameters | {name: value for name, value in optional.items() if value is not None}


def _write_attack(
    connection: sqlite3.Connection,
    digest: str,
    rule: tuple[str, str, str, str],
    scope: Scope,
    parameters: Mapping[str, Any],
    write: Writer,
    confidence: Confidence,
) -> int:
    """Write an attack with its findings; `rule` has the columns of its rule."""
    text = findings.write_rule(connection, *rule)
    attack = findings.write_attack(connection, digest, text, scope.release, scope.scoring, scope.attacker, parameters)
    write(connection, attack, scope.release)
    write_probabilities(connection, attack, confidence.p)
    return attack
