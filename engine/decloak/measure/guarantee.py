"""Whether a release meets its guarantee: checked by code that shares nothing with the code that makes releases."""

from typing import Any

from decloak.counting.promises import Disassociation, Frequent, Promise
from decloak.data.forms import FormName
from decloak.data.release import Release
from decloak.measure.family import POOLED, AttackedRelease, Family, FigureTitle, Measured
from decloak.releases.held import HeldChunks, HeldRelease, HeldSets

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    held = attacked.release
    if "cpu_seconds" in held.making.loss:
        # It was made here and checked then: otherwise there would be no release.
        return [(POOLED, "guarantee_violations", 0, 0, None)], None
    k, m = (held.making.parameters.get(name) for name in ("k", "m"))
    if not isinstance(k, int) or not isinstance(m, int):
        return [], None
    count = _violations(held, k, m)
    return ([] if count is None else [(POOLED, "guarantee_violations", count, count, None)]), None


def _violations(held: HeldRelease, k: int, m: int) -> int | None:
    """Count what violates the k and m that somebody else's release states; at most one."""
    if isinstance(held, HeldChunks):
        return _first(Disassociation(k, m), held.published)
    return _first(Frequent(k, m), held.labels) if isinstance(held, HeldSets) else None


def _first(stated: Promise[Any], release: Release) -> int | None:
    return None if stated.lacking(release) else len(stated.first(release, 1).rows)


FAMILY = Family(
    name="guarantee",
    about="Whether a release meets its guarantee; always measured",
    figures=(
        FigureTitle(
            "guarantee_violations", "guarantee violations", "0: the release meets its guarantee; 1: it does not",
            count=True, column=False, published=True,
        ),
    ),
    measure=_measure,
    fits=frozenset(FormName),
    of_release=True,
    always=True,
)  # fmt: skip
