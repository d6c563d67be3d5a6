"""LRA: k^m-anonymity by parts of the records, each with a cut of its own."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import Guarded, in_parts, settings
from decloak.anonymisers.kernels.parts import lra
from decloak.anonymisers.method import Anonymiser, Options
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised

__all__ = ["LraMethod"]


def _make(data: Dataset, options: Options) -> Generalised:
    return in_parts(lambda tree, records: lra(tree, records, **settings(options)), data, "lra", options)


def _faults(data: Dataset, release: Generalised, options: Options) -> Iterable[object]:
    return check_generalised(data, release, options["k"], options["m"])


class LraMethod(Guarded):
    """k^m-anonymity by local recoding: similar records together in parts, each with a cut of its own."""

    anonymisers: ClassVar = (
        Anonymiser(
            "lra", _make, _faults, frozenset({"k", "m", "hierarchy"}), frozenset({"parts", "flexibility", "processes"})
        ),
    )

    method: Literal["lra"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the records go."""
    flexibility: int = Field(10, ge=0)
    """How many records a border may move, to lie between unlike ones."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""
