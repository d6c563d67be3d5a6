"""The stages of a plan: each that the store has not got is computed, and handed in to be written in one transaction.

What a stage made is handed on in memory; only what an earlier run has made is read from the store.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from decloak.anonymisers.method import Method, NewRelease, Stopwatch
from decloak.attack.controls import Control
from decloak.attack.selftrained import Likeness, added_probabilities, likenesses
from decloak.cells.shapes import ClusterError
from decloak.data.dataset import Dataset
from decloak.data.rungs import Rung, step_name
from decloak.data.tables import AttackTable, Floats, Pair
from decloak.data.text.order import sorted_warning
from decloak.errors import DecloakError, placed
from decloak.lazy import once
from decloak.measure.family import AttackedRelease, Family, Measured
from decloak.relate.relatedness import Supplies
from decloak.releases.attacker import Auxiliary
from decloak.releases.held import HeldRelease
from decloak.rules.confidence import Confidence, unsure
from decloak.rules.load import stranger
from decloak.rules.operators.operator import NotRun, Result, Rule, Sight
from decloak.runs import pieces
from decloak.runs.desk import Claim, Made, Node, Offer, Question, Rows, Told, Write
from decloak.runs.plan import Plan, Planned
from decloak.runs.session import Session
from decloak.store import attackers, findings, inserting, writing
from decloak.store.probabilities import write_probabilities
from decloak.store.reading import read_dataset, read_pair_scores
from decloak.store.relations import OF_TRANSACTIONS, RELATIONS, Scope
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_guard import empty_sandbox, open_sandbox

__all__ = ["Execution"]

COLUMNS = {name: relation.columns for name, relation in RELATIONS.items()}
"""What rules may read."""
LEARNT = {Rung.LANGUAGE, Rung.SAMPLE}
"""Where measures come from that are learned with: what a release shows of two plain items is what is to be learned."""

Earlier = Mapping[str, Planned]
"""Attacks by their rules."""


@dataclass
class Execution:
    """A plan being carried out on a store, stage by stage."""

    plan: Plan
    session: Session
    memory: dict[str, Any] = field(default_factory=dict)
    """What attacks leave to each other."""
    of_release: dict[str, Measured] = field(default_factory=dict)
    """What is measured of the release alone, by family: worked out once for all attacks."""
    _anonymised: NewRelease | None = field(default=None, init=False)
    _scores: Mapping[Pair, float | None] | None = field(default=None, init=False)
    _tables: Sequence[AttackTable] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.inputs = self.session.inputs
        self.scenario, self.form = self.plan.scenario, self.plan.scenario.form

    def in_session(self, session: Session) -> "Execution":
        """The same with another session, and all that is in memory but what reads by a connection."""
        execution = Execution(self.plan, session)
        vars(execution).update((name, value) for name, value in vars(self).items() if name not in ("session", "held"))
        return execution

    @property
    def connection(self) -> sqlite3.Connection:
        return self.session.store.connection

    def ask(self, question: Question) -> Any:
        return self.session.ask(question)

    def stage(self, kind: str, key: str, make: Callable[[], Write]) -> int:
        """The number of a finished stage; when it is not there, `make` computes and its result writes."""
        node = Node(kind, key)
        number = self.ask(Claim(node))
        if number is None:
            self._hand_in(node, make())
            number = self.ask(Claim(node))
        return int(number)

    def ready(self, kind: str, key: str, make: Callable[[], Write]) -> None:
        """See that a stage is made, without waiting until it is written."""
        node = Node(kind, key)
        if self.ask(Offer(node)):
            self._hand_in(node, make())

    def _hand_in(self, node: Node, write: Write) -> None:
        noted = self.session.noted
        self.ask(Made(node, write, () if noted is None else noted.handed_in()))

    def number(self, kind: str, key: str) -> int:
        """The number of a stage that somebody makes."""
        return int(self.ask(Claim(Node(kind, key))))

    def progress(self, text: str) -> None:
        self.ask(Told(text))

    @once
    def original(self) -> int | None:
        """The number of the original data set, None where there is none."""
        key = self.plan.original
        return None if key is None else self.stage("dataset", key, lambda: self._keep_original(key))

    def _keep_original(self, key: str) -> Write:
        data, source = self.dataset, self.scenario.data
        note = sorted_warning(data)
        return partial(
            writing.write_dataset, digest=key, data=data, kind="original", file_format=source.kept_as, note=note
        )

    @once
    def dataset(self) -> Dataset:
        """The original transactions: as they were read, or from the store where reading takes long."""
        key = self.plan.original
        number = (
            None if self.scenario.data.quick or key is None else inserting.finished(self.connection, "dataset", key)
        )
        if number is not None:
            return read_dataset(self.connection, number)
        return self.inputs.published_part(
            self.scenario, self.plan.variant.seed, lambda done, of: self.progress(f"reading: {done:,} of {of:,}")
        )

    @once
    def release(self) -> int:
        """The number of the release: anonymised here, or read."""
        original = self.original
        return self.stage("release", self.plan.release, lambda: self._publish(original))

    def _publish(self, original: int | None) -> Write:
        if self.scenario.anonymise is None:
            release = self.inputs.release(self.scenario)
        else:
            with placed(self.plan.variant.place, unless_known=True):
                release = self._anonymised = self._anonymise(self.scenario.anonymise)
        return partial(self.form.write, digest=self.plan.release, prepared=release, original=original)

    def _anonymise(self, method: Method) -> NewRelease:
        data = self.dataset
        prepared = pieces.published(method, data, self.inputs.folder, self.plan.variant.seed, self.session)
        # Where it comes from: not from the file itself.
        return replace(prepared, release=replace(prepared.release, origin=f"{prepared.method} of {data.origin}"))

    @once
    def held(self) -> HeldRelease:
        """The release as everybody reads it; what was made or read here is not read again."""
        held = self.session.hold(self.plan, self.release)
        if self._anonymised is not None:
            held.published = self._anonymised.release
        if "dataset" in vars(self):
            held.original = self.dataset
        return held

    @once
    def relatedness(self) -> int | None:
        """The number of the scores of pairs of items, None where nothing is related."""
        key = self.plan.relatedness
        _ = self.release
        return None if key is None else self.stage("relatedness", key, lambda: self._relate(key))

    def _relate(self, key: str) -> Write:
        relate, form, held = self.scenario.related_by, self.form, self.held
        assert relate is not None
        scored = relate.related(form.pairs(held, self.scenario.nearest), self.supplies)
        self._scores = scored.scores
        return partial(
            writing.write_relatedness,
            digest=key, measure=scored.measure, origin=scored.origin, scores=scored.scores, warnings=scored.warnings,
        )  # fmt: skip

    @property
    def supplies(self) -> Supplies:
        """What a source of relatedness goes by."""
        seed = self.plan.variant.seed
        return Supplies(
            self.inputs.folder,
            documents=lambda: self.form.documents(self.held),
            sizes=lambda: self.form.sizes(self.held),
            cache=self.session.counts,
            progress=lambda count, total: self.progress(f"relatedness: {count:,} of {total:,} counts"),
            sample=(lambda: self.inputs.sample(self.scenario, seed)) if self.scenario.attacker.sample else None,
        )

    @once
    def scores(self) -> Mapping[Pair, float | None] | None:
        number = self.relatedness
        if number is None or self._scores is not None:
            return self._scores
        return read_pair_scores(self.connection, number)

    @once
    def scoring(self) -> int:
        """The number of the distance tables."""
        relatedness = self.relatedness
        return self.stage("scoring", self.plan.scoring, lambda: self._score(relatedness))

    def _score(self, relatedness: int | None) -> Write:
        context = "given" if not self.form.related else str(self.form.context(self.scenario.nearest))
        tables = self.tables
        return partial(
            writing.write_scoring,
            digest=self.plan.scoring, release=self.release, relatedness=relatedness, context=context, tables=tables,
        )  # fmt: skip

    @once
    def attacker(self) -> int | None:
        """The number of the attacker who knows something of persons, None where nobody does."""
        key = self.plan.attacker
        _ = self.release
        return None if key is None else self.stage("attacker", key, lambda: self._know(key))

    def _know(self, key: str) -> Write:
        known = self.form.knowledge(self.held, self.scenario.attacker, self.inputs.folder, self.plan.variant.seed)
        return partial(
            attackers.write_attacker,
            digest=key, release=self.release, model=known.model, itemsets=known.itemsets, note=known.note,
        )  # fmt: skip

    @once
    def auxiliary(self) -> int | None:
        """The number of the data set that the attacker has beside the release, None where there is none."""
        key, beside = self.plan.auxiliary, self.scenario.attacker.beside
        if key is None or beside is None:
            return None
        return self.stage("dataset", key, lambda: self._keep_beside(key, beside))

    def _keep_beside(self, key: str, beside: Auxiliary) -> Write:
        data = beside.read(self.inputs.folder)
        return partial(writing.write_dataset, digest=key, data=data, kind="original", file_format=beside.format)

    @once
    def scope(self) -> Scope:
        """What rules see of the store."""
        release, scoring = self.release, self.scoring
        (dataset,) = self.connection.execute("select dataset from release where id = ?", (release,)).fetchone()
        return Scope(release, int(dataset), scoring, self.attacker, self.auxiliary)

    def attack(self, planned: Planned, earlier: Earlier) -> None:
        """See that an attack is made; `earlier` are those that others may read, by their rules."""
        scope = self.scope
        self.ready("attack", planned.digest, lambda: self._attack(planned, scope, earlier))

    def _attack(self, planned: Planned, scope: Scope, earlier: Earlier) -> Write:
        rule = planned.rule
        reads = {}
        of_transactions = bool((rule.reads - rule.operator.handed(rule)) & OF_TRANSACTIONS)
        strange = stranger(rule.name, rule.text)
        numbers = {name: self.number("attack", earlier[name].digest) for name in planned.needs}
        self.ask(Rows(scope.datasets if of_transactions and strange else [], list(numbers.values())))
        with open_sandbox(self.session.store.path, scope, strange, lends=of_transactions) as sandbox:
            for name in planned.needs:
                other, number = earlier[name], numbers[name]
                reads[other.rule.derives.name] = number
                other.rule.operator.show(sandbox, number, other.rule.derives)
            clock = Stopwatch()
            result: Result
            sight = self._sight(sandbox, rule)
            try:
                result, took = pieces.attacked(rule, sight, planned.settings, self.session)
                sure = rule.operator.confidence(rule, result, sight, planned.settings)
            except DecloakError as error:
                if not planned.audit or isinstance(error, ClusterError):
                    raise
                reason = f"{rule.name} was not run: {error.message}"
                result, took, sure = NotRun(rule.derives, (), reason, (reason,)), clock.seconds, unsure(reason)

        return partial(_write_attack, planned=planned, scope=scope, reads=reads, took=took, result=result, sure=sure)

    def _sight(self, sandbox: Sandbox, rule: Rule) -> Sight:
        relate = self.scenario.related_by
        held = self.held
        distances = None if self._tables is None else [table.d for table in self._tables]
        sight = Sight(
            sandbox,
            lambda: held.published,
            lambda: self.scores or {},
            shown=lambda: held.shown,
            distances=lambda: distances,
            likenesses=lambda: self.likenesses,
            elsewhere=lambda: empty_sandbox(COLUMNS, stranger(rule.name, rule.text)),
            memory=self.memory,
        )
        if relate is None:
            return sight
        return replace(sight, closer=relate.closer, unrelated=relate.unrelated, added=self._added)

    @property
    def tables(self) -> Sequence[AttackTable]:
        """The distance tables, made anew where the store has had them from an earlier run."""
        if self._tables is None:
            given = self.scenario.data.read_tables(self.inputs.folder)
            self._tables = self.form.tables(self.held, self.scenario.nearest, self.scores, given)
        return self._tables

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
        made = likenesses(
            self.held.published, self.tables, lambda pairs: relate.related(pairs, self.supplies).scores, nearest
        )
        return made or "there are too few plain items to try the rule on"

    def _added(self, control: Control | None) -> Mapping[int, Floats]:
        """What is learned of the distance tables, by their numbers, from the release alone."""
        relate, nearest = self.scenario.related_by, self.scenario.nearest
        assert relate is not None
        p = added_probabilities(
            self.held.published,
            self.tables,
            lambda pairs: [part.related(pairs, self.supplies).scores for part in relate.parts if part.rung in LEARNT],
            nearest=nearest,
            control=control,
        )
        return dict(enumerate(p))

    def attacked(self, planned: Planned) -> AttackedRelease[HeldRelease]:
        """An attack that is there, or about to be, for those who measure it."""
        number = self.number("attack", planned.digest)
        return AttackedRelease(self.connection, number, planned.rule.derives, self.held, self.inputs.folder)

    def measure(self, planned: Planned) -> None:
        """See that an attack that is there, or about to be, is measured."""
        attacked = self.attacked(planned)
        for family, key, settings in planned.measures:
            self.ready("measurement", key, partial(self._measure, family, key, settings, attacked))

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
    result: Result,
    sure: Confidence,
) -> int:
    """Write what a rule found, and the views that say why."""
    rule = planned.rule
    text = findings.write_rule(connection, rule.digest, rule.name, rule.model.form, rule.text)
    parameters = planned.settings.model_dump(exclude_none=True) | {"reads": reads, "took": took}
    parameters["knows"] = "control" if planned.settings.control else step_name(planned.rungs)
    if sure.reason is not None:
        parameters["unsure"] = sure.reason
    if result.idle is not None:
        parameters["idle"] = result.idle
    if "auxiliary" in rule.reads and scope.auxiliary is not None:
        parameters["auxiliary"] = scope.auxiliary
    if result.notes:
        parameters["notes"] = list(result.notes)
    attack = findings.write_attack(
        connection, planned.digest, text, scope.release, scope.scoring, scope.attacker, parameters
    )
    result.write(connection, attack, scope.release)
    write_probabilities(connection, attack, sure.p)
    rule.operator.write_views(connection, rule)
    return attack
