"""The data of a scenario: transactions, what was published of them, or both; files, made up, or drawn from text."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from decloak.data.formats.delimited import check_separator
from decloak.data.formats.readers import FORMATS
from decloak.data.formats.record import Options
from decloak.data.text.headers import check_pattern
from decloak.errors import DecloakError, shown
from decloak.yaml.part import File, Found, Part
from decloak.yaml.source import Mistakes

__all__ = [
    "Collected", "Data", "Distances", "Generated", "Notes", "Original", "Pair", "Published", "PublishedFile",
    "Release", "Searchlog",
]  # fmt: skip


def _pattern(text: str) -> str:
    try:
        check_pattern(text)
    except DecloakError as error:
        raise Mistakes(((), error)) from None
    return text


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]


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
    format: Literal[tuple(FORMATS)]  # type: ignore[valid-type]
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
