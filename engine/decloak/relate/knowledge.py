"""Choice of the measures that fit the knowledge levels of an attacker."""

from collections.abc import Sequence, Set
from typing import ClassVar, Literal

import numpy as np

from decloak.data.assignment import ScoreDirection
from decloak.data.formats.folder import Folder
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.pairs import Pairs, ScoredPairs
from decloak.data.tables import Pair
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.ngd import Scored
from decloak.relate.ngd_sources import SampleSource
from decloak.relate.relatedness import Relatedness, Supplies

__all__ = ["NoKnowledge", "measures_for_levels"]


class NoKnowledge(Relatedness):
    """A measure that gives all pairs the same distance, for an attacker who knows nothing about items."""

    knowledge_level: ClassVar = KnowledgeLevel.NOTHING
    closer: ClassVar[ScoreDirection] = "smaller"

    measure: Literal["none"] = "none"

    @property
    def origin(self) -> str:
        return "nothing"

    def check(self, folder: Folder) -> None:
        """Do nothing: there is no file in `folder` to read."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the distance 0 for each of `pairs`; `supplies` are not used."""
        pairs = Pairs.of(pairs)
        return Scored(ScoredPairs(pairs, np.zeros(len(pairs))), [])


def measures_for_levels(
    relate: Relatedness | None, knowledge_levels: Set[KnowledgeLevel], *, clusters: bool, tables: bool
) -> Relatedness | None:
    """Return the measures of `relate` that an attacker with these `knowledge_levels` can use; None if there is none.

    The counts of a sample and the clusters of the release work without configuration, so they are added if the levels
    allow it. `clusters` says whether the release has clusters, `tables` whether an attack needs some measure.
    """
    listed = [] if relate is None else list(relate.parts)
    said = relate.weights if isinstance(relate, CombinedBase) else None
    weighted = [
        pair
        for pair in zip(listed, said or [1.0] * len(listed), strict=True)
        if pair[0].knowledge_level in knowledge_levels
    ]
    here = {part.knowledge_level for part, _ in weighted}
    # A sample needs no further configuration: its counts are a measure by themselves.
    if KnowledgeLevel.SAMPLE in knowledge_levels - here:
        weighted.append((SampleSource(measure="ngd", source="sample"), 1.0))
    if clusters and KnowledgeLevel.RELEASE in knowledge_levels - here:
        weighted.append((ClustersSource(measure="clusters"), 1.0))
    parts = tuple(part for part, _ in weighted)
    if not parts:
        return NoKnowledge() if tables else None
    if parts == tuple(listed):
        return relate
    if len(parts) == 1:
        return parts[0]
    by = relate.by if isinstance(relate, CombinedBase) else "mean"
    weights = tuple(weight for _, weight in weighted) if said else None
    return CombinedBase(measure="combined", of=parts, by=by, weights=weights)
