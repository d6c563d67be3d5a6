"""Probability that eliminations are right, estimated on tables of plain items, whose original members are known.

An elimination has these features: its weight and suspicion, its position in the order of its table, the share of its
row and its column eliminated before, and the logarithms of the numbers of rows and columns. The weights of these
features are learned from eliminations in tables of plain items (logistic regression, calibrated on the half of the
tables that it was not trained on).

A rule that weighs cells by probability has a probability for each elimination, but one of all such cells, eliminated or
not. Its eliminations are a selection: a cell of .4 is eliminated only if its row keeps a likelier member, because the
last one stays. So more eliminations of .4 are right than cells. The rule is tried on the tables behind the
probabilities, each with the probabilities from the other half of them. An elimination gets the share of right
eliminations with its probability there, but no less than the probability of its cell.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attacker.logistic import curve, learn_calibrated
from decloak.rules.coverage import Confidence
from decloak.rules.eliminate.kernel import Elimination

__all__ = ["FEWEST", "estimate_confidence", "recalibrate"]

FEWEST = 30
"""Right and wrong eliminations in tables of plain items below which nothing is learned from them."""


WIDTH = 7
"""Features of an elimination."""


def estimate_confidence(
    done: Mapping[int, Elimination], rehearsed: Mapping[int, Elimination], meant: Sequence[Floats]
) -> Confidence:
    """Return the probability of every elimination in `done`, table after table.

    `rehearsed` are the eliminations of the rule in tables of plain items, whose original members are `meant`.
    """
    right = [1 - meant[table][tried.steps.row, tried.steps.col] for table, tried in rehearsed.items()]
    kind = np.concatenate([np.zeros(0), *right])
    well, badly = int(kind.sum()), int(len(kind) - kind.sum())
    if min(well, badly) < FEWEST:
        return Confidence.unavailable(
            f"on tables of plain items {well} eliminations were right and {badly} wrong: too few for an estimate"
        )
    # Whole tables belong to one half: eliminations of one table depend on each other.
    half = np.concatenate([np.full(len(part), table % 2) for table, part in zip(rehearsed, right, strict=True)])
    if len(set(zip(half.tolist(), kind.tolist(), strict=True))) < 4:
        return Confidence.unavailable(
            "on one half of the tables of plain items all eliminations were equal, so an estimate is impossible"
        )
    classifier = learn_calibrated(_features(list(rehearsed.values())), kind, half, levelled=True)
    return Confidence.of(classifier.probability(_features(list(done.values()))))


def recalibrate(done: Mapping[int, Elimination], tried: Sequence[Elimination], meant: Sequence[Floats]) -> Confidence:
    """Return the probability of every elimination in `done`, table after table, for a rule that weighs by probability.

    `tried` are the eliminations of the rule in tables with the original members `meant`; if there are none, an
    elimination has the probability of its cell.
    """
    p = _weights(done.values())
    right = np.concatenate(
        [np.zeros(0), *(1 - kind[t.steps.row, t.steps.col] for t, kind in zip(tried, meant, strict=True))]
    )
    if len(right):
        # What is eliminated is right at least as often as its cell says: a lower share comes from few plain items.
        p = np.maximum(p, curve(_weights(tried), right, levelled=True).of(p))
    return Confidence.of(p)


def _weights(done: Iterable[Elimination]) -> Floats:
    return np.concatenate([np.zeros(0), *(table.steps.weight for table in done)])


def _features(done: Sequence[Elimination]) -> Floats:
    """Return the features of all eliminations, table after table."""
    if not done:
        return np.zeros((0, WIDTH))
    counts = np.array([len(table.steps.row) for table in done])
    table = np.repeat(np.arange(len(done)), counts)
    rows, columns = np.array([table.kept.shape for table in done]).T[:, table]
    scored = np.array([max(1, table.scored.sum()) for table in done])[table]
    row, col, weight, suspicion = (
        np.concatenate([getattr(each.steps, name) for each in done]) for name in ("row", "col", "weight", "suspicion")
    )
    early = _count_earlier(table) / scored
    longest = max(max(table.kept.shape) for table in done)
    in_row, in_column = (_count_earlier(table * longest + line) / size for line, size in ((row, columns), (col, rows)))
    made = [np.nan_to_num(np.asarray(part, np.float64)) for part in (weight, suspicion)]
    return np.stack([*made, early, in_row, in_column, np.log(rows), np.log(columns)], axis=1)


def _count_earlier(places: Ints) -> Floats:
    """Return for each entry the number of equal entries before it."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.empty(len(places))
    counts[order] = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    return counts
