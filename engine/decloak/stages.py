"""The stages of one variant, each keyed by the digest of its configuration and of everything it reads.

`plan` computes every digest before anything runs, for digests depend on configurations, file contents and rule
texts alone. `execute` then does only what the store has not got: an unchanged variant does nothing, a changed
one redoes what depends on the change, and a killed run goes on behind the last stage that was committed.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.lines import place
from decloak.digest import digest
from decloak.errors import DecloakError
from decloak.measuring import FINDINGS, LINK, RECOVERY, count_findings, measure_link, measure_recovery
from decloak.parts import Attack, Distances
from decloak.preparing import distance_tables, original_of, published_of, relate
from decloak.rules.load import Catalogue, Rule, in_order
from decloak.rules.running import Settings, Struck, facts, strike
from decloak.rules.strategy import GROUP_KINDS
from decloak.scenario import Scenario
from decloak.store import findings, writing
from decloak.store.opening import Store
from decloak.store.reading import read_published
from decloak.store.relations import Scope
from decloak.store.sandbox import Sandbox
from decloak.sweep import Variant
from decloak.version import __version__

__all__ = ["Plan", "Planned", "Progress", "execute", "plan"]

Progress = Callable[[str], None]
"""Told the name of each stage before it runs."""


class Planned(NamedTuple):
    """One attack of a variant: the rule, its settings, and the digests of itself and of what it is measured by."""

    label: str | None  # None for a rule that runs only because another reads what it derives
    rule: Rule
    settings: Settings
    digest: str
    needs: tuple[str, ...]  # names of the rules it reads
    measures: tuple[tuple[str, str, Mapping[str, int]], ...]  # family, digest, settings


@dataclass(frozen=True)
class Plan:
    """The stages of a variant, by digest; None where it has no such stage."""

    variant: Variant
    folder: Path
    original: str | None
    release: str
    relatedness: str | None
    scoring: str
    attacks: tuple[Planned, ...]
    run: str

    @property
    def scenario(self) -> Scenario:
        return self.variant.scenario


@dataclass
class Files:
    """Digests of file contents, each read once a process."""

    folder: Path
    _known: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            path = self.folder / name
            try:
                with path.open("rb") as file:
                    self._known[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise DecloakError(f"cannot read the file: {reason}", place(path), "check the path") from None
        return self._known[name]


def plan(variant: Variant, files: Files, catalogue: Catalogue, folder: Path) -> Plan:
    """Work out the digest of every stage of a variant."""
    scenario = variant.scenario
    config: dict[str, Any] = scenario.model_dump(mode="json", by_alias=True)
    data = config["data"]
    named = {name: files[name] for name in _files_of(data)}
    original = _key("original", _without(data, "published"), named[data["file"]]) if "file" in data else None
    release = _key(
        "release", data, named, original, config.get("anonymise") and [config["anonymise"], variant.seed],
        _unmarked(scenario) and config["attacker"],
    )  # fmt: skip
    context = config["attacker"]["context"]
    relatedness = None
    if scenario.relate is not None:
        relatedness = _key("relatedness", release, context, config["relate"], files[scenario.relate.file])
    scoring = _key("scoring", release, context, relatedness)
    attacks = tuple(_planned(scenario, catalogue, folder, scoring, variant.seed))
    run = _key(
        "run", scenario.scenario, variant.name, variant.repetition, config, release, scoring,
        [(one.label, one.digest, [key for _, key, _ in one.measures]) for one in attacks],
    )  # fmt: skip
    return Plan(variant, folder, original, release, relatedness, scoring, attacks, run)


def _key(stage: str, *parts: object) -> str:
    return digest([stage, __version__, *parts])


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _files_of(data: Mapping[str, Any]) -> Iterable[str]:
    for key in ("file", "published", "distances"):
        value = data.get(key)
        if value is not None:
            yield value if isinstance(value, str) else value["file"]


def _unmarked(scenario: Scenario) -> bool:
    release = getattr(scenario.data, "release", None)
    return release is not None and not release.marked


def _planned(scenario: Scenario, catalogue: Catalogue, folder: Path, scoring: str, seed: int) -> Iterable[Planned]:
    """The attacks in the order they must run, with the rules they depend on before them."""
    asked = [(attack, catalogue.rule(attack.rule, folder)) for attack in scenario.attacks]
    needed = {rule.name: rule for _, one in asked for rule in catalogue.needed(one)}
    order = {rule.name: at for at, rule in enumerate(in_order([*needed.values(), *(rule for _, rule in asked)]))}
    listed = {rule.name for _, rule in asked}
    jobs: list[tuple[Attack | None, Rule]] = [*asked]
    jobs += [(None, rule) for rule in needed.values() if rule.name not in listed]
    done: dict[str, str] = {}
    for attack, rule in sorted(jobs, key=lambda job: order[job[1].name]):
        needs = tuple(sorted(name for name in map(catalogue.deriving, rule.reads) if name and name != rule.name))
        settings = _settings(attack, rule, seed)
        key = _key("attack", rule.digest, scoring, settings._asdict(), [done[name] for name in needs])
        done.setdefault(rule.name, key)
        measures = tuple(_measures(scenario, rule, key)) if attack else ()
        yield Planned(attack.name if attack else None, rule, settings, key, needs, measures)


def _settings(attack: Attack | None, rule: Rule, seed: int) -> Settings:
    settings = Settings() if attack is None else Settings(
        threshold=attack.threshold, ratio=1.0 if attack.ratio is None else attack.ratio, k=attack.k, m=attack.m
    )  # fmt: skip
    random = rule.strategy is not None and rule.strategy.strike == "coin"
    return settings._replace(seed=seed if random else 0)


def _measures(scenario: Scenario, rule: Rule, attack: str) -> Iterable[tuple[str, str, Mapping[str, int]]]:
    yield FINDINGS, _key(FINDINGS, attack), {}
    if rule.strategy is None:
        return
    if scenario.recovery:
        yield RECOVERY, _key(RECOVERY, attack), {}
    if scenario.link is not None:
        settings = scenario.link.model_dump()
        yield LINK, _key(LINK, attack, settings), settings


@dataclass
class _Execution:
    """A plan being carried out on a store."""

    plan: Plan
    store: Store
    progress: Progress

    def stage(self, kind: str, key: str, make: Callable[[], Callable[[Any], int]]) -> int:
        """The number of a finished stage; when it is not there, `make` computes and its result writes."""
        found = writing.find(self.store, kind, key)
        if found is not None:
            return found
        self.progress(kind)
        write = make()
        with self.store.stage() as connection:
            found = writing.find(self.store, kind, key)  # another run may have been faster
            return write(connection) if found is None else found

    @cached_property
    def original(self) -> int | None:
        key = self.plan.original
        return None if key is None else self.stage("dataset", key, self._read_original)

    def _read_original(self) -> Callable[[Any], int]:
        plan = self.plan
        data, form = original_of(plan.scenario, plan.folder)
        return lambda connection: writing.write_dataset(connection, str(plan.original), data, "original", form)

    @cached_property
    def release(self) -> int:
        original = self.original
        return self.stage("release", self.plan.release, lambda: self._publish(original))

    def _publish(self, original: int | None) -> Callable[[Any], int]:
        plan = self.plan
        made = published_of(plan.scenario, plan.folder, plan.variant.seed, self.store, original)

        def write(connection: Any) -> int:
            release = writing.write_release(connection, plan.release, made.published, made.method, made.parameters)
            if original is not None:
                writing.link_origins(connection, release, original)
            writing.mark_originals(connection, release, made.marked)
            return release

        return write

    @cached_property
    def relatedness(self) -> int | None:
        key, release = self.plan.relatedness, self.release
        if key is None:
            return None
        return self.stage("relatedness", key, lambda: self._relate(key, release))

    def _relate(self, key: str, release: int) -> Callable[[Any], int]:
        published = read_published(self.store.connection, release)
        scored = relate(self.plan.scenario, self.plan.folder, published)
        return lambda connection: writing.write_relatedness(connection, key, *scored)

    @cached_property
    def scoring(self) -> int:
        release, relatedness = self.release, self.relatedness
        return self.stage("scoring", self.plan.scoring, lambda: self._score(release, relatedness))

    def _score(self, release: int, relatedness: int | None) -> Callable[[Any], int]:
        scenario = self.plan.scenario
        tables = distance_tables(scenario, self.plan.folder, self.store, release, relatedness)
        context = "given" if isinstance(scenario.data, Distances) else str(scenario.attacker.context)
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
        return Scope(release, int(dataset), scoring)

    def _attack(
        self, planned: Planned, scope: Scope, earlier: Mapping[str, tuple[Planned, int]]
    ) -> Callable[[Any], int]:
        rule = planned.rule
        relation = None if rule.strategy else rule.derives.name
        with Sandbox.of(self.store.path, scope) as sandbox:
            reads = {}
            for name in planned.needs:
                other, number = earlier[name]
                derives = other.rule.derives
                reads[derives.name] = number
                findings.show_findings(sandbox, number, derives, struck=other.rule.strategy is not None)
            struck = strike(rule, sandbox, planned.settings) if rule.strategy else []
            found = [] if rule.strategy else facts(rule, sandbox, planned.settings)

        def write(connection: Any) -> int:
            text = findings.write_rule(connection, rule.digest, rule.name, rule.model.form, rule.text)
            parameters = {key: value for key, value in planned.settings._asdict().items() if value is not None}
            parameters["reads"] = reads
            attack = findings.write_attack(connection, planned.digest, text, scope.release, scope.scoring, parameters)
            if relation is None:
                findings.write_strikes(connection, attack, map(_strikes, struck))
            else:
                findings.write_facts(connection, attack, relation, rule.derives.columns, found)
            findings.write_why(connection, rule.name, rule.digest, relation, rule.because_sql("x"))
            return attack

        return write

    def measure(self, family: str, key: str, settings: Mapping[str, int], attack: int) -> int:
        return self.stage("measurement", key, lambda: self._measure(family, key, settings, attack))

    def _measure(self, family: str, key: str, settings: Mapping[str, int], attack: int) -> Callable[[Any], int]:
        connection = self.store.connection
        if family == FINDINGS:
            figures, note = count_findings(connection, attack)
        elif family == RECOVERY:
            figures, note = measure_recovery(connection, attack, self.release)
        else:
            figures, note = measure_link(connection, attack, self.release, **settings)
        return lambda connection: writing.write_measurement(connection, key, attack, family, figures, note)


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
    found = writing.find(store, "run", planned.run)
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
        found = writing.find(store, "run", planned.run)
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
