"""The stages of a variant, each keyed by a digest of its configuration, of its source code and of everything it reads.

Digests depend on configurations, file contents, rule texts and the sources of decloak alone, so all are known before
anything runs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from decloak.anonymisers.method import Method
from decloak.data.formats.folder import Folder
from decloak.data.formats.plain_files import FORMATS
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.digest import digest
from decloak.fingerprints import fingerprint, imports_of
from decloak.lazy import once
from decloak.measure.family import Family
from decloak.measure.registry import FAMILIES, always_measured, family_named
from decloak.pipeline.inputs import Inputs
from decloak.plugins import installed
from decloak.relate.relatedness import Relatedness
from decloak.rules.load import Catalogue, dependency_order
from decloak.rules.model import Settings
from decloak.rules.operators.operator import Rule
from decloak.scenario.model import Scenario
from decloak.scenario.sections import Attack
from decloak.scenario.variant import Variant
from decloak.yaml.section import ConfigSection

_REGISTRIES = tuple(
    f"decloak.{folder}.registry" for folder in ("anonymisers", "measure", "relate", "releases", "rules.operators")
)
_CARRYING = ("decloak.pipeline", "decloak.scenario.model", *_REGISTRIES)
"""Modules that lead to all others. One that takes part in a stage counts with its own text."""

_EVERY = ("pipeline", "workspace")
"""Modules of the pipeline that every stage passes."""
_KNOWLEDGE, _TABLES = "decloak.releases.knowledge", "decloak.attacker.tables"
"""What a form does in stages of their own: reading a release, or pairing items, only passes by."""


class StageCode:
    """The modules that compute each kind of stage of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._form = scenario, type(scenario.form).__module__
        named = (FORMATS.get(str(getattr(part, "format", None))) for part in scenario.nested())
        readers = (entry.parse or entry.load for entry in named if entry is not None)
        self._formats = [reader.__module__ for reader in readers if reader and not _is_ours(reader.__module__)]

    def original(self) -> str:
        """Return the fingerprint of the code that reads or generates the original data."""
        read_by = type(self._scenario.data).read_original.__module__
        return self._of("inputs", modules=[read_by, "decloak.data.ordering", "decloak.store.writing"])

    def auxiliary(self) -> str:
        """Return the fingerprint of the code that reads what the attacker has next to the release."""
        return self._of(modules=[*_modules_of(self._scenario.attacker.auxiliary_records), "decloak.store.writing"])

    def release(self) -> str:
        """Return the fingerprint of the code that anonymises, or reads a release, and of the code that stores it."""
        method = self._scenario.anonymise
        made_by = _modules_of(method) if method else [type(self._scenario.data).read_release.__module__]
        stored_by = [name for name in imports_of(self._form) if name.startswith("decloak.store")]
        without = [_KNOWLEDGE, _TABLES, *([] if is_related(method) else ["decloak.relate"])]
        return self._of("inputs", modules=[*made_by, *stored_by], without=without)

    def relatedness(self) -> str:
        """Return the fingerprint of the code that chooses pairs of items, scores them and stores the scores."""
        stored_by = ["decloak.store.counts", "decloak.store.distance_tables"]
        modules = [*_modules_of(self._scenario.related_by), self._form, *stored_by]
        return self._of("inputs", modules=modules, without=[_KNOWLEDGE])

    def scoring(self) -> str:
        """Return the fingerprint of the code that makes distance tables and stores them."""
        modules = [self._form, "decloak.store.distance_tables"]
        return self._of(modules=modules, without=[_KNOWLEDGE])

    def attacker(self) -> str:
        """Return the fingerprint of the code that chooses and stores the knowledge of an attacker about people."""
        modules = [*_modules_of(self._scenario.attacker), self._form, "decloak.store.writing"]
        return self._of(modules=modules)

    def attack(self, rule: Rule) -> str:
        """Return the fingerprint of the operator that runs a rule, and of all code of an attack."""
        used = imports_of("decloak.pipeline.attacks")
        through = [name for name in used if not name.startswith("decloak.pipeline")]
        modules = [type(rule.operator).__module__, type(rule.model).__module__, *through]
        # A pack of another version is refused: which version it is changes no finding.
        without = ["decloak.measure", "decloak.rules.pack"]
        return self._of("attacks", "cluster_attacks", modules=modules, without=without)

    def measurement(self, family: Family) -> str:
        """Return the fingerprint of the code that measures one family of figures, and stores them."""
        modules = [family.measure.__module__, self._form, "decloak.store.writing"]
        return self._of(modules=modules, without=[self._form])

    def run(self) -> str:
        """Return the fingerprint of the code that puts a run together."""
        return self._of(modules=["decloak.store.writing"])

    def _of(self, *further: str, modules: Collection[str], without: Collection[str] = ()) -> str:
        own = (f"decloak.pipeline.{name}" for name in (*_EVERY, *further))
        found = fingerprint([*modules, *self._formats, *own], [*_CARRYING, *without])
        if all(map(_is_ours, (*modules, *self._formats))):
            return found
        return digest([found, sorted({(plugin.package, plugin.version) for plugin in installed()})])


def is_related(method: Method | None) -> bool:
    """Return True if `method` scores pairs of items; the store keeps the counts that it asks for."""
    return method is not None and any(isinstance(part, Relatedness) for part in method.nested())


def _is_ours(module: str) -> bool:
    """Return True if decloak has the module, and no plugin."""
    return module.startswith("decloak.")


def _modules_of(part: ConfigSection | None) -> list[str]:
    """Return the modules of the classes that a part of a scenario consists of."""
    return [] if part is None else [type(inner).__module__ for inner in part.nested()]


KNOWING = {"model", "share", "foreign", "frequent", "knowledge"}
"""What an attacker knows of disassociated data."""
UNMARKING = {"k", "utility"}
"""The sources of an attacker who marks generalised items."""


class StageKey(NamedTuple):
    """A stage: the table of the store that lists it, and its key there."""

    kind: str
    key: str


class PlannedAttack(NamedTuple):
    """One attack of a variant: the rule, its settings, and the digests of itself and of what it is measured by."""

    label: str | None  # None for a rule that runs only because another reads what it derives
    rule: Rule
    settings: Settings
    digest: str
    needs: tuple[str, ...]  # names of the rules it reads
    knowledge_levels: frozenset[KnowledgeLevel]  # the knowledge levels of an attacker who uses it
    measures: tuple[tuple[Family, str, Mapping[str, object]], ...]  # family, digest, settings
    audit: bool = False  # True if it runs without being listed: a run continues without it

    @property
    def stages(self) -> list[StageKey]:
        """Return the attack and its measurements as stages."""
        return [StageKey("attack", self.digest), *(StageKey("measurement", key) for _, key, _ in self.measures)]


@dataclass(frozen=True)
class Plan:
    """The stages of a variant, by digest; None where it has no such stage."""

    variant: Variant
    original: str | None
    release: str
    relatedness: str | None
    scoring: str
    attacker: str | None
    auxiliary: str | None
    attacks: tuple[PlannedAttack, ...]
    run: str

    @property
    def scenario(self) -> Scenario:
        """Return the scenario of the variant."""
        return self.variant.scenario

    @property
    def shared_stages(self) -> list[StageKey]:
        """Return the stages before the attacks, in the order in which they are computed."""
        keys = (
            ("dataset", self.original), ("release", self.release), ("relatedness", self.relatedness),
            ("scoring", self.scoring), ("attacker", self.attacker), ("dataset", self.auxiliary),
        )  # fmt: skip
        return [StageKey(kind, key) for kind, key in keys if key is not None]

    @property
    def stages(self) -> list[StageKey]:
        """Return every stage of the run but the row of the run itself."""
        return [*self.shared_stages, *(stage for planned in self.attacks for stage in planned.stages)]

    @once
    def titles(self) -> Mapping[StageKey, tuple[str, str]]:
        """Return the title of each stage, and the name under which its time is stored."""
        method, related = self.scenario.anonymise, self.scenario.related_by
        found = {stage: (stage.kind, stage.kind) for stage in self.shared_stages}
        found[StageKey("release", self.release)] = "release", "file" if method is None else method.method
        if self.relatedness is not None and related is not None:
            found[StageKey("relatedness", self.relatedness)] = "relatedness", related.title
        for planned in self.attacks:
            found[StageKey("attack", planned.digest)] = (
                f"attack {planned.label or planned.rule.name}",
                planned.rule.name,
            )
            for family, key, _ in planned.measures:
                found[StageKey("measurement", key)] = f"measurement of {family.name}", family.name
        return found

    def by_rule(self) -> dict[str, PlannedAttack]:
        """Return the attacks by the names of their rules, the first of each."""
        # Reversed, because later entries of a dictionary replace earlier ones.
        return {planned.rule.name: planned for planned in reversed(self.attacks)}


def plan(variant: Variant, inputs: Inputs, catalogue: Catalogue) -> Plan:
    """Return the plan of `variant`: a key for every stage, from `inputs` and the rules of `catalogue`."""
    scenario = variant.scenario
    data, code = scenario.data, StageCode(scenario)
    held_out = [] if scenario.held_out is None else [scenario.held_out, variant.seed]
    original = (
        _key("original", code.original(), inputs.original_identity(data), *held_out) if data.has_original else None
    )
    published = (inputs.identity(data) or {}).get("published") if original else inputs.identity(data)
    release = _key(
        "release", code.release(), original, published, inputs.identity(scenario.anonymise), scenario.order,
        # Repetitions share a release that is not random.
        variant.seed if scenario.random_release else None,
        None if data.marked else _of_attacker(scenario, inputs, UNMARKING),
    )  # fmt: skip
    context = scenario.form.context(scenario.nearest)
    relatedness = None
    if scenario.related_by is not None:
        # Without a service, more answers in the store give other scores.
        kept = inputs.kept_counts if scenario.offline else 0
        sample = [inputs.identity(part) for part in [scenario.attacker.sample] if part is not None]
        relatedness = _key(
            "relatedness", code.relatedness(), release, context, inputs.identity(scenario.related_by), kept, *sample
        )
    scoring = _key("scoring", code.scoring(), release, context, relatedness)
    attacker = None
    if scenario.form.knows:
        # Repetitions share an attacker whose knowledge is not drawn.
        chance = variant.seed if scenario.attacker.model in ("moderate", "weak") else 0
        attacker = _key("attacker", code.attacker(), release, _of_attacker(scenario, inputs, KNOWING), chance)
    beside = scenario.attacker.auxiliary_records
    auxiliary = None if beside is None else _key("auxiliary", code.auxiliary(), inputs.identity(beside))
    attacks = tuple(_planned(scenario, code, catalogue, inputs, (scoring, attacker, auxiliary), variant.seed))
    run = _key(
        "run", code.run(), scenario.scenario, variant.name, variant.repetition, variant.seed,
        release, scoring, attacker,
        [(planned.label, planned.digest, [key for _, key, _ in planned.measures]) for planned in attacks],
        [attack.name for attack in scenario.attacks], scenario.expect,
    )  # fmt: skip
    return Plan(variant, original, release, relatedness, scoring, attacker, auxiliary, attacks, run)


def _of_attacker(scenario: Scenario, inputs: Inputs, keys: Collection[str]) -> dict[str, object]:
    return {key: value for key, value in (inputs.identity(scenario.attacker) or {}).items() if key in keys}


def _key(stage: str, code: str, *parts: object) -> str:
    return digest([stage, code, *parts])


def _planned(
    scenario: Scenario,
    code: StageCode,
    catalogue: Catalogue,
    inputs: Inputs,
    seen: tuple[str, str | None, str | None],
    seed: int,
) -> Iterable[PlannedAttack]:
    """Yield the attacks in the order they must run, with the rules they depend on before them.

    `seen` are the digests of the distances, of the known items of people, and of the attacker's additional data.
    """
    scoring, attacker, auxiliary = seen
    digests: dict[str, str] = {}
    families = list(_families(scenario, code, inputs))
    for attack, rule, audit in _jobs(scenario, catalogue, inputs.folder):
        # Sorted: `reads` is a set, and the order is part of the key.
        needs = tuple(sorted(name for name in map(catalogue.rule_deriving, rule.reads) if name and name != rule.name))
        settings = attack_settings(attack, rule, scenario, inputs.folder, seed)
        knowing = attacker if "knows" in rule.reads or _measured_by_knowledge(rule) else None
        beside = auxiliary if "auxiliary" in rule.reads else None
        key = _key(
            "attack", code.attack(rule), rule.digest, scoring, knowing, beside, settings.model_dump(),
            [digests[name] for name in needs],
        )  # fmt: skip
        # Of several attacks with a rule, other rules read the first, as in `Plan.by_rule`.
        digests.setdefault(rule.name, key)
        measures = tuple(_measures(families, rule, key)) if attack else ()
        knowledge_levels = knowledge_levels_of(rule, scenario, knowing=knowing is not None)
        yield PlannedAttack(
            attack.name if attack else None, rule, settings, key, needs, knowledge_levels, measures, audit
        )


def _jobs(scenario: Scenario, catalogue: Catalogue, folder: Folder) -> list[tuple[Attack | None, Rule, bool]]:
    """Return the rules in order, each with the attack that names it, if any, and True if it audits."""
    named = [(attack, catalogue.rule(attack.rule, folder)) for attack in scenario.attacks]
    needed = {rule.name: rule for _, reader in named for rule in catalogue.needed_rules(reader)}
    listed = {
        rule.name
        for attack, reader in named
        if attack not in scenario.audits
        for rule in (reader, *catalogue.needed_rules(reader))
    }
    names = {rule.name for _, rule in named}
    jobs: list[tuple[Attack | None, Rule]] = [
        *named,
        *((None, rule) for name, rule in needed.items() if name not in names),
    ]
    # Rules that others read run before them. Otherwise the order of the scenario stays.
    place = {
        rule.name: at for at, rule in enumerate(dependency_order([*needed.values(), *(rule for _, rule in named)]))
    }
    return [
        (attack, rule, rule.name not in listed) for attack, rule in sorted(jobs, key=lambda job: place[job[1].name])
    ]


def open_bounds(rule: Rule) -> tuple[str, ...]:
    """Return which of k and m `rule` leaves to the scenario."""
    heeded = rule.traits.accepted_settings
    return tuple(name for name in ("k", "m") if name in heeded)


def attack_settings(attack: Attack | None, rule: Rule, scenario: Scenario, folder: Folder, seed: int) -> Settings:
    """Return the settings of `rule` in `scenario`, with `seed` if the rule is random.

    A rule that counts itemsets uses the k and m of `attack`, else of the method, else of the release file in `folder`.
    """
    bounds = {
        name: getattr(attack, name, None) or getattr(scenario.anonymise, name, None) for name in open_bounds(rule)
    }
    if None in bounds.values() and (header := scenario.data.read_header(folder)) is not None:
        bounds = {name: bound or getattr(header, name) for name, bound in bounds.items()}
    settings = Settings(seed=seed if rule.is_random else 0, k=bounds.get("k"), m=bounds.get("m"))
    if attack is None:
        return settings
    ratio = 1.0 if attack.ratio is None else attack.ratio
    heeded = {"threshold": attack.threshold, "ratio": ratio, "control": attack.control}
    return settings.model_copy(update=heeded)


def knowledge_levels_of(rule: Rule, scenario: Scenario, *, knowing: bool | None = None) -> frozenset[KnowledgeLevel]:
    """Return the knowledge levels that `rule` takes in `scenario`; `knowing` says that it uses knowledge of persons."""
    sources = frozenset({KnowledgeLevel.LANGUAGE}) if not scenario.form.related else frozenset()
    if scenario.related_by is not None:
        sources = scenario.related_by.knowledge_levels
    persons = "knows" in rule.reads or _measured_by_knowledge(rule) if knowing is None else knowing
    beside = scenario.attacker.auxiliary_records is not None and "auxiliary" in rule.reads
    knowledge_levels = rule.traits.required_knowledge(sources) | ({KnowledgeLevel.PERSON} if persons else set())
    knowledge_levels |= {KnowledgeLevel.SAMPLE} if beside else set()
    return knowledge_levels or frozenset({KnowledgeLevel.NOTHING})


def _measured_by_knowledge(rule: Rule) -> bool:
    """Return whether an attack is measured for each attacker, though its findings are equal for all attackers."""
    return any(
        family.depends_on_knowledge and family.applies_to(rule.model.form, rule.derives.columns) for family in FAMILIES
    )


_Measure = tuple[Family, str, Mapping[str, object], tuple[object, ...]]
"""A family of measures, the fingerprint of its code, its settings, and what else its key depends on."""


def _families(scenario: Scenario, code: StageCode, inputs: Inputs) -> Iterator[_Measure]:
    for family in dict.fromkeys((*always_measured(), *map(family_named, scenario.families))):
        contents = inputs.identity(scenario.settings_part(family.name))
        listed = family.name in scenario.listed_families or not family.always_measured
        others = (contents, listed, *scenario.data.exclusive)
        yield family, code.measurement(family), scenario.settings_of(family.name), others


def _measures(
    families: Iterable[_Measure], rule: Rule, attack: str
) -> Iterator[tuple[Family, str, Mapping[str, object]]]:
    """Yield the `families` that apply to an attack, with the key and the settings of each."""
    for family, code, settings, others in families:
        if family.applies_to(rule.model.form, rule.derives.columns):
            yield family, _key(family.name, code, attack, settings, *others), settings
