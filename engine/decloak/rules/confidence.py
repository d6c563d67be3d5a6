"""The probability that each finding of an attack is right, estimated from the attacker's own view."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from decloak.arrays import Floats

__all__ = ["Confidence"]


@dataclass(frozen=True, eq=False)
class Confidence:
    """The probability `p` of every finding in order, NaN where none is known; or the `reason` why there are none."""

    p: Floats | None
    reason: str | None = None
    CERTAIN: ClassVar["Confidence"]
    """Confidence of findings that follow from the release with certainty."""

    @classmethod
    def of(cls, p: Floats) -> "Confidence":
        """Return the confidence with the probabilities `p`; unavailable if all of them are NaN."""
        # All NaN means that the rule found nothing: a list of unknown probabilities would say less.
        return cls(np.asarray(p, np.float64)) if np.isfinite(p).any() else cls.unavailable("nothing was found")

    @classmethod
    def unavailable(cls, reason: str) -> "Confidence":
        """Return a confidence without probabilities; decloak prints the `reason` in their place."""
        return cls(None, reason)


Confidence.CERTAIN = Confidence.unavailable("it follows from the release and is certain")
