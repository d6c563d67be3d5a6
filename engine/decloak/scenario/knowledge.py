"""The knowledge of a scenario's attacker: the measures of relatedness that it allows, and contradictions in it.

Choice of the measures that fit the knowledge levels of an attacker.
"""

from collections.abc import Iterator, Sequence, Set
from typing import ClassVar, Literal

import numpy as np

from decloak.data.assignment import ScoreDirection
from decloak.data.formats.folder import Folder
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.errors import DecloakError
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.ngd import Scored
from decloak.relate.ngd_sources import SampleSource
from decloak.relate.relatedness import Relatedness, Supplies
from decloak.releases.attacker import Attacker
from decloak.releases.form import AnyForm
from decloak.yaml.section import ConfigErrors


def related_by(relate: Relatedness | None, attacker: Attacker, form: AnyForm) -> Relatedness | None:
    """Return the measures of relatedness that `attacker` has for the `form`: all of `relate`, or those on its knowledge
    levels.
    """
    if attacker.knowledge_levels is None:
        return relate
    # Forms whose attackers know items of people have clusters. The others that need relatedness have tables.
    return measures_for_levels(relate, attacker.knowledge_levels, clusters=form.knows, tables=not form.knows)


def knowledge_errors(relate: Relatedness | None, attacker: Attacker, *, made_here: bool) -> ConfigErrors:
    """Yield errors for knowledge levels without a source, and for an absent sample.

    `relate` are the measures, `made_here` is True if the scenario anonymises the data itself.
    """
    for error in _sample_errors(relate, attacker, made_here):
        yield ("attacker", "knows"), error
    knowledge_levels, listed = attacker.knowledge_levels or frozenset(), () if relate is None else relate.parts
    if KnowledgeLevel.LANGUAGE in knowledge_levels and not any(
        part.knowledge_level == KnowledgeLevel.LANGUAGE for part in listed
    ):
        message = "the scenario does not state the attacker's knowledge of language"
        yield ("attacker", "knows"), DecloakError(message, hint="add relate to the scenario, or leave language out")
    # Scores that are larger for closer items would cancel out distances in a mean.
    if relate is not None and relate.closer != "smaller" and len(knowledge_levels) > 1:
        message = "only distances can be combined with other knowledge"
        yield ("relate", "closer"), DecloakError(message, hint="give distances")


def _sample_errors(relate: Relatedness | None, attacker: Attacker, made_here: bool) -> Iterator[DecloakError]:
    sources = [
        part for part in (() if relate is None else relate.parts) if part.knowledge_level == KnowledgeLevel.SAMPLE
    ]
    named = any(isinstance(part, SampleSource) and part.file is not None for part in sources)
    held_out = attacker.sample is not None and attacker.sample.share is not None
    if held_out and not made_here:
        yield DecloakError("these data are published already: no record can be held out", hint="write {sample: FILE}")
    needed = KnowledgeLevel.SAMPLE in (attacker.knowledge_levels or ()) or bool(sources)
    if needed and attacker.sample is None and not named:
        hint = "write knows: [{sample: FILE}], or {sample: 0.5} to hold half of the records out"
        yield DecloakError("nothing here says which sample the attacker knows", hint=hint)


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
