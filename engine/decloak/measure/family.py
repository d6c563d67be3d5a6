"""What a family of measures is: its figures in words, its settings, what it fits, and the function that measures it.

A module of this folder holds one beside its function; `registry` lists them, and all else that there is to know of
them is derived from it: what a scenario may measure, columns of tables, texts of help.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from decloak.data.assignment import Assigned
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.measure.kernels.statistics import GAIN, SHARE, Bounds
from decloak.releases.held import HeldRelease
from decloak.store.assigned import read_assigned
from decloak.store.reading import idle
from decloak.store.relations import STRIKES, Derives
from decloak.yaml.part import Part

__all__ = [
    "CHUNKS",
    "POOLED",
    "SETS",
    "WAYS",
    "AttackedRelease",
    "Family",
    "Figure",
    "FigureLine",
    "FigureTitle",
    "Measured",
]

WAYS = {
    "_original": "original data",
    "_release": "release",
    "": "after attack",
    "_baseline": "baseline",
    "_control": "control",
    "_low": "lower end of the 95% interval",
    "_high": "upper end of the 95% interval",
}
"""Endings of a figure's key, and what the figure is then measured on. The control is people who are not in the data."""

POOLED = -1
"""The scope of a figure that pools all tables."""

Figure = tuple[int, str, float | None, float | None, float | None]
"""Scope, name, value, and the counts above and below the line of a ratio."""

Measured = tuple[list[Figure], str | None]
"""Figures, and why some are missing."""

SETS = frozenset({FormName.SET_GENERALISED, FormName.GENERALISED, FormName.DISTANCES})
"""The forms whose transactions show generalised items."""

CHUNKS = frozenset({FormName.DISASSOCIATED})
"""The form whose records lie in chunks."""


@dataclass(frozen=True)
class FigureTitle:
    """A figure in words."""

    name: str
    title: str  # what heads its column in the table of a run
    help: str  # what it says, in a line
    count: bool = False  # whether it is a whole number
    column: bool = True  # whether the table of a run shows it; `show` always does
    bounds: Bounds = SHARE  # what it can be at all; of a count that is known, from 0 to of how many
    before: str | None = None  # the figure of the same before the attack, shown beside it, of how many
    clock: bool = False  # whether it is seconds, which no two machines have in common
    published: bool = False  # whether it is known though an attack had nothing to do: it is of the release alone

    def bounds_of(self, of: float | None, chances: Sequence[float | None] = ()) -> Bounds:
        """What it can be: a count of so many where they are known, a gain where chance is right so often at most."""
        if self.count:
            return Bounds(0.0, of)
        highest = max((chance for chance in chances if chance is not None), default=1.0)
        if self.bounds == GAIN and highest < 1:
            return Bounds(-highest / (1 - highest), 1.0)  # nothing is worse than all wrong
        return self.bounds


class FigureLine(NamedTuple):
    """A figure by its key, and the title of each ending that it is measured with."""

    key: str
    ways: Mapping[str, FigureTitle]

    @property
    def title(self) -> str:
        ending, figure = next(iter(self.ways.items()))
        return figure.title.removesuffix(f", {WAYS[ending]}")

    @property
    def help(self) -> str:
        return next(iter(self.ways.values())).help


@dataclass(frozen=True)
class Family:
    """Figures that are measured together.

    `measure` takes an `AttackedRelease` and the settings by name. `rule_forms` are those of rules whose findings it
    says something of, None for any; `columns` are what a relation must have for that. One of `strikes` says something
    of every rule that strikes members, be it by the facts of a query. Of one that is `of_release` all attacks have the
    same figures; of one that is `knowing` they depend on what the attacker knows. What is
    `always` measured a scenario lists for its settings only, what is `usual` is measured where it lists nothing. What
    is shown `in_lines` has one for a figure, its ways side by side.
    """

    name: str
    about: str
    figures: tuple[FigureTitle, ...]
    measure: Callable[..., Measured]
    fits: frozenset[FormName]
    settings: type[Part] | None = None
    rule_forms: frozenset[str] | None = None
    strikes: bool = False
    columns: frozenset[str] = frozenset()
    of_release: bool = False
    knowing: bool = False
    always: bool = False
    usual: bool = False
    in_lines: bool = False

    @property
    def lines(self) -> tuple["FigureLine", ...]:
        """The figures by key, each with the titles of what it is measured on, by ending."""
        titles: dict[str, dict[str, FigureTitle]] = {}
        for figure in self.figures:
            ending = next((ending for ending in WAYS if ending and figure.name.endswith(ending)), "")
            titles.setdefault(figure.name.removesuffix(ending), {})[ending] = figure
        return tuple(FigureLine(key, ways) for key, ways in titles.items())

    @property
    def needed(self) -> tuple[str, ...]:
        fields = {} if self.settings is None else self.settings.model_fields
        return tuple(name for name, field in fields.items() if field.is_required())

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.settings is None else self.settings.FILES

    @property
    def discerning(self) -> bool:
        """Whether it says something of some attacks alone."""
        return bool(self.rule_forms or self.columns or self.of_release)

    def undefined(self, figures: Sequence[Figure]) -> list[Figure]:
        """The same without the values that an attack with nothing to do cannot have: a zero would pass for safety."""
        published = {title.name for title in self.figures if title.published}
        return [
            (scope, name, value if name in published else None, part, whole)
            for scope, name, value, part, whole in figures
        ]

    def says_of(self, rule_form: str, columns: Collection[str]) -> bool:
        """Whether it says something of the findings of a rule, given by its form and what its relation has."""
        if self.strikes:
            return rule_form == "eliminate" or STRIKES.issubset(columns)
        return (self.rule_forms is None or rule_form in self.rule_forms) and self.columns.issubset(columns)


Held = TypeVar("Held", bound=HeldRelease, covariant=True)


@dataclass(frozen=True)
class AttackedRelease(Generic[Held]):
    """An attack of a number: what its rule derives, the release it was on, and where files of settings are."""

    connection: sqlite3.Connection
    number: int
    derives: Derives
    release: Held
    folder: Folder
    control: Callable[[], Dataset | None] = lambda: None
    """Truth: the records of people who are not in the data, where the scenario names a control."""
    listed: Collection[str] = ()
    """The families that the scenario lists: of others no figure is missed."""
    assigned: Assigned | None = None
    """Who got what, where whoever made the attack still has it."""

    @cached_property
    def idle(self) -> str | None:
        """Why it had nothing to do, None where it had: what it did not find then says nothing."""
        return idle(self.connection, self.number)

    @cached_property
    def assignments(self) -> Assigned:
        return read_assigned(self.connection, self.number) if self.assigned is None else self.assigned
