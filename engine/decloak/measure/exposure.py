"""The exposure family: how many people a release exposes, in the same figures for every published form.

The family is composed of parts. A part is a list of figure titles with one function that measures them; a further part
is a module with a `PART`, and a place in `PARTS`.
"""

from functools import singledispatch
from typing import Any

from decloak.data.forms import FormName
from decloak.measure import exposure_guesses, exposure_links
from decloak.measure.exposure_figures import RECORD_FIGURES, RecordExposure
from decloak.measure.exposure_part import ExposurePart
from decloak.measure.family import AttackedRelease, Family, Figure, Measured
from decloak.measure.kernels.crowd import MOST_KNOWN
from decloak.releases.held import HeldChunks, HeldRelease, HeldSets

__all__ = ["FAMILY"]

BEYOND = (
    "the method guarantees m = {0}; people are counted with up to {1} known items, and more items may single out more"
)


def _records(attacked: AttackedRelease[HeldRelease]) -> Measured:
    """Measure what the release shows of single records, before and after the attack."""
    guaranteed = attacked.release.making.parameters.get("m")
    beyond = isinstance(guaranteed, int) and guaranteed >= MOST_KNOWN
    note = BEYOND.format(guaranteed, MOST_KNOWN) if beyond else None
    return list(_of_form(attacked.release, attacked).figures()), note


@singledispatch
def _of_form(held: HeldRelease, attacked: AttackedRelease[Any]) -> RecordExposure:
    raise TypeError(f"no exposure figures of {type(held).__name__}")


@_of_form.register
def _of_sets(held: HeldSets, attacked: AttackedRelease[Any]) -> RecordExposure:
    from decloak.measure.exposure_sets import exposure_of_sets

    return exposure_of_sets(held, attacked)


@_of_form.register
def _of_chunks(held: HeldChunks, attacked: AttackedRelease[Any]) -> RecordExposure:
    from decloak.measure.exposure_chunks import exposure_of_chunks

    return exposure_of_chunks(held, attacked)


PARTS = (ExposurePart(RECORD_FIGURES, _records), exposure_links.PART, exposure_guesses.PART)
"""What the family is made of, in the order of its figures."""


def _measure(attacked: AttackedRelease[HeldRelease], **settings: Any) -> Measured:
    figures: list[Figure] = []
    notes: list[str] = []
    for part in PARTS:
        some, note = part.measure(attacked, **(settings if part.settings else {}))
        figures += some
        notes += [] if note is None else [note]
    return figures, "; ".join(notes) or None


FAMILY = Family(
    name="exposure",
    about="People a release exposes; always measured",
    figures=tuple(title for part in PARTS for title in part.figures),
    measure=_measure,
    fits=frozenset(FormName),
    settings=exposure_guesses.ExposureSettings,
    always=True,
    in_lines=True,
)
