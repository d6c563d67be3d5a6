"""The shape of a part of the exposure family."""

from collections.abc import Callable
from typing import NamedTuple

from decloak.measure.family import FigureTitle, Measured
from decloak.yaml.part import Part

__all__ = ["ExposurePart"]


class ExposurePart(NamedTuple):
    """Titles of figures, and the function that measures them for an attacked release, with a note on missing ones.

    The function takes the settings by name, where the part has any.
    """

    figures: tuple[FigureTitle, ...]
    measure: Callable[..., Measured]
    settings: type[Part] | None = None
