"""Method partition: k-anonymity of whole records, top-down."""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Literal

from decloak.anonymisers.hierarchies import Hidden, in_parts
from decloak.anonymisers.kernels.top_down import partition
from decloak.anonymisers.method import Anonymiser, MethodOptions
from decloak.counting.generalisation_guarantee import check_alike
from decloak.counting.guarantees import KAnonymity
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised

__all__ = ["PartitionMethod"]


def _faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    return check_alike(data, release, options["k"])


class PartitionMethod(Hidden):
    """k-anonymity of whole records, top-down by local recoding (He and Naughton)."""

    guarantee_type: ClassVar = KAnonymity
    anonymisers: ClassVar = (
        Anonymiser("partition", partial(in_parts, partition, "partition"), _faults, {"k", "hierarchy"}),
    )

    method: Literal["partition"]
    """The name of the method."""
