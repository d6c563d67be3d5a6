"""How related two items are, as a scenario says it: what all sources share. A source is a class beside its kernel."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from decloak.data.assignment import Closer
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.rungs import Rung
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.relate.counting import Cache, CountingProgress
from decloak.relate.ngd import Scored, distances
from decloak.relate.protocols import CountSource, Similarities
from decloak.relate.similar import apart
from decloak.yaml.part import Found, Part

__all__ = [
    "AskedSource", "CountedSource", "Distance", "KnownSample", "NgdSource", "PseudoCount", "ReadDocuments", "Related",
    "Relatedness", "SimilaritySource", "Supplies",
]  # fmt: skip

ReadDocuments = Callable[[], Iterable[Iterable[str]]]
"""Gives what items stand together in, for a source that counts nothing else."""
Distance = Annotated[float, Field(ge=0)] | Literal["none"]
Cap = Annotated[float, Field(gt=0)] | Literal["none"]


class KnownSample(NamedTuple):
    """Other records of the population, and where they come from, in a line."""

    records: Dataset
    note: str


class Supplies(NamedTuple):
    """What a source goes by: the folder its paths start from, what items stand together in, and where answers are
    kept; who is told how many of them there are; of how many records each document is, one unless told; and other
    records of the population, None where nobody knows any.
    """

    folder: Folder
    documents: ReadDocuments = lambda: ()
    cache: Cache | None = None
    progress: CountingProgress = lambda answered, total: None
    sizes: Callable[[], Sequence[int]] | None = None
    sample: Callable[[], KnownSample] | None = None


class Related(NamedTuple):
    """Scores of pairs, with the measure, where it comes from, and what it could not use; `apart` are those by each
    measure, where several were taken together.
    """

    measure: str
    origin: str
    scores: Mapping[Pair, float | None]
    warnings: Sequence[str]
    apart: Sequence[Mapping[Pair, float | None]] = ()


class Relatedness(Part):
    """A measure, and the source it goes by."""

    rung: ClassVar[Rung] = Rung.LANGUAGE
    """What somebody must know who goes by it."""
    asks: ClassVar[bool] = False
    """Whether somebody else is asked, whose answers a store keeps."""
    unrelated: ClassVar[float | None] = None
    """The score of items that have nothing in common; None where the mean of the scores has to stand for it."""

    if TYPE_CHECKING:
        measure: str

        @property
        def closer(self) -> Closer:
            """Whether smaller or larger scores are of closer items."""

    @property
    def rungs(self) -> frozenset[Rung]:
        """What somebody must know who goes by it, with all it is made of."""
        return frozenset(part.rung for part in self.parts) - {Rung.NOTHING}

    @property
    def parts(self) -> Sequence["Relatedness"]:
        """The measures that it is made of: itself, where it is one."""
        return (self,)

    @property
    def title(self) -> str:
        """What tells it from others in a table."""
        return self.measure

    @property
    @abstractmethod
    def origin(self) -> str:
        """Where its scores come from."""

    @property
    def sends_to(self) -> tuple[str, ...]:
        """The addresses that the items' names would be sent to."""
        return ()

    @property
    def goes_by_kept(self) -> bool:
        """Whether it goes by the answers that a store keeps, and asks for no more."""
        return False

    @abstractmethod
    def check(self, folder: Folder) -> None:
        """Read and open whatever it names; no question is asked."""

    def others(self, supplies: Supplies) -> Sequence[Sequence[str]]:
        """Other transactions of the population that it goes by."""
        return ()

    def related(self, pairs: Sequence[Pair], supplies: Supplies) -> Related:
        """Score pairs; counts that had to be asked for are kept."""
        scored = self.scored(pairs, supplies)
        return Related(self.measure, self.origin, scored.distances, scored.warnings)

    @abstractmethod
    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """The scores themselves."""


class AskedSource(Relatedness):
    """A source that asks a service at an address, unless it is offline."""

    asks: ClassVar[bool] = True

    if TYPE_CHECKING:
        url: str
        offline: bool

    @property
    def sends_to(self) -> tuple[str, ...]:
        """The host of the service, unless nothing is asked."""
        return () if self.offline else (urlsplit(self.url).netloc,)

    @property
    def goes_by_kept(self) -> bool:
        return self.offline


class PseudoCount(Part):
    """A count in place of zero."""

    pseudo_count: float = Field(gt=0)
    """In how many pages terms that are never seen together count as seen."""

    def mistakes(self) -> Found:
        """A count that says more than once is no longer one in place of zero."""
        if self.pseudo_count > 1:
            message = f"{self.pseudo_count:g} is not a pseudo-count"
            yield ("pseudo_count",), DecloakError(message, hint="write a number above 0, at most 1")


class NgdSource(Relatedness):
    """A source of normalised Google distances."""

    if TYPE_CHECKING:
        source: str

    measure: Literal["ngd"]
    """Normalised Google distance."""
    cap: Cap = 1.0
    """Larger distances are cut to this one."""

    def mistakes(self) -> Found:
        unseen = getattr(self, "unseen", None)
        if isinstance(unseen, float) and isinstance(self.cap, float) and unseen > self.cap:
            written = "unseen" in self.model_fields_set
            what = f"{unseen:g}" if written else f"unseen, which is {unseen:g} unless you write it,"
            message = f"{what} would be cut to the cap of {self.cap:g}"
            yield ("unseen",), DecloakError(message, hint="raise the cap, or set it to none")

    @property
    def title(self) -> str:
        return f"{self.measure} {self.source}"

    @property
    def origin(self) -> str:
        return str(getattr(self, "file", self.source))


class CountedSource(NgdSource):
    """A source of counts, of which the distances are worked out."""

    closer: ClassVar[Closer] = "smaller"

    unseen: Distance | PseudoCount = 1.0
    """What terms never seen together get: a distance, no score, or the distance by a pseudo-count."""

    @abstractmethod
    def open(self, supplies: Supplies) -> AbstractContextManager[CountSource]:
        """The counts, as long as they are needed."""

    def check(self, folder: Folder) -> None:
        with self.open(Supplies(folder)):
            pass

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Count what is needed of the pairs, and work out their distances."""
        unseen = self.unseen.model_dump() if isinstance(self.unseen, PseudoCount) else self.unseen
        with self.open(supplies) as counts:
            scored = distances(counts, pairs, unseen=unseen, cap=self.cap)
            return scored._replace(warnings=[*getattr(counts, "notes", ()), *scored.warnings])


class SimilaritySource(Relatedness):
    """A source of similarities, of which 1 less each is a distance."""

    closer: ClassVar[Closer] = "smaller"

    @abstractmethod
    def open(self, folder: Folder) -> Similarities:
        """What compares terms."""

    def check(self, folder: Folder) -> None:
        self.open(folder)

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Compare the pairs; nothing is counted."""
        return apart(self.open(supplies.folder).scores(pairs))
