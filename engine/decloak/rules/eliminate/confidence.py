"""How likely strikes are right: the rule is tried on tables of plain items, of which it is known what is meant.

Of each strike, what it was made by: its weight and suspicion, how early in its table it came, how much of its row and
its column was struck before, and the logs of how many rows and columns the table has. What speaks for a strike is
learned of those on tables of plain items (logistic regression, calibrated on the half of the tables that it was not
learned from).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decloak.attack.logistic import learn_calibrated
from decloak.data.tables import Floats
from decloak.rules.confidence import Confidence, known, unsure
from decloak.rules.eliminate.kernel import Elimination

__all__ = ["FEWEST", "confident"]

Ints = NDArray[np.integer[Any]]
FEWEST = 30
"""Right and wrong strikes on tables of plain items below which they do not say how likely one is right."""


WIDTH = 7
"""Features of a strike."""


def confident(
    done: Mapping[int, Elimination], rehearsed: Mapping[int, Elimination], meant: Sequence[Floats]
) -> Confidence:
    """The probability of every strike, table after table, by what came of the rule on tables whose truth is known."""
    taught = [_features(elimination) for elimination in rehearsed.values()]
    right = [1 - meant[table][tried.steps.row, tried.steps.col] for table, tried in rehearsed.items()]
    kind = np.concatenate([np.zeros(0), *right])
    well, badly = int(kind.sum()), int(len(kind) - kind.sum())
    if min(well, badly) < FEWEST:
        return unsure(f"on tables of plain items {well} strikes were right and {badly} wrong: too few to go by")
    half = np.concatenate([np.full(len(part), table % 2) for table, part in zip(rehearsed, right, strict=True)])
    if len(set(zip(half.tolist(), kind.tolist(), strict=True))) < 4:
        return unsure("on one half of the tables of plain items all strikes were alike: too little to go by")
    classifier = learn_calibrated(np.concatenate(taught), kind, half)
    return known(classifier.probability(np.concatenate([np.zeros((0, WIDTH)), *map(_features, done.values())])))


def _features(done: Elimination) -> Floats:
    steps, (rows, columns) = done.steps, done.kept.shape
    count = len(steps.row)
    in_row, in_column = (_before(places) / size for places, size in ((steps.row, columns), (steps.col, rows)))
    told = [np.nan_to_num(np.asarray(part, np.float64)) for part in (steps.weight, steps.suspicion)]
    sides = [np.full(count, np.log(side)) for side in (rows, columns)]
    return np.stack([*told, np.arange(count) / max(1, done.scored.sum()), in_row, in_column, *sides], axis=1)


def _before(places: Ints) -> Floats:
    """How many of the same come before each."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.empty(len(places))
    counts[order] = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    return counts
