"""The guarantee against pairs of items: a known pair finds its record with a probability of at most 1/k."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from decloak.counting.guarantees import Disassociation
from decloak.data.disassociated import Disassociated
from decloak.measure.kernels.link_probability import risky_pairs

__all__ = ["PairLinks"]


@dataclass(frozen=True)
class PairLinks(Disassociation):
    """A guarantee about pairs, which disassociation does not give. It is checked for an attacker without the algorithm,
    and for one with the algorithm.
    """

    columns: ClassVar = ("cluster", "itemset", "by the release", "knowing the algorithm", "standard error")
    parts: ClassVar = ("violations",)

    @property
    def statement(self) -> str:
        return f"k = {self.k}"

    def violations(self, release: Disassociated) -> Iterable[tuple[object, ...]]:
        surer = risky_pairs(replace(release, k=self.k, m=self.m))
        rows = [(number, link.itemset, link.release, link.algorithm, link.error) for number, link in surer]
        return sorted(rows, key=lambda row: (-max(row[2] or 0, row[3] or 0), row[0], row[1]))
