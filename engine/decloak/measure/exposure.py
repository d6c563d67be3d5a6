"""The exposure family: how many people a release exposes, in the same figures for every published form.

The figures come from three modules: records that single people out, links that are certain, and guesses at items.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

from decloak.data.dataset import Dataset
from decloak.data.forms import FormName
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN, metrics_of
from decloak.measure import exposure_guesses, exposure_links
from decloak.measure.exposure_figures import RecordExposure, changes
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
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

NOT_COUNTED = "people are not counted: that needs all clusters in memory"


def _records(attacked: Attacked) -> MetricResult:
    """Measure what the release shows of single records, before and after the attack."""
    guaranteed = attacked.release.making.parameters.get("m")
    beyond = isinstance(guaranteed, int) and guaranteed >= MOST_KNOWN and attacked.release.published.rows_are_records
    note = BEYOND.format(guaranteed, MOST_KNOWN) if beyond else None
    return list(_of_form(attacked.release, attacked).figures()), note


@singledispatch
def _of_form(held: StoredRelease, attacked: Attacked) -> RecordExposure:
    raise TypeError(f"no exposure figures of {type(held).__name__}")


@_of_form.register
def _of_sets(held: StoredSetRelease, attacked: Attacked) -> RecordExposure:
    from decloak.measure.exposure_sets import exposure_of_sets

    return exposure_of_sets(held, attacked)


@_of_form.register
def _of_chunks(held: StoredDisassociation, attacked: Attacked) -> RecordExposure:
    from decloak.measure.exposure_chunks import exposure_of_chunks

    return exposure_of_chunks(held, attacked)


@_of_form.register
def _of_synthetic(held: StoredSynthetic, attacked: Attacked) -> RecordExposure:
    from decloak.measure.exposure_without_records import exposure_of_synthetic

    return held.cached(exposure_of_synthetic)


@_of_form.register
def _of_table(held: StoredItemsetTable, attacked: Attacked) -> RecordExposure:
    from decloak.measure.exposure_without_records import exposure_of_table

    return held.cached(exposure_of_table)


@singledispatch
def _implied_outside(held: StoredRelease, others: CodedRows[str]) -> tuple[int, int] | None:
    """Return for how many people outside the data two items imply a third that they have, and the people counted."""
    return None


@_implied_outside.register
def _outside_sets(held: StoredSetRelease, others: CodedRows[str]) -> tuple[int, int] | None:
    from decloak.measure.exposure_sets import implied_outside_sets

    return implied_outside_sets(held, others)


@_implied_outside.register
def _outside_chunks(held: StoredDisassociation, others: CodedRows[str]) -> tuple[int, int] | None:
    from decloak.measure.exposure_chunks import implied_outside_chunks

    return implied_outside_chunks(held, others)


@_implied_outside.register
def _outside_table(held: StoredItemsetTable, others: CodedRows[str]) -> tuple[int, int] | None:
    from decloak.measure.exposure_without_records import implied_outside_table

    return implied_outside_table(held, others)


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
        figures = RecordExposure(sum(part.records for part in held.parts), changes()).figures()
        return list(figures), NOT_COUNTED
    if isinstance(held, PartedSets):
        from decloak.measure.exposure_parts import PartedExposure

        return held.cached(PartedExposure(settings["targets"], settings["seed"]))
    parts = (_records(attacked), exposure_links.measure(attacked), exposure_guesses.measure(attacked, **settings))
    notes = [note for _, note in parts if note is not None]
    outside = attacked.release.cached(_ImpliedOutside(str(settings["control"]), attacked.control))
    return [*(value for values, _ in parts for value in values), *outside], "; ".join(notes) or None


FAMILY = Family(
    name="exposure",
    about="People a release exposes; always measured",
    metrics=metrics_of("exposure"),
    measure=_measure,
    fits=frozenset(FormName),
    settings=exposure_guesses.ExposureSettings,
    always_measured=True,
    ways_in_columns=True,
)
