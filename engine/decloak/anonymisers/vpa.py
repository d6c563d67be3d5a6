"""VPA: k^m-anonymity by parts of the items, then by one cut over all of them."""

from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, everywhere, km_faults
from decloak.anonymisers.kernels.parts import vpa
from decloak.anonymisers.method import Anonymiser

__all__ = ["VpaMethod"]


class VpaMethod(Guarded):
    """k^m-anonymity by parts of the domain, then once over all of it."""

    one_cut: ClassVar = True
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
