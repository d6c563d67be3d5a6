"""The stages of a variant, each keyed by the digest of its configuration and of everything it reads.

Digests depend on configurations, file contents and rule texts alone, so all are known before anything runs.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.formats.disassociated_file import METHOD as DISASSOCIATION
from decloak.data.formats.generalised_file import METHOD as GENERALISATION
from decloak.data.formats.lines import opened
from decloak.data.formats.release_header import Header
from decloak.data.formats.releases import read_header
from decloak.digest import digest
from decloak.errors import DecloakError
from decloak.measure.family import Family
from decloak.measure.registry import FAMILIES, by_name
from decloak.relate.wordnet_files import FILES as WORDNET
from decloak.relate.wordnet_files import check_database
from decloak.rules.load import Catalogue, Rule, in_order
from decloak.rules.model import ItemsetsRule
from decloak.rules.running import Settings
from decloak.scenario.data import Collected, Distances, Release
from decloak.scenario.model import Scenario
from decloak.scenario.parts import Attack
from decloak.scenario.sweep import Variant, compact
from decloak.version import __version__
from decloak.yaml.part import Part

__all__ = ["Files", "Plan", "Planned", "check_bounds", "check_fits", "plan"]

KNOWING = {"model", "share", "foreign", "knowledge"}
"""What an attacker knows of disassociated data."""
USUAL = {"k": 3, "m": 2}
"""What is suggested where nothing is told."""


class Planned(NamedTuple):
    """One attack of a variant: the rule, its settings, and the digests of itself and of what it is measured by."""

    label: str | None  # None for a rule that runs only because another reads what it derives
    rule: Rule
    settings: Settings
    digest: str
    needs: tuple[str, ...]  # names of the rules it reads
    measures: tuple[tuple[Family, str, Mapping[str, Any]], ...]  # family, digest, settings


@dataclass(frozen=True)
class Plan:
    """The stages of a variant, by digest; None where it has no such stage."""

    variant: Variant
    folder: Path
    original: str | None
    release: str
    relatedness: str | None
    scoring: str
    attacker: str | None
    attacks: tuple[Planned, ...]
    run: str

    @property
    def scenario(self) -> Scenario:
        return self.variant.scenario


@dataclass
class Files:
    """Digests of what is in files and folders, each read once a process."""

    folder: Path
    kept: int = 0
    """Counts that the store keeps: what somebody can go by who asks for no more of them."""
    _known: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            path = self.folder / name
            if path.name in WORDNET:
                check_database(path.parent)
            self._known[name] = _folder_digest(path) if path.is_dir() else _file_digest(path)
        return self._known[name]


def _file_digest(path: Path) -> str:
    with opened(path, again=True) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder_digest(path: Path) -> str:
    """The digest of all files in a folder, with their names."""
    files = sorted(one for one in path.rglob("*") if one.is_file())
    return digest([[str(one.relative_to(path)), _file_digest(one)] for one in files])


def plan(variant: Variant, files: Files, catalogue: Catalogue) -> Plan:
    """Work out the digest of every stage of a variant."""
    scenario = variant.scenario
    config: dict[str, Any] = scenario.model_dump(mode="json", by_alias=True)
    data = config["data"]
    named = _digests(files, scenario.data)
    original = None
    if isinstance(scenario.data, Collected):
        read = {name: key for name, key in named.items() if name != getattr(scenario.data, "published", None)}
        original = _key("original", _without(data, "published"), read)
    release = _key(
        "release", data, named, original, config.get("anonymise"), _digests(files, scenario.anonymise),
        variant.seed if scenario.random_release else None, _unmarked(scenario) and config["attacker"],
    )  # fmt: skip
    context = "anchor" if scenario.torn else config["attacker"]["context"]
    relatedness = None
    if scenario.relate is not None:
        known = files.kept if scenario.offline else 0
        relatedness = _key("relatedness", release, context, config["relate"], _digests(files, scenario.relate), known)
    scoring = _key("scoring", release, context, relatedness)
    attacker = _attacker(scenario, files, release, variant.seed) if scenario.torn else None
    attacks = tuple(_planned(scenario, catalogue, files, scoring, attacker, variant.seed))
    run = _key(
        "run", scenario.scenario, variant.name, variant.repetition, variant.seed, config, release, scoring, attacker,
        [(one.label, one.digest, [key for _, key, _ in one.measures]) for one in attacks],
    )  # fmt: skip
    return Plan(variant, files.folder, original, release, relatedness, scoring, attacker, attacks, run)


def _attacker(scenario: Scenario, files: Files, release: str, seed: int) -> str:
    """The digest of what an attacker of disassociated data knows."""
    known = list(_digests(files, scenario.attacker).values())
    chance = seed if scenario.attacker.model in ("moderate", "weak") else 0
    return _key("attacker", release, scenario.attacker.model_dump(include=KNOWING), known, chance)


def _key(stage: str, *parts: object) -> str:
    return digest([stage, __version__, *parts])


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _digests(files: Files, part: Part | None) -> dict[str, str]:
    """The digest of every file that a part names."""
    return {} if part is None else {name: files[name] for name in part.named()}


def _unmarked(scenario: Scenario) -> bool:
    release = getattr(scenario.data, "published_file", None)
    return release is not None and not release.marked


def _planned(
    scenario: Scenario, catalogue: Catalogue, files: Files, scoring: str, attacker: str | None, seed: int
) -> Iterable[Planned]:
    """The attacks in the order they must run, with the rules they depend on before them."""
    asked = [(attack, catalogue.rule(attack.rule, files.folder)) for attack in scenario.attacks]
    needed = {rule.name: rule for _, one in asked for rule in catalogue.needed(one)}
    order = {rule.name: at for at, rule in enumerate(in_order([*needed.values(), *(rule for _, rule in asked)]))}
    listed = {rule.name for _, rule in asked}
    jobs: list[tuple[Attack | None, Rule]] = [*asked]
    jobs += [(None, rule) for rule in needed.values() if rule.name not in listed]
    done: dict[str, str] = {}
    for attack, rule in sorted(jobs, key=lambda job: order[job[1].name]):
        needs = tuple(sorted(name for name in map(catalogue.deriving, rule.reads) if name and name != rule.name))
        settings = _settings(attack, rule, scenario, files.folder, seed)
        knowing = attacker if "knows" in rule.reads or _measured_by_knowledge(rule) else None
        key = _key("attack", rule.digest, scoring, knowing, settings._asdict(), [done[name] for name in needs])
        done.setdefault(rule.name, key)
        measures = tuple(_measures(scenario, rule, key, files)) if attack else ()
        yield Planned(attack.name if attack else None, rule, settings, key, needs, measures)


def check_fits(scenario: Scenario, rule: Rule) -> None:
    """An operator needs the data it works on, and most need to know how items are related."""
    wanted = {"eliminate": False, "reassociate": True}.get(rule.model.form, scenario.torn)
    if wanted != scenario.torn:
        kinds = ("disassociated", "set-generalised") if wanted else ("set-generalised", "disassociated")
        raise DecloakError(f"the rule {rule.name} attacks {kinds[0]} data, these are {kinds[1]}", hint="leave it out")
    by_distance = rule.model.form in ("eliminate", "reassociate") and not isinstance(scenario.data, Distances)
    if by_distance and (rule.model.form == "eliminate" or not rule.random) and scenario.relate is None:
        raise DecloakError(f"the rule {rule.name} goes by how items are related", hint="add relate to the scenario")


def check_bounds(scenario: Scenario, attack: Attack | None, rule: Rule, folder: Path) -> None:
    """A rule that counts itemsets needs to know k and m; `attack` is None for one that another reads."""
    settings = _settings(attack, rule, scenario, folder, 0)._asdict()
    missing = [name for name in _open(rule) if settings[name] is None]
    if missing:
        said = {"rule": rule.name} if attack is None else attack.model_dump(by_alias=True, exclude_none=True)
        whole = compact(said | {name: settings[name] or USUAL[name] for name in _open(rule)})
        hint = f"add {whole} to the attacks" if attack is None else f"write {whole}"
        raise DecloakError(f"the rule {rule.name} needs {' and '.join(missing)}", hint=hint)


def _open(rule: Rule) -> tuple[str, ...]:
    return rule.model.open if isinstance(rule.model, ItemsetsRule) else ()


def _settings(attack: Attack | None, rule: Rule, scenario: Scenario, folder: Path, seed: int) -> Settings:
    """What a scenario says of a rule; one that counts itemsets goes by the k and m of the method, or of the release
    file, unless told others.
    """
    bounds = {name: getattr(attack, name, None) or getattr(scenario.anonymise, name, None) for name in _open(rule)}
    if None in bounds.values() and (header := _header(scenario, folder)) is not None:
        bounds = {name: told or getattr(header, name) for name, told in bounds.items()}
    settings = Settings(seed=seed if rule.random else 0, k=bounds.get("k"), m=bounds.get("m"))
    if attack is None:
        return settings
    return settings._replace(threshold=attack.threshold, ratio=1.0 if attack.ratio is None else attack.ratio)


def _header(scenario: Scenario, folder: Path) -> Header | None:
    """What the release file of a scenario says it promises; None where there is none."""
    if isinstance(scenario.data, Release):
        return read_header(folder / scenario.data.release, DISASSOCIATION)
    published = getattr(scenario.data, "published_file", None)
    if published is None or not published.file.endswith(".jsonl"):
        return None
    return read_header(folder / published.file, GENERALISATION)


def _measured_by_knowledge(rule: Rule) -> bool:
    """Whether an attack has to be kept apart for every attacker, though its findings are the same for all."""
    return any(family.knowing and family.says_of(rule.model.form, rule.derives.columns) for family in FAMILIES)


def _measures(
    scenario: Scenario, rule: Rule, attack: str, files: Files
) -> Iterable[tuple[Family, str, Mapping[str, Any]]]:
    """What is measured of an attack: what it found, and the families that say something of that."""
    for family in (FAMILIES[0], *map(by_name, scenario.families)):
        if family.says_of(rule.model.form, rule.derives.columns):
            settings = scenario.settings_of(family.name)
            named = [files[settings[key]] for key in family.files]
            yield family, _key(family.name, attack, settings, named), settings
