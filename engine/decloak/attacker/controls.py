"""Negative controls: the same attack with permuted training data, which must fall back to the baseline."""

from typing import Literal, get_args

__all__ = ["CONTROLS", "MUST_FAIL", "Control"]

Control = Literal["labels", "contexts", "words", "order"]

CONTROLS: tuple[Control, ...] = get_args(Control)

MUST_FAIL: tuple[Control, ...] = ("labels", "contexts")
"""Controls that leave nothing to learn: an attack has to do better than with any of them."""
