"""What was published before a scenario was written: files of releases, or of distance tables."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import PrivateAttr, ValidationInfo, model_validator

from decloak.anonymisers.method import NewRelease
from decloak.attack.unmarked import mark
from decloak.data.dataset import Dataset
from decloak.data.formats.distance_file import read_distances
from decloak.data.formats.folder import Folder
from decloak.data.formats.generalised_file import GENERALISATION
from decloak.data.formats.look_fit import check_ids
from decloak.data.formats.readers import read
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised, read_generalised
from decloak.data.pair import check_pair, misspelt
from decloak.data.published import Published, read_published
from decloak.data.release_files import read_header, read_release
from decloak.data.repeats import WARNING, copies_of
from decloak.data.tables import DistanceTable
from decloak.errors import DecloakError, shown
from decloak.releases.attacker import Attacker
from decloak.releases.distances import made_of_tables
from decloak.releases.handed_out import read_store, read_store_header
from decloak.scenario.data_part import DataPart
from decloak.scenario.originals import Original
from decloak.store.opening import is_store
from decloak.yaml.part import File, Found, Part

__all__ = ["DistancesData", "PairData", "PublishedData", "PublishedFile", "ReleaseData"]

FEW = 3
"""Items that are warned about one by one."""


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
    repeats: bool = False
    """Whether records and ids that repeat are meant: the file was not written twice."""

    @property
    def is_release(self) -> bool:
        return self.file.endswith(".jsonl")

    def mistakes(self) -> Found:
        """A release file says both itself."""
        for key in sorted({"as_said", "ids", "marked"} & self.model_fields_set):
            if self.is_release:
                yield (key,), DecloakError(f"a release file says itself what {shown(key)} would", hint="delete it")

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, Any]:
        """To insist on how a file is read changes nothing of what is read."""
        return {key: value for key, value in super().identity(digest_of).items() if key != "as_said"}

    def read(self, folder: Folder, attacker: Attacker) -> Published:
        """What is published; where nothing is marked, as the attacker takes it."""
        path = folder / self.file
        if self.is_release:
            release = read_generalised(path).published
        elif self.marked:
            release = read_published(path, ids=self.ids, repeats=self.repeats)
            if not self.as_said:
                check_ids(path, release.transactions, self.ids)
        else:
            plain = read(path, "basket", ids=self.ids)
            release = mark(plain.transactions, plain.labels, k=attacker.k, utility=attacker.utility)
        return Published(release.transactions, release.labels, self.file, release.names)


class _WithRelease(DataPart):
    FILES: ClassVar[tuple[str, ...]] = ("published",)
    anonymised: ClassVar = True

    published: File | PublishedFile
    """What was published: a path, or a file and how to read it."""

    @property
    def published_file(self) -> PublishedFile:
        return PublishedFile(file=self.published) if isinstance(self.published, str) else self.published

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, Any]:
        """A file is the same whether its path stands alone or with options that say nothing."""
        return super().identity(digest_of) | {"published": self.published_file.identity(digest_of)}

    @property
    def form(self) -> FormName:
        """Release files are of labels."""
        return FormName.GENERALISED if self.published_file.is_release else FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        return self.published_file.marked

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease:
        """What the file publishes, and what it suppressed."""
        published = self.published_file.read(folder, attacker)
        notes = [] if self.marked else [_taken_for_generalised(published, attacker)]
        if not self.published_file.repeats and (copies := copies_of(published.rows, ordered=True)) is not None:
            notes.append(f"{WARNING}{self.published_file.file}: {copies}; {copies.remedy}")
        if original is None:
            return NewRelease(published, "unknown", {}, notes=notes)
        try:
            suppressed = check_pair(original, published)
        except DecloakError as error:
            place = str(folder.path / (error.place or self.published_file.file))
            raise DecloakError(error.message, place, error.hint) from None
        for item, near in misspelt(original, published)[:FEW]:
            words = f"nothing shows {shown(item)} of {original.origin}, and nobody has {shown(near)}, which is shown"
            notes.append(f"{WARNING}{words}: write the same name in both files")
        place_of = {label: place for place, label in enumerate(original.labels)}
        truth = np.array([place_of[label] for label in published.labels], np.int64)
        return NewRelease(published, "unknown", {"suppressed": len(suppressed)}, truth=truth, notes=notes)

    def read_header(self, folder: Folder) -> Header | None:
        """What the release file says, None where it is text."""
        return (
            read_header(folder.once(self.published_file.file), GENERALISATION)
            if self.published_file.is_release
            else None
        )


def _taken_for_generalised(published: Published, attacker: Attacker) -> str:
    """What an attacker makes of a file in which nothing is marked, who may be wrong."""
    taken = len({item for members in published.generalised for item in members})
    items = f"{taken:,} of {len(published.items):,} items"
    rule = f"what is in {attacker.k} transactions or more is taken for generalised, {items}"
    return f"nothing is marked: {rule}; that they are is not known"


class PairData(_WithRelease, Original):
    """The original transactions, and what was published of them."""

    FILES: ClassVar = ("file", "published")

    def mistakes(self) -> Found:
        """A part of what was published together."""
        yield from super().mistakes()
        for key in ("sample", "density"):
            if key in self.model_fields_set:
                yield (key,), DecloakError("a sample would not be what was published of the data", hint="delete it")


class PublishedData(_WithRelease):
    """Only what was published."""


class DistancesData(DataPart):
    """Distance tables made elsewhere, to be attacked as they are."""

    FILES: ClassVar = ("distances",)

    distances: File
    """The path of the file of distance tables."""

    @property
    def form(self) -> FormName:
        return FormName.DISTANCES

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease:
        return made_of_tables(read_distances(folder / self.distances), self.distances)

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        return read_distances(folder / self.distances).tables


class ReleaseData(DataPart):
    """A release file: disassociated, or generalised in a hierarchy, as it says itself; or a store with one release."""

    FILES: ClassVar = ("release",)

    release: File
    """The path of the release file, or of a store that `decloak publish` wrote."""
    _form: FormName = PrivateAttr(FormName.DISASSOCIATED)

    @property
    def form(self) -> FormName:
        """What the file says, where it could be looked at."""
        return self._form

    @model_validator(mode="after")
    def _look(self, info: ValidationInfo) -> Self:
        """See which form the release has, by a file that is there: else nothing can be said of what fits."""
        folder: Folder | None = (info.context or {}).get("folder")
        if folder is None or not (folder.path / self.release).exists():
            return self
        if self.read_header(folder).method == GENERALISATION:
            self._form = FormName.GENERALISED
        return self

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease:
        path = folder / self.release
        release = read_store(path) if is_store(path) else read_release(path)
        if not isinstance(release, Generalised):
            return NewRelease(release, "unknown", {})
        copies = copies_of(release.rows, ordered=True)
        notes = [] if copies is None else [f"{WARNING}{self.release}: {copies}; keep {copies.kept}"]
        return NewRelease(release.published, "unknown", {}, notes=notes)

    def read_header(self, folder: Folder) -> Header:
        """Its first line, or what a store says in its place."""
        path = folder.once(self.release)
        return read_store_header(path) if is_store(path) else read_header(path)
