"""The source code that computes each stage of a scenario, as a fingerprint.

The code of a stage is the modules of its parts, the modules of the store that write it, and all that these import.
Parts are the method, the source of relatedness, the operator of a rule, and the family of figures. A registry names all
modules of a kind, so it is not followed: a stage names the modules of a kind that it uses. What leads to every stage
counts with its own text alone.
"""

from collections.abc import Collection

from decloak.fingerprints import fingerprint, imports_of
from decloak.measure.family import Family
from decloak.relate.relatedness import Relatedness
from decloak.rules.load import Rule
from decloak.scenario.model import Scenario
from decloak.yaml.section import ConfigSection

__all__ = ["StageCode"]

_REGISTRIES = tuple(
    f"decloak.{folder}.registry" for folder in ("anonymisers", "measure", "relate", "releases", "rules.operators")
)
_CARRYING = ("decloak.pipeline", "decloak.scenario.model", *_REGISTRIES)
"""Modules that lead to all others. One that takes part in a stage counts with its own text."""

_EVERY = ("material", "pipeline")
"""Modules of the pipeline that every stage passes."""
_KNOWLEDGE, _TABLES = "decloak.releases.knowledge", "decloak.attacker.tables"
"""What a form does in stages of their own: reading a release, or pairing items, only passes by."""


class StageCode:
    """The modules that compute each kind of stage of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._form = scenario, type(scenario.form).__module__

    def original(self) -> str:
        """The fingerprint of the code that reads or generates the original data."""
        read_by = type(self._scenario.data).read_original.__module__
        return self._of("inputs", modules=[read_by, "decloak.data.text.order", "decloak.store.writing"])

    def auxiliary(self) -> str:
        """The fingerprint of the code that reads what the attacker has next to the release."""
        return self._of(modules=[*_modules_of(self._scenario.attacker.auxiliary_records), "decloak.store.writing"])

    def release(self) -> str:
        """The fingerprint of the code that anonymises, or reads a release, and of the code that stores it."""
        method = self._scenario.anonymise
        made_by = _modules_of(method) if method else [type(self._scenario.data).read_release.__module__]
        stored_by = [name for name in imports_of(self._form) if name.startswith("decloak.store")]
        related = method is not None and any(isinstance(part, Relatedness) for part in method.nested())
        without = [_KNOWLEDGE, _TABLES, *([] if related else ["decloak.relate"])]
        return self._of("inputs", "remote", modules=[*made_by, *stored_by], without=without)

    def relatedness(self) -> str:
        """The fingerprint of the code that chooses pairs of items, scores them and stores the scores."""
        stored_by = ["decloak.store.counts", "decloak.store.pair_scores"]
        modules = [*_modules_of(self._scenario.related_by), self._form, *stored_by]
        return self._of("inputs", modules=modules, without=[_KNOWLEDGE])

    def scoring(self) -> str:
        """The fingerprint of the code that makes distance tables and stores them."""
        modules = [self._form, "decloak.store.distance_tables"]
        return self._of(modules=modules, without=[_KNOWLEDGE])

    def attacker(self) -> str:
        """The fingerprint of the code that decides what an attacker knows of persons, and stores it."""
        modules = [*_modules_of(self._scenario.attacker), self._form, "decloak.store.attackers"]
        return self._of(modules=modules)

    def attack(self, rule: Rule) -> str:
        """The fingerprint of the operator that runs a rule, and of all that an attack goes through."""
        steps = ("decloak.pipeline.attacks", "decloak.pipeline.attacker_views")
        through = [name for step in steps for name in imports_of(step) if not name.startswith("decloak.pipeline")]
        modules = [type(rule.operator).__module__, type(rule.model).__module__, *through]
        return self._of("attacks", "attacker_views", "remote", modules=modules, without=["decloak.measure"])

    def measurement(self, family: Family) -> str:
        """The fingerprint of the code that measures one family of figures, and stores them."""
        modules = [family.measure.__module__, self._form, "decloak.store.writing"]
        return self._of(modules=modules, without=[self._form])

    def run(self) -> str:
        """The fingerprint of the code that puts a run together."""
        return self._of(modules=["decloak.store.writing"])

    @staticmethod
    def _of(*further: str, modules: Collection[str], without: Collection[str] = ()) -> str:
        own = (f"decloak.pipeline.{name}" for name in (*_EVERY, *further))
        return fingerprint([*modules, *own], [*_CARRYING, *without])


def _modules_of(part: ConfigSection | None) -> list[str]:
    """The modules of the classes that a part of a scenario consists of."""
    return [] if part is None else [type(inner).__module__ for inner in part.nested()]
