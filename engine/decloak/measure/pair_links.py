"""The promise that nobody who knows a pair of items finds its record more surely than one in k."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from decloak.counting.promises import Disassociation
from decloak.data.disassociated import Disassociated
from decloak.measure.kernels.link_probability import above

__all__ = ["PairLinks"]


@dataclass(frozen=True)
class PairLinks(Disassociation):
    """Disassociation does not promise it; what breaks it is found by the release alone, or knowing the algorithm."""

    columns: ClassVar = ("cluster", "itemset", "by the release", "knowing the algorithm", "standard error")

    @property
    def words(self) -> str:
        return f"k = {self.k}"

    def broken(self, release: Disassociated) -> Iterable[tuple[Any, ...]]:
        surer = above(replace(release, k=self.k, m=self.m))
        rows = [(number, link.itemset, link.release, link.algorithm, link.error) for number, link in surer]
        return sorted(rows, key=lambda row: (-max(row[2] or 0, row[3] or 0), row[0], row[1]))
