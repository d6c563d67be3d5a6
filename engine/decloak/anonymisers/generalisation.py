"""Methods for k^m-anonymity with one cut of a hierarchy for all records: cut, AA, DA and OA.

Methods LRA and VPA: k^m-anonymity by AA on parts, of the records (one cut each) or of the items (one cut).

Method partition: k-anonymity of whole records, top-down.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.hierarchies import KM, Guarded, Hidden, Records, generalise_by, km_faults
from decloak.anonymisers.kernels import fast_cut
from decloak.anonymisers.kernels.count_tree import aa, da, raise_for_absent
from decloak.anonymisers.kernels.lra_vpa import lra, vpa
from decloak.anonymisers.kernels.optimal import oa
from decloak.anonymisers.kernels.top_down import partition
from decloak.anonymisers.method import Anonymiser, MethodOptions, NewRelease, Stopwatch
from decloak.anonymisers.parts import cut_in_parts, hierarchy_by
from decloak.arrays import Ints
from decloak.counting.generalisation_guarantee import check_alike, negative_violations
from decloak.counting.guarantees import KAnonymity, KmAnonymity, NegativeKnowledge
from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import PartedData
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.digest import Config
from decloak.errors import DecloakError
from decloak.yaml.section import ConfigErrors

NOT_BOTH = "'refine' splits labels without regard to absent items, so it does not go with 'negative'"


def _cut(tree: Hierarchy, records: Records, k: int, m: int, refine: bool = False, negative: bool = False) -> Ints:
    if refine and negative:
        raise DecloakError(NOT_BOTH, hint="use one of them")
    nodes = fast_cut.cut(tree, records, k, m)
    if negative:
        return raise_for_absent(tree, records, k, m, nodes)
    return fast_cut.refine(tree, records, k, m, nodes) if refine else nodes


def _cut_faults(data: Dataset, release: Generalised, options: MethodOptions) -> Iterable[object]:
    yield from km_faults(data, release, options)
    if options.get("negative"):
        yield from negative_violations(release.transactions, release.cut, options["k"], options["m"])


class GeneralisationMethod(Guarded):
    """k^m-anonymity with one cut for all records: cut is fast, aa and da are from the papers, oa tries every cut."""

    one_cut: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("cut", partial(generalise_by, _cut, "cut"), _cut_faults, KM, {"refine", "negative"}),
        Anonymiser("aa", partial(generalise_by, aa, "aa"), km_faults, KM),
        Anonymiser("da", partial(generalise_by, da, "da"), km_faults, KM),
        Anonymiser("oa", partial(generalise_by, oa, "oa"), km_faults, KM),
    )

    method: Literal["cut", "aa", "da", "oa"]
    """The name of the method."""
    refine: bool = False
    """True to split labels again, the most expensive first, as far as the guarantee allows (cut)."""
    negative: bool = False
    """True against an attacker who also knows absent items: each combination of up to m labels that a record has or
    has not is in k records or more (cut).
    """

    @classmethod
    def guarantee_for(cls, parameters: Config) -> type[KmAnonymity]:
        """Return the guarantee of a release with these `parameters`."""
        return NegativeKnowledge if parameters.get("negative") else KmAnonymity

    @property
    def splits_records(self) -> bool:
        """True for a cut that the counts of pairs decide, of a hierarchy that needs no more than the items."""
        hierarchy = self.hierarchy.by in (None, "names", "popularity", "random")
        return hierarchy and self.method == "cut" and self.m == 2 and not (self.refine or self.negative)

    def publish_parts(
        self, data: PartedData, folder: Folder, seed: int, store: Path, original: str, key: str, secret: str
    ) -> NewRelease[Published]:
        """Write the release of `data` as files beside `store`, and return it; `folder` and `seed` are as in `make`.

        `original` and `key` are the keys of the data and of the release. Random choices depend on `secret`, which
        only an owner of the data knows.
        """
        clock = Stopwatch()
        if self.hierarchy.by is None:
            tree = self.hierarchy.read(folder)
        else:
            tree = hierarchy_by(data, self.hierarchy.by, self.hierarchy.fanout, seed)
        release, loss, notes = cut_in_parts(data, tree, self.k, store, original, key, secret)
        parameters = {"k": self.k, "m": self.m, "order": self.order}
        return NewRelease(release, self.method, parameters, loss | clock.seconds, tree, notes=notes)

    def config_errors(self) -> ConfigErrors:
        """Yield an error if another method than cut has the settings of cut, and if both are set."""
        yield from super().config_errors()
        for key in sorted({"refine", "negative"} & self.model_fields_set if self.method != "cut" else ()):
            yield (key,), DecloakError(f"{self.method} has no '{key}'", hint="delete it, or method: cut")
        if self.refine and self.negative:
            yield ("refine",), DecloakError(NOT_BOTH, hint="delete one of them")


class LraMethod(Guarded):
    """k^m-anonymity by local recoding: parts of similar records, each with its own cut."""

    splits_work: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("lra", partial(generalise_by, lra, "lra"), km_faults, KM, {"parts", "flexibility", "processes"}),
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
        Anonymiser("vpa", partial(generalise_by, vpa, "vpa"), km_faults, KM, {"parts", "level", "processes"}),
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
        Anonymiser("partition", partial(generalise_by, partition, "partition"), _faults, {"k", "hierarchy"}),
    )

    method: Literal["partition"]
    """The name of the method."""
