"""Groups of cells: their suspicion, their lower cluster, and the cells that inherit the weight of an eliminated cell.

Each function takes the weights of many groups together, a row each; NaN is an absent cell.

    V       suspicion: the largest gap between neighbours in ascending order of w (0 below two cells),
            or the largest w, or a formula
    lower   everything below the first largest gap; the whole group when V is 0
    q       weight of the eliminated cell e; each cell of S = lower(G) without e inherits q / |S|,
            and where that is empty S = lower(G without e)
"""

from collections.abc import Callable

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.rules.eliminate.state import EPS, Batch
from decloak.rules.eliminate.strategy import Strategy

__all__ = ["heaviest", "inheritance", "largest_gap", "lower_cluster", "measure_of"]

Measure = Callable[[Batch, Ints], Floats]


def measure_of(strategy: Strategy) -> Measure:
    """Return the function that computes the suspicion of groups of a batch under `strategy`, from the entries of their
    cells.

    The suspicion is NaN where it has no score.
    """
    formula = strategy.suspicion
    if formula == "largest_gap":
        return lambda batch, entries: largest_gap(batch.w[entries])
    if isinstance(formula, str):
        return lambda batch, entries: np.fmax.reduce(batch.w[entries], axis=1)

    def measure(batch: Batch, entries: Ints) -> Floats:
        v = formula.numpy({"w": batch.w[entries], "d": batch.columns["d"][entries]})
        return np.broadcast_to(v, (len(entries), 1))[:, 0]

    return measure


def largest_gap(w: Floats) -> Floats:
    """Return the largest gap between neighbouring weights `w` of each group."""
    # NaN sorts last, so that groups of different sizes share one array.
    ascending = np.sort(w, axis=1)
    v: Floats = np.fmax.reduce(ascending[:, 1:] - ascending[:, :-1], axis=1, initial=0.0)
    return v


def lower_cluster(w: Floats) -> Mask:
    """Return the cells of each group with weights `w` that are below its first largest gap."""
    ascending = np.sort(w, axis=1)
    gaps = ascending[:, 1:] - ascending[:, :-1]
    largest = np.fmax.reduce(gaps, axis=1, initial=0.0)
    below = (gaps >= largest[:, None] - EPS).argmax(axis=1)
    top = ascending[np.arange(len(w)), below]
    # Without a gap all weights are equal, and the whole group is its lower cluster.
    top[largest <= EPS] = np.inf
    below_it: Mask = w <= top[:, None]
    return below_it


def heaviest(w: Floats) -> Ints:
    """Return the index of the largest weight in `w` of each group, the first of equals."""
    largest: Floats = np.fmax.reduce(w, axis=1)
    place: Ints = np.argmax(w >= largest[:, None] - EPS, axis=1)
    return place


def inheritance(w: Floats, eliminated: Ints, q: Floats) -> Floats:
    """Return the added weight of every cell of each group with weights `w` when the cell at index `eliminated` goes.

    `q` is the weight that the cell passes on; the cell is still in `w`.
    """
    group = np.arange(len(w))
    # The eliminated cell is not its own heir.
    heirs = lower_cluster(w)
    heirs[group, eliminated] = False
    count = heirs.sum(axis=1)
    if not count.all():
        (alone,) = (count == 0).nonzero()
        remaining = w[alone]
        remaining[np.arange(len(alone)), eliminated[alone]] = np.nan
        heirs[alone] = lower_cluster(remaining)
        count[alone] = heirs[alone].sum(axis=1)
    return np.where(heirs, (q / np.maximum(count, 1))[:, None], 0.0)
