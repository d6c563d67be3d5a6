"""How much of what a set-generalisation hides an attack struck out, by distance table and of all together."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from decloak.measure.family import POOLED, SETS, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.measure.kernels.statistics import COUNT, GAIN
from decloak.releases.held import UNKNOWN, HeldSets
from decloak.store.reading import knows_originals

if TYPE_CHECKING:
    from decloak.measure.kernels.recovery import Recovery

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldSets]) -> Measured:
    """Precision and the like, per table and pooled; only the number of strikes when originals are unknown."""
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

    return eliminations_p([Table(one.scored, one.scored_added, one.struck) for one in tables], correct)


def _figures(scope: int, counts: "Recovery", density: float | None, has_originals: bool) -> Iterator[Figure]:
    yield scope, "struck", counts.struck, counts.struck, counts.scored
    yield scope, "alone", counts.alone, counts.alone, counts.rows
    if not has_originals:
        return
    yield scope, "correct", counts.correct, counts.correct, counts.struck
    yield scope, "added", counts.added, counts.added, counts.cells
    yield scope, "precision", counts.precision, counts.correct, counts.struck
    yield scope, "recall", counts.recall, counts.correct, counts.added
    yield scope, "f", counts.f, 2 * counts.correct, counts.struck + counts.added
    yield scope, "density", density, counts.originals, counts.cells
    yield scope, "chance", counts.chance_precision, counts.expected, counts.struck
    yield scope, "gain", counts.gain, counts.correct - counts.expected, counts.struck - counts.expected
    yield scope, "lift", counts.lift, counts.correct, counts.expected
    yield scope, "auc", counts.auc, counts.concordance / 2, counts.pairs
    yield scope, "alone_right", counts.alone_share, counts.alone_right, counts.alone
    yield scope, "alone_blind", counts.alone_blind, counts.alone_expected, counts.alone


FAMILY = Family(
    name="recovery",
    about="What an attack on generalised items wins back, the higher the more",
    figures=(
        FigureTitle("struck", "struck", "members an attack says are not meant", count=True),
        FigureTitle("correct", "correct", "struck members that are not meant indeed", count=True),
        FigureTitle("added", "added", "members that are not meant, struck or not", count=True, column=False),
        FigureTitle("precision", "precision", "correct of the struck"),
        FigureTitle("chance", "by chance", "what striking blindly would have correct of as many"),
        FigureTitle("gain", "gain", "of what chance has wrong, right; 0: no better than blind", bounds=GAIN),
        FigureTitle("lift", "lift", "precision / chance, which is 1 / chance at most", column=False, bounds=COUNT),
        FigureTitle("p_random", "p", "probability that a random attack is right as often here", column=False),
        FigureTitle("recall", "recall", "correct of all there was to win back"),
        FigureTitle("f", "F", "precision and recall in one"),
        FigureTitle("auc", "AUC", "1: members not meant are struck first; 0.5: the order is chance"),
        FigureTitle("alone", "one left", "generalised items with one member left", count=True, column=False),
        FigureTitle("alone_right", "one left, right", "those of which it is meant", column=False),
        FigureTitle("alone_blind", "one left, by chance", "the same of any member in its place", column=False),
        FigureTitle("density", "density", "members that are meant, of all; the mean over tables", column=False),
    ),
    measure=_measure,
    fits=SETS,
    strikes=True,
    usual=True,
)
