"""Method COAT: it protects chosen combinations of items, by generalising within chosen sets or by suppressing."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from decloak.anonymisers.kernels.coat import Coat, coat
from decloak.anonymisers.kernels.coat_partner import PartnerChoice, check_size
from decloak.anonymisers.kernels.constraints import (
    all_items,
    nested_sets,
    privacy_constraints,
    random_items,
    related_sets,
    utility_constraints,
)
from decloak.anonymisers.method import Anonymiser, GeneralisingMethod, MethodOptions, NewRelease, Stopwatch
from decloak.checks import check_enough
from decloak.counting.generalisation_guarantee import broken_privacy, broken_utility
from decloak.counting.guarantees import CoatConstraints
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.plain_files import read
from decloak.data.pairs import Pairs, ScoredPairs
from decloak.data.published import Published, check_alignment
from decloak.errors import DecloakError, quote
from decloak.relate.counting import Cache
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Supplies
from decloak.yaml.section import ConfigErrors, ConfigSection, File, Item, ItemSet, disjoint

Sets = Sequence[Sequence[str]]


def _faults(data: Dataset, release: Coat, options: MethodOptions) -> Iterable[object]:
    yield from broken_privacy(release.published, options["privacy"], k=options["k"])
    yield from broken_utility(release.published, options["utility"])
    try:
        lost = [item for item in check_alignment(data, release.published) if item[1] not in release.suppressed]
    except DecloakError as error:  # here it is no fault of the data
        yield error.message
    else:
        yield from [f"occurrences are lost: {lost[:3]}"] if lost else []
        rows = zip(data.transactions, release.transactions, strict=True)
        invented = [
            element
            for items, row in rows
            for element in row
            if isinstance(element, tuple) and set(element).isdisjoint(items)
        ]
        yield from [f"sets of which a record has nothing: {invented[:3]}"] if invented else []


class DrawnPrivacy(ConfigSection):
    """Privacy constraints drawn at random."""

    share: float | None = Field(None, gt=0, le=1)
    """The share of the items that are protected, each alone."""
    count: int | None = Field(None, ge=1)
    """The number of sets of each size, each inside one of the next size."""
    sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (3, 4, 5, 6)
    """The sizes of the sets."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error unless exactly one way of drawing is given."""
        if (self.share is None) == (self.count is None):
            hint = "write one of the two"
            yield (), DecloakError("items are drawn by 'share', sets of them by 'count'", hint=hint)
        if "sizes" in self.model_fields_set and self.count is None:
            yield ("sizes",), DecloakError("'sizes' goes with 'count'", hint="delete it")

    def of(self, items: Sequence[str], seed: int) -> Sets:
        """Return constraints over `items`, drawn with `seed`."""
        if self.share is not None:
            return random_items(items, self.share, seed)
        assert self.count is not None
        return nested_sets(items, self.count, seed, self.sizes)


class RelatedUtility(ConfigSection):
    """Utility constraints of items related to the protected items."""

    relate: Relate
    """The measure of relatedness."""
    within: float = Field(0.5, ge=0)
    """Items at a smaller distance than this, or with a larger score if larger is closer, may be generalised
    together.
    """

    def of(self, privacy: Sets, data: Dataset, folder: Folder, cache: Cache | None) -> tuple[Sets, Sequence[str]]:
        """Return the sets of items related to each constraint of `privacy`, and notes about items that the measure does
        not know.

        `data`, `folder` and `cache` are as in the run.
        """
        protected = sorted({item for constraint in privacy for item in constraint})
        # Sets begin with protected items, so that pairs of others need no score.
        pairs = [(item, candidate) for item in protected for candidate in data.items]
        related = self.relate.related(pairs, Supplies(folder, lambda: data.transactions, cache))
        # Turned round where needed, so that larger is closer.
        sign = -1 if self.relate.closer == "smaller" else 1

        def similar(item: str, candidate: str) -> float | None:
            score = related.scores.get((item, candidate))
            return None if score is None else sign * score

        return related_sets(data.items, privacy, similar, sign * self.within), related.warnings


class ColumnSets(ConfigSection):
    """Utility constraints of a table whose columns are items, such as sex=f."""

    columns: Annotated[tuple[Item, ...], Field(min_length=1)]
    """The columns. Items of one column may be generalised together, and so may all items of no column."""

    def of(self, items: Sequence[str]) -> Sets:
        """Return the constraints over `items`."""
        found: dict[str, list[str]] = {column: [] for column in ("", *self.columns)}
        for item in items:
            column = item.partition("=")[0]
            found[column if column in self.columns and "=" in item else ""].append(item)
        if missing := [column for column in self.columns if not found[column]]:
            raise DecloakError(f"no item starts with {quote(missing[0] + '=')}", hint="name columns of the data")
        return [listed for listed in found.values() if listed]


class ListedSets(ConfigSection):
    """Sets of items in a file."""

    FILES: ClassVar = ("file",)

    file: File
    """The path of the file: one set per line, commas between its items."""

    def of(self, folder: Folder) -> Sets:
        """Return the sets in the file, in `folder`."""
        return [row for row in read(folder / self.file, "basket").transactions if row]


class CoatMethod(GeneralisingMethod):
    """COAT: it protects chosen combinations of items, by generalising within chosen sets or by suppressing."""

    guarantee_type: ClassVar = CoatConstraints
    FILES: ClassVar = ("population",)
    anonymisers: ClassVar = (
        Anonymiser(
            "coat", lambda data, options: coat(data, **options), _faults, {"k", "privacy", "utility"},
            {"suppress", "items", "partner", "near", "population", "slack"},
        ),
    )  # fmt: skip

    method: Literal["coat"]
    """The name of the method."""
    k: int = Field(ge=1)
    """The least support of a protected combination that occurs."""
    privacy: (
        Annotated[tuple[Annotated[tuple[Item, ...], Field(min_length=1)], ...], Field(min_length=1)]
        | DrawnPrivacy
        | ListedSets
    )
    """The sets of items that an attacker may know of a person, a file of them, or the way to draw them."""
    utility: (
        Literal["all"]
        | Annotated[tuple[ItemSet, ...], Field(min_length=1), AfterValidator(disjoint)]
        | RelatedUtility
        | ColumnSets
        | ListedSets
    ) = "all"
    """The sets of items that may be generalised together, a file of them, or columns of the data."""
    suppress: float = Field(1.0, ge=0, le=1)
    """The largest share of the items that may be suppressed."""

    partner: PartnerChoice | None = None
    """The choice among partners of equal loss. `hard`: the items that fit the records best, so that an attacker
    eliminates the original ones. `even`: the items that fit as well as the original ones. Without it, the first name.
    """
    relate: Relate | None = None
    """The relatedness that an attacker is expected to use, for `partner`."""
    population: File | None = None
    """A basket file of the records that an attacker is expected to know, for `partner`. Without it and `relate`,
    the published records are used.
    """
    slack: float = Field(1.0, ge=1)
    """The largest loss of a partner, in units of the least loss, for `partner`."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for each setting that only a choice of partners uses."""
        for key in sorted({"relate", "population", "slack"} & self.model_fields_set if self.partner is None else ()):
            yield (key,), DecloakError(f"'{key}' goes with 'partner'", hint="write partner: hard, or delete it")

    @property
    def guarantee(self) -> CoatConstraints:
        """The guarantee for the listed constraints."""
        if isinstance(self.privacy, ListedSets) or isinstance(self.utility, ListedSets):
            raise DecloakError("the constraints are in a file", hint="list them to check")
        if isinstance(self.utility, ColumnSets):
            raise DecloakError("the utility constraints depend on the data", hint="list them to check")
        if isinstance(self.privacy, DrawnPrivacy) or isinstance(self.utility, RelatedUtility):
            drawn = "privacy" if isinstance(self.privacy, DrawnPrivacy) else "utility"
            raise DecloakError(f"the {drawn} constraints are drawn from the original data", hint="list them to check")
        return CoatConstraints(self.k, self.privacy, None if self.utility == "all" else self.utility)

    @property
    def is_random(self) -> bool:
        """True if the privacy constraints are drawn."""
        return isinstance(self.privacy, DrawnPrivacy)

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error for constraints that do not fit `data`, or too few records. Files are in `folder`."""
        privacy_constraints(self._privacy(data, folder, 0), data.items)
        if self.relate is not None:
            self.relate.check(folder)
        if self.population is not None:
            read(folder / self.population, "basket")
        if isinstance(self.utility, RelatedUtility):
            self.utility.relate.check(folder)
        elif self.utility != "all":
            utility_constraints(self._utility((), data, folder, None)[0], data.items)
        check_enough(sum(map(bool, data.transactions)), self.k)
        if self.partner is not None:
            check_size(len(data.items), len(data.rows))

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return the release of `data` under constraints that are listed, drawn with `seed`, or derived from
        relatedness (with `cache`). Files are in `folder`.
        """
        privacy = self._privacy(data, folder, seed)
        utility, notes = self._utility(privacy, data, folder, cache)
        options = {"k": self.k, "privacy": privacy, "utility": utility, "suppress": self.suppress}
        near, unknown = self._near(data, folder, cache)
        clock = Stopwatch()
        release: Coat = self.anonymiser(data, options | near)
        loss = {"ul_log10": _log10(release.ul.exact), "suppressed": len(release.suppressed), **clock.seconds}
        # Drawn or worked out of the data, their number depends on items that may be suppressed.
        listed = {
            "privacy": None if isinstance(self.privacy, DrawnPrivacy) else len(privacy),
            "utility": None if isinstance(self.utility, RelatedUtility) else len(utility),
        }
        parameters = {name: listed.get(name, value) for name, value in options.items()}
        parameters |= {} if self.partner is None else {"partner": self.partner, "slack": self.slack}
        return NewRelease(
            release.published, self.method, parameters, loss, suppressed=release.suppressed, notes=[*notes, *unknown]
        )

    def _near(self, data: Dataset, folder: Folder, cache: Cache | None) -> tuple[dict[str, object], Sequence[str]]:
        """Return the options of a choice of partners, and notes about items that the measure does not know."""
        if self.partner is None:
            return {}, ()
        check_size(len(data.items), len(data.rows))  # before a measure scores all pairs
        options: dict[str, object] = {"partner": self.partner, "slack": self.slack}
        if self.population is not None:
            options["population"] = read(folder / self.population, "basket")
        if self.relate is None:
            return options, ()
        items = sorted(data.items)
        a, b = np.triu_indices(len(items), 1)
        pairs = Pairs.of_keys(items, a * len(items) + b)
        related = self.relate.related(pairs, Supplies(folder, lambda: data.transactions, cache))
        scored = related.apart or (related.scores,)
        if self.relate.closer == "smaller":
            scored = [ScoredPairs(ScoredPairs.of(one).pairs, 1 - ScoredPairs.of(one).numbers) for one in scored]
        return options | {"near": scored}, related.warnings

    def _privacy(self, data: Dataset, folder: Folder, seed: int) -> Sets:
        if isinstance(self.privacy, ListedSets):
            return self.privacy.of(folder)
        return self.privacy.of(data.items, seed) if isinstance(self.privacy, DrawnPrivacy) else self.privacy

    def _utility(self, privacy: Sets, data: Dataset, folder: Folder, cache: Cache | None) -> tuple[Sets, Sequence[str]]:
        if isinstance(self.utility, RelatedUtility):
            return self.utility.of(privacy, data, folder, cache)
        if isinstance(self.utility, ListedSets):
            return self.utility.of(folder), ()
        if isinstance(self.utility, ColumnSets):
            return self.utility.of(data.items), ()
        return (all_items(data.items) if self.utility == "all" else self.utility), ()


def _log10(loss: Fraction) -> float | None:
    """Return the logarithm of a loss that is too small for a float if there are many items; None of no loss."""
    return math.log10(loss.numerator) - math.log10(loss.denominator) if loss else None
