"""The hidden members of a set-generalised release that an attack eliminates, by distance table and pooled.

A table has a row per record with the generalised item and a column per member. A cell is original when the
record really has the member, added otherwise; scored when the attack could eliminate it. An attack is right to
eliminate an added cell (correct). Precision P = correct / eliminated, recall R = correct / added, F = 2 correct /
(eliminated + added), density = originals / cells. Several tables are pooled by summing counts.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.measure.kernels.random_attack import Table, eliminations_p
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.store.releases import knows_originals

EPSILON = 1e-9
"""Weights no further apart than this are equal, as for the attacks."""


@dataclass(frozen=True)
class Recovery:
    """The counts of one table, or of many pooled; every measure is None where its divisor is 0.

    `expected` is the number of right eliminations if the same number of scored cells of each table is eliminated at
    random. `pairs` are the pairs of a scored added and a scored original cell of one table. `concordance` counts 2 for
    a pair whose added cell is more suspicious, 1 for a tie.
    """

    cells: int = 0
    scored: int = 0
    originals: int = 0
    eliminated: int = 0
    correct: int = 0
    scored_added: int = 0
    expected: float = 0.0
    pairs: int = 0
    concordance: int = 0

    @property
    def added(self) -> int:
        """Return the number of cells that the generalisation added."""
        return self.cells - self.originals

    @property
    def precision(self) -> float | None:
        return _ratio(self.correct, self.eliminated)

    @property
    def recall(self) -> float | None:
        return _ratio(self.correct, self.added)

    @property
    def f(self) -> float | None:
        return _ratio(2 * self.correct, self.eliminated + self.added)

    @property
    def density(self) -> float | None:
        """Return the share of originals among the cells; for a data set the papers print `mean_density` instead."""
        return _ratio(self.originals, self.cells)

    @property
    def chance_precision(self) -> float | None:
        """Return the baseline: the precision of the same number of random eliminations."""
        return _ratio(self.expected, self.eliminated)

    @property
    def gain(self) -> float | None:
        """Return the normalised advantage: the share right of what the baseline has wrong; 0 is random."""
        return _ratio(self.correct - self.expected, self.eliminated - self.expected)

    @property
    def auc(self) -> float | None:
        """Return the probability that an added cell is more suspicious than an original one of its table."""
        return _ratio(self.concordance, 2 * self.pairs)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def recovery(order: Ints, original: Mask, scored: Mask, weight: Floats | None = None) -> Recovery:
    """Count the recovery of an attack in one table whose originals are known; return the counts.

    `order` is the time when a cell was eliminated, from 0, and -1 if it is left; only `scored` cells may be eliminated.
    `original` are the original cells. `weight` is the weight w of the cells left when the attack stopped, larger is
    more suspicious; without it they all tie. In the ranking for `auc` an eliminated cell precedes those left, an
    earlier one a later one.

    >>> order = np.array([[-1, -1], [-1, 0]])
    >>> found = recovery(order, np.array([[True, True], [True, False]]), np.ones((2, 2), bool))
    >>> found.precision, found.chance_precision, found.auc
    (1.0, 0.25, 1.0)
    """
    eliminated = order >= 0
    if not order.shape == original.shape == scored.shape or (eliminated & ~scored).any():
        raise ValueError("order, original and scored differ in shape, or an unscored cell was eliminated")
    candidates, hidden = int(scored.sum()), ~original & scored
    pairs, concordance = _concordance(_ranks(order[scored], None if weight is None else weight[scored]), hidden[scored])
    eliminations, scored_added = int(eliminated.sum()), int(hidden.sum())
    return Recovery(
        cells=order.size,
        scored=candidates,
        originals=int(original.sum()),
        eliminated=eliminations,
        correct=int((eliminated & ~original).sum()),
        scored_added=scored_added,
        expected=eliminations * scored_added / candidates if candidates else 0.0,
        pairs=pairs,
        concordance=concordance,
    )


def _ranks(order: Ints, weight: Floats | None) -> Ints:
    """Return suspicion as whole numbers from 0; ties share one, and neighbours within EPSILON are ties."""
    ranks = np.zeros(order.shape, np.int64)
    kept = order < 0
    if weight is not None and kept.any():
        w = weight[kept]
        ascending = np.argsort(w)
        # A rank grows only where a weight is clearly larger than the one before.
        steps = np.concatenate(([0], np.diff(w[ascending]) > EPSILON))
        ranks[np.flatnonzero(kept)[ascending]] = np.cumsum(steps)
    # The earlier a cell was eliminated, the more suspicious it was, and any of them more than those that were left.
    latest_first = np.unique(-order[~kept], return_inverse=True)[1]
    ranks[~kept] = ranks.max(initial=0) + 1 + latest_first
    return ranks


def _concordance(ranks: Ints, hidden: Mask) -> tuple[int, int]:
    """Return the pairs of a hidden and another cell, and 2 for each in order and 1 for each tie (Mann-Whitney)."""
    size = int(ranks.max(initial=0)) + 1
    added = np.bincount(ranks[hidden], minlength=size)
    original = np.bincount(ranks[~hidden], minlength=size)
    below = np.cumsum(original) - original
    return int(added.sum() * original.sum()), int((added * (2 * below + original)).sum())


def pool(tables: Iterable[Recovery]) -> Recovery:
    """Return the summed counts of `tables`: the precision of the sum is the precision of all eliminations together.

    >>> pool([Recovery(eliminated=1, correct=1), Recovery(eliminated=3, correct=0)]).precision
    0.25
    """
    every = list(tables)
    counts = {count.name: sum(getattr(table, count.name) for table in every) for count in fields(Recovery)}
    # The only count that is no whole number: its rounding may not depend on the order of the tables.
    return Recovery(**counts | {"expected": math.fsum(table.expected for table in every)})


def mean_density(tables: Iterable[Recovery]) -> float | None:
    """Return the density of a data set: the mean over its `tables`, each with the same weight.

    >>> mean_density([Recovery(cells=4, originals=2), Recovery(cells=100, originals=25)])
    0.375
    """
    densities = [table.density for table in tables if table.density is not None]
    return math.fsum(densities) / len(densities) if densities else None


def _measure(attacked: AttackResult[StoredSetRelease]) -> MetricResult:
    """Measure precision, recall and related figures; without ground truth only the number of claims."""
    has_originals = knows_originals(attacked.connection, attacked.release.number)
    tables = {
        outcome.table.number: recovery(outcome.order, outcome.table.original, outcome.table.scored, outcome.weight)
        for outcome in attacked.release.outcomes(attacked.number, attacked.derives)
    }
    figures = [
        figure for table, counts in tables.items() for figure in _figures(table, counts, counts.density, has_originals)
    ]
    every = list(tables.values())
    pooled = pool(every)
    # All counts are pooled but the density, whose mean over tables the papers print.
    figures += _figures(POOLED, pooled, mean_density(every), has_originals)
    if has_originals:
        cells = [Table(one.scored, one.scored_added, one.eliminated) for one in every]
        figures.append((POOLED, "p_random", eliminations_p(cells, pooled.correct), None, None))
    return figures, None if has_originals else UNKNOWN.format("recovery")


def _figures(scope: int, counts: Recovery, density: float | None, has_originals: bool) -> Iterator[MetricValue]:
    yield scope, "eliminated", counts.eliminated, counts.eliminated, counts.scored
    if not has_originals:
        return
    yield scope, "correct", counts.correct, counts.correct, counts.eliminated
    yield scope, "added", counts.added, counts.added, counts.cells
    yield scope, "precision", counts.precision, counts.correct, counts.eliminated
    yield scope, "recall", counts.recall, counts.correct, counts.added
    yield scope, "f1", counts.f, 2 * counts.correct, counts.eliminated + counts.added
    yield scope, "density", density, counts.originals, counts.cells
    yield scope, "baseline", counts.chance_precision, counts.expected, counts.eliminated
    beyond, possible = counts.correct - counts.expected, counts.eliminated - counts.expected
    yield scope, "normalised_advantage", counts.gain, beyond, possible
    # The count is doubled to stay whole, so that a tie is half a pair here.
    yield scope, "auc", counts.auc, counts.concordance / 2, counts.pairs


FAMILY = Family(
    name="recovery",
    about="Added members that an attack eliminates",
    metrics=metrics_of("recovery"),
    measure=_measure,
    fits=SETS,
    eliminates=True,
    by_default=True,
)
