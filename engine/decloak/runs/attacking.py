"""The attacks of a plan and what is measured of them, on top of the stages that they need."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from decloak.anonymisers.method import Stopwatch
from decloak.attack.controls import Control
from decloak.attack.selftrained import Learned, Likeness, learned, likenesses
from decloak.cells.shapes import ClusterError
from decloak.data.assignment import Assigned, PairScores
from decloak.data.dataset import Dataset
from decloak.data.rungs import Rung, step_name
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.measure.family import AttackedRelease, Family, Measured
from decloak.releases.held import HeldRelease
from decloak.rules.confidence import Confidence, unsure
from decloak.rules.coverage import Coverage
from decloak.rules.load import stranger
from decloak.rules.operators.operator import NotRun, Result, Rule, Sight, Writer
from decloak.runs import pieces
from decloak.runs.desk import Write
from decloak.runs.plan import Planned
from decloak.runs.stages import Stages
from decloak.store import findings, writing
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.probabilities import write_probabilities
from decloak.store.relations import RELATIONS, Scope
from decloak.store.sandbox_guard import empty_sandbox, open_sandbox

__all__ = ["Execution"]

COLUMNS = {name: relation.columns for name, relation in RELATIONS.items()}
"""What rules may read."""
LEARNT = {Rung.LANGUAGE, Rung.SAMPLE}
"""Where measures come from that are learned with: what a release shows of two plain items is what is to be learned."""

Earlier = Mapping[str, Planned]
"""Attacks by their rules."""


@dataclass
class Execution(Stages):
    """A plan being carried out on a store."""

    memory: dict[str, Any] = field(default_factory=dict)
    """What attacks leave to each other."""
    learned: dict[Control | None, Learned] = field(default_factory=dict)
    """What is learned of the release's plain items, with each control."""
    assigned: dict[str, Assigned | None] = field(default_factory=dict)
    """Who got what by attacks that are not measured yet, by their digests."""
    of_release: dict[str, Measured] = field(default_factory=dict)
    """What is measured of the release alone, by family: worked out once for all attacks."""

    def attack(self, planned: Planned, earlier: Earlier) -> None:
        """See that an attack is made; `earlier` are those that others may read, by their rules."""
        scope = self.scope
        self.ready("attack", planned.digest, lambda: self._attack(planned, scope, earlier))

    def _attack(self, planned: Planned, scope: Scope, earlier: Earlier) -> Write:
        rule = planned.rule
        database = AttackersDatabase(self.connection, scope)
        sight = self._sight(rule)
        reads, found = {}, []
        for name in planned.needs:
            other, number = earlier[name].rule, self.number("attack", earlier[name].digest)
            reads[other.derives.name] = number
            found.append(other.operator.earlier(other, self.connection, number, database))
        with open_sandbox(database, rule.operator.asked(rule, sight), found, stranger(rule.name, rule.text)) as sandbox:
            sight = replace(sight, sandbox=sandbox)
            clock = Stopwatch()
            result: Result
            try:
                with self.telling("attack"):
                    result, took = pieces.attacked(rule, sight, planned.settings, self.session)
                    result = result.numbered(rule, database)
                    sure = rule.operator.confidence(rule, result, sight, planned.settings)
                    covered = self._covered(planned, result, sight)
            except DecloakError as error:
                if not planned.audit or isinstance(error, ClusterError):
                    raise
                reason = f"{rule.name} was not run: {error.message}"
                result, took, sure = NotRun(rule.derives, (), reason, (reason,)), clock.seconds, unsure(reason)
                covered = None

        self.assigned[planned.digest] = result.assigned()
        return partial(
            _write_attack,
            planned=planned, scope=scope, reads=reads, took=took,
            idle=result.idle, notes=result.notes, write=result.writer(), sure=sure,
            covered=covered,
        )  # fmt: skip

    def _covered(self, planned: Planned, result: Result, sight: Sight) -> Coverage | None:
        """How much of what an attack needs its attacker has a score for; a control is no attack."""
        if planned.settings.control is not None:
            return None
        return planned.rule.operator.coverage(planned.rule, result, sight)

    def _sight(self, rule: Rule) -> Sight:
        relate = self.scenario.related_by
        held = self.held
        sight = Sight(
            release=lambda: held.published,
            scores=lambda: self.scores or {},
            shown=lambda: held.shown,
            distances=lambda: self.distances,
            likenesses=lambda: self.likenesses,
            elsewhere=lambda: empty_sandbox(COLUMNS, stranger(rule.name, rule.text)),
            memory=self.memory,
        )
        if relate is None:
            return sight
        return replace(
            sight,
            closer=relate.closer, unrelated=relate.unrelated, apart=lambda: self.apart,
            added=lambda control: dict(enumerate(self._learned(control).added)),
            taught=lambda control: self._learned(control).taught,
        )  # fmt: skip

    @cached_property
    def apart(self) -> Sequence[PairScores]:
        """The scores of each measure that the attacker has, where there are several."""
        relate = self.scenario.related_by
        if relate is None or len(relate.parts) < 2:
            return ()
        _ = self.relatedness
        pairs = self.form.pairs(self.held, self.scenario.nearest)
        apart = self._scores_apart or [part.related(pairs, self.supplies).scores for part in relate.parts]
        return [
            PairScores(scores, part.closer, part.unrelated) for scores, part in zip(apart, relate.parts, strict=True)
        ]

    @cached_property
    def likenesses(self) -> Sequence[Likeness] | str:
        """Tables of the release's plain items by the measures of the attacker, or why there are none."""
        relate, nearest = self.scenario.related_by, self.scenario.nearest
        if relate is None:
            return "distance tables have no plain items to try the rule on"
        if Rung.RELEASE in relate.rungs:
            return "what a release shows of two plain items is more than it shows of generalised ones"
        if any(part.sends_to for part in relate.parts):
            return "it would take more questions to somebody else"
        tables = likenesses(
            self.held.published, self.tables, lambda pairs: relate.related(pairs, self.supplies).scores, nearest
        )
        return tables or "there are too few plain items to try the rule on"

    def _learned(self, control: Control | None) -> Learned:
        """Learn what the plain items teach of the distance tables, once for all attacks with the same control."""
        if control in self.learned:
            return self.learned[control]
        relate, nearest = self.scenario.related_by, self.scenario.nearest
        assert relate is not None
        parts = [part for part in relate.parts if part.rung in LEARNT]
        self.learned[control] = learned(
            self.held.published,
            self.tables,
            lambda pairs: [part.related(pairs, self.supplies).scores for part in parts],
            resemble=self._resembling,
            others=[row for part in parts for row in part.others(self.supplies)],
            nearest=nearest,
            control=control,
        )
        return self.learned[control]

    def _resembling(self, pairs: Sequence[Pair]) -> Sequence[Mapping[Pair, float | None]]:
        """The scores that traits go by: of very many pairs, so once for all controls, not kept and not asked for."""
        scores: Sequence[Mapping[Pair, float | None]]
        last, scores = self.memory.get("resembling", (None, ()))
        if last != pairs:
            relate, supplies = self.scenario.related_by, self.supplies._replace(cache=None)
            parts = () if relate is None else relate.parts
            telling = [part for part in parts if part.rung is Rung.LANGUAGE and not part.asks]
            scores = [part.related(pairs, supplies).scores for part in telling]
            self.memory["resembling"] = pairs, scores
        return scores

    def attacked(self, planned: Planned) -> AttackedRelease[HeldRelease]:
        """An attack that is there, or about to be, for those who measure it."""
        number = self.number("attack", planned.digest)
        derives, folder = planned.rule.derives, self.inputs.folder
        assigned = self.assigned.get(planned.digest)
        listed = self.scenario.listed_families
        return AttackedRelease(self.connection, number, derives, self.held, folder, self._control, listed, assigned)

    def _control(self) -> Dataset | None:
        """Return the records of people who are not in the data, where the scenario names some."""
        return self.inputs.control(self.scenario, self.plan.variant.seed)

    def measure(self, planned: Planned) -> None:
        """See that an attack that is there, or about to be, is measured."""
        attacked = self.attacked(planned)
        for family, key, settings in planned.measures:
            self.ready("measurement", key, partial(self._measure, family, key, settings, attacked))
        self.assigned.pop(planned.digest, None)

    def _measure(
        self, family: Family, key: str, settings: Mapping[str, Any], attacked: AttackedRelease[HeldRelease]
    ) -> Write:
        figures, note = self._figures(family, settings, attacked)
        return partial(
            writing.write_measurement,
            digest=key, attack=attacked.number, family=family.name, figures=figures, note=note,
        )  # fmt: skip

    def _figures(self, family: Family, settings: Mapping[str, Any], attacked: AttackedRelease[HeldRelease]) -> Measured:
        if not family.of_release:
            figures, note = family.measure(attacked, **settings)
            return (figures if attacked.idle is None else family.undefined(figures)), note
        if family.name not in self.of_release:
            self.of_release[family.name] = family.measure(attacked, **settings)
        return self.of_release[family.name]


def _write_attack(
    connection: sqlite3.Connection,
    planned: Planned,
    scope: Scope,
    reads: Mapping[str, int],
    took: Mapping[str, float],
    idle: str | None,
    notes: Sequence[str],
    write: Writer,
    sure: Confidence,
    covered: Coverage | None,
) -> int:
    """Write what a rule found, and the views that say why."""
    rule = planned.rule
    text = findings.write_rule(connection, rule.digest, rule.name, rule.model.form, rule.text)
    parameters = planned.settings.model_dump(exclude_none=True) | {"reads": reads, "took": took}
    parameters["knows"] = "control" if planned.settings.control else step_name(planned.rungs)
    if sure.reason is not None:
        parameters["unsure"] = sure.reason
    if covered is not None:
        parameters["coverage"] = covered._asdict()
    if idle is not None:
        parameters["idle"] = idle
    if "auxiliary" in rule.reads and scope.auxiliary is not None:
        parameters["auxiliary"] = scope.auxiliary
    if notes:
        parameters["notes"] = list(notes)
    attack = findings.write_attack(
        connection, planned.digest, text, scope.release, scope.scoring, scope.attacker, parameters
    )
    write(connection, attack, scope.release)
    write_probabilities(connection, attack, sure.p)
    rule.operator.write_views(connection, rule)
    return attack
