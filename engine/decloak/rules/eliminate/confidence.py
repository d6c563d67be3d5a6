"""How likely strikes are right: the rule is tried on tables of plain items, of which it is known what is meant.

Of each strike, what it was made by: its weight and suspicion, how early in its table it came, how much of its row and
its column was struck before, and the logs of how many rows and columns the table has. What speaks for a strike is
learned of those on tables of plain items (logistic regression, calibrated on the half of the tables that it was not
learned from).

A rule that goes by probabilities of cells has one for each strike, but of all such cells, struck or not. What it
strikes is a selection: a cell of .4 is struck only while a likelier member of its row is left, for the last one stays.
So more strikes of .4 are right than cells. The rule is tried on the tables that taught the probabilities, each by what
the other half of them teaches, and a strike is as likely right as strikes of that probability are there.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attack.logistic import curve, learn_calibrated
from decloak.rules.confidence import Confidence, known, unsure
from decloak.rules.eliminate.kernel import Elimination

__all__ = ["FEWEST", "confident", "recalibrated"]

FEWEST = 30
"""Right and wrong strikes on tables of plain items below which they do not say how likely one is right."""


WIDTH = 7
"""Features of a strike."""


def confident(
    done: Mapping[int, Elimination], rehearsed: Mapping[int, Elimination], meant: Sequence[Floats]
) -> Confidence:
    """The probability of every strike, table after table, by what came of the rule on tables whose truth is known."""
    right = [1 - meant[table][tried.steps.row, tried.steps.col] for table, tried in rehearsed.items()]
    kind = np.concatenate([np.zeros(0), *right])
    well, badly = int(kind.sum()), int(len(kind) - kind.sum())
    if min(well, badly) < FEWEST:
        return unsure(f"on tables of plain items {well} strikes were right and {badly} wrong: too few to go by")
    half = np.concatenate([np.full(len(part), table % 2) for table, part in zip(rehearsed, right, strict=True)])
    if len(set(zip(half.tolist(), kind.tolist(), strict=True))) < 4:
        return unsure("on one half of the tables of plain items all strikes were alike: too little to go by")
    classifier = learn_calibrated(_features(list(rehearsed.values())), kind, half, levelled=True)
    return known(classifier.probability(_features(list(done.values()))))


def recalibrated(done: Mapping[int, Elimination], tried: Sequence[Elimination], meant: Sequence[Floats]) -> Confidence:
    """The probability of every strike, table after table, of a rule that weighs cells by their probability.

    `tried` is what the rule does to tables of which it is known what is meant; where it strikes nothing there, or there
    are none, a strike is as likely right as its cell was added.
    """
    p = _weights(done.values())
    right = np.concatenate(
        [np.zeros(0), *(1 - kind[t.steps.row, t.steps.col] for t, kind in zip(tried, meant, strict=True))]
    )
    return known(curve(_weights(tried), right, levelled=True).of(p) if len(right) else p)


def _weights(done: Iterable[Elimination]) -> Floats:
    return np.concatenate([np.zeros(0), *(table.steps.weight for table in done)])


def _features(done: Sequence[Elimination]) -> Floats:
    """The features of all strikes, table after table."""
    if not done:
        return np.zeros((0, WIDTH))
    counts = np.array([len(table.steps.row) for table in done])
    table = np.repeat(np.arange(len(done)), counts)
    rows, columns = np.array([table.kept.shape for table in done]).T[:, table]
    scored = np.array([max(1, table.scored.sum()) for table in done])[table]
    row, col, weight, suspicion = (
        np.concatenate([getattr(each.steps, name) for each in done]) for name in ("row", "col", "weight", "suspicion")
    )
    early = _before(table) / scored
    longest = max(max(table.kept.shape) for table in done)
    in_row, in_column = (_before(table * longest + line) / size for line, size in ((row, columns), (col, rows)))
    made = [np.nan_to_num(np.asarray(part, np.float64)) for part in (weight, suspicion)]
    return np.stack([*made, early, in_row, in_column, np.log(rows), np.log(columns)], axis=1)


def _before(places: Ints) -> Floats:
    """How many of the same come before each."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.empty(len(places))
    counts[order] = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    return counts
