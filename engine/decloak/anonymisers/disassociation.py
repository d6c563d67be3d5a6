"""Disassociation: clusters of records, published as chunks that hide which record had what."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.anonymisers.kernels.disassociation import check_records, disassociate
from decloak.anonymisers.method import Anonymiser, Method, MethodOptions, NewRelease
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.promises import Disassociation
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.errors import DecloakError
from decloak.relate.counting import Cache
from decloak.yaml.part import Found

__all__ = ["DisassociationMethod"]


def _make(data: Dataset, options: MethodOptions) -> Disassociated:
    return disassociate(data, **options).release


def _faults(data: Dataset, release: Disassociated, options: MethodOptions) -> Iterable[object]:
    return check_release(release, k=options["k"], m=options["m"])


class DisassociationMethod(Method):
    """Disassociation: clusters of records, published as chunks that hide which record had what."""

    form: ClassVar = FormName.DISASSOCIATED
    promised: ClassVar = Disassociation
    anonymisers: ClassVar = (Anonymiser("disassociation", _make, _faults, {"k", "m"}, {"max_cluster", "refine"}),)

    method: Literal["disassociation"]
    """The name of the method."""
    k: int = Field(ge=2)
    """How many sub-records must hold an itemset that occurs in a chunk."""
    m: int = Field(ge=1)
    """How many items somebody may know of a person."""
    max_cluster: int | None = Field(None, ge=2)
    """The most records of a cluster, before small clusters are pooled. Without it: a quarter of the records, at most
    1,000 and at least k."""
    refine: bool = False
    """Whether clusters share chunks of items that are rare in each of them."""

    def mistakes(self) -> Found:
        """A cluster holds k records at least."""
        if self.max_cluster is not None and self.max_cluster < self.k:
            message = f"max_cluster is {self.max_cluster} and k is {self.k}"
            yield ("max_cluster",), DecloakError(message, hint="write at least k")

    def check(self, data: Dataset, folder: Folder) -> None:
        """Refuse too few records, and an empty one."""
        check_records(data, self.k)

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease:
        """Disassociate, and keep apart the record behind every row."""
        settings = self.model_dump(exclude={"method", "order"})
        release, truth = disassociate(data, **settings)
        settings["max_cluster"] = release.parameters["max_cluster"]
        self.anonymiser.checked(data, release, settings)
        return NewRelease(release, self.method, settings, truth=np.concatenate(truth))
