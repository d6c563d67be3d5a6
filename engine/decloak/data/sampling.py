"""Parts of a data set: a sample of its lines, perhaps of a density; what is held out of it, and what is left.

X: lines × items, 1 where a line has an item. The density is the share of ones, so what a line has on average over how
many items there are. Lines alone are drawn at random. For a density the j items are kept that most lines have, and of
the lines those that have most of these items, by turns until neither changes: a core of lines that are about the same.
The fewer items, the denser; j is found by halving. Ties are broken at random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.ordering import Places, canonical
from decloak.data.rows import CodedRows, picked_labels
from decloak.errors import DecloakError
from decloak.lazy import sparse

__all__ = ["Divided", "control_share", "divided", "sampled"]

ROUNDS = 20
"""How often lines are chosen by items and items by lines."""
OFF = 0.1
"""The share of a density by which the nearest there is may miss it."""


class _Core(NamedTuple):
    lines: Ints
    items: Ints
    density: float


def sampled(data: Dataset, lines: int | None, density: float | None, seed: int) -> Dataset:
    """Some lines of a data set, with all of their items or, for a density, with some."""
    rng = np.random.default_rng(seed)
    rows, count = data.rows.compact, len(data.transactions)
    if lines is not None and lines > count:
        message = f"a sample of {lines:,} lines of {count:,}"
        raise DecloakError(message, "data.sample", f"write at most {count:,}")
    if density is None:
        chosen = np.sort(rng.choice(count, lines or count, replace=False))
        return Dataset(rows.take(chosen), picked_labels(data.labels, chosen), data.origin)
    x = rows.matrix(np.arange(len(rows.names)), len(rows.names))
    there = np.flatnonzero(np.diff(x.indptr))
    core = _of_density(sparse.csr_array(x[there]), min(lines or len(there), len(there)), density, rng)
    places = there[core.lines]
    return _kept(data, rows.take(places), places, core.items)


def _kept(data: Dataset, rows: CodedRows[str], places: Ints, items: Ints) -> Dataset:
    """Lines with some of their items, in the order in which they have them."""
    kept = np.isin(rows.codes, items)
    start = np.concatenate(([0], np.cumsum(kept)))[rows.start]
    return Dataset(
        CodedRows(start, rows.codes[kept], rows.names).compact, picked_labels(data.labels, places), data.origin
    )


def _of_density(x: sparse.csr_array[Any], lines: int, density: float, rng: np.random.Generator) -> _Core:
    """The core of so many lines whose density is nearest to what is asked for."""
    chance = rng.random(x.shape[0]), rng.random(x.shape[1])
    few, many = 1, x.shape[1]
    best = _core(x, lines, many, *chance)
    while few < many:
        items = (few + many) // 2
        core = _core(x, lines, items, *chance)
        best = min(best, core, key=lambda candidate: abs(candidate.density - density))
        few, many = (items + 1, many) if core.density > density else (few, items)
    if abs(best.density - density) > OFF * density:
        message = f"no {lines:,} lines have a density of {density:g}: the nearest is {best.density:.3g}"
        raise DecloakError(message, "data.density", "write another, or another sample: fewer lines are denser")
    return best


def _core(x: sparse.csr_array[Any], lines: int, items: int, of_line: Floats, of_item: Floats) -> _Core:
    """The lines and items that choose each other, and how dense they are; every line keeps an item."""
    support = np.asarray(x.sum(axis=0)).ravel()
    chosen = np.arange(0)
    for _ in range(ROUNDS):
        before, columns = chosen, np.sort(np.lexsort((of_item, -support))[:items])
        held = np.asarray(x[:, columns].sum(axis=1)).ravel()
        chosen = np.sort(np.lexsort((of_line, -held))[:lines])
        if np.array_equal(chosen, before):
            break
        support = np.asarray(x[chosen].sum(axis=0)).ravel()
    chosen = chosen[held[chosen] > 0]
    columns = columns[np.asarray(x[chosen][:, columns].sum(axis=0)).ravel() > 0]
    ones = held[chosen].sum()
    # Too few lines that keep an item are no core of so many.
    dense = float(ones / (len(chosen) * len(columns))) if len(chosen) == lines else np.inf
    return _Core(chosen, columns, dense)


class Divided(NamedTuple):
    """The records that are left, in the order in which they were, and those held out."""

    left: Dataset
    held_out: Dataset


def control_share(records: int) -> float:
    """Return the share of the records that a control takes: a tenth, 500 to 5,000 records, and never more than half.

    >>> [round(control_share(records) * records) for records in (80, 2_000, 20_000, 200_000)]
    [40, 500, 2000, 5000]
    """
    return min(max(round(records / 10), 500), 5_000, records // 2) / max(1, records)


def divided(data: Dataset, share: float, seed: int) -> Divided:
    """Hold out a share of the records, drawn of the records as a set: in whatever order they stand.

    >>> left, out = divided(Dataset.of([["tea"], ["milk"], ["bread"], ["rice"]]), 0.5, seed=1)
    >>> len(left.transactions), len(out.transactions)
    (2, 2)
    """
    _, places = canonical(data)
    count = round(share * len(places))
    drawn = places[np.random.default_rng(seed).permutation(len(places))]
    return Divided(_picked(data, np.sort(drawn[count:])), _picked(data, np.sort(drawn[:count])))


def _picked(data: Dataset, places: Places) -> Dataset:
    return Dataset(data.rows.take(places).compact, picked_labels(data.labels, places), data.origin)
