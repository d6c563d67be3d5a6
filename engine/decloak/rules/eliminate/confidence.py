"""Probability that eliminations are right, estimated on tables of plain items, whose original members are known.

An elimination has these features: its weight and suspicion, its position in the order of its table, the share of its
row and its column eliminated before, and the logarithms of the numbers of rows and columns. The weights of these
features are learned from eliminations in tables of plain items (logistic regression, calibrated on the half of the
tables that it was not trained on).

A rule that weighs cells by probability has a probability for each elimination, but one of all such cells, eliminated or
not. Its eliminations are a selection: a cell of .4 is eliminated only if its row keeps a likelier member, because the
last one stays. So more eliminations of .4 are right than cells. The rule is tried on the tables behind the
probabilities, each with the probabilities from the other half of them. An elimination gets the share of right
eliminations with its probability there.

The eliminations of one member are often right or wrong together: an attack that takes the rarer of two members for the
more frequent one is wrong in most rows. With few members, the share that is right can be far from any estimate. With
few plain items, the estimate itself is uncertain. The tables of plain items show the covariance of two errors of one
item, and of two columns of one table. So the standard error of both shares is known. Where it is too large, decloak
states no probability.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.attacker.logistic import curve, learn_calibrated
from decloak.rules.coverage import Confidence
from decloak.rules.eliminate.kernel import Elimination

if TYPE_CHECKING:
    from decloak.attacker.selftrained import TrainingTable

__all__ = ["FEWEST", "estimate_confidence", "recalibrate"]

FEWEST = 30
"""Right and wrong eliminations in tables of plain items below which nothing is learned from them."""


WIDTH = 7
"""Features of an elimination."""

MOST_ERROR = 0.035
"""The standard error, from errors in common, of the stated share minus the right one; a tenth of probability with more
is not stated.
"""


class _Places(NamedTuple):
    """The numbers of the table, the column and the item of each elimination, counted over all tables."""

    table: Ints
    column: Ints
    item: Ints


class _Covariance(NamedTuple):
    """The mean product of two standardised errors: of one item, and of two columns of one table."""

    same: float
    other: float


class _Share(NamedTuple):
    """Eliminations with their probabilities and places, and the covariance of their errors."""

    p: Floats
    places: _Places
    covariance: _Covariance

    def error(self, tenth: float) -> float:
        """Return the standard error of the share that is right in a tenth; of all if none is in it."""
        within = np.floor(10 * self.p) == tenth
        within = within if within.any() else ~within
        return _shared_error(self.p[within], _Places(*(part[within] for part in self.places)), self.covariance)


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


def recalibrate(
    done: Mapping[int, Elimination], tried: Sequence[Elimination], training: Sequence["TrainingTable"]
) -> Confidence:
    """Return the probability of every elimination in `done`, table after table, for a rule that weighs by probability.

    `tried` are the eliminations of the rule in the tables `training`. If there are none, an elimination has the
    probability of its cell. A probability is NaN where errors in common leave it unknown.
    """
    p = _weights(done.values())
    right = np.concatenate(
        [np.zeros(0), *(1 - table.meant[t.steps.row, t.steps.col] for t, table in zip(tried, training, strict=True))]
    )
    if not len(right):
        return Confidence.of(p)
    weights = _weights(tried)
    shares = curve(weights, right, levelled=True)
    p, known = shares.of(p), shares.of(weights)
    places = _places(tried)
    own = _Share(p, _places(list(done.values())), _covariance_of(known, right, places))
    numbers: dict[str, int] = {}
    of_column = [numbers.setdefault(member, len(numbers)) for table in training for member in table.members]
    places = places._replace(item=np.array(of_column, np.int64)[places.column])
    unknown = _is_unknown(own, _Share(known, places, _covariance_of(known, right, places)))
    if not unknown.any():
        return Confidence.of(p)
    reason = (
        f"{int(unknown.sum()):,} of {len(p):,} eliminations have no probability: those of one member are often "
        "right or wrong together, and too few members have most of them"
    )
    return Confidence.unavailable(reason) if unknown.all() else Confidence(np.where(unknown, np.nan, p), reason)


def _covariance_of(p: Floats, right: Floats, places: _Places) -> _Covariance:
    """Return the covariance of errors at `places`, with the probabilities `p`; `right` is 1 where one is right."""
    same, other = _sums(places, (right - p) / np.sqrt(np.clip(p * (1 - p), 1e-4, None)))
    counts = _sums(places, np.ones(len(p)))
    return _Covariance(same / max(1.0, counts[0]), other / max(1.0, counts[1]))


def _sums(places: _Places, values: Floats) -> tuple[float, float]:
    """Return the sum of the products of all pairs of one item, and of those in two columns of one table."""
    return _pairs(places.item, values), _pairs(places.table, values) - _pairs(places.column, values)


def _pairs(group: Ints, values: Floats) -> float:
    """Return the sum of the products of all ordered pairs of `values` with an equal `group`."""
    return float((np.bincount(group, values) ** 2 - np.bincount(group, values**2)).sum())


def _is_unknown(own: _Share, tried: _Share) -> Mask:
    """Return for each elimination of `own` whether errors in common leave the share of its tenth unknown.

    `tried` are the eliminations behind the estimate. The surest tenth is never unknown: a certain link must not be
    missed.
    """
    tenth, unknown = np.floor(10 * own.p), np.zeros(len(own.p), bool)
    for number in np.unique(tenth[tenth < 9]):
        unknown[tenth == number] = np.hypot(own.error(number), tried.error(number)) > MOST_ERROR
    return unknown


def _shared_error(p: Floats, places: _Places, covariance: _Covariance) -> float:
    """Return the standard error of the share of right eliminations that errors in common cause."""
    same, other = _sums(places, np.ones(len(p)))
    sum_of_products = covariance.same * same + covariance.other * other
    return float(np.sqrt(np.mean(p * (1 - p)) * max(0.0, sum_of_products))) / len(p)


def _weights(done: Iterable[Elimination]) -> Floats:
    return np.concatenate([np.zeros(0), *(table.steps.weight for table in done)])


def _tables(done: Sequence[Elimination]) -> Ints:
    """Return the number of the table of each elimination, table after table."""
    return np.repeat(np.arange(len(done)), [len(table.steps.row) for table in done])


def _places(done: Sequence[Elimination]) -> _Places:
    """Return the table and the column of each elimination, table after table; each column is an item of its own."""
    table = _tables(done)
    first = np.cumsum([0, *(each.kept.shape[1] for each in done)])
    column = first[table] + np.concatenate([np.zeros(0, np.int64), *(each.steps.col for each in done)])
    return _Places(table, column, column)


def _features(done: Sequence[Elimination]) -> Floats:
    """Return the features of all eliminations, table after table."""
    if not done:
        return np.zeros((0, WIDTH))
    table = _tables(done)
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
