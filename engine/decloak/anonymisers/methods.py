"""How original transactions are anonymised, as a scenario says it: a part for every method, by its name."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field

from decloak.anonymisers.kernels.building import ORDERS
from decloak.data.formats.hierarchy_file import HIERARCHY_FORMATS
from decloak.data.forms import FormName
from decloak.errors import DecloakError, shown
from decloak.relate.parts import Relate
from decloak.yaml.part import File, Found, Generalised, Item, Part, disjoint

__all__ = [
    "Coat",
    "Disassociation",
    "Diversity",
    "Drawn",
    "Generalisation",
    "Lra",
    "Method",
    "Partition",
    "Sets",
    "Similar",
    "Tree",
    "Vpa",
    "by_chance",
]  # fmt: skip


class Sets(Part):
    """Set-generalisation: each item is replaced by the set that it is in."""

    form: ClassVar[FormName] = FormName.SET_GENERALISED

    method: Literal["sets"]
    """The name of the method."""
    size: int | None = Field(None, ge=2)
    """Items in a set; the items are shared out at random, anew in each repetition."""
    share: float = Field(0.5, gt=0, le=1)
    """The share of the items that go into sets of 'size'; the others are published as they are."""
    sets: Annotated[tuple[Generalised, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """The sets; an item in none of them is published as it is."""

    def mistakes(self) -> Found:
        """Sets are drawn or given."""
        if (self.size is None) == (self.sets is None):
            yield (), DecloakError("sets are drawn by 'size' or listed under 'sets'", hint="write one of the two")


class Disassociation(Part):
    """Disassociation: clusters of records, published as chunks that hide which record had what."""

    form: ClassVar[FormName] = FormName.DISASSOCIATED

    method: Literal["disassociation"]
    """The name of the method."""
    k: int = Field(ge=2)
    """How many sub-records must hold an itemset that occurs in a chunk."""
    m: int = Field(ge=1)
    """How many items somebody may know of a person."""
    max_cluster: int = Field(ge=2)
    """Records a cluster has at most, before small ones are pooled."""
    refine: bool = False
    """Whether clusters share chunks of items that are rare in each of them."""

    def mistakes(self) -> Found:
        """A cluster holds k records at least."""
        if self.max_cluster < self.k:
            message = f"max_cluster is {self.max_cluster} and k is {self.k}"
            yield ("max_cluster",), DecloakError(message, hint="write at least k")


_WAYS = (*ORDERS, "cooccurrence", "relatedness")


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


class _Hidden(Part):
    """What all methods that generalise in a hierarchy need."""

    form: ClassVar[FormName] = FormName.GENERALISED

    k: int = Field(ge=1)
    """How many transactions must hold a set of labels that occurs."""
    hierarchy: Tree
    """The hierarchy."""


class _Guarded(_Hidden):
    m: int = Field(ge=1)
    """How many items somebody may know of a person."""


class Generalisation(_Guarded):
    """k^m-anonymity by one cut for all records: cut is fast, aa and da are the papers', oa tries every cut."""

    method: Literal["cut", "aa", "da", "oa"]
    """The name of the method."""
    refine: bool = False
    """Whether labels are taken apart again, the dearest first, as far as the guarantee lets (cut)."""

    def mistakes(self) -> Found:
        """Only the fast form is refined."""
        if self.method != "cut" and "refine" in self.model_fields_set:
            yield ("refine",), DecloakError(f"{self.method} is not refined", hint="delete it, or method: cut")


class Lra(_Guarded):
    """k^m-anonymity by local recoding: similar records together in parts, each with a cut of its own."""

    method: Literal["lra"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the records go."""
    flexibility: int = Field(10, ge=0)
    """How many records a border may move, to lie between unlike ones."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""


class Vpa(_Guarded):
    """k^m-anonymity by parts of the domain, then once over all of it."""

    method: Literal["vpa"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the items go."""
    level: int = Field(1, ge=0)
    """The level of the hierarchy whose nodes are shared out; 0 are the items."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""


class Partition(_Hidden):
    """k-anonymity of whole records, top-down by local recoding (He and Naughton)."""

    method: Literal["partition"]
    """The name of the method."""


class Diversity(Part):
    """l^m-diversity: nobody who knows m items of a person is surer than 1/l of a sensitive item."""

    form: ClassVar[FormName] = FormName.GENERALISED

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


class Drawn(Part):
    """Privacy constraints drawn at random."""

    share: float | None = Field(None, gt=0, le=1)
    """The share of the items that are protected, each alone."""
    count: int | None = Field(None, ge=1)
    """How many sets of each size are drawn, each inside one of the next size."""
    sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (3, 4, 5, 6)
    """The sizes of the sets."""

    def mistakes(self) -> Found:
        """One way of drawing."""
        if (self.share is None) == (self.count is None):
            hint = "write one of the two"
            yield (), DecloakError("items are drawn by 'share', sets of them by 'count'", hint=hint)
        if "sizes" in self.model_fields_set and self.count is None:
            yield ("sizes",), DecloakError("'sizes' goes with 'count'", hint="delete it")


class Similar(Part):
    """Utility constraints of what is related to the protected items."""

    relate: Relate
    """The measure."""
    within: float = Field(0.5, ge=0)
    """Items nearer than this distance, or with a larger score where larger is closer, may stand for one another."""


class Coat(Part):
    """COAT: chosen combinations of items are hidden, by generalising within chosen sets or suppressing."""

    form: ClassVar[FormName] = FormName.SET_GENERALISED

    method: Literal["coat"]
    """The name of the method."""
    k: int = Field(ge=1)
    """How many transactions must hold a protected combination that occurs."""
    privacy: Annotated[tuple[Annotated[tuple[Item, ...], Field(min_length=1)], ...], Field(min_length=1)] | Drawn
    """The sets of items somebody may know of a person, or how they are drawn."""
    utility: (
        Literal["all"] | Annotated[tuple[Generalised, ...], Field(min_length=1), AfterValidator(disjoint)] | Similar
    ) = "all"
    """The sets of items that may be generalised together."""
    suppress: float = Field(1.0, ge=0, le=1)
    """The share of the items that may be suppressed."""


Method = Annotated[
    Sets | Disassociation | Generalisation | Lra | Vpa | Partition | Diversity | Coat, Discriminator("method")
]
"""Any of them."""


def by_chance(method: Part | None) -> bool:
    """Whether what a method makes depends on the seed."""
    match method:
        case Sets():
            return method.size is not None
        case Coat():
            return isinstance(method.privacy, Drawn)
        case Generalisation() | Lra() | Vpa() | Partition() | Diversity():
            return method.hierarchy.by == "random"
    return False
