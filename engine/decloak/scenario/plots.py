"""Plots in the report of a run, in place of the default ones."""

from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import Field

from decloak.errors import DecloakError, quote, suggest
from decloak.figures import RENAMED
from decloak.measure.registry import metrics_by_key
from decloak.scenario.sections import missing_family
from decloak.yaml.section import ConfigErrors, ConfigSection

__all__ = ["ATTACK", "Plot", "Plots"]

ATTACK = "attack"
Key = Annotated[str, Field(min_length=1)]


class Plot(ConfigSection):
    """A plot of a figure over a setting that varies."""

    x: Key
    """The key on the horizontal axis: one that varies, or attack."""
    y: Key
    """The figure, by its key in `decloak show`."""
    by: Key | tuple[Key, ...] | None = None
    """One panel per value of these keys. Without it, one per combination of all other keys that vary."""

    @property
    def panels(self) -> tuple[str, ...] | None:
        """The keys under `by`, None for all other keys."""
        return (self.by,) if isinstance(self.by, str) else self.by

    def variation_errors(self, varied: Collection[str]) -> ConfigErrors:
        """Yield errors for keys that are not among `varied`, and for `varied` keys that would be averaged."""
        named = (("x", self.x), *(("by", key) for key in self.panels or ()))
        fixed = [(loc, key) for loc, key in named if key != ATTACK and key not in varied]
        for loc, key in fixed:
            hint = suggest(key, varied) or f"what varies: {', '.join((*varied, ATTACK))}"
            yield (loc,), DecloakError(f"{quote(key)} does not vary", hint=hint)
        if self.panels is not None and not fixed:
            yield from self._averaged(varied)

    def metric_errors(self, families: Sequence[str], fitting: Sequence[str], attacks: int) -> ConfigErrors:
        """Yield errors for an unknown or unmeasured figure, and for `attacks` that would be averaged.

        `families` are measured, `fitting` apply to the data.
        """
        if self.y not in metrics_by_key():
            renamed = RENAMED.get(self.y, "").partition("(")[0]
            hint = f"write {renamed}" if renamed else suggest(self.y, metrics_by_key())
            hint = hint or "`decloak show --help` lists the figures"
            yield ("y",), DecloakError(f"no figure {quote(self.y)}", hint=hint)
        elif family := missing_family(self.y, families, fitting):
            hint = f"add {family} to the list under measure"
            yield ("y",), DecloakError(f"{quote(self.y)} is not measured", hint=hint)
        if self.panels is not None and attacks > 1:
            yield from self._averaged([ATTACK])

    def _averaged(self, keys: Collection[str]) -> ConfigErrors:
        for key in keys:
            if key not in (self.x, *(self.panels or ())):
                yield ("by",), DecloakError(f"{quote(key)} differs as well", hint="list it under by, or delete by")


class Plots(ConfigSection):
    """Additional content of the report."""

    plot: Annotated[tuple[Plot, ...], Field(min_length=1)] | None = None
    """Figures to plot, in place of one for each key that varies."""
