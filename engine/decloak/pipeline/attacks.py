"""One attack: a rule, the view of its attacker, and the findings of the attacks that it reads."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from decloak.anonymisers.method import Stopwatch
from decloak.arrays import Floats
from decloak.attacker.selftrained import CalibrationTable, Learned, calibration_tables, learn_from_release
from decloak.data.assignment import AssignmentList, PairScores
from decloak.data.knowledge_levels import Control, KnowledgeLevel, level_name
from decloak.data.pairs import Pair
from decloak.errors import DecloakError
from decloak.lazy import once
from decloak.parallel import Cluster, ClusterError, tasks_on
from decloak.pipeline.cluster_attacks import attack_in_parts
from decloak.pipeline.plan import PlannedAttack, StageKey
from decloak.pipeline.workspace import Material, Write
from decloak.releases.stored import PartedDisassociation, PartedStored
from decloak.rules.coverage import Confidence, Coverage, of_scores
from decloak.rules.load import untrusted_name
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs, ReleaseCache
from decloak.rules.operators.operator import NotRun, Result, Rule, Writer
from decloak.store import findings
from decloak.store.assigned import write_probabilities
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.relations import RELATIONS, Scope
from decloak.store.sandbox_guard import empty_sandbox, open_sandbox

COLUMNS = {name: relation.columns for name, relation in RELATIONS.items()}
"""The relations that rules may read, with their columns."""
IN_PARTS = "no attack ran: the scenario names none that reads records in files"
UNSURE = "probabilities need all clusters in memory"
LEARNT = {KnowledgeLevel.LANGUAGE, KnowledgeLevel.SAMPLE}
"""Sources of scores that a model is trained on. The release itself is what the model predicts."""

PairValues = Mapping[Pair, float | None]


class AttackerViews:
    """Views of one release for its attacks. What one attack learns, later attacks on the release reuse."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._relate, self._nearest = material.scenario.related_by, material.scenario.nearest
        self._cache = ReleaseCache()
        self._language_scores: tuple[Sequence[Pair], Sequence[PairValues]] | None = None
        self._learned: dict[Control | None, Learned] = {}

    def view(self, rule: Rule) -> AttackerView:
        """Return the view of `rule`, without a sandbox."""
        material, relate = self._material, self._relate
        release = material.release
        # Functions, because most rules need few of these values and each takes long to make.
        view = AttackerView(
            release=lambda: release.published,
            scores=lambda: material.scores or {},
            transactions=lambda: release.shown,
            distances=lambda: material.distances,
            calibration_tables=lambda: self.calibration_tables,
            scratch_sandbox=lambda: empty_sandbox(COLUMNS, untrusted_name(rule.name, rule.text)),
            cache=self._cache,
        )
        if relate is None:
            return view
        return replace(
            view,
            closer=relate.closer, unrelated=relate.unrelated, measure_scores=lambda: self.measure_scores,
            learned_probabilities=lambda control: dict(enumerate(self.learn(control).added)),
            training_tables=lambda control: self.learn(control).training,
        )  # fmt: skip

    @once
    def measure_scores(self) -> Sequence[PairScores]:
        """Return the scores of each measure of the attacker, if there are several."""
        material, relate = self._material, self._relate
        if relate is None or len(relate.parts) < 2:
            return ()
        scored = () if material.scored is None else material.scored.apart
        pairs = material.form.pairs(material.release, self._nearest)
        scored = scored or [part.related(pairs, material.supplies).scores for part in relate.parts]
        return [
            PairScores(scores, part.closer, part.unrelated) for scores, part in zip(scored, relate.parts, strict=True)
        ]

    @once
    def calibration_tables(self) -> Sequence[CalibrationTable] | str:
        """Return distance tables of the plain items of the release, or the reason why there are none."""
        material, relate = self._material, self._relate
        if relate is None:
            return "distance tables have no plain items to try the rule on"
        if KnowledgeLevel.RELEASE in relate.knowledge_levels:
            return "what a release shows of two plain items is more than it shows of generalised ones"
        if any(part.sends_to for part in relate.parts):
            return "the calculation would need further requests"
        tables = calibration_tables(
            material.release.published,
            material.tables,
            lambda pairs: relate.related(pairs, material.supplies).scores,
            self._nearest,
        )
        return tables or "there are too few plain items to try the rule on"

    def learn(self, control: Control | None) -> Learned:
        """Return the model learned from the plain items, trained once for each `control`."""
        if control not in self._learned:
            self._learned[control] = self._train(control)
        return self._learned[control]

    def _train(self, control: Control | None) -> Learned:
        material = self._material
        parts = [] if self._relate is None else [part for part in self._relate.parts if part.knowledge_level in LEARNT]
        return learn_from_release(
            material.release.published,
            material.tables,
            lambda pairs: [part.related(pairs, material.supplies).scores for part in parts],
            resemble=self._score_by_language,
            others=[row for part in parts for row in part.other_transactions(material.supplies)],
            nearest=self._nearest,
            control=control,
        )

    def _score_by_language(self, pairs: Sequence[Pair]) -> Sequence[PairValues]:
        """Score very many pairs by the sources that ask no service; the last result serves every control."""
        if self._language_scores is None or self._language_scores[0] != pairs:
            # The store keeps no counts of these pairs: there are far more of them than of the pairs that are attacked.
            supplies = self._material.supplies._replace(cache=None)
            parts = () if self._relate is None else self._relate.parts
            offline = [
                part for part in parts if part.knowledge_level is KnowledgeLevel.LANGUAGE and not part.queries_service
            ]
            self._language_scores = pairs, [part.related(pairs, supplies).scores for part in offline]
        return self._language_scores[1]


class MadeAttack(NamedTuple):
    """The function that writes an attack. Measures get its assignments and the probabilities `p` of its findings."""

    write: Write
    assigned: AssignmentList | None
    p: Floats | None


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
        # By this, `holds_originals` knows the attacker's data set from the original data.
        parameters["auxiliary"] = scope.auxiliary
    model = rule.model
    named = {
        "digest": rule.digest, "name": rule.name, "form": model.form, "text": rule.text, "identifier": model.id,
        "status": model.status, "about": model.about, "reference": model.reference, "wrong_when": model.wrong_when,
    }  # fmt: skip
    write = partial(
        _write_attack,
        digest=planned.digest, rule=named, scope=scope, parameters=parameters,
        write=outcome.result.writer(), confidence=outcome.confidence,
    )  # fmt: skip
    return MadeAttack(write, outcome.result.assigned(), outcome.confidence.p)


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
    if isinstance(material.release, PartedDisassociation) and rule.traits.by_cluster:
        with tasks_on(material.workspace.cluster), material.reporting_compilation():
            found = attack_in_parts(rule, view, settings, material.release, planned.digest)
        # A random attack uses no scores, so it covers nothing.
        counted = None if rule.is_random else Coverage(*of_scores(view.scores()), None)
        return _Outcome(found, clock.seconds, Confidence.unavailable(UNSURE), counted)
    if isinstance(material.release, PartedStored):
        result = NotRun(rule.derives, (), IN_PARTS, (IN_PARTS,))
        return _Outcome(result, clock.seconds, Confidence.unavailable(IN_PARTS), None)
    try:
        with material.reporting_compilation():
            result, took = _attack(rule, view, settings, material.workspace.cluster)
            result = result.with_store_ids(rule, database)
            confidence = rule.operator.confidence(rule, result, view, settings)
            # A negative control is no attack, so its coverage is not measured.
            coverage = None if settings.control else rule.operator.coverage(rule, result, view)
    except DecloakError as error:
        # An audit goes on without an attack that these data do not allow. A lost cluster ends it.
        if not planned.audit or isinstance(error, ClusterError):
            raise
        reason = f"{rule.name} was not run: {error.message}"
        result = NotRun(rule.derives, (), reason, (reason,))
        return _Outcome(result, clock.seconds, Confidence.unavailable(reason), None)
    return _Outcome(result, took, confidence, coverage)


def _attack(
    rule: Rule, view: AttackerView, settings: Settings, cluster: Cluster | None
) -> tuple[Result, Mapping[str, float]]:
    """Return what `rule` finds, and how long that took.

    The cluster gets what is published, as values. An attack that asks the store by SQL runs here.
    """
    values = None if cluster is None else rule.operator.portable_inputs(rule, view)
    if cluster is None or values is None:
        return _timed(rule, view, settings)
    return cluster.call(_timed_by_values, rule, values, settings)


def _timed(rule: Rule, view: AttackerView, settings: Settings) -> tuple[Result, Mapping[str, float]]:
    clock = Stopwatch()
    return rule.operator.run(rule, view, settings), clock.seconds


def _timed_by_values(rule: Rule, values: PortableInputs, settings: Settings) -> tuple[Result, Mapping[str, float]]:
    return _timed(rule, AttackerView.from_inputs(values), settings)


def _parameters(planned: PlannedAttack, outcome: _Outcome) -> dict[str, object]:
    """Return the description of an attack in the store, without its findings."""
    parameters = planned.settings.model_dump(exclude_none=True) | {"took": outcome.took}
    parameters["knows"] = "control" if planned.settings.control else level_name(planned.knowledge_levels)
    optional = {
        "unsure": outcome.confidence.reason,
        "coverage": None if outcome.coverage is None else outcome.coverage._asdict(),
        "idle": outcome.result.idle_reason,
        "notes": list(outcome.result.notes) or None,
        "in_files": outcome.result.in_files,
    }
    return parameters | {name: value for name, value in optional.items() if value is not None}


def _write_attack(
    connection: sqlite3.Connection,
    digest: str,
    rule: Mapping[str, str | None],
    scope: Scope,
    parameters: Mapping[str, object],
    write: Writer,
    confidence: Confidence,
) -> int:
    """Write an attack with its findings; `rule` has the columns of its rule."""
    text = findings.write_rule(connection, rule)
    attack = findings.write_attack(connection, digest, text, scope.release, scope.scoring, scope.attacker, parameters)
    write(connection, attack, scope.release)
    write_probabilities(connection, attack, confidence.p)
    return attack
