"""Of the measures that a scenario lists, those that somebody can go by who stands on given rungs of the ladder."""

from collections.abc import Sequence, Set
from typing import ClassVar, Literal

from decloak.data.assignment import Closer
from decloak.data.formats.folder import Folder
from decloak.data.rungs import Rung
from decloak.data.tables import Pair
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.ngd import Scored
from decloak.relate.ngd_sources import SampleSource
from decloak.relate.relatedness import Relatedness, Supplies

__all__ = ["Indifference", "measures_known"]


class Indifference(Relatedness):
    """All items are as near to each other: what somebody knows of them who knows nothing."""

    rung: ClassVar = Rung.NOTHING
    closer: ClassVar[Closer] = "smaller"

    measure: Literal["none"] = "none"

    @property
    def origin(self) -> str:
        return "nothing"

    def check(self, folder: Folder) -> None:
        """There is nothing to read."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        return Scored(dict.fromkeys(pairs, 0.0), [])


def measures_known(relate: Relatedness | None, rungs: Set[Rung], *, clusters: bool, tables: bool) -> Relatedness | None:
    """The measures of these rungs, with those that need no more to be said: a sample's counts, and the clusters.

    `clusters` tells whether the release has any, `tables` whether there is nothing to attack without a measure.
    """
    listed = [] if relate is None else list(relate.parts)
    said = relate.weights if isinstance(relate, CombinedBase) else None
    weighted = [pair for pair in zip(listed, said or [1.0] * len(listed), strict=True) if pair[0].rung in rungs]
    here = {part.rung for part, _ in weighted}
    if Rung.SAMPLE in rungs - here:
        weighted.append((SampleSource(measure="ngd", source="sample"), 1.0))
    if clusters and Rung.RELEASE in rungs - here:
        weighted.append((ClustersSource(measure="clusters"), 1.0))
    parts = tuple(part for part, _ in weighted)
    if not parts:
        return Indifference() if tables else None
    if parts == tuple(listed):
        return relate
    if len(parts) == 1:
        return parts[0]
    by = relate.by if isinstance(relate, CombinedBase) else "mean"
    weights = tuple(weight for _, weight in weighted) if said else None
    return CombinedBase(measure="combined", of=parts, by=by, weights=weights)
