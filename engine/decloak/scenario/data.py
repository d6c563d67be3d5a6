"""The data of a scenario: transactions, what was published of them, or both; files, made up, or drawn from text."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, PrivateAttr, Tag, ValidationInfo, model_validator

from decloak.anonymisers.method import Made
from decloak.attack.unmarked import mark
from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.distance_file import read_distances
from decloak.data.formats.folder import Folder
from decloak.data.formats.generalised_file import METHOD as GENERALISATION
from decloak.data.formats.look_fit import check_ids, read_fitting
from decloak.data.formats.readers import FORMATS, read
from decloak.data.formats.record import Options
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised, read_generalised
from decloak.data.generators.baskets import baskets
from decloak.data.generators.clinic import generate as clinic
from decloak.data.pair import check_pair
from decloak.data.published import Published as PublishedRelease
from decloak.data.published import read_published
from decloak.data.release_files import read_header, read_release
from decloak.data.tables import DistanceTable
from decloak.data.text.headers import check_pattern
from decloak.errors import DecloakError, shown
from decloak.releases.attacker import Attacker
from decloak.releases.distances import made_of_tables
from decloak.yaml.part import File, Found, Part
from decloak.yaml.source import Mistakes

__all__ = [
    "Data",
    "DataPart",
    "Distances",
    "Generated",
    "Notes",
    "Original",
    "Pair",
    "Published",
    "PublishedFile",
    "Release",
    "Searchlog",
]  # fmt: skip


Progress = Callable[[int, int], None]
"""Told how much of how much is read."""


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
    as_said: bool = False
    """Whether to read the file as said even where it does not look so."""

    @property
    def is_release(self) -> bool:
        """Whether it is a release file, which says itself what it is."""
        return self.file.endswith(".jsonl")

    def mistakes(self) -> Found:
        """A release file says both itself."""
        for key in sorted({"as_said", "ids", "marked"} & self.model_fields_set):
            if self.is_release:
                yield (key,), DecloakError(f"a release file says itself what {shown(key)} would", hint="delete it")

    def read(self, folder: Folder, attacker: Attacker) -> PublishedRelease:
        """What is published; where nothing is marked, as the attacker takes it."""
        path = folder / self.file
        if self.is_release:
            release = read_generalised(path).published
        elif self.marked:
            release = read_published(path, ids=self.ids)
            if not self.as_said:
                check_ids(path, release.transactions, self.ids)
        else:
            plain = read(path, "basket", ids=self.ids)
            release = mark(plain.transactions, plain.labels, k=attacker.k, utility=attacker.utility)
        return PublishedRelease(release.transactions, release.labels, self.file, release.names)


class DataPart(Part):
    """What a scenario's data are, and what can be had of them."""

    collected: ClassVar[bool] = False
    """Whether they have original transactions."""
    anonymised: ClassVar[bool] = True
    """Whether they have what was published, so that nothing is left to anonymise."""
    quick: ClassVar[bool] = True
    """Whether the originals are read as soon as they can be checked."""
    kept_as: ClassVar[str] = ""
    """How the store names the format of originals that have no other."""

    @property
    def form(self) -> FormName:
        """The form of what was published."""
        return FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """Whether what was published shows which items are generalised."""
        return True

    @property
    def original_config(self) -> dict[str, Any]:
        """What decides which originals they have."""
        return self.model_dump(mode="json", by_alias=True, exclude={"published"})

    def original_files(self) -> Iterator[str]:
        """The files that the originals are in."""
        yield from self.named()

    def read_original(self, folder: Folder, progress: Progress | None = None) -> Dataset:
        """The original transactions."""
        raise AssertionError("no original transactions in these data")

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> Made:
        """What was published; where the originals are known it must be what was made of them."""
        raise AssertionError("nothing was published in these data")

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        """The distance tables that the data are."""
        return ()

    def read_header(self, folder: Folder) -> Header | None:
        """What a release file says it promises, None where there is none."""
        return None


class Original(DataPart):
    """Transactions as they were collected."""

    collected: ClassVar = True
    anonymised: ClassVar = False

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
    within: str | None = None
    """The character between names inside one value, as | in p1<TAB>milk|bread (format basket)."""
    header: bool = False
    """Whether the first line names columns and is no transaction (format basket; others know by themselves)."""
    as_said: bool = False
    """Whether to read the file as said even where it does not look so."""

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
        for key, character in (("separator", self.separator), ("within", self.within)):
            if character is not None:
                try:
                    check_separator(character)
                except DecloakError as error:
                    yield (key,), error

    @property
    def kept_as(self) -> str:  # type: ignore[override]
        """The format of the file."""
        return str(self.format)

    def read_original(self, folder: Folder, progress: Progress | None = None) -> Dataset:
        """The transactions of the file."""
        options = Options(*(getattr(self, option) for option in Options._fields))
        data = read_fitting(folder / self.file, self.format, options, as_said=self.as_said)
        return Dataset(data.transactions, data.labels, self.file)


class Generated(DataPart):
    """Transactions that are made up, the same for the same seed."""

    collected: ClassVar = True
    anonymised: ClassVar = False
    kept_as: ClassVar = "generated"

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

    def read_original(self, folder: Folder, progress: Progress | None = None) -> Dataset:
        """The transactions, made anew."""
        if self.generate == "clinic":
            return clinic(self.transactions, self.seed)
        return baskets(self.transactions, self.items, self.length, self.seed)


class _Words(DataPart):
    collected: ClassVar = True
    anonymised: ClassVar = False
    quick: ClassVar = False


class Notes(_Words):
    """Documents, each a transaction of its nouns and noun phrases (the extra 'text')."""

    FILES: ClassVar = ("text",)
    kept_as: ClassVar = "text"

    text: File
    """A folder with a document a file, or a .csv, .tsv or .jsonl file with one a record."""
    field: File | None = None
    """Tables: the column or key that holds the text."""
    ids: File | None = None
    """Tables: the column or key that names the document."""
    headers: tuple[Pattern, ...] = ()
    """Regular expressions; a line in which one is found belongs to no document: a header, a footer."""

    def read_original(self, folder: Folder, progress: Progress | None = None) -> Dataset:
        """A transaction for every document."""
        from decloak.data.text.notes import read_text

        data = read_text(folder / self.text, field=self.field, ids=self.ids, headers=self.headers, progress=progress)
        return Dataset(data.transactions, data.labels, self.text)


class Searchlog(_Words):
    """Search logs, each person a transaction of what was looked for (the extra 'text')."""

    kept_as: ClassVar = "searchlog"

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

    def read_original(self, folder: Folder, progress: Progress | None = None) -> Dataset:
        """A transaction for everybody who looked for something."""
        from decloak.data.text.searchlog import read_searchlog

        data = read_searchlog([folder / file for file in self.files], short=self.short, progress=progress)
        return Dataset(data.transactions, data.labels, ", ".join(self.files))


class _WithRelease(DataPart):
    FILES: ClassVar[tuple[str, ...]] = ("published",)
    anonymised: ClassVar = True

    published: File | PublishedFile
    """What was published: a path, or a file and how to read it."""

    @property
    def published_file(self) -> PublishedFile:
        """The published file with its options."""
        return PublishedFile(file=self.published) if isinstance(self.published, str) else self.published

    @property
    def form(self) -> FormName:
        """Release files are of labels."""
        return FormName.GENERALISED if self.published_file.is_release else FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """Whether brackets show which items are generalised."""
        return self.published_file.marked

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> Made:
        """What the file publishes, and what it suppressed."""
        published = self.published_file.read(folder, attacker)
        if original is None:
            return Made(published, "unknown", {})
        try:
            suppressed = check_pair(original, published)
        except DecloakError as error:
            place = str(folder.path / (error.place or self.published_file.file))
            raise DecloakError(error.message, place, error.hint) from None
        return Made(published, "unknown", {"suppressed": len(suppressed)})

    def read_header(self, folder: Folder) -> Header | None:
        """What the release file says, None where it is text."""
        return (
            read_header(folder / self.published_file.file, GENERALISATION) if self.published_file.is_release else None
        )


class Pair(_WithRelease, Original):
    """The original transactions, and what was published of them."""

    FILES: ClassVar = ("file", "published")

    def original_files(self) -> Iterator[str]:
        """Not that of the release."""
        yield self.file


class Published(_WithRelease):
    """Only what was published."""


class Distances(DataPart):
    """Distance tables made elsewhere, to be attacked as they are."""

    FILES: ClassVar = ("distances",)

    distances: File
    """The path of the file of distance tables."""

    @property
    def form(self) -> FormName:
        """Tables."""
        return FormName.DISTANCES

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> Made:
        """The transactions that the tables show."""
        return made_of_tables(read_distances(folder / self.distances), self.distances)

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        """The tables."""
        return read_distances(folder / self.distances).tables


class Release(DataPart):
    """A release file: disassociated, or generalised in a hierarchy, as it says itself."""

    FILES: ClassVar = ("release",)

    release: File
    """The path of the release file."""
    _form: FormName = PrivateAttr(FormName.DISASSOCIATED)

    @property
    def form(self) -> FormName:
        """What the file says, where it could be looked at."""
        return self._form

    @model_validator(mode="after")
    def _look(self, info: ValidationInfo) -> Self:
        """See which form the release has; what is wrong with the file is told when it is read."""
        with suppress(DecloakError, KeyError):
            if self.read_header((info.context or {})["folder"]).method == GENERALISATION:
                self._form = FormName.GENERALISED
        return self

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> Made:
        """What the file publishes."""
        release = read_release(folder / self.release)
        return Made(release.published if isinstance(release, Generalised) else release, "unknown", {})

    def read_header(self, folder: Folder) -> Header:
        """Its first line."""
        return read_header(folder / self.release)


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
