"""Plots in the report of a run, and the figure of a paper that a scenario reproduces.

A trend is about a figure of attacks, in the variants selected by `where`. Along a key that varies it is rising,
falling, level, peaking or linear. Compared with another side (`than`) it is above, below or near. All other settings
are equal on both sides, and repetitions are paired. Every clause of the paper's result is judged by a trend.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from decloak.errors import DecloakError, quote, suggest
from decloak.figures import RENAMED
from decloak.measure.registry import metrics_by_key
from decloak.scenario.sections import missing_family
from decloak.scenario.sweep import overlapping
from decloak.yaml.section import ConfigErrors, ConfigSection
from decloak.yaml.source import Loc

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
        # An unknown key may be a misspelt one of those that would be missing.
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


ALONG = ("rising", "falling", "level", "peaking", "linear")
TOLERANT = ("level", "linear", "near")
RELATIVE = ("above", "below", "near")

Word = Annotated[str, Field(min_length=1)]
Words = Word | Annotated[tuple[Word, ...], Field(min_length=1)]
Setting = str | int | float | bool


def _listed(words: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if words is None else (words,) if isinstance(words, str) else words


class ComparisonSide(ConfigSection):
    """The other side of a comparison. Omitted keys are as on the first side."""

    of: Word | None = None
    """The figure."""
    attack: Words | None = None
    """The attacks."""
    where: dict[Word, Setting | None] = Field(default_factory=dict)
    """Only the variants with these settings; null ignores a setting of the first side."""
    times: float = Field(1.0, gt=0)
    """A factor on this side."""

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks as a tuple."""
        return _listed(self.attack)


class Trend(ConfigSection):
    """An observation of the paper that can be checked by measured figures."""

    says: Word
    """The observation of the paper, in words."""
    clause: int = Field(1, ge=1)
    """The number of the clause of `saw` that it judges."""
    of: Word
    """The figure."""
    attack: Words | None = None
    """The attacks, all of them by default."""
    where: dict[Word, Setting] = Field(default_factory=dict)
    """Only the variants with these settings."""
    along: Word | None = None
    """The key along which the figure is rising, falling, level, peaking or linear."""
    trend: Annotated[
        Literal["rising", "falling", "level", "peaking", "linear", "above", "below", "near"], Field(alias="is")
    ]
    """The relation: along a key, or to another side."""
    than: ComparisonSide | float | None = None
    """The value that it is above, below or near: another side, or a number."""
    within: float = Field(0.1, gt=0)
    """For level and near: the largest difference, as a share of the larger value. For linear: the largest share of the
    variance that a rising straight line does not explain."""
    checked: Word | None = None
    """The experiment that shows that the paper's observation is not reproduced, for a trend that does not agree."""

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks as a tuple."""
        return _listed(self.attack)

    @property
    def sides(self) -> Iterator[tuple[Loc, "Trend | ComparisonSide"]]:
        """Yield both sides, and their positions in the document."""
        yield (), self
        if isinstance(self.than, ComparisonSide):
            yield ("than",), self.than

    def config_errors(self) -> ConfigErrors:
        """Yield errors unless the trend has either a key or another side, as its relation needs."""
        if (self.along is None) == (self.trend in ALONG):
            hint = "add it" if self.along is None else "delete it"
            yield ("along",), DecloakError(f"'along' goes with {', '.join(ALONG)}", hint=hint)
        if (self.than is None) == (self.trend in RELATIVE):
            hint = "add it" if self.than is None else "delete it"
            yield ("than",), DecloakError(f"'than' goes with {', '.join(RELATIVE)}", hint=hint)
        if "within" in self.model_fields_set and self.trend not in TOLERANT:
            yield ("within",), DecloakError(f"'within' goes with {', '.join(TOLERANT)}", hint="delete it")


class Figure(ConfigSection):
    """A figure or table of a paper that the scenario reproduces on data of a suitable size."""

    number: Word
    """The name in the paper, such as Figure 13b."""
    claim: Word
    """The result of the paper in at most ten words."""
    saw: Annotated[tuple[Word, ...], Field(min_length=1)]
    """The result of the paper, clause by clause."""
    trends: Annotated[tuple[Trend, ...], Field(min_length=1)]
    """Conditions for the agreement of our trend with the paper."""
    why: Word | None = None
    """The reason for a disagreement, or a remark."""
    quick: bool = False
    """True if it takes seconds. Then the tests run it."""
    real: dict[Word, object] | Word | None = None
    """Settings that put real data in place of generated ones, where {real: NAME} is a file; or the reason why no real
    data fit."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors for clauses without a trend, and for trends without their clause."""
        judged = {trend.clause for trend in self.trends}
        for number, clause in enumerate(self.saw, 1):
            if number not in judged:
                hint = f"write a trend with clause: {number}, or delete the clause"
                yield ("saw", number - 1), DecloakError(f"no trend judges {quote(clause)}", hint=hint)
        for number, trend in enumerate(self.trends):
            if trend.clause > len(self.saw):
                hint = f"saw has {len(self.saw)}; choose one of them"
                yield ("trends", number, "clause"), DecloakError(f"there is no clause {trend.clause}", hint=hint)

    def reference_errors(self, attacks: Iterable[str], measured: Iterable[str]) -> ConfigErrors:
        """Yield errors for figures outside `measured` and for names outside `attacks`."""
        attacks, measured = tuple(attacks), tuple(measured)
        for number, trend in enumerate(self.trends):
            for inner, side in trend.sides:
                place = ("trends", number, *inner)
                if side.of is not None and side.of not in measured:
                    hint = suggest(side.of, measured) or f"measured here: {', '.join(measured)}"
                    yield (*place, "of"), DecloakError(f"no figure {quote(side.of)} is measured", hint=hint)
                for name in side.attacks:
                    if name not in attacks:
                        hint = suggest(name, attacks) or f"known here: {', '.join(attacks)}"
                        yield (*place, "attack"), DecloakError(f"no attack {quote(name)}", hint=hint)

    def variation_errors(self, varied: Collection[str]) -> ConfigErrors:
        """Yield errors for keys that are not among `varied`."""
        for loc, key in self._keys():
            # A section may vary as a whole, and the figure then names a key inside it.
            if not any(overlapping(key.split("."), other.split(".")) for other in varied):
                hint = suggest(key, varied) or f"what varies: {', '.join(varied) or 'nothing'}"
                yield loc, DecloakError(f"{quote(key)} does not vary", hint=hint)

    def _keys(self) -> Iterator[tuple[Loc, str]]:
        for number, trend in enumerate(self.trends):
            if trend.along is not None and trend.along != ATTACK:
                yield ("trends", number, "along"), trend.along
            for inner, side in trend.sides:
                yield from ((("trends", number, *inner, "where", key), key) for key in side.where)
