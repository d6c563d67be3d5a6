"""A published form: how a release of it is kept and fetched, what an attacker makes of it, and how it is published.

Everything that differs between forms is a method of theirs: nobody else asks which form a release has.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from decloak.anonymisers.method import NewRelease
from decloak.data.assignment import Closer
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.ordering import Order
from decloak.data.tables import AttackTable, DistanceTable, Pair
from decloak.releases.attacker import Attacker
from decloak.releases.carriers import Carrier
from decloak.releases.held import HeldRelease
from decloak.releases.knowledge import Knowledge
from decloak.yaml.part import Found

__all__ = ["Form", "Publishing"]

Held = TypeVar("Held", bound=HeldRelease)


class Publishing(NamedTuple):
    """How a release is wanted: with the ids of the original transactions, as tables for people, with the items of its
    labels in a file beside it.
    """

    original_ids: bool = False
    text: bool = False
    cut: Path | None = None


class Form(ABC, Generic[Held]):
    """One published form; `Held` is a release of it in the store."""

    name: ClassVar[FormName]
    attacks: ClassVar[FormName]
    """The form whose attacks and measures it shares, as errors name it."""
    closer: ClassVar[tuple[Closer, ...]] = ("smaller",)
    """Whether smaller or larger scores may be of closer items."""
    knows: ClassVar[bool] = False
    """Whether what an attacker knows of persons is a stage of its own."""
    apart: ClassVar[bool] = False
    """Whether what is of one record is published in several pieces."""
    rows_in_order: ClassVar[bool] = True
    """Whether its rows stand in the order of the records where that is asked for."""
    audits: ClassVar[tuple[str, ...]] = ()
    """The rules that run on every release of somebody else, listed or not."""
    related: ClassVar[bool] = True
    """Whether attacks need to be told how items are related."""
    contains: ClassVar[tuple[str, ...]]
    """What somebody has who has a release of it, in sentences."""

    @abstractmethod
    def write(self, connection: sqlite3.Connection, digest: str, prepared: NewRelease, original: int | None) -> int:
        """Keep a release, and apart from it what links it to the original data set; return its number."""

    @abstractmethod
    def hold(self, connection: sqlite3.Connection, number: int) -> Held:
        """A release in the store."""

    @abstractmethod
    def misfits(self, attacker: Attacker, *, marked: bool, order: Order | None) -> Found:
        """Keys of the attacker that say nothing of this form; `marked` where brackets show what is generalised, `order`
        where the release is made here.
        """

    @abstractmethod
    def context(self, nearest: int | None) -> int | str:
        """What is held against a hidden item, in a word; `nearest` are the plain items looked at, None for all."""

    @abstractmethod
    def pairs(self, held: Held, nearest: int | None) -> Sequence[Pair]:
        """The pairs of items whose relatedness the attacks go by."""

    @abstractmethod
    def documents(self, held: Held) -> Iterable[Iterable[str]]:
        """What items are seen together in, for who knows the release alone."""

    def sizes(self, held: Held) -> Sequence[int]:
        """Of how many records each of the documents is."""
        return [1 for _ in self.documents(held)]

    def tables(
        self,
        held: Held,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        """The distance tables that are attacked: by the scores, or those of the scenario's file."""
        return ()

    def knowledge(self, held: Held, attacker: Attacker, folder: Folder, seed: int) -> Knowledge:
        """What an attacker knows of persons beforehand."""
        raise AssertionError(f"nobody is known in {self.name} data")

    def check_knowledge(self, attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]]) -> None:
        """Read what the attacker knows from files, before anything is written."""

    @abstractmethod
    def carrier(self, file: Path, wish: Publishing) -> Carrier:
        """How a file of this name carries a release; an error where it cannot carry what is wished."""

    def labels(self, held: Held) -> Generalised:
        """The labels a release shows, with what they stand for."""
        raise AssertionError(f"{self.name} data have no labels")

    @abstractmethod
    def counts(self, release: Any) -> Mapping[str, int]:
        """How much of what a release shows."""
