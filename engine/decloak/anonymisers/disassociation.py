"""Method disassociation: clusters of records, published as chunks that hide which record had which items."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.anonymisers.chunk_parts import disassociate_in_parts
from decloak.anonymisers.kernels.disassociation import CoverCure, check_records, disassociate
from decloak.anonymisers.method import Anonymiser, Method, MethodOptions, NewRelease, Stopwatch
from decloak.attacker.cover import cover_problems
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.guarantees import Disassociation
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import PartedData
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.errors import DecloakError
from decloak.relate.counting import Cache
from decloak.yaml.section import ConfigErrors


def _faults(data: Dataset, release: Disassociated, options: MethodOptions) -> Iterable[object]:
    yield from check_release(release, k=options["k"], m=options["m"])
    if options.get("cover"):
        yield from cover_problems(release)


class DisassociationMethod(Method):
    """Disassociation: clusters of records, published as chunks that hide which record had which items."""

    form: ClassVar = FormName.DISASSOCIATED
    guarantee_type: ClassVar = Disassociation
    anonymisers: ClassVar = (
        Anonymiser("disassociation", lambda data, options: disassociate(data, **options).release, _faults, {"k", "m"},
                   {"max_cluster", "refine", "cover", "totals"}),
    )  # fmt: skip

    method: Literal["disassociation"]
    """The name of the method."""
    k: int = Field(ge=2)
    """The least number of sub-records with an itemset that occurs in a chunk."""
    m: int = Field(ge=1)
    """The number of items that an attacker may know of a person."""
    max_cluster: int | None = Field(None, ge=2)
    """The largest number of records of a cluster, before small clusters are merged. Default: a quarter of the records,
    at most 1,000 and at least k.
    """
    refine: bool = False
    """True if clusters share chunks of items that are rare in each of them."""
    cover: CoverCure | None = None
    """The cure of cover problems: `cure` suppresses single occurrences and moves items to term chunks, `suppress` moves
    none. It cures the guarantee; attacks recover hardly less. Without it, cover problems stay.
    """
    totals: bool = False
    """True to publish the support of every item in k or more records next to the clusters."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors for clusters of fewer than k records, and for cured clusters that share chunks."""
        if self.cover is not None and self.refine:
            hint = "delete one of them: shared chunks could bring cover problems back"
            yield ("cover",), DecloakError("refine: true cannot be combined with cover", hint=hint)
        if self.max_cluster is not None and self.max_cluster < self.k:
            message = f"max_cluster is {self.max_cluster} and k is {self.k}"
            yield ("max_cluster",), DecloakError(message, hint="write at least k")

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error if `data` have too few records, or an empty one. `folder` is not used."""
        check_records(data, self.k)

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Disassociated]:
        """Return the release of `data`, and separately the record behind every row. `folder`, `seed` and `cache` are
        not used.
        """
        settings = self.model_dump(exclude={"method", "order", *self._unset_options})
        clock = Stopwatch()
        made = disassociate(data, **settings)
        # The default depends on the data, so the size that was used is stated.
        settings["max_cluster"] = made.release.parameters["max_cluster"]
        # The anonymiser returns no truth, so that the release is made without it and checked here.
        self.anonymiser.checked(data, made.release, settings)
        loss = {"cut": len(made.cut) / max(1, len(data.rows.codes)), "moved": made.moved} if self.cover else {}
        loss |= clock.seconds
        return NewRelease(
            made.release, self.method, settings, loss=loss, truth=np.concatenate(made.truth), cut=made.cut
        )

    @property
    def splits_records(self) -> bool:
        """True if no cluster depends on another: shared chunks and supports of items need all records."""
        return not (self.refine or self.totals)

    def publish_parts(
        self, data: PartedData, folder: Folder, seed: int, store: Path, original: str, key: str, secret: str
    ) -> NewRelease[Disassociated]:
        """Write the release of `data` as files beside `store`, and return it; `folder` and `seed` are not used.

        `original` is not used either. `key` is the key of the release. Random choices depend on `secret`, which only an
        owner of the data knows.
        """
        # The order stays among the settings: `publish`, which adds it elsewhere, is not used.
        settings = self.model_dump(exclude={"method", *self._unset_options})
        clock = Stopwatch()
        release, loss, notes = disassociate_in_parts(
            data, self.k, self.m, self.max_cluster, self.cover, store, key, secret
        )
        settings["max_cluster"] = release.parameters["max_cluster"]
        return NewRelease(release, self.method, settings, loss | clock.seconds, notes=notes)

    @property
    def _unset_options(self) -> set[str]:
        """The newer options that are not set: without them, parameters are the same as in older versions."""
        return {name for name in ("cover", "totals") if not getattr(self, name)}
