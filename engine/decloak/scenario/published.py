"""The data of a scenario: originals, or releases and distance tables that were published before.

Releases that do not mark generalised items have them marked. An item in at least k records is a member of a generalised
item, any other is context (Ong 2015, 3.5.2). There is one generalised item per record, or one per utility set if these
are known. Items of different utility sets, and items outside them, are never generalised together.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Discriminator, PrivateAttr, Tag, ValidationInfo, model_validator

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.attacker.written_order import MEMBERS_BY_ORDER, orders_vary, revealed_members
from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.generalised_file import GENERALISATION
from decloak.data.formats.lines import ReadProgress, location
from decloak.data.formats.look_check import check_ids
from decloak.data.formats.plain_files import read
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised, read_generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.data.pairs import DistanceTable
from decloak.data.published import Published, check_alignment, likely_misspellings, read_published
from decloak.data.repeats import WARNING, find_copies
from decloak.errors import DecloakError, at_location, quote
from decloak.releases.attacker import Attacker
from decloak.releases.distances import read_distances, release_of_tables
from decloak.releases.file_formats import RELEASE_TYPES, read_header, read_release
from decloak.releases.own_truth import read_row_origins, suppressed_occurrences
from decloak.releases.public_store import read_store, read_store_header
from decloak.scenario.originals import DataPart, Generated, Notes, Original, Searchlog
from decloak.store.opening import is_store
from decloak.yaml.section import ConfigErrors, ConfigSection, File

PLAIN = "basket"
"""The format of originals that are named by their path alone."""
FEW = 3
"""Largest number of items that get a warning each."""


class PublishedFile(ConfigSection):
    """A file of set-generalised transactions: `heart disease, (icd, limbs), weakness`, or a release file (.jsonl)."""

    FILES: ClassVar = ("file",)

    file: File
    """The path of the file."""
    ids: bool = False
    """True if the first name of a line is the id of the record."""
    marked: bool = True
    """True if brackets show which items are generalised. If not, the attacker uses k and utility."""
    as_said: bool = False
    """True to read the file as described here even if its content contradicts."""
    repeats: bool = False
    """True if records and ids repeat on purpose: the file was not written twice."""

    @property
    def is_release(self) -> bool:
        """True for a release file."""
        return self.file.endswith(".jsonl")

    def config_errors(self) -> ConfigErrors:
        """Yield errors for keys that a release file states itself."""
        for key in sorted({"as_said", "ids", "marked"} & self.model_fields_set):
            if self.is_release:
                yield (key,), DecloakError(f"a release file says itself what {quote(key)} would", hint="delete it")

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        """Return the key of the file in the store. `digest_of` gives digests of files. `as_said` does not change the
        content.
        """
        return {key: value for key, value in super().identity(digest_of).items() if key != "as_said"}

    def read(self, folder: Folder, attacker: Attacker) -> Published:
        """Return the release in `folder`. If nothing is marked, `attacker` decides which items are generalised."""
        path = folder / self.file
        if self.is_release:
            release = read_generalised(path).published
        elif self.marked:
            release = read_published(path, ids=self.ids, repeats=self.repeats)
            if not self.as_said:
                check_ids(path, release.transactions, self.ids)
        else:
            release = mark(read(path, PLAIN, ids=self.ids), attacker.k, attacker.utility)
        return Published(release.transactions, release.labels, self.file, release.names)


class _WithRelease(DataPart):
    FILES: ClassVar[tuple[str, ...]] = ("published",)
    is_published: ClassVar = True

    published: File | PublishedFile
    """The release: a path, or a file and its options."""

    @property
    def published_file(self) -> PublishedFile:
        """The file with its options."""
        return PublishedFile(file=self.published) if isinstance(self.published, str) else self.published

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        """Return the key of the data in the store, equal for a path alone and for one with default options. `digest_of`
        gives digests of files.
        """
        return super().identity(digest_of) | {"published": self.published_file.identity(digest_of)}

    @property
    def form(self) -> FormName:
        """The form: a release file has labels."""
        return FormName.GENERALISED if self.published_file.is_release else FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """True if the release shows which items are generalised."""
        return self.published_file.marked

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        """Return the release in `folder` as `attacker` sees it, with the number of items of `original` that it
        suppressed.
        """
        published = self.published_file.read(folder, attacker)
        # The bounds are no fact: another publisher states them, and `guarantee` checks them.
        bounds = _bounds(self.read_header(folder))
        notes = [] if self.marked else [_taken_for_generalised(published, attacker)]
        if not self.published_file.repeats and (copies := find_copies(published.rows, ordered=True)) is not None:
            notes.append(f"{WARNING}{self.published_file.file}: {copies}; {copies.remedy}")
        if original is None:
            unknown = {MEMBERS_BY_ORDER: None} if orders_vary(published) else {}
            return NewRelease(published, "unknown", bounds, unknown, notes=notes)
        try:
            suppressed = check_alignment(original, published)
        except DecloakError as error:
            place = str(folder.path / (error.place or self.published_file.file))
            raise DecloakError(error.message, place, error.hint) from None
        for item, near in likely_misspellings(original, published)[:FEW]:
            words = f"the release lacks {quote(item)} of {original.origin}, and no record has its {quote(near)}"
            notes.append(f"{WARNING}{words}. Remedy: write the same name in both files")
        # Labels match one to one: check_alignment made sure of it.
        place_of = {label: place for place, label in enumerate(original.labels)}
        truth = np.array([place_of[label] for label in published.labels], np.int64)
        revealed = revealed_members(published, original)
        told = {} if revealed is None else {MEMBERS_BY_ORDER: revealed}
        parameters = {"suppressed": len(suppressed), **bounds}
        return NewRelease(published, "unknown", parameters, told, truth=truth, notes=notes)

    def read_header(self, folder: Folder) -> Header | None:
        """Return the header of the release file in `folder`, None if it is text."""
        return (
            read_header(folder.read_once(self.published_file.file), GENERALISATION)
            if self.published_file.is_release
            else None
        )


def _bounds(header: Header | None) -> dict[str, int]:
    """Return the k and m that `header` states; text has none."""
    stated = {} if header is None else {"k": header.k, "m": header.m}
    return {name: bound for name, bound in stated.items() if bound is not None}


def _taken_for_generalised(published: Published, attacker: Attacker) -> str:
    """Return the note about items that an attacker assumes to be generalised, perhaps wrongly."""
    taken = len({item for members in published.generalised for item in members})
    items = f"{taken:,} of {len(published.items):,} items"
    rule = f"The attacker takes items in {attacker.k} records or more for generalised: {items}"
    assumed = "" if "k" in attacker.model_fields_set else f". k = {attacker.k} is assumed, because attacker has no k"
    return f"The release marks no generalised items. {rule}{assumed}"


class PairData(_WithRelease, Original):
    """The original records, and their release."""

    FILES: ClassVar = ("file", "published")

    def config_errors(self) -> ConfigErrors:
        """Yield errors for a sample: it would not match the release."""
        yield from super().config_errors()
        for key in ("sample", "density"):
            if key in self.model_fields_set:
                yield (key,), DecloakError("a sample would not be what was published of the data", hint="delete it")


class PublishedData(_WithRelease):
    """A release without its original."""


class DistancesData(DataPart):
    """Distance tables from elsewhere, attacked as they are."""

    FILES: ClassVar = ("distances",)

    distances: File
    """The path of the file of distance tables."""

    @property
    def form(self) -> FormName:
        """The form of distance tables."""
        return FormName.DISTANCES

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        return release_of_tables(read_distances(folder / self.distances), self.distances)

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        return read_distances(folder / self.distances).tables


class ReleaseData(DataPart):
    """A release file, whose header says its form, or a store with one release."""

    FILES: ClassVar[tuple[str, ...]] = ("release",)

    release: File
    """The path of the release file, or of a store that `decloak publish` wrote."""
    _form: FormName = PrivateAttr(FormName.DISASSOCIATED)

    @property
    def form(self) -> FormName:
        """The form in the header of the file, if that could be read."""
        return self._form

    @model_validator(mode="after")
    def _read_form(self, info: ValidationInfo) -> Self:
        """Read the form from the header if the file exists: it decides which attacks and measures apply."""
        folder: Folder | None = (info.context or {}).get("folder")
        # A missing file is reported when the run is planned.
        if folder is None or not (folder.path / self.release).exists():
            return self
        self._form = RELEASE_TYPES[self.read_header(folder).method].form
        return self

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        path = folder / self.release
        release = read_store(path) if is_store(path) else read_release(path)
        if not isinstance(release, Generalised | Published):
            return NewRelease(release, "unknown", {})
        bounds = _bounds(self.read_header(folder))
        if isinstance(release, Published):
            return NewRelease(release, "unknown", bounds)
        copies = find_copies(release.rows, ordered=True)
        notes = [] if copies is None else [f"{WARNING}{self.release}: {copies}; keep {copies.without_copies}"]
        return NewRelease(release.published, "unknown", bounds, notes=notes)

    def read_header(self, folder: Folder) -> Header:
        """Return the first line of the file in `folder`, or the equivalent of a store."""
        path = folder.read_once(self.release)
        return read_store_header(path) if is_store(path) else read_header(path)


class EvaluatedData(ReleaseData):
    """A release file of any method with its ground truth: the original records, and the record behind every row."""

    FILES: ClassVar = ("release", "original", "rows")
    has_original: ClassVar = True
    stored_format: ClassVar = PLAIN

    original: File | Original
    """The original records that were published: a path in the format basket, or a file with its format and options."""
    rows: File | None = None
    """A CSV file with the columns row and record, a line for every row of the release. A row of a disassociated release
    is named by cluster and position, such as 2.0, another one by its id or its number. A record without id has a
    number. An itemset table has no rows."""

    @property
    def original_file(self) -> Original:
        """The file of the originals with its options."""
        return Original(file=self.original, format=PLAIN) if isinstance(self.original, str) else self.original

    @property
    def exclusive(self) -> tuple[str, ...]:
        """The columns of the originals whose values are items."""
        return self.original_file.exclusive

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        """Return the key of the data in the store; the key `published` is about the release alone."""
        own = super().identity(digest_of)
        original = self.original_file.identity(digest_of)
        return {"original": original, "published": {"release": own["release"], "rows": own.get("rows")}}

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        return self.original_file.read_original(folder, progress)

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        new = super().read_release(folder, attacker, original)
        # No record is behind a row of an itemset table, or a synthetic record.
        if (self.rows is None) == new.release.rows_are_records:
            hint = "name the file of the rows" if self.rows is None else "delete it"
            raise DecloakError(
                f"a release {quote(str(new.release.form))} with{'out' * (self.rows is None)} rows", hint=hint
            )
        if self.rows is None or isinstance(new.release, ItemsetTable):
            return new
        path = folder / self.rows
        assert original is not None
        truth = read_row_origins(path, new.release.ids, original)
        if isinstance(new.release, Published):
            # Alignment compares by id, and the ids of the release are not those of the originals.
            named = new.release.with_ids([original.labels[place] for place in truth.tolist()])
            with at_location(location(path)):
                suppressed = check_alignment(original, named)
            return replace(new, loss={"suppressed": len(suppressed)}, truth=truth)
        cut = suppressed_occurrences(new.release, original, truth, path)
        occurrences = max(1, len(original.rows.codes))
        return replace(new, loss={"cut": len(cut) / occurrences}, truth=truth, cut=cut)


def _shape(data: object) -> str | None:
    """Return the kind of the data by their keys, including misspelt ones."""
    keys = data if isinstance(data, dict) else getattr(data, "model_fields_set", ())
    kinds = ("file", "format", "published", "distances", "release", "generate", "text", "searchlog")
    # Options of the file are not misspelt kinds: difflib takes "repeats" for "release".
    options = PairData.model_fields.keys() - set(kinds)
    # A misspelt key decides the kind too, so that its error names that key alone.
    words = {word for key in keys if key not in options for word in get_close_matches(str(key), kinds, 1)}
    if "release" in words and {"original", "rows"} & set(keys):
        return "evaluated"
    for alone in ("distances", "release", "generate", "text", "searchlog"):
        if alone in words:
            return alone
    if "published" in words:
        return "pair" if words & {"file", "format"} else "published"
    return "original" if words else None


Data = Annotated[
    Annotated[Original, Tag("original")]
    | Annotated[PairData, Tag("pair")]
    | Annotated[PublishedData, Tag("published")]
    | Annotated[DistancesData, Tag("distances")]
    | Annotated[ReleaseData, Tag("release")]
    | Annotated[EvaluatedData, Tag("evaluated")]
    | Annotated[Generated, Tag("generate")]
    | Annotated[Notes, Tag("text")]
    | Annotated[Searchlog, Tag("searchlog")],
    Discriminator(_shape),
]


def mark(data: Dataset, k: int, utility: Collection[Collection[str]] | None) -> Published:
    """Combine the items in `k` or more records of `data` into generalised items, at the position of their first member.

    `utility` lists the utility sets, which are disjoint, if they are known. Return the marked release.

    >>> mark(Dataset.of([["knee", "icd", "limbs"], ["icd", "limbs"]]), 2, None).transactions
    (('knee', ('icd', 'limbs')), (('icd', 'limbs'),))
    """
    frequent = [item for item, support in data.rows.supports().items() if support >= k]
    # Without utility sets all frequent items form one group: an attacker cannot divide them.
    group = dict.fromkeys(frequent, 0)
    if utility is not None:
        sets = {item: number for number, items in enumerate(utility) for item in items}
        # An item of no utility set was not generalised with another one.
        group = {item: sets.get(item, len(utility) + place) for place, item in enumerate(frequent)}
    return Published(tuple(_group_items(items, group) for items in data.transactions), data.labels)


def _group_items(items: Sequence[str], group: Mapping[str, int]) -> tuple[Element, ...]:
    """Return one element per plain item and per group, in the order of their first items."""
    gathered: dict[str | int, list[str]] = {}
    for item in items:
        gathered.setdefault(group.get(item, item), []).append(item)
    return tuple(tuple(members) if isinstance(key, int) else key for key, members in gathered.items())
