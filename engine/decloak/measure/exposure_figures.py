"""The exposure figures of one release.

Every figure has a key. The key alone is the figure after an attack. An ending gives its source: `_original` for the
original data, `_release`, `_baseline` for random guessing, and `_control` for people outside the data.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.figures import MOST_KNOWN
from decloak.measure.family import POOLED, MetricValue


class Change(NamedTuple):
    """People in the original data, in the release, after an attack, and after random guessing; None if not measured."""

    original: float | None = None
    release: float | None = None
    after: float | None = None
    baseline: float | None = None

    @property
    def attacked(self) -> float | None:
        """The figure after the attack: an attacker also has the release, and can also guess."""
        return None if self.after is None else max(way for way in self[1:] if way is not None)


class RecordExposure(NamedTuple):
    """Exposure of single records, of `people` people; a figure that was not measured is None.

    `singled_out` has one change for each number of known items; `hidden` is the share of item occurrences that the
    release does not show with their record.
    """

    people: int
    singled_out: tuple[Change, ...]
    inferred_own: Change = Change()
    implied: Change = Change()
    hidden: float | None = None

    def figures(self) -> Iterator[MetricValue]:
        """Yield the figures as the store keeps them, each as a count of people."""
        yield POOLED, "people", self.people, self.people, None
        for known, change in enumerate(self.singled_out, 1):
            yield from self._change(f"singled_out_{known}", change)
        yield from self._change("inferred_own", self.inferred_own)
        yield from self._change("implied", self.implied)
        if self.hidden is not None:
            yield POOLED, "hidden", self.hidden, None, None

    def _change(self, key: str, change: Change) -> Iterator[MetricValue]:
        ways = {"_original": change.original, "_release": change.release, "": change.attacked}
        for ending, people in {**ways, "_baseline": change.baseline}.items():
            if people is not None:
                yield POOLED, f"{key}{ending}", people, people, self.people


def changes(*ways: Sequence[float] | None) -> tuple[Change, ...]:
    """Turn the counts of each way, by 1, 2 and 3 known items, into a change for each number of known items."""
    counts: list[Sequence[float | None]] = [way or [None] * MOST_KNOWN for way in ways]
    return tuple(Change(*(way[known] for way in counts)) for known in range(MOST_KNOWN))
