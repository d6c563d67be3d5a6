"""What a scenario may say under `measure`, from the registry of families: names, those with settings as types."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, create_model

from decloak.measure.family import Family
from decloak.measure.registry import by_name, choosable, figure_titles, measuring
from decloak.yaml.part import Part
from decloak.yaml.wording import Remedies

__all__ = ["Measure", "family_of", "missing_family", "settings_of"]


def _measure() -> Any:
    """The type of an entry: a name, or a mapping of a name to settings."""
    plain = tuple(family.name for family in choosable() if not family.needed)
    choices = (Literal[plain], *(_with_settings(family) for family in choosable() if family.settings is not None))
    return Annotated[Union[choices], Remedies({figure: _instead(figure) for figure in figure_titles()})]  # noqa: UP007


def _with_settings(family: Family) -> Any:
    fields: dict[str, Any] = {family.name: (family.settings, Field(description="The settings."))}
    return create_model(f"{family.name.capitalize()}Measure", __base__=Part, __doc__=f"{family.about}.", **fields)


def _instead(figure: str) -> str:
    """What to write for a figure that somebody lists as if it were a family."""
    families = [by_name(name) for name in measuring(figure)]
    first = families[0]
    if first not in choosable():
        return "leave it out, findings are always counted"
    if first.needed:
        settings = ", ".join(f"{key}: {'FILE' if key in first.files else '...'}" for key in first.needed)
        return f"write {{{first.name}: {{{settings}}}}}"
    names = " or ".join(family.name for family in families)
    return f"write {names}, which measure{'s' if len(families) == 1 else ''} {figure}"


if TYPE_CHECKING:
    Measure = str | Part
else:
    Measure = _measure()


def family_of(measure: str | Part) -> str:
    """The name of a measure; with settings it is its one key."""
    return measure if isinstance(measure, str) else next(iter(type(measure).model_fields))


def missing_family(figure: str, measured: Sequence[str], fitting: Sequence[str]) -> str | None:
    """What must be measured for a figure, one that fits the data if there is one; None where nothing is missing."""
    families = measuring(figure)
    if not families or {"findings", *measured}.intersection(families):
        return None
    return next((family for family in families if family in fitting), families[0])


def settings_of(name: str, measures: Sequence[str | Part]) -> dict[str, Any]:
    """The settings of a family, defaults included."""
    family = by_name(name)
    for measure in measures:
        if isinstance(measure, Part) and family_of(measure) == name:
            return dict(getattr(measure, name).model_dump())
    return {} if family.settings is None or family.needed else family.settings().model_dump()
