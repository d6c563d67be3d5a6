"""How likely each finding of an attack is right, as far as somebody can know who has no more than the attacker has."""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats

__all__ = ["FACT", "Confidence", "known", "unsure"]


class Confidence(NamedTuple):
    """The probability of every finding in order, NaN where none is known; or why there are none."""

    p: Floats | None
    reason: str | None = None


def unsure(reason: str) -> Confidence:
    """No probabilities."""
    return Confidence(None, reason)


FACT = unsure("it follows from what is published, and guesses nothing")


def known(p: Floats) -> Confidence:
    return Confidence(np.asarray(p, np.float64)) if np.isfinite(p).any() else unsure("nothing was found")
