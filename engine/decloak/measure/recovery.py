"""The hidden members of a set-generalised release that an attack eliminates, by distance table and pooled."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.store.reading import knows_originals

if TYPE_CHECKING:
    from decloak.measure.kernels.recovery import Recovery

__all__ = ["FAMILY"]


def _measure(attacked: AttackResult[StoredSetRelease]) -> MetricResult:
    """Measure precision, recall and related figures; without ground truth only the number of claims."""
    from decloak.measure.kernels.recovery import mean_density, pool, recovery

    has_originals = knows_originals(attacked.connection, attacked.release.number)
    tables = {
        outcome.table.number: recovery(
            outcome.order, outcome.table.original, outcome.table.scored, outcome.weight, whole=outcome.table.whole
        )
        for outcome in attacked.release.outcomes(attacked.number, attacked.derives)
    }
    figures = [
        figure for table, counts in tables.items() for figure in _figures(table, counts, counts.density, has_originals)
    ]
    every = list(tables.values())
    pooled = pool(every)
    figures += _figures(POOLED, pooled, mean_density(every), has_originals)
    if has_originals:
        figures.append((POOLED, "p_random", _p_random(every, pooled.correct), None, None))
    return figures, None if has_originals else UNKNOWN.format("recovery")


def _p_random(tables: Sequence["Recovery"], correct: int) -> float | None:
    """Compare the attack with a random one on the same tables."""
    from decloak.measure.kernels.random_attack import Table, eliminations_p

    return eliminations_p([Table(one.scored, one.scored_added, one.eliminated) for one in tables], correct)


def _figures(scope: int, counts: "Recovery", density: float | None, has_originals: bool) -> Iterator[MetricValue]:
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
