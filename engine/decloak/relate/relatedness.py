"""How related two items are, as a scenario says it: what all sources share. A source is a module beside its kernel.

Modules of sources import what reads and computes where it is needed: a scenario is checked without it.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from decloak.data.assignment import Closer
from decloak.errors import DecloakError
from decloak.yaml.part import Found, Part

if TYPE_CHECKING:
    from decloak.data.tables import Pair
    from decloak.relate.counting import Cache, Progress
    from decloak.relate.similar import Measure
    from decloak.relate.sources import Source

__all__ = [
    "CountedSource", "Distance", "Documents", "NgdSource", "PseudoCount", "Related", "Relatedness", "SimilaritySource",
    "unheard",
]  # fmt: skip

Documents = Callable[[], Iterable[Iterable[str]]]
"""Gives what items stand together in, for a source that counts nothing else."""
Distance = Annotated[float, Field(ge=0)] | Literal["none"]
Cap = Annotated[float, Field(gt=0)] | Literal["none"]


class Related(NamedTuple):
    """Scores of pairs, with the measure, where it comes from, and what it could not use."""

    measure: str
    origin: str
    scores: "Mapping[Pair, float | None]"
    warnings: Sequence[str]


def unheard(answered: int, asked: int) -> None:
    """The progress of what nobody watches."""


class Relatedness(Part):
    """A measure, and the source it goes by."""

    outside: ClassVar[bool] = True
    """Whether it knows anything beside the release itself."""
    asks: ClassVar[bool] = False
    """Whether somebody else is asked, whose answers a store keeps."""

    if TYPE_CHECKING:
        measure: str

        @property
        def closer(self) -> Closer:
            """Whether smaller or larger scores are of closer items."""

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
    def check(self, folder: Path) -> None:
        """Read and open whatever it names; no question is asked."""

    @abstractmethod
    def scored(
        self,
        folder: Path,
        pairs: "Sequence[Pair]",
        *,
        documents: Documents,
        cache: "Cache | None" = None,
        progress: "Progress" = unheard,
    ) -> Related:
        """Score pairs; counts that had to be asked for are kept in the cache."""


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
        """What would not take effect."""
        unseen = getattr(self, "unseen", None)
        if isinstance(unseen, float) and isinstance(self.cap, float) and unseen > self.cap:
            written = "unseen" in self.model_fields_set
            what = f"{unseen:g}" if written else f"unseen, which is {unseen:g} unless you write it,"
            message = f"{what} would be cut to the cap of {self.cap:g}"
            yield ("unseen",), DecloakError(message, hint="raise the cap, or set it to none")

    @property
    def title(self) -> str:
        """The measure, and whose counts."""
        return f"{self.measure} {self.source}"

    @property
    def origin(self) -> str:
        """The file, or what is built in."""
        return str(getattr(self, "file", self.source))


class CountedSource(NgdSource):
    """A source of counts, of which the distances are worked out."""

    closer: ClassVar[Closer] = "smaller"

    unseen: Distance | PseudoCount = 1.0
    """What terms never seen together get: a distance, no score, or the distance by a pseudo-count."""

    @abstractmethod
    def open(
        self, folder: Path, documents: Documents, cache: "Cache | None", progress: "Progress"
    ) -> "AbstractContextManager[Source]":
        """The counts, as long as they are needed."""

    def check(self, folder: Path) -> None:
        """Open them."""
        with self.open(folder, lambda: (), None, unheard):
            pass

    def scored(
        self,
        folder: Path,
        pairs: "Sequence[Pair]",
        *,
        documents: Documents,
        cache: "Cache | None" = None,
        progress: "Progress" = unheard,
    ) -> Related:
        """Count what is needed of the pairs, and work out their distances."""
        from decloak.relate.ngd import distances

        unseen = self.unseen.model_dump() if isinstance(self.unseen, PseudoCount) else self.unseen
        with self.open(folder, documents, cache, progress) as counts:
            scores = distances(counts, pairs, unseen=unseen, cap=self.cap)
            notes: Sequence[str] = getattr(counts, "notes", ())
        return Related(self.measure, self.origin, scores.distances, [*notes, *scores.warnings])


class SimilaritySource(Relatedness):
    """A source of similarities, of which 1 less each is a distance."""

    closer: ClassVar[Closer] = "smaller"

    @abstractmethod
    def open(self, folder: Path) -> "Measure":
        """What measures them."""

    def check(self, folder: Path) -> None:
        """Read it."""
        self.open(folder)

    def scored(
        self,
        folder: Path,
        pairs: "Sequence[Pair]",
        *,
        documents: Documents,
        cache: "Cache | None" = None,
        progress: "Progress" = unheard,
    ) -> Related:
        """Measure the pairs; nothing is counted."""
        from decloak.relate.similar import apart

        scores = apart(self.open(folder).scores(pairs))
        return Related(self.measure, self.origin, scores.distances, scores.warnings)
