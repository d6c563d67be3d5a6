"""LRA and VPA: k^m-anonymity by AA on parts, of the records (each with a cut of its own) or of the items (one cut)."""

from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, everywhere, in_parts, km_faults
from decloak.anonymisers.kernels.lra_vpa import lra, vpa
from decloak.anonymisers.method import Anonymiser

__all__ = ["LraMethod", "VpaMethod"]


class LraMethod(Guarded):
    """k^m-anonymity by local recoding: similar records together in parts, each with a cut of its own."""

    cut_apart: ClassVar = True
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


class VpaMethod(Guarded):
    """k^m-anonymity by parts of the domain, then once over all of it."""

    one_cut: ClassVar = True
    cut_apart: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("vpa", partial(everywhere, vpa, "vpa"), km_faults, KM, {"parts", "level", "processes"}),
    )

    method: Literal["vpa"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the items go."""
    level: int = Field(1, ge=0)
    """The level of the hierarchy whose nodes are shared out; 0 are the items."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""
