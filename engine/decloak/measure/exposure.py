"""The exposure family: how many people a release exposes, in the same figures for every published form.

The figures come from three modules: records that single people out, links that are certain, and guesses at items. In
an itemset table and in synthetic data no published record belongs to a person, so that no figure needs one. An itemset
of one person in a table still singles out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from decloak.arrays import Ints
from decloak.data.content import Elements
from decloak.data.dataset import Dataset
from decloak.data.forms import FormName
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN, metrics_of
from decloak.measure import calibration, exposure_guesses
from decloak.measure.exposure_chunks import exposure_of_chunks, implied_outside_chunks, slow_values_of_chunks
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.exposure_sets import RawExposure, exposure_of_sets, implied_outside_sets
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue, SlowValue
from decloak.measure.kernels.singling_out import keep_rarest_items, sample_targets
from decloak.releases.stored import (
    PartedDisassociation,
    PartedSets,
    StoredDisassociation,
    StoredItemsetTable,
    StoredRelease,
    StoredSetRelease,
    StoredSynthetic,
)

BEYOND = (
    "the method guarantees m = {0}; people are counted with up to {1} known items, and more items may single out more"
)


def _records(attacked: Attacked) -> MetricResult:
    """Measure what the release shows of single records, before and after the attack."""
    guaranteed = attacked.release.making.parameters.get("m")
    beyond = isinstance(guaranteed, int) and guaranteed >= MOST_KNOWN and attacked.release.published.rows_are_records
    note = BEYOND.format(guaranteed, MOST_KNOWN) if beyond else None
    return list(_exposure_of(attacked.release, attacked).figures()), note


def _exposure_of(held: StoredRelease, attacked: Attacked) -> RecordExposure:
    """Return the exposure of single records in a release of any form that has some."""
    match held:
        case StoredSynthetic():  # before other sets: its rows belong to nobody
            return held.cached(_exposure_of_synthetic)
        case StoredSetRelease():
            return exposure_of_sets(held, attacked)
        case StoredDisassociation():
            return exposure_of_chunks(held, attacked)
        case StoredItemsetTable():
            return held.cached(_exposure_of_table)
    raise TypeError(f"no exposure figures of {type(held).__name__}")


def _implied_outside(held: StoredRelease, others: CodedRows[str]) -> tuple[int, int] | None:
    """Return for how many people outside the data two items imply a third that they have, and the people counted."""
    match held:
        case StoredSetRelease():
            return implied_outside_sets(held, others)
        case StoredDisassociation():
            return implied_outside_chunks(held, others)
        case StoredItemsetTable():
            return _count_implied(held, _ItemHolders(others)), len(others)
    return None


def _raw_exposure(rows: CodedRows[str]) -> tuple[Ints, RawExposure]:
    """Return the people to count in the original `rows`, and their exposure in the original data."""
    elements = Elements(rows.names, ())
    people = sample_targets(rows.lengths, len(rows))
    taken = rows.select(people)
    # Records may repeat an item, which is known once.
    known = np.unique(taken.row_of_code * elements.items + elements.item[taken.codes])
    support = np.bincount(elements.item[rows.codes], minlength=elements.items)
    known = keep_rarest_items(known, elements.items, support)
    return people, RawExposure.of(people, known, Elements((), rows.names), rows)


def _exposure_of_table(held: StoredItemsetTable) -> RecordExposure:
    """Return how many people the itemset table `held` exposes: by an itemset of theirs alone, or by certain items."""
    if held.original is None:
        return RecordExposure(held.published.records, changes())
    rows = held.original.rows.with_used_names
    people, raw = _raw_exposure(rows)
    holders = _ItemHolders(rows.select(people))
    singled, found = [], np.zeros(len(people), np.bool_)
    for size in range(1, MOST_KNOWN + 1):
        # Known items may be fewer than the most, so that `found` is kept from size to size.
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


def _exposure_of_synthetic(held: StoredSynthetic) -> RecordExposure:
    """Return the people counted; no record of the synthetic release `held` is theirs, so none is singled out."""
    if held.original is None:
        return RecordExposure(len(held.published.rows), changes())
    people, raw = _raw_exposure(held.original.rows.with_used_names)
    none = [0.0] * MOST_KNOWN
    return RecordExposure(len(people), changes(raw.singled, none), implied=Change(raw.implied), hidden=1.0)


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


@dataclass(frozen=True)
class _ImpliedOutside:
    """Equal for equal controls, so that a release keeps what was worked out for each."""

    named: str
    control: Callable[[], Dataset | None] = field(compare=False)

    def __call__(self, held: StoredRelease) -> list[MetricValue]:
        others = None if held.original is None else self.control()
        found = None if others is None else _implied_outside(held, others.rows.with_used_names)
        return [] if found is None else [(POOLED, "implied_control", found[0], found[0], found[1])]


def _measure(attacked: Attacked, **settings: Any) -> MetricResult:
    """Measure all figures of exposure; `settings` are the settings of the guesses."""
    held = attacked.release
    if isinstance(held, PartedDisassociation):
        from decloak.measure.exposure_clusters import measure_clusters

        return measure_clusters(attacked, held, settings["targets"], settings["seed"])
    if isinstance(held, PartedSets):
        from decloak.measure.exposure_parts import PartedExposure

        return held.cached(PartedExposure(settings["targets"], settings["seed"]))
    parts = (_records(attacked), calibration.certain_links(attacked), exposure_guesses.measure(attacked, **settings))
    notes = [note for _, note in parts if note is not None]
    # Every attack on a release shares what it implies for the control.
    outside = attacked.release.cached(_ImpliedOutside(str(settings["control"]), attacked.control))
    return [*(value for values, _ in parts for value in values), *outside], "; ".join(notes) or None


def _slow_values(attacked: Attacked, **settings: Any) -> list[SlowValue]:
    """Return the slow values of the release that serve every attack on it; `settings` are those of the guesses."""
    held, slow = attacked.release, exposure_guesses.slow_values(attacked, **settings)
    if isinstance(held, StoredDisassociation):
        slow += slow_values_of_chunks(held)
    return slow


FAMILY = Family(
    name="exposure",
    about="People a release exposes; always measured",
    metrics=metrics_of("exposure"),
    measure=_measure,
    fits=frozenset(FormName),
    settings=exposure_guesses.ExposureSettings,
    always_measured=True,
    ways_in_columns=True,
    slow_values=_slow_values,
)
