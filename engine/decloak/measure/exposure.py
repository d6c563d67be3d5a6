"""The exposure family: how many people a release exposes, in the same figures for every published form.

The figures come from three modules: records that single people out, links that are certain, and guesses at items.
"""

from functools import singledispatch
from typing import Any

from decloak.data.forms import FormName
from decloak.figures import MOST_KNOWN, metrics_of
from decloak.measure import exposure_guesses, exposure_links
from decloak.measure.exposure_figures import RecordExposure
from decloak.measure.family import Attacked, Family, MetricResult
from decloak.releases.stored import (
    StoredDisassociation,
    StoredItemsetTable,
    StoredRelease,
    StoredSetRelease,
    StoredSynthetic,
)

__all__ = ["FAMILY"]

BEYOND = (
    "the method guarantees m = {0}; people are counted with up to {1} known items, and more items may single out more"
)


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


def _measure(attacked: Attacked, **settings: Any) -> MetricResult:
    """Measure all figures of exposure; `settings` are the settings of the guesses."""
    parts = (_records(attacked), exposure_links.measure(attacked), exposure_guesses.measure(attacked, **settings))
    notes = [note for _, note in parts if note is not None]
    return [value for values, _ in parts for value in values], "; ".join(notes) or None


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
