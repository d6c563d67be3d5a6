"""The figures of linkage, the same of every published form: of who knows 1, 2, 3 items of a person, or all but one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from decloak.measure.family import POOLED, WAYS, Figure, FigureTitle
from decloak.measure.kernels.known_items import LEVELS
from decloak.measure.kernels.looked_up import LookedUp
from decloak.measure.kernels.statistics import COUNT, GAIN

__all__ = ["FIGURES", "figures_of", "gain"]

_WORDS = {"1": "1 item", "2": "2 items", "3": "3 items", "rest": "all but 1"}
_COUNTS = {
    "found": "people rightly named by taking any candidate",
    "one": "people whose record is the only candidate",
    "few": "people whose record is one of fewer than k",
    "lost": "people whose record is no candidate",
}
_SIZES = {"candidates": "records that may be the person's, the mean", "middle": "the same, the median"}
_GUESSES = {
    "guessed": "people whose likeliest further item is right",
    "control": "the same of people not in the data",
    "blind": "the same by the most frequent item",
}


def figures_of(level: str, ending: str, ways: Sequence[LookedUp], guessable: int, k: int) -> Iterator[Figure]:
    """What was looked up, the mean over draws, under names with an ending; of so many people is a guess to be made."""
    people = len(ways[0].candidates)
    for name, count in _counts(ways, k).items():
        of = guessable if name == "guessed" else people
        if of:  # of nobody a zero would pass for safety
            yield POOLED, f"{name}_{level}{ending}", count, count, of
    yield POOLED, f"candidates_{level}{ending}", float(np.mean([way.candidates for way in ways])), None, None
    middle = float(np.mean([np.median(way.candidates) for way in ways]))
    yield POOLED, f"middle_{level}{ending}", middle, None, None


def _counts(ways: Sequence[LookedUp], k: int) -> Mapping[str, float]:
    counts = {
        "found": [way.found.sum() for way in ways],
        "one": [(way.candidates[~way.lost] == 1).sum() for way in ways],
        "few": [(way.candidates[~way.lost] < k).sum() for way in ways],
        "lost": [way.lost.sum() for way in ways],
        "guessed": [way.guessed.sum() for way in ways],
    }
    return {name: float(np.mean(values)) for name, values in counts.items()}


def gain(right: float, baseline: float) -> float | None:
    """Of those whom a share guesses wrongly, the share that is guessed rightly instead."""
    return (right - baseline) / (1 - baseline) if baseline < 1 else None


def _titles() -> Iterator[FigureTitle]:
    for level in LEVELS:
        by = f"by {_WORDS[level]}"
        for name, help_ in {**_COUNTS, **_SIZES, **_GUESSES}.items():
            title = FigureTitle(f"{name}_{level}", f"{name} {by}", f"{help_}, {by}", count=True, column=False)
            if name in _SIZES:
                title = replace(title, count=False, bounds=COUNT)
            if name == "blind":
                yield replace(title, published=True)
            else:
                yield from _ways(replace(title, column=level == "2" and name in ("found", "guessed")), name)
        title = FigureTitle(f"gain_{level}", f"gain {by}", f"of what control, or blind, has wrong, right, {by}")
        yield from _ways(replace(title, column=False, bounds=GAIN), "gain")


def _ways(title: FigureTitle, name: str) -> Iterator[FigureTitle]:
    """After an attack, as published, in the raw data, and by chance: what there is of these."""
    yield replace(title, before=f"{title.name}_release")
    for ending, way in WAYS.items():
        if ending not in ("", "_control") and (ending == "_release" or name not in ("control", "gain")):
            yield replace(
                title,
                name=f"{title.name}{ending}",
                title=f"{title.title}, {way}",
                help=f"the same, {way}",
                column=False,
                published=ending != "_baseline",
            )


FIGURES = tuple(_titles())
