"""The parts of a scenario: one closed, strict model each, its texts the descriptions of the JSON Schema.

A key that nothing interprets is an error, and so is one that another key makes void.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from decloak.data.delimited import check_separator
from decloak.data.readers import FORMATS
from decloak.data.record import Options
from decloak.errors import DecloakError, shown
from decloak.positions import Loc, Mistakes

__all__ = [
    "Attack", "Attacker", "Data", "Disassociation", "Distances", "File", "Found", "Original", "Pair", "Part",
    "PseudoCount", "Published", "PublishedFile", "Relate", "Release", "Repeat", "Sets",
]  # fmt: skip

Found = Iterator[tuple[Loc, DecloakError]]


class Part(BaseModel):
    """A mapping of a scenario; the texts under its fields describe them in the JSON Schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    def mistakes(self) -> Found:
        """What its keys say against each other: where, and what is wrong."""
        yield from ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found = tuple(self.mistakes())
        if found:
            raise Mistakes(*found)
        return self


def _disjoint(sets: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    first: dict[str, Loc] = {}
    places = ((item, (number, at)) for number, members in enumerate(sets) for at, item in enumerate(members))
    twice = [(loc, item) for item, loc in places if first.setdefault(item, loc) != loc]
    if twice:
        hint = "an item stands once, in one set"
        raise Mistakes(*((loc, DecloakError(f"{shown(item)} is written twice", hint=hint)) for loc, item in twice))
    return sets


File = Annotated[str, Field(min_length=1)]
Item = Annotated[str, Field(min_length=1)]
Generalised = Annotated[tuple[Item, ...], Field(min_length=2)]
Known = Annotated[tuple[Item, ...], Field(min_length=1)]


class PublishedFile(Part):
    """A file of set-generalised transactions: `heart disease, (icd, limbs), weakness`."""

    file: File
    """The path of the file."""
    ids: bool = False
    """Whether the first name of a line is the transaction's id."""
    marked: bool = True
    """Whether brackets show which items are generalised; if not, the attacker goes by k and utility."""


class Original(Part):
    """Transactions as they were collected."""

    file: File
    """The path of the file."""
    format: Literal["basket", "long", "onehot", "jsonl", "spmf"]
    """How it is written; `decloak import --help` describes the formats."""
    ids: bool = False
    """Whether the first name of a line is the transaction's id."""
    separator: str | None = None
    """The character between names, when it is not a comma."""
    transaction: str = Options().transaction
    """The column that holds the transaction's id (format long)."""
    item: str = Options().item
    """The column that holds the item (format long)."""

    def mistakes(self) -> Found:
        """Options that mean nothing to the format."""
        known = FORMATS[self.format].options
        for option in Options._fields:
            if option in self.model_fields_set and option not in known:
                yield (
                    (option,),
                    DecloakError(f"the format {self.format} has no option {shown(option)}", hint="delete it"),
                )
        if self.transaction == self.item:
            message = f"{shown(self.item)} cannot hold both the transaction and the item"
            yield ("item",), DecloakError(message, hint="name two columns")
        if self.separator is not None:
            try:
                check_separator(self.separator)
            except DecloakError as error:
                yield ("separator",), error


class _WithRelease(Part):
    published: File | PublishedFile
    """What was published: a path, or a file and how to read it."""

    @property
    def published_file(self) -> PublishedFile:
        """The published file with its options."""
        return PublishedFile(file=self.published) if isinstance(self.published, str) else self.published


class Pair(_WithRelease, Original):
    """The original transactions, and what was published of them."""


class Published(_WithRelease):
    """Only what was published."""


class Distances(Part):
    """Distance tables made elsewhere, to be attacked as they are."""

    distances: File
    """The path of the file of distance tables."""


class Release(Part):
    """A disassociated release, as a release file."""

    release: File
    """The path of the release file."""


def _shape(data: object) -> str | None:
    """Which kind of data is meant, by its keys, misspelt ones included."""
    keys = data if isinstance(data, dict) else getattr(data, "model_fields_set", ())
    known = ("file", "format", "published", "distances", "release")
    words = {word for key in keys for word in get_close_matches(str(key), known, 1)}
    for alone in ("distances", "release"):
        if alone in words:
            return alone
    if "published" in words:
        return "pair" if words & {"file", "format"} else "published"
    return "original" if words else None


Data = Annotated[
    Annotated[Original, Tag("original")]
    | Annotated[Pair, Tag("pair")]
    | Annotated[Published, Tag("published")]
    | Annotated[Distances, Tag("distances")]
    | Annotated[Release, Tag("release")],
    Discriminator(_shape),
]


class Sets(Part):
    """Set-generalisation: each item is replaced by the set that it is in."""

    method: Literal["sets"]
    """The name of the method."""
    size: int | None = Field(None, ge=2)
    """Items in a set; the items are shared out at random, anew in each repetition."""
    share: float = Field(0.5, gt=0, le=1)
    """The share of the items that go into sets of 'size'; the others are published as they are."""
    sets: Annotated[tuple[Generalised, ...], Field(min_length=1), AfterValidator(_disjoint)] | None = None
    """The sets; an item in none of them is published as it is."""

    def mistakes(self) -> Found:
        """Sets are drawn or given."""
        if (self.size is None) == (self.sets is None):
            yield (), DecloakError("sets are drawn by 'size' or listed under 'sets'", hint="write one of the two")


class Disassociation(Part):
    """Disassociation: clusters of records, published as chunks that hide which record had what."""

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


class PseudoCount(Part):
    """A count in place of zero."""

    pseudo_count: float = Field(gt=0)
    """In how many pages terms that are never seen together count as seen."""


class Relate(Part):
    """How the relatedness of two items is found."""

    measure: Literal["ngd"]
    """Normalised Google distance."""
    source: Literal["counts", "scores"]
    """Whether the file holds counts of pages (a,b,count) or finished scores (a,b,ngd)."""
    file: File
    """The path of the file."""
    unseen: Annotated[float, Field(ge=0)] | Literal["none"] | PseudoCount = 1.0
    """What terms never seen together get: a distance, no score, or the distance by a pseudo-count."""
    closer: Literal["smaller", "larger"] = "smaller"
    """Whether smaller scores are of closer items, as distances are, or larger ones (scores, disassociated data)."""
    cap: Annotated[float, Field(gt=0)] | Literal["none"] = 1.0
    """Larger distances are cut to this one."""

    def mistakes(self) -> Found:
        """What would not take effect."""
        if self.closer == "larger":
            for key in sorted({"unseen", "cap"} & self.model_fields_set):
                yield (key,), DecloakError(f"{shown(key)} is about distances", hint="delete it, or closer: larger")
            if self.source == "counts":
                yield ("closer",), DecloakError("counts give distances: smaller is closer", hint="delete it")
        if isinstance(self.unseen, PseudoCount) and self.source == "scores":
            yield ("unseen",), DecloakError("scores hold no counts", hint="write a distance, or none")
        if isinstance(self.unseen, float) and isinstance(self.cap, float) and self.unseen > self.cap:
            message = f"{self.unseen:g} would be cut to the cap of {self.cap:g}"
            yield ("unseen",), DecloakError(message, hint="raise the cap, or set it to none")


class Attacker(Part):
    """What the attacker goes by."""

    model: Literal["strong", "strong_pairs", "moderate", "weak"] = "strong"
    """Disassociated data: knows every pair, every m items of every record, m items of each of a share of the
    records, or all m of ten items and ten foreign words."""
    share: float = Field(0.5, gt=0, lt=1)
    """Moderate: the share of the records of which an itemset is known."""
    foreign: File | None = None
    """Weak: a file of words that are not in the data, one a line; ten of them are taken."""
    knowledge: File | None = None
    """The known itemsets themselves, one a line, in place of a model."""

    context: Annotated[int, Field(ge=1)] | Literal["all"] = 2
    """How many of the nearest plain items of a transaction, or all, tell what fits in it."""
    k: int = Field(2, ge=2)
    """Unmarked data: an item in at least k transactions is taken to be generalised."""
    utility: Annotated[tuple[Known, ...], Field(min_length=1), AfterValidator(_disjoint)] | None = None
    """Unmarked data: the sets that items were generalised to, when they are known."""

    def mistakes(self) -> Found:
        """What belongs to one model, or replaces all."""
        wanted = {"share": "moderate", "foreign": "weak"}
        for key, model in wanted.items():
            if key in self.model_fields_set and self.model != model:
                yield (key,), DecloakError(f"{shown(key)} is for the {model} attacker", hint=f"write model: {model}")
        if self.model == "weak" and self.foreign is None:
            hint = "write foreign: FILE, one word a line"
            yield ("model",), DecloakError("the weak attacker needs words that are not in the data", hint=hint)
        if self.knowledge is not None and "model" in self.model_fields_set:
            yield ("knowledge",), DecloakError("the known itemsets replace a model", hint="delete one of the two")

    @property
    def nearest(self) -> int | None:
        """How many plain items make a context, None for all."""
        return None if self.context == "all" else self.context


class Attack(Part):
    """A rule, and how it is run."""

    rule: File
    """The name of a rule, or the path of a rule file."""
    threshold: float | None = None
    """The threshold, in place of the rule's own."""
    ratio: float | None = Field(None, gt=0)
    """A factor on the rule's own threshold."""
    k: int | None = Field(None, ge=1)
    """For rules that count itemsets: an itemset must be in none or in at least k transactions."""
    m: int | None = Field(None, ge=1)
    """For rules that count itemsets: how many items an itemset may have."""
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, alias="as")
    """The attack's name in results and expectations, when it is not the rule's."""

    def mistakes(self) -> Found:
        """A threshold is given or scaled."""
        if self.threshold is not None and self.ratio is not None:
            yield ("ratio",), DecloakError("a ratio scales the threshold that 'threshold' replaces", hint="delete one")

    @property
    def name(self) -> str:
        """The label, or the rule's name."""
        is_path = self.rule.endswith((".yaml", ".yml")) or "/" in self.rule
        return self.label or (is_path and Path(self.rule).stem) or self.rule


class Repeat(Part):
    """Repetitions with other random choices."""

    times: int = Field(1, ge=1, le=10_000)
    """How often each variant is run."""
    seed: int = Field(0, ge=0)
    """What all random choices are drawn from."""
