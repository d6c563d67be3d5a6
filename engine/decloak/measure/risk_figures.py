"""The figures of the risk card, the same of every published form: what each is, in people, and which there are."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.measure.family import POOLED, Figure, FigureTitle
from decloak.measure.kernels.crowd import MOST_KNOWN

__all__ = ["FIGURES", "Change", "Risk", "changes"]


class Change(NamedTuple):
    """People in the raw data, as published, after an attack, and after as much at random; None: it cannot be had."""

    raw: float | None = None
    before: float | None = None
    after: float | None = None
    chance: float | None = None


class Risk(NamedTuple):
    """What a release tells of so many people, and an attack on it: all None where nothing is known of that.

    `singled` has a change for each number of known items; `hidden` is the share of what people's records hold that the
    release does not show with them.
    """

    people: int
    singled: tuple[Change, ...]
    linked: Change = Change()
    inferred: Change = Change()
    implied: int | None = None
    implied_raw: int | None = None
    hidden: float | None = None

    def figures(self) -> Iterator[Figure]:
        """As the store keeps them, each of so many people."""
        yield POOLED, "people", self.people, self.people, None
        for known, change in enumerate(self.singled, 1):
            yield from self._change(f"singled_{known}", change)
        yield from self._change("linked", self.linked)
        yield from self._change("inferred", self.inferred)
        yield from self._figure("implied", self.implied)
        yield from self._figure("implied_raw", self.implied_raw)
        if self.hidden is not None:
            yield POOLED, "hidden", self.hidden, None, None

    def _change(self, name: str, change: Change) -> Iterator[Figure]:
        yield from self._figure(f"{name}_raw", change.raw)
        yield from self._figure(f"{name}_before", change.before)
        yield from self._figure(name, change.after)
        yield from self._figure(f"{name}_chance", change.chance)

    def _figure(self, name: str, people: float | None) -> Iterator[Figure]:
        if people is not None:
            yield POOLED, name, people, people, self.people


def changes(*ways: Sequence[float] | None) -> tuple[Change, ...]:
    """Counts by 1, 2 and 3 known items of each way, as a change for each number of them."""
    counts: list[Sequence[float | None]] = [way or [None] * MOST_KNOWN for way in ways]
    return tuple(Change(*(way[known] for way in counts)) for known in range(MOST_KNOWN))


def _titles() -> Iterator[FigureTitle]:
    yield FigureTitle("people", "people", "people the card is of", count=True, column=False, published=True)
    for known in range(1, MOST_KNOWN + 1):
        items = "1 item" if known == 1 else f"{known} items"
        yield from _change(f"singled_{known}", f"singled out by {items}", f"found by {items}: no other record fits")
    linked = _change("linked", "linked", "with something rightly put back that was cut off")
    yield from (title for title in linked if title.name != "linked_raw")  # raw records are whole
    yield from _change("inferred", "inferred", "of whom any item is shown, or guessed rightly")
    yield FigureTitle("implied", "implied", "of whom 2 items tell a third", count=True, column=False, published=True)
    yield FigureTitle("implied_raw", "implied raw", "the same of raw data", count=True, column=False, published=True)
    yield FigureTitle("hidden", "hidden", "of what records hold, not shown with them", column=False, published=True)


def _change(name: str, title: str, help_: str) -> Iterator[FigureTitle]:
    """People after an attack, before it, and by chance."""
    before = f"{name}_before"
    yield FigureTitle(name, title, help_, count=True, column=False, before=before)
    yield FigureTitle(f"{name}_raw", f"{title} raw", "the same of raw data", count=True, column=False, published=True)
    yield FigureTitle(before, f"{title} before", "the same as published", count=True, column=False, published=True)
    yield FigureTitle(f"{name}_chance", f"{title} by chance", "after as much at random", count=True, column=False)


FIGURES = tuple(_titles())
