"""The shape of a part of the exposure family."""

from collections.abc import Callable
from typing import Any, NamedTuple

from decloak.measure.family import AttackedRelease, FigureTitle, Measured

__all__ = ["ExposurePart"]


class ExposurePart(NamedTuple):
    """Titles of figures, and the function that measures them for an attacked release, with a note on missing ones."""

    figures: tuple[FigureTitle, ...]
    measure: Callable[[AttackedRelease[Any]], Measured]
