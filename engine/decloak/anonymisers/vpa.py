"""VPA: k^m-anonymity by parts of the items, then by one cut over all of them."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import Guarded, everywhere, settings
from decloak.anonymisers.kernels.parts import vpa
from decloak.anonymisers.method import Anonymiser, Options
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised

__all__ = ["VpaMethod"]


def _make(data: Dataset, options: Options) -> Generalised:
    return everywhere(lambda tree, records: vpa(tree, records, **settings(options)), data, "vpa", options)


def _faults(data: Dataset, release: Generalised, options: Options) -> Iterable[object]:
    return check_generalised(data, release, options["k"], options["m"])


class VpaMethod(Guarded):
    """k^m-anonymity by parts of the domain, then once over all of it."""

    one_cut: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser(
            "vpa", _make, _faults, frozenset({"k", "m", "hierarchy"}), frozenset({"parts", "level", "processes"})
        ),
    )

    method: Literal["vpa"]
    """The name of the method."""
    parts: int = Field(3, ge=1)
    """Into how many parts the items go."""
    level: int = Field(1, ge=0)
    """The level of the hierarchy whose nodes are shared out; 0 are the items."""
    processes: int = Field(1, ge=1, le=64)
    """How many parts are worked on at the same time."""
