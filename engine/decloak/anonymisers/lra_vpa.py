"""Methods LRA and VPA: k^m-anonymity by AA on parts, of the records (one cut each) or of the items (one cut)."""

from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, in_parts, km_faults, with_one_cut
from decloak.anonymisers.kernels.lra_vpa import lra, vpa
from decloak.anonymisers.method import Anonymiser

__all__ = ["LraMethod", "VpaMethod"]


class LraMethod(Guarded):
    """k^m-anonymity by local recoding: parts of similar records, each with its own cut."""

    splits_work: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("lra", partial(in_parts, lra, "lra"), km_faults, KM, {"parts", "flexibility", "processes"}),
    )

    method: Literal["lra"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """The number of parts of the records."""
    flexibility: int = Field(10, ge=0)
    """The number of records by which a border may move to separate different records."""
    processes: int = Field(1, ge=1, le=64)
    """The number of parts that are processed at the same time."""


class VpaMethod(Guarded):
    """k^m-anonymity by parts of the items, then once over all of them."""

    one_cut: ClassVar = True
    splits_work: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("vpa", partial(with_one_cut, vpa, "vpa"), km_faults, KM, {"parts", "level", "processes"}),
    )

    method: Literal["vpa"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """The number of parts of the items."""
    level: int = Field(1, ge=0)
    """The level of the hierarchy whose nodes are distributed; 0 are the items."""
    processes: int = Field(1, ge=1, le=64)
    """The number of parts that are processed at the same time."""
