"""The contract of a published form: how the store keeps it, what an attacker reads in it, and how it is published.

Everything that differs between forms is a method here, so that no other code asks for the form of a release. A new form
is a module in this folder, an entry in `registry.py` and a name in `data/forms.py`. A form with tables of its own also
has a module in `store/`.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.data.assignment import ScoreDirection
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.ordering import Order
from decloak.data.pairs import AttackTable, DistanceTable, Pair
from decloak.releases.attacker import Attacker
from decloak.releases.file_formats import ReleaseFileFormat
from decloak.releases.knowledge import Knowledge
from decloak.releases.stored import StoredRelease
from decloak.yaml.section import ConfigErrors

Held = TypeVar("Held", bound=StoredRelease)
Content = TypeVar("Content", bound=StoredContent, contravariant=True)


class Publishing(NamedTuple):
    """Options of `decloak publish`: with the ids of the original records, as tables for people, with a file of the
    labels.
    """

    original_ids: bool = False
    text: bool = False
    cut: Path | None = None


class Form(ABC, Generic[Held, Content]):
    """One published form; `Held` is a release of it in the store."""

    name: ClassVar[FormName]
    stored_as: ClassVar[tuple[Literal["format", "method"], str] | None] = None
    """The column of a release in the store that only this form has, and its value; None if no column tells."""
    attacks: ClassVar[FormName]
    """Form with the same attacks and measures, as errors name it."""
    closer: ClassVar[tuple[ScoreDirection, ...]] = ("smaller",)
    """Directions that scores may have: smaller or larger means closer."""
    knows: ClassVar[bool] = False
    """True if the attacker's knowledge about people is a stage of its own."""
    rows_in_order: ClassVar[bool] = True
    """True if its rows can keep the order of the records."""
    audits: ClassVar[tuple[str, ...]] = ()
    """Rules that run on every release of another publisher, listed or not."""
    related: ClassVar[bool] = True
    """True if attacks need scores of relatedness."""
    header_method: ClassVar[str]
    """Method in the header of a release file of this form."""
    contains: ClassVar[tuple[str, ...]]
    """Sentences on what a recipient of the release has."""

    @abstractmethod
    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[Content], original: int | None
    ) -> int:
        """Write the release `prepared` to the store, and separately its links to the data set `original`; return its
        id.

        `connection` is open for writing, and `digest` is the key of the stage.
        """

    @abstractmethod
    def load(self, connection: sqlite3.Connection, number: int) -> Held:
        """Return the release with the id `number` in the store that `connection` reads."""

    @abstractmethod
    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        """Yield the keys of `attacker` that this form does not support.

        `marked` says whether brackets show generalised items, `order` is the order of a release that decloak makes.
        """

    @abstractmethod
    def context(self, nearest: int | None) -> int | str:
        """Return a word for the context of a hidden item; `nearest` is the number of plain items, None for all."""

    @abstractmethod
    def pairs(self, held: Held, nearest: int | None) -> Sequence[Pair]:
        """Return the pairs of items in `held` whose scores the attacks need; `nearest` is the size of a context."""

    @abstractmethod
    def documents(self, held: Held) -> Iterable[Iterable[str]]:
        """Return the sets of items in `held` that appear together, for an attacker who knows the release alone."""

    def sizes(self, held: Held) -> Sequence[int]:
        """Return the number of records of each document of `held`."""
        return [1 for _ in self.documents(held)]

    def tables(
        self,
        held: Held,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        """Return the distance tables to attack in `held`, by `scores`, or those `listed` in the file of the scenario.

        `nearest` is the size of a context, None for all.
        """
        return ()

    def knowledge(self, held: Held, attacker: Attacker, folder: Folder, seed: int) -> Knowledge:
        """Return the knowledge of `attacker` about people in `held`, drawn with `seed`; `folder` has its files."""
        raise AssertionError(f"no person is known in {self.name} data")

    def check_knowledge(self, attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]]) -> None:
        """Read the files of `attacker` in `folder`, for the `items` of the data, before anything is written."""

    @abstractmethod
    def file_format(self, file: Path, wish: Publishing) -> ReleaseFileFormat:
        """Return the format of a release in `file`; raise an error if it cannot represent what `wish` asks for."""

    def labels(self, held: Held) -> Generalised:
        """Return the labels that `held` shows, with their members."""
        raise AssertionError(f"{self.name} data have no labels")

    @abstractmethod
    def counts(self, release: Any) -> Mapping[str, int]:
        """Return the numbers of records and items in `release`, and similar counts, by name."""


AnyForm = Form[Any, Any]
"""One of the published forms."""
