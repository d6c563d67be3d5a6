"""Methods for k^m-anonymity with one cut of a hierarchy for all records: cut, AA, DA and OA.

Methods LRA and VPA: k^m-anonymity by AA on parts, of the records (one cut each) or of the items (one cut).

Method partition: k-anonymity of whole records, top-down.
"""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, Hidden, Records, in_parts, km_faults, with_one_cut
from decloak.anonymisers.kernels import fast_cut
from decloak.anonymisers.kernels.apriori import aa, da
from decloak.anonymisers.kernels.lra_vpa import lra, vpa
from decloak.anonymisers.kernels.optimal import oa
from decloak.anonymisers.kernels.raised_cut import Walked
from decloak.anonymisers.kernels.top_down import partition
from decloak.anonymisers.method import Anonymiser, MethodOptions
from decloak.counting.generalisation_guarantee import check_alike
from decloak.counting.guarantees import KAnonymity
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.yaml.section import ConfigErrors

__all__ = ["GeneralisationMethod", "LraMethod", "PartitionMethod", "VpaMethod"]


def _cut(tree: Hierarchy, records: Records, k: int, m: int, refine: bool = False) -> Walked:
    nodes = fast_cut.cut(tree, records, k, m)
    return Walked(fast_cut.refine(tree, records, k, m, nodes) if refine else nodes)


def _oa(tree: Hierarchy, records: Records, k: int, m: int) -> Walked:
    """Return the optimal cut. Its search builds no count tree."""
    return Walked(oa(tree, records, k, m))


class GeneralisationMethod(Guarded):
    """k^m-anonymity with one cut for all records: cut is fast, aa and da are from the papers, oa tries every cut."""

    one_cut: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("cut", partial(with_one_cut, _cut, "cut"), km_faults, KM, {"refine"}),
        *(
            Anonymiser(name, partial(with_one_cut, find, name), km_faults, KM)
            for name, find in {"aa": aa, "da": da, "oa": _oa}.items()
        ),
    )

    method: Literal["cut", "aa", "da", "oa"]
    """The name of the method."""
    refine: bool = False
    """True to split labels again, the most expensive first, as far as the guarantee allows (cut)."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error if another method than cut is refined."""
        yield from super().config_errors()
        if self.method != "cut" and "refine" in self.model_fields_set:
            yield ("refine",), DecloakError(f"{self.method} is not refined", hint="delete it, or method: cut")


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
