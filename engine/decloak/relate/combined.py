"""Several measures of relatedness combined into one: a pair without a score by one measure may have one by another.

z_i(a, b) is the distance of a and b by measure i, minus its mean and divided by its standard deviation among the scored
pairs. The combined distance is the mean of z, weighted if weights are given, or the smallest z, over the measures that
have a score. A pair without any score has none. All distances are shifted so that the closest pair is at 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import ScoreDirection
from decloak.data.formats.folder import Folder
from decloak.data.pairs import Pair, ScoredPairs
from decloak.errors import DecloakError, quote
from decloak.relate.ngd import Scored
from decloak.relate.relatedness import Related, Relatedness, Supplies
from decloak.yaml.section import ConfigErrors

Weight = Annotated[float, Field(gt=0)]


class CombinedBase(Relatedness):
    """Several measures, standardised and combined."""

    closer: ClassVar[ScoreDirection] = "smaller"

    measure: Literal["combined"]
    """Several measures together. A list under relate is short for their mean."""
    of: tuple[Any, ...]
    by: Literal["mean", "minimum"] = "mean"
    """The mean of the standardised distances, or the least of them."""
    weights: Annotated[tuple[Weight, ...], Field(min_length=1)] | None = None
    """Weights of the mean, in the order of the measures."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for weights that do not match the measures, and for scores that are no distances."""
        if self.weights is not None and len(self.weights) != len(self.of):
            message = f"{len(self.weights)} weights for {len(self.of)} measures"
            yield ("weights",), DecloakError(message, hint="write one for each")
        if self.weights is not None and self.by != "mean":
            yield ("weights",), DecloakError("only a mean has weights", hint="delete them, or write by: mean")
        for number, part in enumerate(self.of):
            if part.closer != "smaller":
                message = f"{quote(part.title)} has scores that are larger for closer items"
                yield ("of", number), DecloakError(message, hint="give distances")

    @property
    def parts(self) -> Sequence[Relatedness]:
        return self.of

    @property
    def titles(self) -> Sequence[str]:
        """Return a name for each part; parts of the same kind differ by their origin."""
        kinds = Counter(title for title, _ in {(part.title, part.origin) for part in self.parts})
        return [part.title if kinds[part.title] == 1 else f"{part.title} {part.origin}" for part in self.parts]

    @property
    def title(self) -> str:
        return " + ".join(self.titles)

    @property
    def origin(self) -> str:
        return " + ".join(part.origin for part in self.parts)

    @property
    def sends_to(self) -> tuple[str, ...]:
        return tuple(address for part in self.parts for address in part.sends_to)

    @property
    def uses_stored_answers(self) -> bool:
        return any(part.uses_stored_answers for part in self.parts)

    def check(self, folder: Folder) -> None:
        for part in self.parts:
            part.check(folder)

    def related(self, pairs: Sequence[Pair], supplies: Supplies) -> Related:
        apart = [part.scored(pairs, supplies) for part in self.parts]
        together = self._combine_scores(apart)
        return Related(self.measure, self.origin, *together, [one.distances for one in apart])

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        return self._combine_scores([part.scored(pairs, supplies) for part in self.parts])

    def _combine_scores(self, apart: Sequence[Scored]) -> Scored:
        """Combine the distances of all measures; the warnings name what each measure did not know."""
        warnings = []
        for title, (distances, lines) in zip(self.titles, apart, strict=True):
            warnings += [f"{title}: {line}" for line in lines]
            absent = int(np.isnan(distances.numbers).sum())
            if absent:
                warnings.append(
                    f"{title}: no score for {absent:,} of {len(distances):,} pairs, so the other measures decide them"
                )
        return Scored(combine_measures([distances for distances, _ in apart], self.by, self.weights), warnings)


def combine_measures(
    measures: Sequence[Mapping[Pair, float | None]],
    by: Literal["mean", "minimum"] = "mean",
    weights: Sequence[float] | None = None,
) -> ScoredPairs:
    """Return one distance for every pair of the first of `measures`.

    `by` combines the standardised distances by their mean or minimum; `weights` are for the mean.

    >>> combine_measures([{("a", "b"): 0.0, ("a", "c"): 2.0}, {("a", "b"): None, ("a", "c"): 3.0}])
    {('a', 'b'): 0.0, ('a', 'c'): 1.5}
    """
    pairs = ScoredPairs.of(measures[0]).pairs
    z = np.array([_z_scores(ScoredPairs.of(measure).of_pairs(pairs)) for measure in measures])
    # A pair is judged by the measures that know it: a missing score is no distance.
    there = np.isfinite(z)
    share = there * np.array([1.0] * len(measures) if weights is None else list(weights))[:, None]
    if by == "minimum":
        joint = np.where(there, z, np.inf).min(axis=0, initial=np.inf)
    else:
        total, summed = share.sum(axis=0), (np.where(there, z, 0.0) * share).sum(axis=0)
        joint = np.divide(summed, total, out=np.full(len(pairs), np.inf), where=total > 0)
    finite = np.isfinite(joint)
    # Distances have to start at 0 for the attacks, and standardised values are negative for close pairs.
    least = float(joint[finite].min()) if finite.any() else 0.0
    return ScoredPairs(pairs, np.where(finite, joint - least, np.nan))


def _z_scores(d: Floats) -> Floats:
    d = np.where(np.isfinite(d), d, np.nan)
    finite = d[np.isfinite(d)]
    deviation = float(finite.std()) if len(finite) else 0.0
    # Equal distances give no information: all are at the mean, whatever rounding makes of their deviation.
    return (d - finite.mean()) / deviation if deviation > 1e-12 else d * 0.0
