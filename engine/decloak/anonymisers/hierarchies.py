"""Hierarchies for generalisation, and the code that all methods with a hierarchy share."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from pydantic import Field

from decloak.anonymisers.kernels.building import GROUPINGS, by_cooccurrence, by_relatedness, check_items, ordered
from decloak.anonymisers.kernels.raised_cut import Local, Walked, generalised
from decloak.anonymisers.method import GeneralisingMethod, MethodOptions, NewRelease, Stopwatch
from decloak.arrays import Ints
from decloak.checks import check_enough
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.counting.guarantees import KmAnonymity
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.hierarchy_file import HIERARCHY_FORMATS
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.errors import DecloakError, quote
from decloak.lazy import sparse
from decloak.relate.counting import Cache
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Supplies
from decloak.yaml.section import ConfigErrors, ConfigSection, File

Records: TypeAlias = "sparse.csr_array"
KM = {"k", "m", "hierarchy"}
"""Options of k^m-anonymity in a hierarchy."""
_WAYS = (*GROUPINGS, "cooccurrence", "relatedness")


class Tree(ConfigSection):
    """The hierarchy for generalisation: a file, or consecutive items in groups."""

    FILES: ClassVar = ("file",)

    file: File | None = None
    """The path of a file."""
    format: Literal[HIERARCHY_FORMATS] | None = None  # type: ignore[valid-type]
    """The format of the file: parents (CSV child,parent), indented, paths (item;group;root) or nested (YAML, JSON)."""
    by: Literal[_WAYS] | None = None  # type: ignore[valid-type]
    """The order that brings items together: by name, by the order of the file, by popularity, random, by occurrence in
    the same records, or by a measure of relatedness.
    """
    fanout: int = Field(5, ge=2)
    """The number of nodes of a group."""
    relate: Relate | None = None
    """For an order by relatedness: the measure, for all pairs of items."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors unless there is either a file or a way to make the hierarchy, with the settings it needs."""
        if (self.file is None) == (self.by is None):
            ways = ", ".join(_WAYS[:-1])
            hint = (
                f"write `by:` with {ways} or {_WAYS[-1]}, or write `file: PATH`"
                if self.by is None
                else "write one of the two"
            )
            yield (), DecloakError("a hierarchy is read from a 'file' or made 'by' something", hint=hint)
        if self.file is not None and self.format is None:
            hint = f"write format: {' or '.join(HIERARCHY_FORMATS)}"
            yield ("file",), DecloakError("the format of the hierarchy is missing", hint=hint)
        for key in ("format", "fanout"):
            if key in self.model_fields_set and (self.file is None) == (key == "format"):
                what = "made by something" if self.file is None else "read from a file"
                yield (key,), DecloakError(f"a hierarchy {what} has no {quote(key)}", hint="delete it")
        if (self.by == "relatedness") != (self.relate is not None):
            hint = "write `by: relatedness` and `relate: {...}`, or remove both"
            yield ("relate",), DecloakError("'relate' applies only to a hierarchy by relatedness", hint=hint)
        if self.relate is not None and self.relate.closer == "larger":
            yield (
                ("relate", "closer"),
                DecloakError("a hierarchy by relatedness needs distances", hint="give distances, and delete it"),
            )

    def check(self, data: Dataset, folder: Folder) -> Hierarchy | None:
        """Raise an error if the file in `folder` cannot be read, or a hierarchy of the items of `data` cannot be made.
        Return the hierarchy of a file.
        """
        if self.by is not None:
            check_items(data.items, self.by)
        if self.relate is not None:
            self.relate.check(folder)
        if self.file is None:
            return None
        tree = self.read(folder)
        tree.code(data)
        return tree

    def of(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None) -> tuple[Hierarchy, Sequence[str]]:
        """Return the hierarchy, read from `folder` or made of the items of `data`, and notes about items that the
        measure does not know.

        `seed` decides a random order, `cache` has scores.
        """
        if self.file is not None:
            return self.read(folder), ()
        if self.by == "cooccurrence":
            return by_cooccurrence(data, self.fanout), ()
        if self.relate is not None:
            pairs = list(combinations(data.items, 2))
            related = self.relate.related(pairs, Supplies(folder, lambda: data.transactions, cache))
            return by_relatedness(data.items, related.scores, self.fanout), related.warnings
        return ordered(data, str(self.by), self.fanout, seed), ()

    def read(self, folder: Folder) -> Hierarchy:
        """Return the hierarchy of the file in `folder`, with the path in the scenario as its name."""
        assert self.file is not None
        return replace(Hierarchy.read(folder / self.file, str(self.format)), origin=self.file)


class InHierarchy(GeneralisingMethod):
    """A method that generalises in a hierarchy."""

    form: ClassVar = FormName.GENERALISED

    if TYPE_CHECKING:
        hierarchy: Tree

    @property
    def is_random(self) -> bool:
        """True if the hierarchy is random."""
        return self.hierarchy.by == "random"

    def config_errors(self) -> ConfigErrors:
        """Yield an error for a hierarchy in the order of the file if records are sorted to hide that order."""
        yield from super().config_errors()
        if self.hierarchy.by == "file" and self.order == "sorted":
            hint = "write `by: names`, or `order: recorded` under anonymise"
            yield ("hierarchy", "by"), DecloakError("sorted records have no order of the file", hint=hint)

    def publishable_names(self, data: Dataset, folder: Folder) -> Collection[str]:
        """Return the items of `data`, and the leaves of a hierarchy that is read from `folder`."""
        tree = self.hierarchy.check(data, folder)
        return data.items if tree is None else {*data.items, *tree.items}

    def generalised_part(self, data: Dataset) -> Dataset:
        """Return `data` without the items that are published as they are."""
        return data

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return the release of `data`, generalised in the hierarchy, which is read from `folder` or made with `seed`
        and `cache`.
        """
        tree, notes = self.hierarchy.of(self.generalised_part(data), folder, seed, cache)
        options = self.model_dump(exclude={"method", "hierarchy", "order"})
        # Without a newer setting, parameters are the same as in older versions.
        options = {name: value for name, value in options.items() if value or name not in ("refine", "negative")}
        clock = Stopwatch()
        release: Generalised = self.anonymiser(data, {"hierarchy": tree, **options})
        assert release.ncp is not None
        # As text, the fraction stays exact in the store.
        loss = {"ncp": str(release.ncp.exact), **clock.seconds}
        if release.tree_nodes is not None:
            loss["tree_nodes"] = release.tree_nodes
        return NewRelease(release.published, self.method, options, loss, tree, notes=notes)


class Hidden(InHierarchy):
    """Settings of a method that hides a record among k."""

    k: int = Field(ge=1)
    """The least number of records with a set of labels that occurs."""
    hierarchy: Tree
    """The hierarchy."""

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error for a hierarchy (in `folder`) that does not fit `data`, and for too few records."""
        self.hierarchy.check(data, folder)
        check_enough(sum(map(bool, data.transactions)), self.k)


class Guarded(Hidden):
    """Settings of a method against an attacker who knows m items."""

    guarantee_type: ClassVar = KmAnonymity

    m: int = Field(ge=1)
    """The number of items that an attacker may know of a person."""


def generalise_by(
    find: Callable[..., Ints | Walked | Local], method: str, data: Dataset, options: MethodOptions
) -> Generalised:
    """Return the release of `data` for `method`, by the cut that `find` returns for `options`, or one for each part."""
    tree = tree_in(options)
    records = tree.code(data)
    cuts = find(tree, records, **{name: value for name, value in options.items() if name != "hierarchy"})
    if not isinstance(cuts, Walked | Local):
        cuts = Walked(cuts)
    if isinstance(cuts, Walked):
        cuts = Local.with_one_cut(cuts.cut, records.shape[0], cuts.tree_nodes)
    return generalised(data, tree, records, cuts, method=method, k=options.get("k"), m=options.get("m"))


def km_faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    """Yield violations of k^m-anonymity (by `options`) in `release`, and losses against `data`."""
    return check_generalised(data, release, options["k"], options["m"])


def tree_in(options: MethodOptions) -> Hierarchy:
    """Return the hierarchy in `options`; raise an error if it is none."""
    tree = options["hierarchy"]
    if not isinstance(tree, Hierarchy):
        hint = "build one: decloak.Hierarchy.balanced(data.items, fanout=5)"
        raise DecloakError(f"{quote(tree)} is not a hierarchy", hint=hint)
    return tree
