"""Method sets: each item is replaced by its set, listed or drawn.

A drawn partition is the simplest form of COAT's privacy constraints, without its search for the least loss. It
guarantees no k; `decloak check` measures it.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from decloak.anonymisers.method import Anonymiser, GeneralisingMethod, MethodOptions, NewRelease
from decloak.counting.guarantees import WholeSets
from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.errors import DecloakError, quote
from decloak.relate.counting import Cache
from decloak.yaml.section import ConfigErrors, ItemSet, disjoint


def random_sets(items: Sequence[str], size: int, share: float, seed: int) -> list[tuple[str, ...]]:
    """Return sets of `size` items, drawn with `seed` from a `share` of the `items`; a single remaining item joins the
    last set.

    >>> random_sets(["a", "b", "c", "d"], 2, 1.0, seed=1)
    [('a', 'd'), ('b', 'c')]
    """
    # Sorted, so that a seed draws the same sets whatever the order of the items.
    drawn = random.Random(seed).sample(sorted(items), round(share * len(items)))
    sets = [drawn[start : start + size] for start in range(0, len(drawn), size)]
    # A set of one item would be published as the item itself.
    if len(sets) > 1 and len(sets[-1]) == 1:
        over = sets.pop()
        sets[-1] += over
    return sorted(tuple(sorted(members)) for members in sets if len(members) > 1)


def by_sets(data: Dataset, sets: Iterable[Sequence[str]]) -> Published:
    """Return `data` with every item of one of `sets` published as the set, at the position of its first member; other
    items stay plain.
    """
    generalised: dict[str, tuple[str, ...]] = {}
    for members in sets:
        for item in members:
            if item in generalised:
                raise DecloakError(f"the item {quote(item)} is in two sets", hint="sets must not overlap")
            generalised[item] = tuple(members)
    unknown = sorted(generalised.keys() - set(data.items))
    if unknown:
        hint = "check the spelling, or leave it out"
        raise DecloakError(f"the item {quote(unknown[0])} of a set is in no record", hint=hint)
    rows: list[tuple[Element, ...]] = [
        tuple(dict.fromkeys(generalised.get(item, item) for item in transaction)) for transaction in data.transactions
    ]
    return Published(tuple(rows), data.labels, f"sets of {data.origin}")


def _faults(data: Dataset, release: Published, options: MethodOptions) -> Iterable[object]:
    return WholeSets(tuple(map(tuple, options["sets"]))).violations(Generalised.of(release))


class SetsMethod(GeneralisingMethod):
    """Set-generalisation: each item is replaced by its set."""

    guarantee_type: ClassVar = WholeSets
    anonymisers: ClassVar = (
        Anonymiser("sets", lambda data, options: by_sets(data, options["sets"]), _faults, {"sets"}),
    )

    method: Literal["sets"]
    """The name of the method."""
    size: int | None = Field(None, ge=2)
    """Number of items in a set. Items are assigned at random, differently in each repetition."""
    share: float = Field(0.5, gt=0, le=1)
    """The share of the items in sets of 'size'; the others are published as they are."""
    sets: Annotated[tuple[ItemSet, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """The sets; an item in none of them is published as it is."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error unless sets are either drawn or given."""
        if (self.size is None) == (self.sets is None):
            yield (), DecloakError("sets are drawn by 'size' or listed under 'sets'", hint="write one of the two")

    @property
    def is_random(self) -> bool:
        """True if the sets are drawn."""
        return self.size is not None

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise the error of publishing `data`, which is little work. `folder` is not used."""
        self.make(data, folder, 0)

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return the release of `data` by listed sets, or by sets drawn with `seed`. `folder` and `cache` are not
        used.
        """
        if self.sets is not None:
            return NewRelease(self.anonymiser(data, {"sets": self.sets}), self.method, {"sets": len(self.sets)})
        assert self.size is not None
        drawn = random_sets(data.items, self.size, self.share, seed)
        settings = {"size": self.size, "share": self.share, "seed": seed}
        return NewRelease(self.anonymiser(data, {"sets": drawn}), self.method, settings)
