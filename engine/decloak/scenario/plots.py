"""What the page about a run draws, when it is not what it would draw by itself."""

from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import Field

from decloak.errors import DecloakError, nearest, shown
from decloak.measure.registry import figure_titles
from decloak.scenario.parts import missing_family
from decloak.yaml.part import Found, Part

__all__ = ["ATTACK", "Plot", "Plots"]

ATTACK = "attack"
Key = Annotated[str, Field(min_length=1)]


class Plot(Part):
    """How a figure changes with what varies."""

    x: Key
    """What lies across: a key that varies, or attack."""
    y: Key
    """The figure, as `decloak show` lists it."""
    by: Key | tuple[Key, ...] | None = None
    """A panel for each value of these keys; without it for each of all else that differs."""

    @property
    def panels(self) -> tuple[str, ...] | None:
        """The keys under `by`, None where all else is meant."""
        return (self.by,) if isinstance(self.by, str) else self.by

    def misplaced(self, varied: Collection[str]) -> Found:
        """Keys that do not vary, and those that vary and would be averaged over."""
        named = (("x", self.x), *(("by", key) for key in self.panels or ()))
        fixed = [(loc, key) for loc, key in named if key != ATTACK and key not in varied]
        for loc, key in fixed:
            hint = nearest(key, varied) or f"what varies: {', '.join((*varied, ATTACK))}"
            yield (loc,), DecloakError(f"{shown(key)} does not vary", hint=hint)
        if self.panels is not None and not fixed:
            yield from self._averaged(varied)

    def unmeasured(self, families: Sequence[str], fitting: Sequence[str], attacks: int) -> Found:
        """A figure that there is not or that is not measured, and attacks that would be averaged over."""
        if self.y not in figure_titles():
            hint = nearest(self.y, figure_titles()) or "`decloak show --help` lists the figures"
            yield ("y",), DecloakError(f"no figure {shown(self.y)}", hint=hint)
        elif family := missing_family(self.y, families, fitting):
            hint = f"add {family} to the list under measure"
            yield ("y",), DecloakError(f"{shown(self.y)} is not measured", hint=hint)
        if self.panels is not None and attacks > 1:
            yield from self._averaged([ATTACK])

    def _averaged(self, keys: Collection[str]) -> Found:
        for key in keys:
            if key not in (self.x, *(self.panels or ())):
                yield ("by",), DecloakError(f"{shown(key)} differs as well", hint="list it under by, or delete by")


class Plots(Part):
    """What the page about a run shows beside what it always does."""

    plot: Annotated[tuple[Plot, ...], Field(min_length=1)] | None = None
    """Figures to draw, in place of one for each key that varies."""
