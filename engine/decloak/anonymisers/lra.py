"""LRA: k^m-anonymity by parts of the records, each with a cut of its own."""

from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, in_parts, km_faults
from decloak.anonymisers.kernels.parts import lra
from decloak.anonymisers.method import Anonymiser

__all__ = ["LraMethod"]


class LraMethod(Guarded):
    """k^m-anonymity by local recoding: similar records together in parts, each with a cut of its own."""

    anonymisers: ClassVar = (
        Anonymiser("lra", partial(in_parts, lra, "lra"), km_faults, KM, {"parts", "flexibility", "processes"}),
    )

    method: Literal["lra"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the records go."""
    flexibility: int = Field(10, ge=0)
    """How many records a border may move, to lie between unlike ones."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""
