"""Method suppression: k^m-anonymity without a hierarchy, by leaving out items or single occurrences."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.kernels.suppression import suppress_cells, suppress_items
from decloak.anonymisers.method import Anonymiser, GeneralisingMethod, MethodOptions, NewRelease, Stopwatch, item_matrix
from decloak.checks import check_enough
from decloak.counting.guarantees import KmAnonymity
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote
from decloak.relate.counting import Cache

SEARCHES = {"items": suppress_items, "cells": suppress_cells}


def _make(data: Dataset, options: MethodOptions) -> Published:
    """Return `data` without the occurrences that the search of `options` suppresses; items ascend in each record."""
    search = SEARCHES.get(options["suppress"])
    if search is None:
        hint = f"give suppress as {' or '.join(SEARCHES)}"
        raise DecloakError(f"suppress is {quote(options['suppress'])}", hint=hint)
    records = search(item_matrix(data), options["k"], options["m"])
    return Published(CodedRows(records.indptr, records.indices, data.items), data.labels, data.origin)


def _faults(data: Dataset, release: Published, options: MethodOptions) -> Iterable[object]:
    shown = zip(release.transactions, data.transactions, strict=True)
    yield from (f"{row} shows more than its record" for row, record in shown if not set(row) <= set(record))
    yield from KmAnonymity(options["k"], options["m"]).violations(Generalised.of(release))


class SuppressionMethod(GeneralisingMethod):
    """Suppression: k^m-anonymity without a hierarchy. It is a baseline for other methods."""

    guarantee_type: ClassVar = KmAnonymity
    anonymisers: ClassVar = (Anonymiser("suppression", _make, _faults, {"k", "m", "suppress"}),)

    method: Literal["suppression"]
    """The name of the method."""
    suppress: Literal["items", "cells"]
    """`items` leaves items out of all records, `cells` leaves single occurrences out."""
    k: int = Field(ge=1)
    """The least number of records with an itemset that occurs."""
    m: int = Field(ge=1)
    """The number of items that an attacker may know of a person."""

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error if `data` have too few records. `folder` is not used."""
        check_enough(sum(map(bool, data.transactions)), self.k)

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return the release of `data`. `folder`, `seed` and `cache` are not used."""
        settings = {"suppress": self.suppress, "k": self.k, "m": self.m}
        clock = Stopwatch()
        release = self.anonymiser(data, settings)
        suppressed = sorted(set(data.items) - set(release.rows.used_names))
        occurrences = len(data.rows.codes)
        cut = 1 - len(release.rows.codes) / occurrences if occurrences else 0.0
        loss = {"cut": cut, "suppressed": len(suppressed), **clock.seconds}
        return NewRelease(release, self.method, settings, loss, suppressed=suppressed)
