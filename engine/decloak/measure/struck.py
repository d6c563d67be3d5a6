"""The members that an attack eliminated from a release with generalised items, cell by cell, as items of its rows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.measure.family import AttackResult
from decloak.releases.stored import StoredSetRelease
from decloak.store.outcomes import TrueTable

__all__ = ["StruckCells", "strikes_of", "struck_cells"]


class StruckCells(NamedTuple):
    """Items, and the row that each was struck in, ascending by rows and then by items."""

    items: Ints
    rows: Ints


def strikes_of(held: StoredSetRelease, attacked: AttackResult[Any]) -> tuple[list[TrueTable], list[Mask]] | None:
    """Return the tables of an attack and its eliminated members; None for an idle attack or another kind."""
    if attacked.idle:
        return None
    struck = held.struck(attacked.number, attacked.derives)
    return ([table for table, _ in struck], [mask for _, mask in struck]) if struck else None


def struck_cells(number: Mapping[str, int], tables: Sequence[TrueTable], masks: Sequence[Mask]) -> StruckCells:
    """Return the eliminated members of tables, as items by number; items without a number are left out."""
    items: list[Ints] = [np.zeros(0, np.int64)]
    rows: list[Ints] = [np.zeros(0, np.int64)]
    most = max(1, len(number))
    for table, mask in zip(tables, masks, strict=True):
        numbers = np.array([number.get(member, -1) for member in table.members], np.int64)
        row, column = np.nonzero(mask & (numbers >= 0))
        items.append(numbers[column])
        rows.append(table.places[row])
    rows_of, items_of = np.divmod(np.sort(np.concatenate(rows) * most + np.concatenate(items)), most)
    return StruckCells(items_of, rows_of)
