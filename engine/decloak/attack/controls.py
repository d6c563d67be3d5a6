"""What tells whether an attack that learns has learned anything: the same attack, with what it learns from spoilt."""

from typing import Literal, get_args

__all__ = ["CONTROLS", "SPOILT", "Control"]

Control = Literal["labels", "contexts", "words", "order"]

CONTROLS: tuple[Control, ...] = get_args(Control)

SPOILT: tuple[Control, ...] = ("labels", "contexts")
"""Those that leave nothing to be learned: an attack has to be ahead of them."""
