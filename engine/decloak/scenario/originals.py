"""Original transactions of a scenario: a file, made up, or drawn from text."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.look_fit import read_fitting
from decloak.data.formats.readers import FORMATS
from decloak.data.formats.record import Options
from decloak.data.generators.baskets import baskets
from decloak.data.generators.clinic import generate as clinic
from decloak.data.sampling import sampled
from decloak.data.text.headers import check_pattern
from decloak.errors import DecloakError, shown
from decloak.releases.attacker import misused_options
from decloak.scenario.data_part import DataPart
from decloak.yaml.part import File, Found, checked_by

__all__ = ["Generated", "Notes", "Original", "Searchlog"]


Pattern = Annotated[str, Field(min_length=1), checked_by(check_pattern)]


class _Sampled(DataPart):
    """Data of which a part may be taken."""

    sample: int | None = Field(None, ge=1)
    """How many transactions are taken, drawn at random; with a density, those that are alike."""
    density: float | None = Field(None, gt=0, le=1)
    """What share of the items that are kept a transaction has on average: the fewer are kept, the higher."""

    def _part(self, data: Dataset, seed: int) -> Dataset:
        if self.sample is None and self.density is None:
            return data
        return replace(sampled(data, self.sample, self.density, seed), warnings=data.warnings)


class Original(_Sampled):
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
    repeats: bool = False
    """Whether records and ids that repeat are meant: the file was not written twice."""
    seed: int = Field(1, ge=0)
    """What a sample is drawn from."""

    def mistakes(self) -> Found:
        """Options that mean nothing to the format."""
        yield from misused_options(self, self.format)
        if self.transaction == self.item:
            message = f"{shown(self.item)} cannot hold both the transaction and the item"
            yield ("item",), DecloakError(message, hint="name two columns")
        if "seed" in self.model_fields_set and self.sample is None and self.density is None:
            yield ("seed",), DecloakError("no sample is drawn here", hint="delete it, or add sample: NUMBER")

    @property
    def kept_as(self) -> str:  # type: ignore[override]
        return str(self.format)

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        options = Options(*(getattr(self, option) for option in Options._fields))
        data = read_fitting(folder / self.file, self.format, options, as_said=self.as_said)
        return self._part(replace(data, origin=self.file), self.seed)


class Generated(_Sampled):
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
    """What they are drawn from, and a sample of them."""

    def mistakes(self) -> Found:
        """The clinic has its own items."""
        for key in sorted({"items", "length"} & self.model_fields_set):
            if self.generate == "clinic":
                yield (key,), DecloakError(f"the clinic has no {shown(key)} to choose", hint="delete it")
        if self.length > self.items:
            yield ("length",), DecloakError(f"{self.items} items make no baskets of {self.length:g}", hint="write less")

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        if self.generate == "clinic":
            return self._part(clinic(self.transactions, self.seed), self.seed)
        return self._part(baskets(self.transactions, self.items, self.length, self.seed), self.seed)


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

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        from decloak.data.text.notes import read_text

        data = read_text(folder / self.text, field=self.field, ids=self.ids, headers=self.headers, progress=progress)
        return Dataset(data.transactions, data.labels, self.text)


class Searchlog(_Words):
    """Search logs, each person a transaction of what was looked for (the extra 'text')."""

    FILES: ClassVar = ("searchlog",)
    kept_as: ClassVar = "searchlog"

    searchlog: File | Annotated[tuple[File, ...], Field(min_length=1)]
    """Files in the form of AOL's: AnonID, Query, QueryTime, ItemRank, ClickURL, tabs between them."""
    short: int = Field(2, ge=0, le=20)
    """Words of a query that is an item as it stands; of a longer one the noun phrases are."""

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        from decloak.data.text.searchlog import read_searchlog

        data = read_searchlog([folder / file for file in self.named()], short=self.short, progress=progress)
        return Dataset(data.transactions, data.labels, ", ".join(self.named()))
