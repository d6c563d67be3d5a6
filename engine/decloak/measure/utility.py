"""What a disassociated release keeps of frequent itemsets, of pairs, and of items at all."""

from pydantic import Field

from decloak.measure.family import CHUNKS, POOLED, AttackedRelease, Family, FigureTitle, Measured
from decloak.measure.kernels.statistics import Bounds
from decloak.releases.held import UNKNOWN, HeldChunks
from decloak.yaml.part import Part

__all__ = ["FAMILY", "UtilitySettings"]


class UtilitySettings(Part):
    """What a disassociated release keeps of frequent itemsets."""

    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


def _measure(attacked: AttackedRelease[HeldChunks], *, top: int) -> Measured:
    from decloak.measure.kernels.utility import re_chunks, tkd_chunks, tlost

    release, rows = attacked.release.published, attacked.release.rows
    if rows is None:
        return [], UNKNOWN.format("utility")
    values = {
        "tkd": tkd_chunks(release, rows.records, top),
        "re": re_chunks(release, rows.records),
        "tlost": tlost(release, rows.records, release.k or 1),
    }
    return [(POOLED, name, value, None, None) for name, value in values.items()], None


FAMILY = Family(
    name="utility",
    about="What a disassociated release loses, the higher the more",
    figures=(
        FigureTitle("tkd", "top lost", "the most frequent itemsets that are no longer among these"),
        FigureTitle(
            "re", "pair error", "how far off supports of pairs are as counted in the chunks", bounds=Bounds(0.0, 2.0)
        ),
        FigureTitle("tlost", "items lost", "items in k records or more that no record or shared chunk shows"),
    ),
    measure=_measure,
    fits=CHUNKS,
    settings=UtilitySettings,
    rule_forms=frozenset({"reassociate"}),
    of_release=True,
)
