"""Carry out a plan: each stage that the store has not got is computed, and written in one transaction.

An unchanged variant does nothing, a changed one redoes what depends on the change, and a killed run goes on behind
the last stage that was committed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from decloak.data.disassociated import Disassociated
from decloak.data.text.order import sorted_warning
from decloak.measure.figure import Figure
from decloak.measure.measuring import count_findings, measure
from decloak.measure.release_measuring import RELEASE_FAMILIES, Measured
from decloak.measure.torn_measuring import Known, known_of, measure_torn
from decloak.releases.knowing import what_is_known
from decloak.releases.preparing import distance_tables, original_of, published_of, relate, relate_torn, torn_of
from decloak.rules.eliminate.strategy import GROUP_KINDS
from decloak.rules.running import Struck, facts, give, strike
from decloak.runs.plan import Plan, Planned
from decloak.scenario.data import Distances
from decloak.store import assigned, attackers, findings, inserting, releases, torn, writing
from decloak.store.opening import Store
from decloak.store.reading import read_published, read_scores
from decloak.store.relations import Scope
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_guard import open_sandbox

__all__ = ["Progress", "execute"]

Progress = Callable[[str], None]
"""Told the name of each stage before it runs."""
Write = Callable[[Any], int]
"""Writes a stage that was computed, inside its transaction, and returns its number."""


@dataclass
class _Execution:
    """A plan being carried out on a store."""

    plan: Plan
    store: Store
    progress: Progress

    def stage(self, kind: str, key: str, make: Callable[[], Write]) -> int:
        """The number of a finished stage; when it is not there, `make` computes and its result writes."""
        found = inserting.find(self.store, kind, key)
        if found is not None:
            return found
        self.progress(kind)
        write = make()
        with self.store.stage() as connection:
            found = inserting.find(self.store, kind, key)  # another run may have been faster
            return write(connection) if found is None else found

    @cached_property
    def original(self) -> int | None:
        key = self.plan.original
        return None if key is None else self.stage("dataset", key, self._read_original)

    def _read_original(self) -> Write:
        plan = self.plan
        data, form = original_of(
            plan.scenario, plan.folder, lambda done, of: self.progress(f"reading: {done:,} of {of:,}")
        )
        note = sorted_warning(data)
        return lambda connection: writing.write_dataset(connection, str(plan.original), data, "original", form, note)

    @cached_property
    def release(self) -> int:
        original = self.original
        publish = self._tear if self.plan.scenario.torn else self._publish
        return self.stage("release", self.plan.release, lambda: publish(original))

    def _publish(self, original: int | None) -> Write:
        plan = self.plan
        made = published_of(plan.scenario, plan.folder, plan.variant.seed, self.store, original)

        def write(connection: Any) -> int:
            tree, hierarchy = made.tree, None
            if tree is not None:
                hierarchy = releases.write_hierarchy(connection, tree.parents(), tree.items, tree.origin)
            release = releases.write_release(
                connection, plan.release, made.published, made.method, made.parameters, hierarchy, made.loss, made.notes
            )
            if original is not None:
                releases.link_origins(connection, release, original)
            releases.mark_originals(connection, release, made.marked)
            releases.mark_suppressed(connection, release, made.suppressed)
            return release

        return write

    def _tear(self, original: int | None) -> Write:
        plan = self.plan
        made = torn_of(plan.scenario, plan.folder, self.store, original)

        def write(connection: Any) -> int:
            release = torn.write_torn(connection, plan.release, made.release, made.method, made.parameters)
            if original is not None:
                torn.link_rows(connection, release, original, made.truth)
            return release

        return write

    @cached_property
    def torn(self) -> Disassociated:
        """The disassociated release, read once for all that work on it."""
        return torn.read_torn(self.store.connection, self.release)

    @cached_property
    def known(self) -> Known | None:
        """The same with its originals, None when these are not known."""
        return known_of(self.store.connection, self.release, self.torn)

    @cached_property
    def relatedness(self) -> int | None:
        key, release = self.plan.relatedness, self.release
        if key is None:
            return None
        return self.stage("relatedness", key, lambda: self._relate(key, release))

    def _relate(self, key: str, release: int) -> Write:
        scenario, folder, store = self.plan.scenario, self.plan.folder, self.store
        if scenario.torn:
            scored = relate_torn(scenario, folder, store, self.torn, self._asking)
        else:
            scored = relate(scenario, folder, store, read_published(store.connection, release), self._asking)
        return lambda connection: writing.write_relatedness(connection, key, *scored)

    def _asking(self, answered: int, asked: int) -> None:
        self.progress(f"relatedness: {answered:,} of {asked:,} counts")

    @cached_property
    def scoring(self) -> int:
        release, relatedness = self.release, self.relatedness
        return self.stage("scoring", self.plan.scoring, lambda: self._score(release, relatedness))

    def _score(self, release: int, relatedness: int | None) -> Write:
        scenario, tables = self.plan.scenario, []
        if scenario.torn:
            context = "anchor"
        else:
            context = "given" if isinstance(scenario.data, Distances) else str(scenario.attacker.context)
            tables = distance_tables(scenario, self.plan.folder, self.store, release, relatedness)
        return lambda connection: writing.write_scoring(
            connection, self.plan.scoring, release, relatedness, context, tables
        )

    def attack(self, planned: Planned, earlier: Mapping[str, tuple[Planned, int]]) -> int:
        scope = self.scope
        return self.stage("attack", planned.digest, lambda: self._attack(planned, scope, earlier))

    @cached_property
    def scope(self) -> Scope:
        release, scoring = self.release, self.scoring
        (dataset,) = self.store.connection.execute("select dataset from release where id = ?", (release,)).fetchone()
        return Scope(release, int(dataset), scoring, self.attacker)

    @cached_property
    def attacker(self) -> int | None:
        key, release = self.plan.attacker, self.release
        if key is None:
            return None
        return self.stage("attacker", key, lambda: self._know(key, release))

    def _know(self, key: str, release: int) -> Write:
        plan = self.plan
        known = what_is_known(plan.scenario, plan.folder, plan.variant.seed, self.torn, self.known)
        return lambda connection: attackers.write_attacker(connection, key, release, *known)

    def _attack(self, planned: Planned, scope: Scope, earlier: Mapping[str, tuple[Planned, int]]) -> Write:
        rule = planned.rule
        reads = {}
        with open_sandbox(self.store.path, scope, rule.stranger) as sandbox:
            for name in planned.needs:
                other, number = earlier[name]
                reads[other.rule.derives.name] = number
                findings.show_findings(sandbox, number, other.rule.derives, other.rule.model.form)
            write_findings = self._found(planned, scope, sandbox)

        def write(connection: Any) -> int:
            text = findings.write_rule(connection, rule.digest, rule.name, rule.model.form, rule.text)
            parameters = {key: value for key, value in planned.settings._asdict().items() if value is not None}
            parameters["reads"] = reads
            attack = findings.write_attack(
                connection, planned.digest, text, scope.release, scope.scoring, scope.attacker, parameters
            )
            write_findings(connection, attack)
            if (weigh := rule.start_sql()) is not None:
                findings.write_start(connection, rule.name, weigh)
            findings.write_why(connection, rule.name, rule.digest, rule.model.form, rule.derives, rule.because_sql("x"))
            return attack

        return write

    def _found(self, planned: Planned, scope: Scope, sandbox: Sandbox) -> Callable[[Any, int], None]:
        """Run a rule; give back what writes its findings for an attack of a number."""
        rule, settings = planned.rule, planned.settings
        if rule.strategy is not None:
            struck = strike(rule, sandbox, settings)
            return lambda connection, attack: findings.write_strikes(connection, attack, map(_strikes, struck))
        if rule.reassociation is not None:
            scores = {} if self.relatedness is None else read_scores(self.store.connection, self.relatedness)
            relate = self.plan.scenario.relate
            given = give(rule, self.torn, scores, settings, "smaller" if relate is None else relate.closer)
            return lambda connection, attack: assigned.write_assigned(connection, attack, scope.release, given)
        found, derives = facts(rule, sandbox, settings), rule.derives
        return lambda connection, attack: findings.write_facts(connection, attack, derives.name, derives.columns, found)

    def measure(self, family: str, key: str, settings: Mapping[str, Any], attack: int) -> int:
        release = self.release
        return self.stage("measurement", key, lambda: self._measure(family, key, settings, attack, release))

    def _measure(self, family: str, key: str, settings: Mapping[str, Any], attack: int, release: int) -> Write:
        connection = self.store.connection
        if family == "findings":
            figures, note = count_findings(connection, attack)
        elif family in RELEASE_FAMILIES:
            figures, note = self.measured(family)
        elif self.plan.scenario.torn:
            figures, note = measure_torn(connection, family, attack, self.torn, self.known, settings, self.plan.folder)
        else:
            figures, note = measure(connection, family, attack, release, settings)
        return lambda connection: writing.write_measurement(connection, key, attack, family, figures, note)

    @cached_property
    def measured(self) -> Callable[[str], tuple[list[Figure], str | None]]:
        """What is measured of the release alone, by family: worked out once for all attacks."""
        released = Measured(self.store.connection, self.release)
        return cache(lambda family: released.figures(family, self.plan.scenario.settings_of(family)))


def _strikes(one: Struck) -> findings.Strikes:
    steps, left = one.done.steps, one.done.kept & one.done.scored
    kinds = {"col": "column"}
    weights = one.done.weight
    return findings.Strikes(
        table=one.table,
        rounds=steps.round.tolist(),
        cells=list(zip(steps.row.tolist(), steps.col.tolist(), strict=True)),
        groups=[kinds.get(GROUP_KINDS[kind], GROUP_KINDS[kind]) for kind in steps.kind.tolist()],
        suspicion=steps.suspicion.tolist(),
        threshold=one.done.threshold,
        weight=steps.weight.tolist(),
        spared=[(int(row), int(col), float(weights[row, col])) for row, col in zip(*left.nonzero(), strict=True)],
    )


def execute(planned: Plan, store: Store, progress: Progress) -> tuple[int, bool]:
    """Carry out a plan; return the number of its run, and whether anything had to be done."""
    found = inserting.find(store, "run", planned.run)
    if found is not None:
        return found, False
    execution = _Execution(planned, store, progress)
    earlier: dict[str, tuple[Planned, int]] = {}
    attacks: dict[str, int] = {}
    measurements: list[int] = []
    for one in planned.attacks:
        number = execution.attack(one, earlier)
        earlier.setdefault(one.rule.name, (one, number))
        if one.label is not None:
            attacks[one.label] = number
        measurements += [execution.measure(family, key, settings, number) for family, key, settings in one.measures]
    variant = planned.variant
    with store.stage() as connection:
        found = inserting.find(store, "run", planned.run)
        if found is not None:
            return found, False
        run = writing.write_run(
            connection,
            digest=planned.run,
            scenario=variant.scenario.scenario,
            variant=variant.name,
            repetition=variant.repetition,
            seed=variant.seed,
            config=variant.scenario.model_dump_json(by_alias=True),
            release=execution.release,
            attacks=[(attack.name, attacks[attack.name]) for attack in variant.scenario.attacks],
            measurements=measurements,
        )
    return run, True
