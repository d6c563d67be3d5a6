"""The hierarchies that items are generalised in, and what the methods share that do it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from decloak.anonymisers.kernels.building import GROUPINGS, by_cooccurrence, by_relatedness, check_items, ordered
from decloak.anonymisers.kernels.raised_cut import Walked
from decloak.anonymisers.kernels.release import Local, generalised
from decloak.anonymisers.method import Method, MethodOptions, NewRelease, Stopwatch
from decloak.checks import check_enough
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.counting.promises import Frequent
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.hierarchy_file import HIERARCHY_FORMATS
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError, shown
from decloak.lazy import sparse
from decloak.relate.counting import Cache
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Supplies
from decloak.yaml.part import File, Found, Part

__all__ = [
    "KM",
    "Guarded",
    "Hidden",
    "InHierarchy",
    "Records",
    "Tree",
    "everywhere",
    "in_parts",
    "km_faults",
    "tree_in",
]

Records: TypeAlias = "sparse.csr_array[Any]"
KM = {"k", "m", "hierarchy"}
"""What k^m-anonymity in a hierarchy needs."""
_WAYS = (*GROUPINGS, "cooccurrence", "relatedness")


class Tree(Part):
    """The hierarchy items are generalised in: a file, or consecutive items in groups."""

    FILES: ClassVar = ("file",)

    file: File | None = None
    """The path of a file."""
    format: Literal[HIERARCHY_FORMATS] | None = None  # type: ignore[valid-type]
    """How the file is written: parents (CSV child,parent), indented, paths (item;group;root) or nested (YAML, JSON)."""
    by: Literal[_WAYS] | None = None  # type: ignore[valid-type]
    """What brings items together: their names, the order of the file, popularity, chance, standing in the same
    transactions, or a measure of relatedness."""
    fanout: int = Field(5, ge=2)
    """How many nodes a group has."""
    relate: Relate | None = None
    """By relatedness: the measure, for all pairs of items."""

    def mistakes(self) -> Found:
        """A file or a way to make one, with what belongs to it."""
        if (self.file is None) == (self.by is None):
            ways = ", ".join(_WAYS[:-1])
            hint = f"write by: {ways} or {_WAYS[-1]}, or file: PATH" if self.by is None else "write one of the two"
            yield (), DecloakError("a hierarchy is read from a 'file' or made 'by' something", hint=hint)
        if self.file is not None and self.format is None:
            hint = f"write format: {' or '.join(HIERARCHY_FORMATS)}"
            yield ("file",), DecloakError("the format of the hierarchy is missing", hint=hint)
        for key in ("format", "fanout"):
            if key in self.model_fields_set and (self.file is None) == (key == "format"):
                what = "made by something" if self.file is None else "read from a file"
                yield (key,), DecloakError(f"a hierarchy {what} has no {shown(key)}", hint="delete it")
        if (self.by == "relatedness") != (self.relate is not None):
            hint = "write by: relatedness and relate: {...}, or neither"
            yield ("relate",), DecloakError("'relate' tells how a hierarchy by relatedness is measured", hint=hint)
        if self.relate is not None and self.relate.closer == "larger":
            yield (
                ("relate", "closer"),
                DecloakError("a hierarchy goes by distances", hint="give distances, and delete it"),
            )

    def check(self, data: Dataset, folder: Folder) -> Hierarchy | None:
        """Refuse what cannot be read, or made of these items; the hierarchy of a file."""
        if self.by is not None:
            check_items(data.items, self.by)
        if self.relate is not None:
            self.relate.check(folder)
        if self.file is None:
            return None
        tree = self._read(folder)
        tree.code(data)
        return tree

    def of(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None) -> tuple[Hierarchy, Sequence[str]]:
        """Read a hierarchy, or make one of the items; with it what the measure it goes by could not use."""
        if self.file is not None:
            return self._read(folder), ()
        if self.by == "cooccurrence":
            return by_cooccurrence(data, self.fanout), ()
        if self.relate is not None:
            pairs = list(combinations(data.items, 2))
            related = self.relate.related(pairs, Supplies(folder, lambda: data.transactions, cache))
            return by_relatedness(data.items, related.scores, self.fanout), related.warnings
        return ordered(data, str(self.by), self.fanout, seed), ()

    def _read(self, folder: Folder) -> Hierarchy:
        """The hierarchy of the file, called as the scenario calls it, wherever that is."""
        assert self.file is not None
        return replace(Hierarchy.read(folder / self.file, str(self.format)), origin=self.file)


class InHierarchy(Method):
    """What all methods that generalise in a hierarchy do alike."""

    form: ClassVar = FormName.GENERALISED

    if TYPE_CHECKING:
        hierarchy: Tree

    @property
    def random(self) -> bool:
        return self.hierarchy.by == "random"

    def mistakes(self) -> Found:
        """What the records are sorted to hide decides nothing."""
        yield from super().mistakes()
        if self.hierarchy.by == "file" and self.order == "sorted":
            hint = "write by: names, or order: recorded under anonymise"
            yield ("hierarchy", "by"), DecloakError("sorted records have no order of the file", hint=hint)

    def words(self, data: Dataset, folder: Folder) -> Collection[str]:
        """The items, and the leaves of a hierarchy that is read."""
        tree = self.hierarchy.check(data, folder)
        return data.items if tree is None else {*data.items, *tree.items}

    def generalised_part(self, data: Dataset) -> Dataset:
        """The data without what is published as it is."""
        return data

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease:
        """Generalise in the hierarchy, read or made."""
        tree, notes = self.hierarchy.of(self.generalised_part(data), folder, seed, cache)
        options = self.model_dump(exclude={"method", "hierarchy", "order"})
        if not options.get("refine"):
            options.pop("refine", None)
        clock = Stopwatch()
        release: Generalised = self.anonymiser(data, {"hierarchy": tree, **options})
        assert release.ncp is not None
        loss = {"ncp": str(release.ncp.exact), **clock.seconds}
        if release.tree_nodes is not None:
            loss["tree_nodes"] = release.tree_nodes
        return NewRelease(release.published, self.method, options, loss, tree, notes=notes)


class Hidden(InHierarchy):
    """What hides transactions among k needs."""

    k: int = Field(ge=1)
    """How many transactions must hold a set of labels that occurs."""
    hierarchy: Tree
    """The hierarchy."""

    def check(self, data: Dataset, folder: Folder) -> None:
        """Refuse a hierarchy that does not fit, and too few transactions."""
        self.hierarchy.check(data, folder)
        check_enough(sum(map(bool, data.transactions)), self.k)


class Guarded(Hidden):
    """What hides them from somebody who knows m items."""

    promised: ClassVar = Frequent

    m: int = Field(ge=1)
    """How many items somebody may know of a person."""


def everywhere(find: Callable[..., Walked], method: str, data: Dataset, options: MethodOptions) -> Generalised:
    """A release by the one cut for all records that is found."""

    def find_cuts(tree: Hierarchy, records: Records, **settings: Any) -> Local:
        walked = find(tree, records, **settings)
        return Local.everywhere(walked.cut, records.shape[0], walked.tree_nodes)

    return in_parts(find_cuts, method, data, options)


def in_parts(find: Callable[..., Local], method: str, data: Dataset, options: MethodOptions) -> Generalised:
    """A release by the cut that is found for every part of the records."""
    tree = tree_in(options)
    records = tree.code(data)
    cuts = find(tree, records, **{name: value for name, value in options.items() if name != "hierarchy"})
    return generalised(data, tree, records, cuts, method=method, k=options.get("k"), m=options.get("m"))


def km_faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    """What breaks k^m-anonymity, or was lost."""
    return check_generalised(data, release, options["k"], options["m"])


def tree_in(options: MethodOptions) -> Hierarchy:
    tree = options["hierarchy"]
    if not isinstance(tree, Hierarchy):
        hint = "build one: decloak.Hierarchy.balanced(data.items, fanout=5)"
        raise DecloakError(f"{shown(tree)} is not a hierarchy", hint=hint)
    return tree
