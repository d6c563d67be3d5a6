"""Releases of every form as estimators: what a family of figures asks how many people have some items.

A further form is a function registered with `published_by`, and a module of `kernels/estimate/`.
"""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.data.content import Elements
from decloak.measure.family import Attacked
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.estimate.estimator import Estimator, ExclusiveEstimates
from decloak.measure.kernels.estimate.itemsets import TableEstimates
from decloak.measure.kernels.estimate.rows import RowEstimates
from decloak.releases.stored import StoredDisassociation, StoredItemsetTable, StoredRelease, StoredSetRelease
from decloak.store.outcomes import TrueTable
from decloak.store.records import read_origins


class EliminatedCells(NamedTuple):
    """Items, and the row that each was eliminated in, ascending by rows and then by items."""

    items: Ints
    rows: Ints


def eliminations_of(held: StoredSetRelease, attacked: Attacked) -> tuple[list[TrueTable], list[Mask]] | None:
    """Return the tables of an attack and its eliminated members; None for an idle attack or another kind."""
    if attacked.idle:
        return None
    eliminated = held.eliminated(attacked.number, attacked.derives)
    return ([table for table, _ in eliminated], [mask for _, mask in eliminated]) if eliminated else None


def eliminated_cells(number: Mapping[str, int], tables: Sequence[TrueTable], masks: Sequence[Mask]) -> EliminatedCells:
    """Return the eliminated members of tables, as items by number; items without a number are left out."""
    # An empty start, because there may be no table to join.
    items: list[Ints] = [np.zeros(0, np.int64)]
    rows: list[Ints] = [np.zeros(0, np.int64)]
    most = max(1, len(number))
    for table, mask in zip(tables, masks, strict=True):
        numbers = np.array([number.get(member, -1) for member in table.members], np.int64)
        row, column = np.nonzero(mask & (numbers >= 0))
        items.append(numbers[column])
        rows.append(table.places[row])
    # One number for a row and an item sorts by both at once.
    rows_of, items_of = np.divmod(np.sort(np.concatenate(rows) * most + np.concatenate(items)), most)
    return EliminatedCells(items_of, rows_of)


class Published(NamedTuple):
    """A release as an estimator: its number for each item by name, and the row of each original record, or -1."""

    estimator: Estimator
    number: Mapping[str, int]
    row_of: Ints


@singledispatch
def published_by(held: StoredRelease, eliminated: tuple[Ints, Ints] | None = None) -> Published:
    """Return the estimator of a release; `eliminated` are rows and items that an attack took out of labels."""
    raise TypeError(f"no estimates of {type(held).__name__}")


@published_by.register
def _by_sets(held: StoredSetRelease, eliminated: tuple[Ints, Ints] | None = None) -> Published:
    assert held.original is not None
    rows = held.published.rows
    elements = Elements(rows.names, held.original.rows.names)
    return Published(RowEstimates.of(rows, elements, eliminated), elements.number, _row_of(held))


@published_by.register
def _by_chunks(held: StoredDisassociation, eliminated: tuple[Ints, Ints] | None = None) -> Published:
    release = held.published
    items = {item for cluster in release.clusters for item in cluster.items}
    items |= {item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items}
    number = {name: at for at, name in enumerate(sorted(items))}
    return Published(ChunkEstimates.of(release, number), number, _row_of(held))


def with_exclusive(published: Published, columns: Sequence[str]) -> Published:
    """Return `published` for readers who know that items of one column, such as `sex=f`, exclude each other."""
    if not columns:
        return published
    group = np.full(published.estimator.items, -1, np.int64)
    for name, at in published.number.items():
        column = next((place for place, one in enumerate(columns) if name.startswith(f"{one}=")), -1)
        if at < len(group):
            group[at] = column
    return published._replace(estimator=ExclusiveEstimates(published.estimator, group))


@published_by.register
def _by_table(held: StoredItemsetTable, eliminated: tuple[Ints, Ints] | None = None) -> Published:
    assert held.original is not None
    table = held.published
    number = {name: at for at, name in enumerate(table.items)}
    return Published(TableEstimates.of(table, number), number, np.full(len(held.original.rows), -1, np.int64))


def _row_of(held: StoredRelease) -> Ints:
    """Truth: the row of each original record, -1 where it has none."""
    assert held.original is not None
    places = read_origins(held.connection, held.number)
    row_of = np.full(len(held.original.rows), -1, np.int64)
    if places is not None:
        row_of[places] = np.arange(len(places))
    return row_of


def after_attack(held: StoredRelease, attacked: Attacked) -> Published | None:
    """Return the release without the members that an attack eliminated, or None if it eliminated none."""
    done = eliminations_of(held, attacked) if isinstance(held, StoredSetRelease) else None
    if done is None:
        return None
    # Items of labels are numbered before all others, so `published_by` gives them the same numbers.
    number = Elements(held.published.rows.names, ()).number
    cells = eliminated_cells(number, *done)
    return with_exclusive(published_by(held, (cells.rows, cells.items)), attacked.exclusive)
