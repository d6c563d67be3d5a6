"""Original records of a scenario: from a file, synthetic, or extracted from text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import BLOCKED, Blocks, PartedData
from decloak.data.formats.cleaning import cleaned, read_names, read_synonyms
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.look_check import read_fitting, with_warnings
from decloak.data.formats.plain_files import FORMATS
from decloak.data.formats.record import Options
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.generators.baskets import CLASSES, baskets
from decloak.data.generators.clinic import generate as clinic
from decloak.data.pairs import DistanceTable
from decloak.data.sampling import draw_sample
from decloak.data.text.notes import check_pattern
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker, misused_options
from decloak.yaml.section import ConfigErrors, ConfigSection, File, Item, checked_by


class DataPart(ConfigSection):
    """The data of a scenario."""

    has_original: ClassVar[bool] = False
    """True if there are original records."""
    is_published: ClassVar[bool] = True
    """True if there is a release, so that nothing is left to anonymise."""
    reads_early: ClassVar[bool] = True
    """True if the originals are read early, as soon as they can be checked."""
    stored_format: ClassVar[str] = ""
    """The name in the store for the format of originals without another one."""

    @property
    def in_parts(self) -> bool:
        """True if the records stay in files, and are read in blocks."""
        return False

    @property
    def form(self) -> FormName:
        """The form of the release."""
        return FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """True if the release shows which items are generalised."""
        return True

    @property
    def exclusive(self) -> tuple[str, ...]:
        """The columns whose values are items, such as `sex=f`: two items of one column exclude each other."""
        return ()

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        """Return the original records, from files in `folder`; `progress` is called during reading."""
        raise AssertionError("no original records in these data")

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        """Return the release, from files in `folder`, as the `attacker` sees it; raise an error if it does not match
        `original`, where that is known.
        """
        raise AssertionError("nothing was published in these data")

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        """Return the distance tables in `folder`, if the data are such tables."""
        return ()

    def read_header(self, folder: Folder) -> Header | None:
        """Return the header of the release file in `folder`, or None."""
        return None


Pattern = Annotated[str, Field(min_length=1), checked_by(check_pattern)]


class Cleaning(ConfigSection):
    """Cleaning of the items, before anything else happens to them."""

    FILES: ClassVar = ("synonyms", "drop")

    fold_case: bool = False
    """True to merge names that differ in case or blanks only. The most frequent spelling stays."""
    synonyms: File | None = None
    """A CSV file with the columns item and name: the name replaces the item."""
    drop: File | tuple[Item, ...] = ()
    """Items to leave out: a list, or a file with one a line."""
    min_support: int = Field(1, ge=1)
    """Items in fewer records are left out."""

    def of(self, data: Dataset, folder: Folder) -> Dataset:
        """Return `data` cleaned; files are in `folder`."""
        drop = read_names(folder / self.drop) if isinstance(self.drop, str) else self.drop
        synonyms = None if self.synonyms is None else read_synonyms(folder / self.synonyms)
        return cleaned(data, fold_case=self.fold_case, synonyms=synonyms, drop=drop, min_support=self.min_support)

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        """Return the key of these settings in the store; a list of items is no file."""
        # The model's own key replaces each name under FILES by a digest of that file.
        listed = {} if isinstance(self.drop, str) else {"drop": list(self.drop)}
        return super().identity(digest_of) | listed

    def files_of(self, key: str) -> Sequence[str]:
        """Return the files that `key` names; a list of items is no file."""
        return super().files_of(key) if isinstance(getattr(self, key), str) else ()


class _Sampled(DataPart):
    """Data that can be sampled."""

    sample: int | None = Field(None, ge=1)
    """The number of records in a random sample. With a density, records that are similar."""
    density: float | None = Field(None, gt=0, le=1)
    """The mean share of the kept items that a record has. Fewer kept items give a higher density."""

    def _draw(self, data: Dataset, seed: int) -> Dataset:
        if self.sample is None and self.density is None:
            return data
        return replace(draw_sample(data, self.sample, self.density, seed), warnings=data.warnings)


class Original(_Sampled):
    """Original records."""

    has_original: ClassVar = True
    is_published: ClassVar = False

    FILES: ClassVar[tuple[str, ...]] = ("file",)

    file: File
    """The path of the file."""
    format: Literal[tuple(FORMATS)]  # type: ignore[valid-type]
    """The format of the file; `decloak import --help` describes the formats."""
    ids: bool = False
    """True if the first name of a line is the id of the record."""
    separator: str | None = None
    """The character between names, if it is not a comma."""
    transaction: str = Options().transaction
    """The column with the id of the record (format long)."""
    item: str = Options().item
    """The column with the item (format long)."""
    within: str | None = None
    """The character between names inside one value, such as | in p1<TAB>milk|bread (format basket)."""
    header: bool = False
    """True if the first line names columns and is no record (format basket; other formats do without it)."""
    header_row: int = Field(1, ge=1)
    """The number of the line with the column names, or of the first record. Lines above it are left out."""
    fill_down: bool = False
    """True if a row without an id belongs to the id above (format long)."""
    columns: tuple[Item, ...] = ()
    """Further columns of a table. Their values become items, such as sex=f. Two items of one column exclude each
    other."""
    clean: Cleaning | None = None
    """Cleaning of the items; `decloak look` proposes what the file needs."""
    as_said: bool = False
    """True to read the file as described here even if its content contradicts."""
    repeats: bool = False
    """True if records and ids repeat on purpose: the file was not written twice."""
    parts: bool = False
    """True if the records stay in the file, or in a folder of Parquet files, and are read in blocks. The method is cut
    with m 2. The release is a folder of Parquet files beside the store.
    """
    seed: int = Field(1, ge=0)
    """The seed of a sample."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors for options that the format does not have."""
        whole = sorted({"sample", "density", "clean", "columns", "published"} & self.model_fields_set)
        for option in whole if self.parts else ():
            yield (option,), DecloakError(f"data in parts have no {quote(option)}", hint="delete it, or parts: false")
        if self.parts and self.format not in BLOCKED:
            hint = f"write the data as {' or '.join(BLOCKED)}, or delete parts"
            yield ("format",), DecloakError(f"the format {self.format} is not read in parts", hint=hint)
        yield from misused_options(self, self.format)
        for option in ("item", "columns"):
            if self.format == "basket" and not self.header and option in self.model_fields_set:
                message = f"{quote(option)} names a column, and the format basket has none"
                yield (option,), DecloakError(message, hint="add header: true, or delete it")
        if self.transaction == self.item:
            message = f"{quote(self.item)} cannot hold both the record and the item"
            yield ("item",), DecloakError(message, hint="name two columns")
        if "seed" in self.model_fields_set and self.sample is None and self.density is None:
            yield ("seed",), DecloakError("no sample is drawn here", hint="delete it, or add sample: NUMBER")

    @property
    def exclusive(self) -> tuple[str, ...]:
        """The columns whose values are items: two items of one column exclude each other."""
        return self.columns

    @property
    def stored_format(self) -> str:  # type: ignore[override]
        return str(self.format)

    @property
    def in_parts(self) -> bool:
        return self.parts

    @property
    def reads_early(self) -> bool:  # type: ignore[override]
        return not self.parts

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        options = Options(*(getattr(self, option) for option in Options._fields))
        held = folder.data_of(self.file)
        if self.parts:
            return PartedData.of_blocks(Blocks.of((folder.path / self.file).resolve(), self.format, options), self.file)
        if held is None:
            data = read_fitting(folder / self.file, self.format, options, as_said=self.as_said)
        else:
            data = with_warnings(held, self.format, options)
        # The name in the scenario: the path on this machine is no business of the store.
        named = replace(data, origin=self.file)
        return self._draw(named if self.clean is None else self.clean.of(named, folder), self.seed)


class Generated(_Sampled):
    """Synthetic records, equal for an equal seed."""

    has_original: ClassVar = True
    is_published: ClassVar = False
    stored_format: ClassVar = "generated"

    generate: Literal["clinic", "baskets"]
    """Records of a clinic, or baskets of items with a long tail of supports."""
    transactions: int = Field(ge=1, le=10_000_000)
    """The number of records."""
    items: int = Field(1_000, ge=2, le=1_000_000)
    """Baskets: the number of different items."""
    length: float = Field(6.5, ge=1)
    """Baskets: the mean number of items in a record."""
    habit: float = Field(0.0, ge=0, le=1)
    """Baskets: the probability that an item is drawn from the class of the record; 0 for independent items."""
    classes: int = Field(CLASSES, ge=1)
    """Baskets: the number of classes of items, with a habit."""
    seed: int = Field(1, ge=0)
    """The seed of the records, and of a sample of them."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors for settings that the clinic does not have, and for baskets with too few items."""
        for key in sorted({"items", "length", "habit", "classes"} & self.model_fields_set):
            if self.generate == "clinic":
                yield (key,), DecloakError(f"the clinic has no {quote(key)} to choose", hint="delete it")
        if self.length > self.items:
            yield ("length",), DecloakError(f"{self.items} items make no baskets of {self.length:g}", hint="write less")
        if "classes" in self.model_fields_set and not self.habit:
            yield (
                ("classes",),
                DecloakError("without a habit there are no classes", hint="add habit: 0.3, or delete it"),
            )
        if self.habit and self.classes > self.items:
            message = f"{self.items} items are too few for {self.classes} classes"
            yield ("classes",), DecloakError(message, hint="write fewer")

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        if self.generate == "clinic":
            return self._draw(clinic(self.transactions, self.seed), self.seed)
        drawn = baskets(self.transactions, self.items, self.length, self.seed, habit=self.habit, classes=self.classes)
        return self._draw(drawn, self.seed)


class _TextData(DataPart):
    has_original: ClassVar = True
    is_published: ClassVar = False
    # Items are extracted from text during the run: this takes long and needs an extra package.
    reads_early: ClassVar = False


class Notes(_TextData):
    """Documents. Each document gives a record of its nouns and noun phrases (the extra 'text')."""

    FILES: ClassVar = ("text",)
    stored_format: ClassVar = "text"

    text: File
    """A folder with one document per file, or a .csv, .tsv or .jsonl file with one per record."""
    field: File | None = None
    """Tables: the column or key with the text."""
    ids: File | None = None
    """Tables: the column or key with the name of the document."""
    headers: tuple[Pattern, ...] = ()
    """Regular expressions. A line that matches one, such as a header or a footer, is left out."""

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        from decloak.data.text.notes import read_text

        data = read_text(folder / self.text, field=self.field, ids=self.ids, headers=self.headers, progress=progress)
        return Dataset(data.transactions, data.labels, self.text)


class Searchlog(_TextData):
    """Search logs. Each person is a record of the search terms (the extra 'text')."""

    FILES: ClassVar = ("searchlog",)
    stored_format: ClassVar = "searchlog"

    searchlog: File | Annotated[tuple[File, ...], Field(min_length=1)]
    """Files in the form of AOL's: AnonID, Query, QueryTime, ItemRank, ClickURL, tabs between them."""
    short: int = Field(2, ge=0, le=20)
    """Largest number of words of a query that becomes one item. A longer query gives its noun phrases."""

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        from decloak.data.text.searchlog import read_searchlog

        data = read_searchlog([folder / file for file in self.file_names()], short=self.short, progress=progress)
        return Dataset(data.transactions, data.labels, ", ".join(self.file_names()))
