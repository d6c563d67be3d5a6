"""The guarantee that a file states: of a scenario, of the settings of its `anonymise`, or about sensitive items."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from decloak.anonymisers.registry import AnyMethod
from decloak.counting.guarantees import AnyGuarantee
from decloak.counting.sensitive_guarantees import Coherence, Uncertainty
from decloak.digest import JsonObject
from decloak.errors import at_location, quote, suggest
from decloak.yaml.section import ConfigSection, Item
from decloak.yaml.source import Source, check, read_source
from decloak.yaml.tree import Node

KEY = "anonymise"
GUARANTEE = "guarantee"


class _Anonymised(ConfigSection):
    anonymise: AnyMethod


class _Stated(ConfigSection):
    """A guarantee about sensitive items that no method of decloak makes, and that `decloak check` checks."""

    guarantee: str
    sensitive: Annotated[tuple[Item, ...], Field(min_length=1)]


# No bounds stand here: the guarantee itself refuses numbers outside them.
class _UncertaintyStated(_Stated):
    rho: float
    known: int


class _CoherenceStated(_Stated):
    h: float
    k: int
    p: int


_STATED: dict[str, tuple[type[_Stated], type[Uncertainty | Coherence]]] = {
    "uncertainty": (_UncertaintyStated, Uncertainty),
    "coherence": (_CoherenceStated, Coherence),
}
"""The settings in a file, and the guarantee with fields of the same names."""


def guarantee_in(path: Path, **bounds: int | None) -> AnyGuarantee:
    """Read the guarantee that the file at `path` states: of a method (coat if it names none), or of sensitive items.

    `bounds` (k and m) replace the bounds of the file. Return the guarantee.
    """
    source = read_source(path)
    if GUARANTEE in source.root.keys:
        return _stated_in(source, bounds)
    said = source.root.children.get(KEY, source.root)
    if not said.keys:
        raise source.error((), "expected a method with its settings", "write method: coat, k: 5, privacy: [[a, b]]")
    alone = Source(source.name, Node.mapping(said.place, {KEY: said.place}, {KEY: said}))
    # A file of constraints alone belongs to COAT, which needs them.
    settings = {"method": None if "method" in said.keys else "coat", **bounds}
    method = check(_replaced(alone, settings, (KEY,)), _Anonymised).anonymise
    with at_location(str(said.place)):
        return method.guarantee


def _stated_in(source: Source, bounds: dict[str, int | None]) -> AnyGuarantee:
    """Return the guarantee about sensitive items that a file states."""
    name = source.root.children[GUARANTEE].value
    if str(name) not in _STATED:
        hint = suggest(str(name), _STATED) or f"write one of {', '.join(_STATED)}"
        raise source.error((GUARANTEE,), f"unknown guarantee {quote(name)}", hint)
    settings, guarantee = _STATED[str(name)]
    with at_location(str(source.root.place)):
        return guarantee(**check(_replaced(source, bounds, ()), settings).model_dump(exclude={"guarantee"}))


def _replaced(source: Source, settings: JsonObject, at: tuple[str, ...]) -> Source:
    """Return a file with some `settings` of its mapping `at` replaced; None leaves a setting as it is."""
    place = source.root.place
    for name, value in settings.items():
        if value is not None:
            source = source.put((*at, name), Node(value, place), place)
    return source
