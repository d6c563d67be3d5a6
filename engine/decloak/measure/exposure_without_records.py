"""Exposure of people in a release that has no record of theirs.

No published record belongs to a person, so no figure needs one. An itemset of one person in a table still singles out.
"""

import numpy as np

from decloak.arrays import Ints
from decloak.data.content import Elements
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.exposure_sets import RawExposure
from decloak.measure.kernels.singling_out import keep_rarest_items, sample_targets
from decloak.releases.stored import StoredItemsetTable, StoredSynthetic


def raw_exposure(rows: CodedRows[str]) -> tuple[Ints, RawExposure]:
    """Return the people to count in the original `rows`, and their exposure in the original data."""
    elements = Elements(rows.names, ())
    people = sample_targets(rows.lengths, len(rows))
    taken = rows.select(people)
    known = np.unique(taken.row_of_code * elements.items + elements.item[taken.codes])
    support = np.bincount(elements.item[rows.codes], minlength=elements.items)
    known = keep_rarest_items(known, elements.items, support)
    return people, RawExposure.of(people, known, Elements((), rows.names), rows)


def exposure_of_table(held: StoredItemsetTable) -> RecordExposure:
    """Return how many people the itemset table `held` exposes: by an itemset of theirs alone, or by certain items."""
    if held.original is None:
        return RecordExposure(held.published.records, changes())
    rows = held.original.rows.with_used_names
    people, raw = raw_exposure(rows)
    holders = _ItemHolders(rows.select(people))
    singled, found = [], np.zeros(len(people), np.bool_)
    for size in range(1, MOST_KNOWN + 1):
        for items, support in held.published.by_itemset.items():
            if len(items) == size and support == 1:
                found[holders.of(items)] = True
        singled.append(float(found.sum()))
    implied = _count_implied(held, holders)
    return RecordExposure(
        people=len(people),
        singled_out=changes(raw.singled, singled),
        implied=Change(raw.implied, implied),
        hidden=1.0,
    )


def exposure_of_synthetic(held: StoredSynthetic) -> RecordExposure:
    """Return the people counted; no record of the synthetic release `held` is theirs, so none is singled out."""
    if held.original is None:
        return RecordExposure(len(held.published.rows), changes())
    people, raw = raw_exposure(held.original.rows.with_used_names)
    none = [0.0] * MOST_KNOWN
    return RecordExposure(len(people), changes(raw.singled, none), implied=Change(raw.implied), hidden=1.0)


def implied_outside_table(held: StoredItemsetTable, others: CodedRows[str]) -> tuple[int, int]:
    """Return for how many of the `others` two items imply a third that they have, and the people counted."""
    return _count_implied(held, _ItemHolders(others)), len(others)


def _count_implied(held: StoredItemsetTable, holders: "_ItemHolders") -> int:
    """Return the people with enough items of whom one or two items imply another that they have."""
    supports, implied = held.published.by_itemset, np.zeros(len(holders.lengths), np.bool_)
    for items, support in supports.items():
        if len(items) > 1 and any(supports.get(items - {item}) == support for item in items):
            people = holders.of(items)
            implied[people] |= holders.lengths[people] >= MOST_KNOWN
    return int(implied.sum())


class _ItemHolders:
    """The people who have given items."""

    def __init__(self, rows: CodedRows[str]) -> None:
        self._number = {name: number for number, name in enumerate(rows.names)}
        order = np.argsort(rows.codes, kind="stable")
        cuts = np.searchsorted(rows.codes[order], np.arange(1, len(rows.names)))
        self._people = np.split(rows.row_of_code[order], cuts)
        self.lengths = rows.lengths

    def of(self, items: frozenset[str]) -> Ints:
        """Return the people who have all of `items`."""
        people = [self._people[self._number[item]] for item in items if item in self._number]
        if len(people) < len(items):
            return np.zeros(0, np.int64)
        common = people[0]
        for others in people[1:]:
            common = np.intersect1d(common, others, assume_unique=True)
        return common
