"""What a scenario says of an attack, of repetitions and of what is measured.

The types of measures come from the registry of families: a name, or a mapping of it to settings.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, create_model

from decloak.attack.controls import CONTROLS, Control
from decloak.errors import DecloakError
from decloak.measure.family import Family
from decloak.measure.registry import always, by_name, choosable, figure_titles, measuring
from decloak.rules.model import is_path
from decloak.yaml.part import File, Found, Part
from decloak.yaml.wording import Remedies

__all__ = ["Attack", "MeasureEntry", "Repeat", "family_of", "missing_family", "settings_part", "with_controls"]


class Attack(Part):
    """A rule, and how it is run."""

    rule: File
    """The name of a rule, or the path of a rule file."""
    threshold: float | None = None
    """The threshold, in place of the rule's own."""
    ratio: float | None = Field(None, gt=0)
    """A factor on the rule's own threshold."""
    k: int | None = Field(None, ge=1)
    """For rules that count itemsets: an itemset must be in none or in at least k transactions."""
    m: int | None = Field(None, ge=1)
    """For rules that count itemsets: how many items an itemset may have."""
    control: Control | None = None
    """For rules that learn: what they go by is spoilt, to see what is left; every control there is runs beside them
    without being asked for. Labels, or contexts, of others; no words that items share; another order."""
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, alias="as")
    """The attack's name in results and expectations, when it is not the rule's."""

    def mistakes(self) -> Found:
        """A threshold is given or scaled."""
        if self.threshold is not None and self.ratio is not None:
            yield ("ratio",), DecloakError("a ratio scales the threshold that 'threshold' replaces", hint="delete one")

    @property
    def name(self) -> str:
        return self.label or (is_path(self.rule) and Path(self.rule).stem) or self.rule


def with_controls(attacks: Sequence[str]) -> tuple[str, ...]:
    """Names of attacks, and those of the controls that run beside them where they learn."""
    return (*attacks, *(f"{attack}_{control}" for attack in attacks for control in CONTROLS))


class Repeat(Part):
    """Repetitions with other random choices."""

    times: int = Field(1, ge=1, le=10_000)
    """How often each variant is run."""
    seed: int = Field(0, ge=0)
    """What all random choices are drawn from."""


def _measure() -> Any:
    """The type of an entry: a name, or a mapping of a name to settings."""
    plain = tuple(family.name for family in choosable() if not family.needed)
    choices = (Literal[plain], *(_with_settings(family) for family in choosable() if family.settings is not None))
    return Annotated[Union[choices], Remedies({figure: _instead(figure) for figure in figure_titles()})]  # noqa: UP007


def _with_settings(family: Family) -> Any:
    fields: dict[str, Any] = {family.name: (family.settings, Field(description="The settings."))}
    return create_model(f"{family.name.capitalize()}MeasureEntry", __base__=Part, __doc__=f"{family.about}.", **fields)


def _instead(figure: str) -> str:
    """What to write for a figure that somebody lists as if it were a family."""
    families = [by_name(name) for name in measuring(figure)]
    first = families[0]
    if first.always:
        return "leave it out, it is measured always"
    if first.needed:
        settings = ", ".join(f"{key}: {'FILE' if key in first.files else '...'}" for key in first.needed)
        return f"write {{{first.name}: {{{settings}}}}}"
    names = " or ".join(family.name for family in families)
    return f"write {names}, which measure{'s' if len(families) == 1 else ''} {figure}"


if TYPE_CHECKING:
    MeasureEntry = str | Part
else:
    MeasureEntry = _measure()


def family_of(measure: str | Part) -> str:
    """The name of a measure; with settings it is its one key."""
    return measure if isinstance(measure, str) else next(iter(type(measure).model_fields))


def missing_family(figure: str, measured: Sequence[str], fitting: Sequence[str]) -> str | None:
    """What must be measured for a figure, one that fits the data if there is one; None where nothing is missing."""
    families = measuring(figure)
    if not families or {*measured, *(family.name for family in always())}.intersection(families):
        return None
    return next((family for family in families if family in fitting), families[0])


def settings_part(name: str, measures: Sequence[str | Part]) -> Part | None:
    """Return the settings of a family, or their defaults; None where it has none, or needs some."""
    family = by_name(name)
    for measure in measures:
        if isinstance(measure, Part) and family_of(measure) == name:
            settings: Part = getattr(measure, name)
            return settings
    return None if family.settings is None or family.needed else family.settings()
