"""Titles of the exposure figures, and the record of one release's figures.

Every figure has a key. The key alone is the figure after an attack; `<key>_original`, `<key>_release`,
`<key>_baseline` and `<key>_control` are the same figure of the original data, of the release, after random guessing,
and of people who are not in the data.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.measure.family import POOLED, Figure, FigureTitle
from decloak.measure.kernels.crowd import MOST_KNOWN

__all__ = ["RECORD_FIGURES", "Change", "RecordExposure", "changes"]


class Change(NamedTuple):
    """People in the original data, in the release, after an attack, and after random guessing; None: not known."""

    original: float | None = None
    release: float | None = None
    after: float | None = None
    baseline: float | None = None

    @property
    def attacked(self) -> float | None:
        """The figure after the attack: an attacker also has the release, and can also guess."""
        return None if self.after is None else max(way for way in self[1:] if way is not None)


class RecordExposure(NamedTuple):
    """Exposure of single records, of `people` people; a figure that is not known is None.

    `singled_out` has one change for each number of known items; `hidden` is the share of item occurrences that the
    release does not show with their record.
    """

    people: int
    singled_out: tuple[Change, ...]
    inferred_own: Change = Change()
    implied: Change = Change()
    hidden: float | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the figures as the store keeps them, each as a count of people."""
        yield POOLED, "people", self.people, self.people, None
        for known, change in enumerate(self.singled_out, 1):
            yield from self._change(f"singled_out_{known}", change)
        yield from self._change("inferred_own", self.inferred_own)
        yield from self._change("implied", self.implied)
        if self.hidden is not None:
            yield POOLED, "hidden", self.hidden, None, None

    def _change(self, key: str, change: Change) -> Iterator[Figure]:
        ways = {"_original": change.original, "_release": change.release, "": change.attacked}
        for ending, people in {**ways, "_baseline": change.baseline}.items():
            if people is not None:
                yield POOLED, f"{key}{ending}", people, people, self.people


def changes(*ways: Sequence[float] | None) -> tuple[Change, ...]:
    """Turn the counts of each way, by 1, 2 and 3 known items, into a change for each number of known items."""
    counts: list[Sequence[float | None]] = [way or [None] * MOST_KNOWN for way in ways]
    return tuple(Change(*(way[known] for way in counts)) for known in range(MOST_KNOWN))


def _titles() -> Iterator[FigureTitle]:
    yield FigureTitle("people", "people", "people that these figures count", count=True, column=False, published=True)
    for known in range(1, MOST_KNOWN + 1):
        items = "1 item" if known == 1 else f"up to {known} items"
        help_ = f"people whose record alone fits {items}"
        yield from _ways(f"singled_out_{known}", f"singled out with {items}", help_, "_original", "_release", "")
    title, help_ = "item known or inferred (expected)", "people with an item shown, or rightly guessed"
    yield from _ways("inferred_own", title, help_, "_release", "")
    title, help_ = "third item implied by 2 items", "people for whom 2 of their items imply a third"
    yield from _ways("implied", title, help_, "_original", "_release")
    yield FigureTitle("hidden", "hidden", "item occurrences not shown with their record", column=False, published=True)


def _ways(key: str, title: str, help_: str, *endings: str) -> Iterator[FigureTitle]:
    """Yield the titles of a figure: in the original data, in the release, and after an attack beside its baseline."""
    first = True
    for ending, way in {"": "", "_original": "original data", "_release": "release"}.items():
        if ending in endings:
            told = help_ if first else f"the same in the {way}"
            titled = f"{title}, {way}" if ending else title
            before = None if ending else f"{key}_release"
            yield FigureTitle(
                f"{key}{ending}", titled, told, count=True, column=False, before=before, published=bool(ending)
            )
            first = False
    if "" in endings:
        yield FigureTitle(f"{key}_baseline", f"{title}, baseline", "the same at random", count=True, column=False)


RECORD_FIGURES = tuple(_titles())
