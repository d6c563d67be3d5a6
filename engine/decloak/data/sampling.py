"""Samples of a data set: rows, or a dense core of rows and items; and a random split into held-out and remaining
records.

X: lines × items, 1 where a line has an item. The density is the share of ones, so what a line has on average over how
many items there are. Lines alone are drawn at random. For a density it keeps the j items that most lines have, and the
lines with most of these items, by turns until both stay the same. The result is a core of similar lines. The fewer
items, the denser; j is found by halving. Ties are broken at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.ordering import RowIndices, sort_records
from decloak.data.rows import CodedRows, select_labels
from decloak.errors import DecloakError
from decloak.lazy import sparse

ROUNDS = 20
"""Largest number of alternations between choosing lines by items and items by lines."""
OFF = 0.1
"""Largest relative error of the density."""


class _Core(NamedTuple):
    lines: Ints
    items: Ints
    density: float


def draw_sample(data: Dataset, lines: int | None, density: float | None, seed: int) -> Dataset:
    """Return a random sample of `lines` records of `data`, drawn with `seed`; with `density`, a dense core of lines and
    items.
    """
    rng = np.random.default_rng(seed)
    rows, count = data.rows.with_used_names, len(data.transactions)
    if lines is not None and lines > count:
        message = f"a sample of {lines:,} lines of {count:,}"
        raise DecloakError(message, "data.sample", f"write at most {count:,}")
    if density is None:
        # Sorted, because the order of records may matter: `anonymise.order` can keep it.
        chosen = np.sort(rng.choice(count, lines or count, replace=False))
        return Dataset(rows.select(chosen), select_labels(data.labels, chosen), data.origin)
    x = rows.matrix(np.arange(len(rows.names)), len(rows.names))
    # A line without items can keep none, so it belongs to no core.
    there = np.flatnonzero(np.diff(x.indptr))
    core = _of_density(sparse.csr_array(x[there]), min(lines or len(there), len(there)), density, rng)
    rows_chosen = there[core.lines]
    return _with_items(data, rows.select(rows_chosen), rows_chosen, core.items)


def _with_items(data: Dataset, rows: CodedRows[str], rows_chosen: Ints, items: Ints) -> Dataset:
    """Return lines with only the given items, in the order of the lines."""
    kept = np.isin(rows.codes, items)
    start = np.concatenate(([0], np.cumsum(kept)))[rows.start]
    return Dataset(
        CodedRows(start, rows.codes[kept], rows.names).with_used_names,
        select_labels(data.labels, rows_chosen),
        data.origin,
    )


def _of_density(x: sparse.csr_array, lines: int, density: float, rng: np.random.Generator) -> _Core:
    """Return the core of `lines` lines whose density is nearest to `density`."""
    # Drawn once, so that all trials break ties alike and differ in the number of items only.
    chance = rng.random(x.shape[0]), rng.random(x.shape[1])
    few, many = 1, x.shape[1]
    best = _core(x, lines, many, *chance)
    # Density falls with the number of items, so that halving finds the nearest one.
    while few < many:
        items = (few + many) // 2
        core = _core(x, lines, items, *chance)
        best = min(best, core, key=lambda candidate: abs(candidate.density - density))
        few, many = (items + 1, many) if core.density > density else (few, items)
    if abs(best.density - density) > OFF * density:
        message = f"no {lines:,} lines have a density of {density:g}: the nearest is {best.density:.3g}"
        raise DecloakError(message, "data.density", "write another, or another sample: fewer lines are denser")
    return best


def _core(x: sparse.csr_array, lines: int, items: int, of_line: Floats, of_item: Floats) -> _Core:
    """Return the lines and items that choose each other, and their density. Every line keeps an item."""
    support = np.asarray(x.sum(axis=0)).ravel()
    chosen = np.arange(0)
    for _ in range(ROUNDS):
        before, columns = chosen, np.sort(np.lexsort((of_item, -support))[:items])
        counts = np.asarray(x[:, columns].sum(axis=1)).ravel()
        chosen = np.sort(np.lexsort((of_line, -counts))[:lines])
        if np.array_equal(chosen, before):
            break
        support = np.asarray(x[chosen].sum(axis=0)).ravel()
    chosen = chosen[counts[chosen] > 0]
    columns = columns[np.asarray(x[chosen][:, columns].sum(axis=0)).ravel() > 0]
    ones = counts[chosen].sum()
    # Too few lines that keep an item are no core of so many.
    dense = float(ones / (len(chosen) * len(columns))) if len(chosen) == lines else np.inf
    return _Core(chosen, columns, dense)


class RecordSplit(NamedTuple):
    """The remaining records, in their order, and the held-out records."""

    remaining: Dataset
    held_out: Dataset


def control_share(records: int) -> float:
    """Return the share of the `records` for a control: a tenth, 500 to 5,000 records, and never more than half.

    >>> [round(control_share(records) * records) for records in (80, 2_000, 20_000, 200_000)]
    [40, 500, 2000, 5000]
    """
    return min(max(round(records / 10), 500), 5_000, records // 2) / max(1, records)


def split_records(data: Dataset, share: float, seed: int) -> RecordSplit:
    """Hold out the `share` of the records of `data`, drawn with `seed` independently of their order.

    >>> left, out = split_records(Dataset.of([["tea"], ["milk"], ["bread"], ["rice"]]), 0.5, seed=1)
    >>> len(left.transactions), len(out.transactions)
    (2, 2)
    """
    # Drawn among sorted records: the same people are held out in any order of the file.
    _, rows_chosen = sort_records(data)
    count = round(share * len(rows_chosen))
    drawn = rows_chosen[np.random.default_rng(seed).permutation(len(rows_chosen))]
    return RecordSplit(_select_records(data, np.sort(drawn[count:])), _select_records(data, np.sort(drawn[:count])))


def _select_records(data: Dataset, rows_chosen: RowIndices) -> Dataset:
    return Dataset(data.rows.select(rows_chosen).with_used_names, select_labels(data.labels, rows_chosen), data.origin)
