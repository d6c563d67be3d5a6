"""The contract of all sources of relatedness. Each source is a class in the module of its kernel."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from decloak.data.assignment import ScoreDirection
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.pairs import Pair, ScoredPairs
from decloak.errors import DecloakError
from decloak.relate.counting import Cache, CountingProgress
from decloak.relate.ngd import CountSource, Scored, distances
from decloak.relate.similar import Similarities, similarity_to_distance
from decloak.yaml.section import ConfigErrors, ConfigSection

__all__ = [
    "CountedSource",
    "Distance",
    "KnownSample",
    "NgdSource",
    "PseudoCount",
    "ReadDocuments",
    "Related",
    "Relatedness",
    "ServiceSource",
    "SimilaritySource",
    "Supplies",
]  # fmt: skip

ReadDocuments = Callable[[], Iterable[Iterable[str]]]
"""Returns the documents in which items occur together, for a source that counts these only."""
Distance = Annotated[float, Field(ge=0)] | Literal["none"]
Cap = Annotated[float, Field(gt=0)] | Literal["none"]


class KnownSample(NamedTuple):
    """Other records of the population, and a line on their origin."""

    records: Dataset
    note: str


class Supplies(NamedTuple):
    """Inputs of a source: the folder of its files, the documents of the release, the cache of answers, a progress
    function, the number of records of each document (one if not given), and other records of the population, None if
    the attacker has none.
    """

    folder: Folder
    documents: ReadDocuments = lambda: ()
    cache: Cache | None = None
    progress: CountingProgress = lambda answered, total: None
    sizes: Callable[[], Sequence[int]] | None = None
    sample: Callable[[], KnownSample] | None = None


class Related(NamedTuple):
    """Scores of pairs, with the measure, their origin, and warnings; `apart` has the scores by each of several
    measures.
    """

    measure: str
    origin: str
    scores: ScoredPairs
    warnings: Sequence[str]
    apart: Sequence[ScoredPairs] = ()


class Relatedness(ConfigSection):
    """A measure of relatedness and the source of its scores."""

    knowledge_level: ClassVar[KnowledgeLevel] = KnowledgeLevel.LANGUAGE
    """Knowledge level that an attacker needs for this measure."""
    queries_service: ClassVar[bool] = False
    """True if a service is asked, whose answers the store keeps."""
    unrelated: ClassVar[float | None] = None
    """Score of items with nothing in common; None if the mean of the scores replaces it."""

    # Declared for type checkers alone: pydantic would add a field, and each source has its own.
    if TYPE_CHECKING:
        measure: str

        @property
        def closer(self) -> ScoreDirection:
            """Return whether smaller or larger scores mean closer items."""

    @property
    def knowledge_levels(self) -> frozenset[KnowledgeLevel]:
        """Return the knowledge levels that an attacker needs for all parts of the measure."""
        return frozenset(part.knowledge_level for part in self.parts) - {KnowledgeLevel.NOTHING}

    @property
    def parts(self) -> Sequence["Relatedness"]:
        """Return the measures that this one is made of; itself, if it is a single one."""
        return (self,)

    @property
    def title(self) -> str:
        """Return the name of the measure in tables."""
        return self.measure

    @property
    @abstractmethod
    def origin(self) -> str:
        """Return the origin of the scores."""

    @property
    def sends_to(self) -> tuple[str, ...]:
        """Return the hosts that the names of items would be sent to."""
        return ()

    @property
    def uses_stored_answers(self) -> bool:
        """Return True if the measure uses the answers in the store and asks for no more."""
        return False

    @abstractmethod
    def check(self, folder: Folder) -> None:
        """Read and open the files in `folder` that the measure names; ask no question."""

    def other_transactions(self, supplies: Supplies) -> Sequence[Sequence[str]]:
        """Return other records of the population that the measure uses, from `supplies`."""
        return ()

    def related(self, pairs: Sequence[Pair], supplies: Supplies) -> Related:
        """Return the scores of `pairs`, with `supplies` as inputs; counts that were asked for are stored."""
        scored = self.scored(pairs, supplies)
        return Related(self.measure, self.origin, scored.distances, scored.warnings)

    @abstractmethod
    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the distances of `pairs`, with `supplies` as inputs."""


class ServiceSource(Relatedness):
    """A source that asks a service at an address, unless it is offline."""

    queries_service: ClassVar[bool] = True

    if TYPE_CHECKING:
        url: str
        offline: bool

    @property
    def sends_to(self) -> tuple[str, ...]:
        """Return the host of the service, unless it is offline."""
        return () if self.offline else (urlsplit(self.url).netloc,)

    @property
    def uses_stored_answers(self) -> bool:
        return self.offline


class PseudoCount(ConfigSection):
    """A count in place of zero."""

    pseudo_count: float = Field(gt=0)
    """In how many pages terms that are never seen together count as seen."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for a count above one, which cannot replace zero."""
        # Above 1, terms that are never together would look closer than some that are.
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

    def config_errors(self) -> ConfigErrors:
        # Some sources have no such key, and others a pseudo-count in its place.
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
    """A source of counts, from which distances are computed."""

    closer: ClassVar[ScoreDirection] = "smaller"

    unseen: Distance | PseudoCount = 1.0
    """The distance of terms that never occur together: a number, none for no score, or the distance with a
    pseudo-count.
    """

    @abstractmethod
    def open(self, supplies: Supplies) -> AbstractContextManager[CountSource]:
        """Open the counts with `supplies` as inputs; return a context manager."""

    def check(self, folder: Folder) -> None:
        with self.open(Supplies(folder)):
            pass

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Count what `pairs` need, with `supplies` as inputs, and return their distances."""
        unseen = self.unseen.model_dump() if isinstance(self.unseen, PseudoCount) else self.unseen
        with self.open(supplies) as counts:
            scored = distances(counts, pairs, unseen=unseen, cap=self.cap)
            return scored._replace(warnings=[*getattr(counts, "notes", ()), *scored.warnings])


class SimilaritySource(Relatedness):
    """A source of similarities; a distance is 1 minus the similarity."""

    closer: ClassVar[ScoreDirection] = "smaller"

    @abstractmethod
    def open(self, folder: Folder) -> Similarities:
        """Return the measure of similarity, read from `folder`."""

    def check(self, folder: Folder) -> None:
        self.open(folder)

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the distances of `pairs`; `supplies` name the folder of the files."""
        return similarity_to_distance(self.open(supplies.folder).scores(pairs))
