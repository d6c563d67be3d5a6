"""Diversity: nobody who knows m items of a person is surer than 1/l of a sensitive one."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import InHierarchy, Records, Tree, everywhere, tree_in
from decloak.anonymisers.kernels.constraints import item_names
from decloak.anonymisers.kernels.diversity import diversity
from decloak.anonymisers.kernels.raised_cut import Walked
from decloak.anonymisers.method import Anonymiser, MethodOptions
from decloak.counting.generalisation_guarantee import check_diverse
from decloak.counting.promises import Diverse
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError, nearest, shown
from decloak.yaml.part import Item

__all__ = ["DiversityMethod"]


def _make(data: Dataset, options: MethodOptions) -> Generalised:
    """Only what is not sensitive is generalised."""
    tree, sensitive = tree_in(options), frozenset(item_names(options["sensitive"], "sensitive"))
    _check_sensitive(sensitive, data, tree.labels)
    hidden = [sorted(sensitive.intersection(row)) for row in data.transactions]

    def find(tree: Hierarchy, records: Records, l: int, m: int, **_: object) -> Walked:  # noqa: E741
        return Walked(diversity(tree, records, hidden, l, m))

    release = everywhere(find, "diversity", _without(data, sensitive), options)
    rows = tuple(tuple(sorted([*row, *held])) for row, held in zip(release.transactions, hidden, strict=True))
    members = {**release.members, **{item: (item,) for item in sensitive.intersection(data.items)}}
    return replace(release, transactions=rows, members=members)


def _faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    return check_diverse(data, release, options["sensitive"], options["l"], options["m"])


def _without(data: Dataset, sensitive: Collection[str]) -> Dataset:
    rows = tuple(tuple(item for item in row if item not in sensitive) for row in data.transactions)
    return Dataset(rows, data.labels, data.origin)


def _check_sensitive(sensitive: Collection[str], data: Dataset, labels: Collection[str] = ()) -> None:
    """Refuse sensitive items that are generalised as well, and those no transaction holds: they would hide nothing."""
    for item in sorted(set(sensitive).intersection(labels)):
        raise DecloakError(f"the sensitive item {shown(item)} is in the hierarchy", hint="leave it out of one of them")
    for item in sorted(set(sensitive).difference(data.items)):
        hint = nearest(item, data.items[:5000]) or "check the spelling, or leave it out"
        raise DecloakError(f"the sensitive item {shown(item)} is in no transaction", hint=hint)


class DiversityMethod(InHierarchy):
    """l^m-diversity: nobody who knows m items of a person is surer than 1/l of a sensitive item."""

    promised: ClassVar = Diverse
    anonymisers: ClassVar = (Anonymiser("diversity", _make, _faults, frozenset({"l", "m", "sensitive", "hierarchy"})),)

    method: Literal["diversity"]
    """The name of the method."""
    l: int = Field(ge=1)  # noqa: E741 (the word of the papers)
    """One in how many may have a sensitive item."""
    m: int = Field(ge=1)
    """How many items somebody may know of a person."""
    sensitive: Annotated[tuple[Item, ...], Field(min_length=1)]
    """The items nobody may learn; they are published as they are, the others generalised."""
    hierarchy: Tree
    """The hierarchy, of the other items."""

    def generalised_part(self, data: Dataset) -> Dataset:
        return _without(data, frozenset(self.sensitive))

    def check(self, data: Dataset, folder: Folder) -> None:
        """Refuse sensitive items that would hide nothing, and a hierarchy that does not fit."""
        _check_sensitive(self.sensitive, data)
        tree = self.hierarchy.check(self.generalised_part(data), folder)
        if tree is not None:
            _check_sensitive(self.sensitive, data, tree.labels)
