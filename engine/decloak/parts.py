"""The parts of a scenario: one closed, strict model each, its texts the descriptions of the JSON Schema.

A key that nothing interprets is an error, and so is one that another key makes void.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from decloak.data.delimited import check_separator
from decloak.data.readers import FORMATS
from decloak.data.record import Options
from decloak.data.text.headers import check_pattern
from decloak.errors import DecloakError, shown
from decloak.positions import Loc, Mistakes
from decloak.relate.wordnet_files import files_in

__all__ = [
    "Attack", "Attacker", "Collected", "Data", "Distances", "File", "Found", "Generalised", "Generated", "Item",
    "Notes", "Nouns", "Original", "Pair", "Part", "Published", "PublishedFile", "Release", "Repeat", "Searchlog",
    "disjoint",
]  # fmt: skip

Found = Iterator[tuple[Loc, DecloakError]]


class Part(BaseModel):
    """A mapping of a scenario; the texts under its fields describe them in the JSON Schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)
    FILES: ClassVar[tuple[str, ...]] = ()
    """The keys that name files."""

    def named(self) -> Iterator[str]:
        """The files it names, those of its parts included."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, Part):
                yield from value.named()
            elif key in self.FILES and value is not None:
                yield value

    def mistakes(self) -> Found:
        """What its keys say against each other: where, and what is wrong."""
        yield from ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found = tuple(self.mistakes())
        if found:
            raise Mistakes(*found)
        return self


def disjoint(sets: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    first: dict[str, Loc] = {}
    places = ((item, (number, at)) for number, members in enumerate(sets) for at, item in enumerate(members))
    twice = [(loc, item) for item, loc in places if first.setdefault(item, loc) != loc]
    if twice:
        hint = "an item stands once, in one set"
        raise Mistakes(*((loc, DecloakError(f"{shown(item)} is written twice", hint=hint)) for loc, item in twice))
    return sets


def _pattern(text: str) -> str:
    try:
        check_pattern(text)
    except DecloakError as error:
        raise Mistakes(((), error)) from None
    return text


File = Annotated[str, Field(min_length=1)]
Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
Item = Annotated[str, Field(min_length=1)]
Generalised = Annotated[tuple[Item, ...], Field(min_length=2)]
Known = Annotated[tuple[Item, ...], Field(min_length=1)]


class PublishedFile(Part):
    """A file of set-generalised transactions: `heart disease, (icd, limbs), weakness`, or a release file (.jsonl)."""

    FILES: ClassVar = ("file",)

    file: File
    """The path of the file."""
    ids: bool = False
    """Whether the first name of a line is the transaction's id."""
    marked: bool = True
    """Whether brackets show which items are generalised; if not, the attacker goes by k and utility."""

    def mistakes(self) -> Found:
        """A release file says both itself."""
        for key in sorted({"ids", "marked"} & self.model_fields_set):
            if self.file.endswith(".jsonl"):
                yield (key,), DecloakError(f"a release file says itself what {shown(key)} would", hint="delete it")


class Original(Part):
    """Transactions as they were collected."""

    FILES: ClassVar[tuple[str, ...]] = ("file",)

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


class Generated(Part):
    """Transactions that are made up, the same for the same seed."""

    generate: Literal["clinic", "baskets"]
    """A clinic's records, or baskets whose items have nothing to do with one another, evenly long-tailed."""
    transactions: int = Field(ge=1, le=10_000_000)
    """How many."""
    items: int = Field(1_000, ge=2, le=1_000_000)
    """Baskets: how many different items."""
    length: float = Field(6.5, ge=1)
    """Baskets: items in a transaction, on average."""
    seed: int = Field(1, ge=0)
    """What they are drawn from."""

    def mistakes(self) -> Found:
        """The clinic has its own items."""
        for key in sorted({"items", "length"} & self.model_fields_set):
            if self.generate == "clinic":
                yield (key,), DecloakError(f"the clinic has no {shown(key)} to choose", hint="delete it")
        if self.length > self.items:
            yield ("length",), DecloakError(f"{self.items} items make no baskets of {self.length:g}", hint="write less")


class Notes(Part):
    """Documents, each a transaction of its nouns and noun phrases (the extra 'text')."""

    FILES: ClassVar = ("text",)

    text: File
    """A folder with a document a file, or a .csv, .tsv or .jsonl file with one a record."""
    field: File | None = None
    """Tables: the column or key that holds the text."""
    ids: File | None = None
    """Tables: the column or key that names the document."""
    headers: tuple[Pattern, ...] = ()
    """Regular expressions; a line in which one is found belongs to no document: a header, a footer."""


class Searchlog(Part):
    """Search logs, each person a transaction of what was looked for (the extra 'text')."""

    searchlog: File | Annotated[tuple[File, ...], Field(min_length=1)]
    """Files in the form of AOL's: AnonID, Query, QueryTime, ItemRank, ClickURL, tabs between them."""
    short: int = Field(2, ge=0, le=20)
    """Words of a query that is an item as it stands; of a longer one the noun phrases are."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files, also when there is only one."""
        return (self.searchlog,) if isinstance(self.searchlog, str) else self.searchlog

    def named(self) -> Iterator[str]:
        """The files."""
        yield from self.files


class _WithRelease(Part):
    FILES: ClassVar[tuple[str, ...]] = ("published",)

    published: File | PublishedFile
    """What was published: a path, or a file and how to read it."""

    @property
    def published_file(self) -> PublishedFile:
        """The published file with its options."""
        return PublishedFile(file=self.published) if isinstance(self.published, str) else self.published


class Pair(_WithRelease, Original):
    """The original transactions, and what was published of them."""

    FILES: ClassVar = ("file", "published")


class Published(_WithRelease):
    """Only what was published."""


class Distances(Part):
    """Distance tables made elsewhere, to be attacked as they are."""

    FILES: ClassVar = ("distances",)

    distances: File
    """The path of the file of distance tables."""


class Release(Part):
    """A disassociated release, as a release file."""

    FILES: ClassVar = ("release",)

    release: File
    """The path of the release file."""


def _shape(data: object) -> str | None:
    """Which kind of data is meant, by its keys, misspelt ones included."""
    keys = data if isinstance(data, dict) else getattr(data, "model_fields_set", ())
    known = ("file", "format", "published", "distances", "release", "generate", "text", "searchlog")
    words = {word for key in keys for word in get_close_matches(str(key), known, 1)}
    for alone in ("distances", "release", "generate", "text", "searchlog"):
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
    | Annotated[Release, Tag("release")]
    | Annotated[Generated, Tag("generate")]
    | Annotated[Notes, Tag("text")]
    | Annotated[Searchlog, Tag("searchlog")],
    Discriminator(_shape),
]
Collected = Original | Generated | Notes | Searchlog
"""Transactions before anything was published of them."""


class Nouns(Part):
    """Foreign words from WordNet."""

    wordnet: File
    """The folder of WordNet's files, or package for those of the installed one (the extra 'wordnet')."""

    @property
    def folder(self) -> str | None:
        """The folder, None for the installed package."""
        return None if self.wordnet == "package" else self.wordnet

    def named(self) -> Iterator[str]:
        """The files that decide which words there are."""
        yield from files_in(self.folder)


class Attacker(Part):
    """What the attacker goes by."""

    FILES: ClassVar = ("foreign", "knowledge")

    model: Literal["strong", "strong_pairs", "moderate", "weak"] = "strong"
    """Disassociated data: knows every pair, every m items of every record, m items of each of a share of the
    records, or all m of ten items and ten foreign words."""
    share: float = Field(0.5, gt=0, lt=1)
    """Moderate: the share of the records of which an itemset is known."""
    foreign: File | Nouns | None = None
    """Weak: a file of words that are not in the data, one a line, or nouns of WordNet; ten of them are taken."""
    knowledge: File | None = None
    """The known itemsets themselves, one a line, in place of a model."""

    context: Annotated[int, Field(ge=1)] | Literal["all"] = 2
    """How many of the nearest plain items of a transaction, or all, tell what fits in it."""
    k: int = Field(2, ge=2)
    """Unmarked data: an item in at least k transactions is taken to be generalised."""
    utility: Annotated[tuple[Known, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """Unmarked data: the sets that items were generalised to, when they are known."""

    def mistakes(self) -> Found:
        """What belongs to one model, or replaces all."""
        wanted = {"share": "moderate", "foreign": "weak"}
        for key, model in wanted.items():
            if key in self.model_fields_set and self.model != model:
                yield (key,), DecloakError(f"{shown(key)} is for the {model} attacker", hint=f"write model: {model}")
        if self.model == "weak" and self.foreign is None:
            hint = "write foreign: FILE, one word a line, or {wordnet: package}"
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
