"""The stages of one variant, from its original data to the row of its run.

Every stage has a key (`plan`): a digest of its settings, its inputs and its source code. A stage whose key is in the
store is not computed again. So an unchanged run does nothing, a changed run repeats what depends on the change, and a
killed run goes on after the last stage that was committed.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from decloak.anonymisers.method import Method, NewRelease, Stopwatch, StoredContent
from decloak.anonymisers.parts import catalogue
from decloak.attacker.tables import check_item_count
from decloak.counting.blocks import scan
from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import Part, PartedData
from decloak.data.ordering import sorted_warning
from decloak.data.rows import RowLabels
from decloak.digest import digest
from decloak.errors import no_release
from decloak.measure.family import AttackResult, Family, MetricResult, SlowValue
from decloak.parallel import tasks_on
from decloak.pipeline.attacks import AttackerViews, MadeAttack, run_attack
from decloak.pipeline.plan import Plan, PlannedAttack, StageKey, is_related
from decloak.pipeline.workspace import Material, StageResult, Workspace, Write
from decloak.releases.stored import StoredRelease
from decloak.store import distance_tables, writing
from decloak.store.timing import Timing


class RunResult(NamedTuple):
    """The number of a run in the store, and whether anything had to be computed for it."""

    number: int
    fresh: bool


class Pipeline:
    """The stages of one plan, one method each.

    `plan` has the keys of the stages. `workspace` has the store and writes the results; the workspace of a worker
    keeps them for the process that writes. `Material` and `AttackerViews` keep computed values in memory for the
    stages that follow.
    """

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        self.plan, self.workspace = plan, workspace
        self.scenario, self.form = plan.scenario, plan.scenario.form
        self.material = Material(plan, workspace)
        self.views = AttackerViews(self.material)
        self._made: dict[str, MadeAttack] = {}
        self._of_release: dict[str, MetricResult] = {}
        self.prepared: dict[StageKey, dict[str, float]] = {}
        """The seconds that were spent on a stage before it began."""

    @classmethod
    def of(cls, plan: Plan, workspace: Workspace) -> "Pipeline":
        """Return the pipeline of `plan`; the pipeline of the last plan stays in the memory of `workspace`."""
        last = workspace.memory
        if not isinstance(last, Pipeline) or last.plan is not plan:
            last = workspace.memory = cls(plan, workspace)
        last.workspace = last.material.workspace = workspace  # a forked worker has the memory of its home
        return last

    def run(self) -> RunResult:
        """Compute every stage that is missing, and return the run."""
        stage = StageKey("run", self.plan.run)
        fresh = not self.workspace.has(stage)
        if fresh:
            self.prepare()
            for planned in self.plan.attacks:
                # Each attack is measured at once: its assignments stay in memory until then.
                self.attack(planned)
                self.measurement(planned)
            fresh = not self.workspace.has(stage)  # another run may have been faster
            self.workspace.write(StageResult(stage, self._write_run))
        return RunResult(self.workspace.number(stage), fresh)

    def prepare(self) -> None:
        """Compute the stages before the attacks."""
        self.workspace.check(self.plan)
        self.original()
        self.release()
        self.relatedness()
        self.scoring()
        self.attacker()
        self.auxiliary()

    def get_or_make(self, kind: str, key: str | None, compute: Callable[[str], Write]) -> None:
        """Have a stage in the store: compute and write it unless the store has its key; do nothing if `key` is None."""
        if key is not None and self.workspace.begin(self.plan, stage := StageKey(kind, key)):
            clock, write = Stopwatch(), compute(key)
            timing = Timing(self.plan.titles[stage][1], self.plan.original, self.plan.release, **clock.seconds)
            self.workspace.write(StageResult(stage, write, timing.with_more(self.prepared.get(stage, {}))))

    def original(self) -> None:
        """Have the original records in the store, if the scenario has any."""
        self.get_or_make("dataset", self.plan.original, self._read_original)

    def _read_original(self, key: str) -> Write:
        data = self.material.dataset
        parts: tuple[Sequence[Part], Sequence[str]] = ((), ())
        if isinstance(data, PartedData):
            with tasks_on(self.workspace.cluster):
                parts = catalogue(data, self.workspace.store.path)
        kept_as, note = self.scenario.data.stored_format, sorted_warning(data)
        return partial(
            writing.write_dataset,
            digest=key, data=data, kind="original", file_format=kept_as, note=note, parts=parts,
        )  # fmt: skip

    def release(self) -> None:
        """Have the release in the store: anonymised here, or read from a file."""
        self.get_or_make("release", self.plan.release, self._make_release)

    def _make_release(self, key: str) -> Write:
        original = self.workspace.number_of("dataset", self.plan.original)
        method = self.scenario.anonymise
        if method is None:
            made = self.workspace.inputs.release(self.scenario)
        else:
            with no_release(self.plan.variant.location):
                made = self.material.anonymised = self._anonymise(method)
        return partial(self.form.write, digest=key, prepared=made, original=original)

    def _anonymise(self, method: Method) -> NewRelease[StoredContent]:
        with self.material.reporting_compilation():
            made = self._publish(method)
        # The origin names the data and the method. The file of the data may be named after a person.
        release = replace(made.release, origin=f"{made.method} of {self.material.dataset.origin}")
        return replace(made, release=release, notes=(*self.workspace.inputs.copies(self.scenario.data), *made.notes))

    def _publish(self, method: Method) -> NewRelease[StoredContent]:
        """Return what `method` makes of the data, on the cluster if there is one. It gets values, never the store."""
        data, seed, workspace = self.material.dataset, self.plan.variant.seed, self.workspace
        folder, cluster = workspace.inputs.folder, workspace.cluster
        if isinstance(data, PartedData):
            with tasks_on(cluster):
                if self.plan.relatedness is not None:  # before the clusters are made
                    check_item_count(len(scan(data).supports))
                path = workspace.store.path.resolve()
                # The content of the data, and not their key: other code must not give the files another order.
                secret = digest(["order", workspace.inputs.original_identity(self.scenario.data)])
                keys = self.plan.original or "", self.plan.release
                return method.publish_parts(data, folder, seed, path, *keys, secret)
        if is_related(method):
            cluster = None  # the store keeps its counts
        if cluster is not None and not method.splits_work:
            content = folder.with_files(method.file_names())
            if content is not None:
                records = Dataset(data.rows, RowLabels(len(data.rows)))  # ids may name people
                return cluster.call(method.publish, records, content, seed)
        with tasks_on(cluster):
            return method.publish(data, folder, seed, workspace.counts)

    def relatedness(self) -> None:
        """Have the scores of pairs of items in the store, if the scenario relates items."""
        self.get_or_make("relatedness", self.plan.relatedness, self._relate)

    def _relate(self, key: str) -> Write:
        relate, material = self.scenario.related_by, self.material
        assert relate is not None
        pairs = self.form.pairs(material.release, self.scenario.nearest)
        scored = material.scored = relate.related(pairs, material.supplies)
        return partial(
            distance_tables.write_relatedness,
            digest=key, measure=scored.measure, origin=scored.origin, scores=scored.scores, warnings=scored.warnings,
        )  # fmt: skip

    def scoring(self) -> None:
        """Have the distance tables in the store."""
        self.get_or_make("scoring", self.plan.scoring, self._score)

    def _score(self, key: str) -> Write:
        related = self.workspace.number_of("relatedness", self.plan.relatedness)
        context = "given" if not self.form.related else str(self.form.context(self.scenario.nearest))
        return partial(
            distance_tables.write_scoring,
            digest=key, release=self.material.release.number, relatedness=related, context=context,
            tables=self.material.tables,
        )  # fmt: skip

    def attacker(self) -> None:
        """Store the knowledge of the attacker about people, if the scenario has it."""
        self.get_or_make("attacker", self.plan.attacker, self._choose_knowledge)

    def _choose_knowledge(self, key: str) -> Write:
        folder, seed = self.workspace.inputs.folder, self.plan.variant.seed
        release = self.material.release
        knowledge = self.form.knowledge(release, self.scenario.attacker, folder, seed)._asdict()
        return partial(writing.write_attacker, digest=key, release=release.number, **knowledge)

    def auxiliary(self) -> None:
        """Have in the store the data set that the attacker has next to the release, if there is one."""
        self.get_or_make("dataset", self.plan.auxiliary, self._read_auxiliary)

    def _read_auxiliary(self, key: str) -> Write:
        beside = self.scenario.attacker.auxiliary_records
        assert beside is not None
        data = beside.read(self.workspace.inputs.folder)
        return partial(writing.write_dataset, digest=key, data=data, kind="original", file_format=beside.format)

    def attack(self, planned: PlannedAttack) -> None:
        """Have the findings of one attack in the store."""
        self.get_or_make("attack", planned.digest, partial(self._attack, planned))

    def _attack(self, planned: PlannedAttack, key: str) -> Write:
        made = self._made[key] = run_attack(planned, self.material, self.views.view(planned.rule))
        return made.write

    def prepare_attacks(self, attacks: Sequence[PlannedAttack]) -> None:
        """Keep in memory what several of `attacks` share, but for `slow_values`."""
        with self.material.reporting_compilation():
            for planned in attacks:
                clock = Stopwatch()
                planned.rule.operator.prepare(planned.rule, self.views.view(planned.rule))
                self.prepared[planned.stages[0]] = clock.seconds

    def slow_values(self, attacks: Sequence[PlannedAttack]) -> list[tuple[StageKey, SlowValue]]:
        """Return slow values that figures of several `attacks` share, each with the first stage that needs it."""
        # Reversed, so that the first attack of each family stays.
        planned = {
            family.name: (family, key, dict(settings), attack)
            for attack in reversed(attacks)
            for family, key, settings in attack.measures
        }
        slow = list[tuple[StageKey, SlowValue]]()
        for family, key, settings, attack in planned.values():
            clock, stage = Stopwatch(), StageKey("measurement", key)
            attacked = self._attacked(attack, 0)  # these values do not depend on the attack, which has no number yet
            values = list(family.slow_values(attacked, **settings))
            if family.of_release:
                values.append(SlowValue(self._of_release, family.name, partial(family.measure, attacked, **settings)))
            slow += [(stage, value) for value in values]
            self.prepared[stage] = clock.seconds
        return slow

    def measurement(self, planned: PlannedAttack) -> None:
        """Have the figures of one attack in the store, a stage for each family of measures."""
        attacked = self._attacked(planned)
        for family, key, settings in planned.measures:
            self.get_or_make("measurement", key, partial(self._measure, family, settings, attacked))
        # What an attack assigned is large, and only its own measures read it.
        self._made.pop(planned.digest, None)

    def _attacked(self, planned: PlannedAttack, number: int | None = None) -> AttackResult[StoredRelease]:
        """Return an attack as measures read it; without a `number`, the store has it."""
        inputs, seed, made = self.workspace.inputs, self.plan.variant.seed, self._made.get(planned.digest)
        return AttackResult(
            self.workspace.connection,
            self.workspace.number(StageKey("attack", planned.digest)) if number is None else number,
            planned.rule.derives,
            self.material.release,
            inputs.folder,
            partial(inputs.control, self.scenario, seed),
            self.scenario.listed_families,
            self.scenario.data.exclusive,
            made and made.assigned,
            made and made.p,
            inputs.shared,
        )

    def _measure(
        self, family: Family, settings: Mapping[str, object], attacked: AttackResult[StoredRelease], key: str
    ) -> Write:
        figures, note = self._figures(family, settings, attacked)
        return partial(
            writing.write_measurement,
            digest=key,
            attack=attacked.number,
            family=family.name,
            figures=figures,
            note=note,
        )  # fmt: skip

    def _figures(
        self, family: Family, settings: Mapping[str, object], attacked: AttackResult[StoredRelease]
    ) -> MetricResult:
        if not family.of_release:
            with tasks_on(self.workspace.cluster):
                figures, note = family.measure(attacked, **settings)
            # A zero of an attack that had nothing to do would look like safety.
            return (figures if attacked.idle is None else family.blank_undefined(figures)), note
        # These figures are the same for every attack on the release.
        if family.name not in self._of_release:
            with tasks_on(self.workspace.cluster):
                self._of_release[family.name] = family.measure(attacked, **settings)
        return self._of_release[family.name]

    def _write_run(self, connection: sqlite3.Connection) -> int:
        """Write the row of the run, which names its attacks and measurements, and the views that explain findings."""
        variant, config = self.plan.variant, self.scenario.model_dump(mode="json", by_alias=True)
        numbers = {p.label: self.workspace.number(StageKey("attack", p.digest)) for p in self.plan.attacks}
        for planned in self.plan.attacks:
            planned.rule.operator.write_views(connection, planned.rule)
        return writing.write_run(
            connection,
            digest=self.plan.run,
            scenario=self.scenario.scenario,
            variant=variant.name,
            repetition=variant.repetition,
            seed=variant.seed,
            config=json.dumps(config | dict(variant.whole)),
            release=self.workspace.number(StageKey("release", self.plan.release)),
            attacks=[(attack.name, numbers[attack.name]) for attack in self.scenario.attacks],
            measurements=[
                self.workspace.number(StageKey("measurement", key))
                for planned in self.plan.attacks
                if not planned.audit or self._attacked(planned).idle is None  # the note of an idle audit says why
                for _, key, _ in planned.measures
            ],
        )
