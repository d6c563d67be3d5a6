"""Method diversity: an attacker with m items of a person infers a sensitive one with a probability of at most 1/l."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import InHierarchy, Records, Tree, generalise_by, tree_in
from decloak.anonymisers.kernels.constraints import item_names
from decloak.anonymisers.kernels.diversity import diversity
from decloak.anonymisers.method import Anonymiser, MethodOptions
from decloak.arrays import Ints
from decloak.counting.generalisation_guarantee import check_diverse
from decloak.counting.guarantees import LmDiversity
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError, quote, suggest
from decloak.yaml.section import Item


def _make(data: Dataset, options: MethodOptions) -> Generalised:
    """Return a release in which only items that are not sensitive are generalised."""
    tree, sensitive = tree_in(options), frozenset(item_names(options["sensitive"], "sensitive"))
    _check_sensitive(sensitive, data, tree.labels)
    hidden = [sorted(sensitive.intersection(row)) for row in data.transactions]

    def find(tree: Hierarchy, records: Records, l: int, m: int, **_: object) -> Ints:  # noqa: E741
        # `hidden` has the sensitive items already, so that their option is not used.
        return diversity(tree, records, hidden, l, m)

    release = generalise_by(find, "diversity", _without_sensitive(data, sensitive), options)
    rows = tuple(tuple(sorted([*row, *held])) for row, held in zip(release.transactions, hidden, strict=True))
    members = {**release.members, **{item: (item,) for item in sensitive.intersection(data.items)}}
    return replace(release, transactions=rows, members=members)


def _faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    return check_diverse(data, release, options["sensitive"], options["l"], options["m"])


def _without_sensitive(data: Dataset, sensitive: Collection[str]) -> Dataset:
    rows = tuple(tuple(item for item in row if item not in sensitive) for row in data.transactions)
    return Dataset(rows, data.labels, data.origin)


def _check_sensitive(sensitive: Collection[str], data: Dataset, labels: Collection[str] = ()) -> None:
    """Raise an error for sensitive items that are also generalised, or that no record has."""
    for item in sorted(set(sensitive).intersection(labels)):
        raise DecloakError(f"the sensitive item {quote(item)} is in the hierarchy", hint="leave it out of one of them")
    for item in sorted(set(sensitive).difference(data.items)):
        hint = suggest(item, data.items[:5000]) or "check the spelling, or leave it out"
        raise DecloakError(f"the sensitive item {quote(item)} is in no record", hint=hint)


class DiversityMethod(InHierarchy):
    """l^m-diversity: an attacker with m items of a person infers a sensitive item with a probability of at most 1/l."""

    guarantee_type: ClassVar = LmDiversity
    anonymisers: ClassVar = (Anonymiser("diversity", _make, _faults, frozenset({"l", "m", "sensitive", "hierarchy"})),)

    method: Literal["diversity"]
    """The name of the method."""
    l: int = Field(ge=1)  # noqa: E741 (the word of the papers)
    """The largest probability of a sensitive item is 1/l."""
    m: int = Field(ge=1)
    """The number of items that an attacker may know of a person."""
    sensitive: Annotated[tuple[Item, ...], Field(min_length=1)]
    """The sensitive items. They are published as they are, the others generalised."""
    hierarchy: Tree
    """The hierarchy of the other items."""

    def generalised_part(self, data: Dataset) -> Dataset:
        """Return `data` without the sensitive items."""
        return _without_sensitive(data, frozenset(self.sensitive))

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error for sensitive items that `data` lack, and for a hierarchy (in `folder`) that does not fit."""
        _check_sensitive(self.sensitive, data)
        tree = self.hierarchy.check(self.generalised_part(data), folder)
        if tree is not None:
            _check_sensitive(self.sensitive, data, tree.labels)
