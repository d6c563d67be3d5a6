"""Sections of a scenario for attacks, repetitions and measures.

The types of measures are made from the registry of families: a name, or a mapping of the name to settings.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union

from pydantic import Field, create_model

from decloak.data.knowledge_levels import CONTROLS, Control
from decloak.digest import JsonObject
from decloak.errors import DecloakError
from decloak.measure.family import Family
from decloak.measure.registry import always_measured, families_with, family_named, metrics_by_key, selectable_families
from decloak.rules.model import is_path
from decloak.yaml.messages import Remedies
from decloak.yaml.section import ConfigErrors, ConfigSection, File


class Attack(ConfigSection):
    """A rule and its settings."""

    rule: File
    """The name of a rule, or the path of a rule file."""
    threshold: float | None = None
    """The threshold, in place of the one in the rule."""
    ratio: float | None = Field(None, gt=0)
    """A factor on the threshold in the rule."""
    k: int | None = Field(None, ge=1)
    """For rules that count itemsets: an itemset must occur in no record or in at least k."""
    m: int | None = Field(None, ge=1)
    """For rules that count itemsets: the largest size of an itemset."""
    control: Control | None = None
    """For rules that learn: the negative control. It permutes labels or contexts, drops the words that items share, or
    changes the order. All controls run by default; this setting runs one alone.
    """
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, alias="as")
    """The name of the attack in results and expectations, if it differs from the rule's."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error if both a threshold and a ratio are given."""
        if self.threshold is not None and self.ratio is not None:
            yield ("ratio",), DecloakError("a ratio scales the threshold that 'threshold' replaces", hint="delete one")

    @property
    def name(self) -> str:
        """The label, or the name of the rule."""
        return self.label or (is_path(self.rule) and Path(self.rule).stem) or self.rule


def with_controls(attacks: Sequence[str]) -> tuple[str, ...]:
    """Return the names `attacks`, and the names of their negative controls."""
    return (*attacks, *(f"{attack}_{control}" for attack in attacks for control in CONTROLS))


class Repeat(ConfigSection):
    """Repetitions with other random choices."""

    times: int = Field(1, ge=1, le=10_000)
    """The number of repetitions of each variant."""
    seed: int = Field(0, ge=0)
    """The seed of all random choices."""


def _measure() -> object:
    """Return the type of an entry: a name, or a mapping of a name to settings."""
    plain = tuple(family.name for family in selectable_families() if not family.required_settings)
    choices = (
        Literal[plain],
        *(_with_settings(family) for family in selectable_families() if family.settings is not None),
    )
    # Users confuse figures with families. Each figure has the remedy of its family.
    remedies = {"certain": "write calibration"} | {key: _instead(key) for key in metrics_by_key()}
    return Annotated[Union[choices], Remedies(remedies)]  # noqa: UP007


def _with_settings(family: Family) -> object:
    fields: JsonObject = {family.name: (family.settings, Field(description="The settings."))}
    return create_model(
        f"{family.name.capitalize()}MeasureEntry", __base__=ConfigSection, __doc__=f"{family.about}.", **fields
    )


def _instead(figure: str) -> str:
    """Return the remedy for a figure in place of a family."""
    families = [family_named(name) for name in families_with(figure)]
    first = families[0]
    if first.always_measured:
        return "leave it out, it is measured always"
    if first.required_settings:
        settings = ", ".join(f"{key}: {'FILE' if key in first.files else '...'}" for key in first.required_settings)
        return f"write {{{first.name}: {{{settings}}}}}"
    names = " or ".join(family.name for family in families)
    return f"write {names}, which measure{'s' if len(families) == 1 else ''} {figure}"


# A type checker cannot run the registry that the union is made from.
if TYPE_CHECKING:
    MeasureEntry = str | ConfigSection
else:
    MeasureEntry = _measure()


def family_of(measure: str | ConfigSection) -> str:
    """Return the name of `measure`. With settings it is the only key."""
    return measure if isinstance(measure, str) else next(iter(type(measure).model_fields))


def missing_family(figure: str, measured: Sequence[str], fitting: Sequence[str]) -> str | None:
    """Return the family that must be measured for `figure`, if possible one of `fitting`; None if one of `measured` has
    it.
    """
    families = families_with(figure)
    if not families or {*measured, *(family.name for family in always_measured())}.intersection(families):
        return None
    return next((family for family in families if family in fitting), families[0])


def settings_part(name: str, measures: Sequence[str | ConfigSection]) -> ConfigSection | None:
    """Return the settings of the family `name` in `measures`, or its defaults; None if it has no defaults."""
    family = family_named(name)
    for measure in measures:
        if isinstance(measure, ConfigSection) and family_of(measure) == name:
            settings: ConfigSection = getattr(measure, name)
            return settings
    return None if family.settings is None or family.required_settings else family.settings()
