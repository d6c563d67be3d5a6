"""What figure of a paper a scenario repeats, what the paper saw there, and trends that say whether we see the same.

A trend is about a figure of attacks, in the variants that `where` leaves. Along a key that varies it is rising,
falling, level or peaking; beside another side (`than`) it is above, below or near. Both sides are taken with all else
that varies alike, each repetition with its own.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from decloak.errors import DecloakError, nearest, shown
from decloak.scenario.plots import ATTACK
from decloak.scenario.sweep import overlapping
from decloak.yaml.part import Found, Part
from decloak.yaml.source import Loc

__all__ = ["Figure", "Side", "Trend"]

ALONG = ("rising", "falling", "level", "peaking")
BESIDE = ("above", "below", "near")

Word = Annotated[str, Field(min_length=1)]
Words = Word | Annotated[tuple[Word, ...], Field(min_length=1)]
Setting = str | int | float | bool


def _listed(words: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if words is None else (words,) if isinstance(words, str) else words


class Side(Part):
    """What a figure is compared with; what is left out is as on the first side."""

    of: Word | None = None
    """The figure."""
    attack: Words | None = None
    """The attacks."""
    where: dict[Word, Setting | None] = Field(default_factory=dict)
    """Only the variants with these settings; null where one of the first side does not count."""
    times: float = Field(1.0, gt=0)
    """So many times as much."""

    @property
    def attacks(self) -> tuple[str, ...]:
        return _listed(self.attack)


class Trend(Part):
    """Something the paper saw, as it can be checked by what was measured."""

    says: Word
    """What the paper saw, in words."""
    of: Word
    """The figure it is about."""
    attack: Words | None = None
    """The attacks it is about, all of them if not said."""
    where: dict[Word, Setting] = Field(default_factory=dict)
    """Only the variants with these settings."""
    along: Word | None = None
    """The key it goes along, where it is rising, falling, level or peaking."""
    trend: Annotated[Literal["rising", "falling", "level", "peaking", "above", "below", "near"], Field(alias="is")]
    """What it is: along a key, or beside another side."""
    than: Side | float | None = None
    """What it is above, below or near: another side, or a number."""
    within: float = Field(0.1, gt=0)
    """Level and near: the share of the larger value that the other may be off."""

    @property
    def attacks(self) -> tuple[str, ...]:
        return _listed(self.attack)

    @property
    def sides(self) -> Iterator[tuple[Loc, "Trend | Side"]]:
        """Both sides of it, and where they are written."""
        yield (), self
        if isinstance(self.than, Side):
            yield ("than",), self.than

    def mistakes(self) -> Found:
        """A trend goes along a key, or is beside something."""
        if (self.along is None) == (self.trend in ALONG):
            hint = "add it" if self.along is None else "delete it"
            yield ("along",), DecloakError(f"'along' goes with {', '.join(ALONG)}", hint=hint)
        if (self.than is None) == (self.trend in BESIDE):
            hint = "add it" if self.than is None else "delete it"
            yield ("than",), DecloakError(f"'than' goes with {', '.join(BESIDE)}", hint=hint)
        if "within" in self.model_fields_set and self.trend not in ("level", "near"):
            yield ("within",), DecloakError("'within' goes with level and near", hint="delete it")


class Figure(Part):
    """A figure or table of a paper that the scenario repeats on data of a fitting size."""

    number: Word
    """What the paper calls it, such as Figure 13b."""
    saw: Word
    """What the paper saw there."""
    trends: Annotated[tuple[Trend, ...], Field(min_length=1)]
    """What must hold for our trend to agree with the paper's."""
    why: Word | None = None
    """Where it does not agree, for what reason; else what is to be known when reading it."""
    quick: bool = False
    """Whether it takes seconds, and is run by the tests."""

    def faults(self, attacks: Iterable[str], measured: Iterable[str]) -> Found:
        """Figures and attacks that it names and there are not."""
        attacks, measured = tuple(attacks), tuple(measured)
        for loc, name in self._figures():
            if name not in measured:
                hint = nearest(name, measured) or f"measured here: {', '.join(measured)}"
                yield loc, DecloakError(f"no figure {shown(name)} is measured", hint=hint)
        for number, trend in enumerate(self.trends):
            for inner, side in trend.sides:
                for name in side.attacks:
                    if name not in attacks:
                        hint = nearest(name, attacks) or f"known here: {', '.join(attacks)}"
                        yield ("trends", number, *inner, "attack"), DecloakError(f"no attack {shown(name)}", hint=hint)

    def _figures(self) -> Iterator[tuple[Loc, str]]:
        for number, trend in enumerate(self.trends):
            for inner, side in trend.sides:
                if side.of is not None:
                    yield ("trends", number, *inner, "of"), side.of

    def misplaced(self, varied: Collection[str]) -> Found:
        """Keys that it goes by and that do not vary."""
        for loc, key in self._keys():
            if not any(overlapping(key.split("."), other.split(".")) for other in varied):
                hint = nearest(key, varied) or f"what varies: {', '.join(varied) or 'nothing'}"
                yield loc, DecloakError(f"{shown(key)} does not vary", hint=hint)

    def _keys(self) -> Iterator[tuple[Loc, str]]:
        for number, trend in enumerate(self.trends):
            if trend.along is not None and trend.along != ATTACK:
                yield ("trends", number, "along"), trend.along
            for inner, side in trend.sides:
                yield from ((("trends", number, *inner, "where", key), key) for key in side.where)
