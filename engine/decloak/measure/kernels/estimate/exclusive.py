"""Estimates for items that exclude each other: no person has two of them."""

from dataclasses import dataclass

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.measure.kernels.estimate.estimator import Estimator

__all__ = ["ExclusiveEstimates"]


@dataclass(frozen=True)
class ExclusiveEstimates:
    """An estimator that knows groups of exclusive items: `group` has the number of the group of each item, or -1."""

    estimator: Estimator
    group: Ints

    @property
    def items(self) -> int:
        return self.estimator.items

    def supports(self, itemsets: Ints) -> Floats:
        found: Floats = np.where(self._exclusive_itemsets(itemsets), 0.0, self.estimator.supports(itemsets))
        return found

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        found: Floats = np.where(self._exclusive_itemsets(itemsets), 0.0, self.estimator.weights(itemsets, records))
        return found

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        supports, found = self.estimator.extended(itemsets)
        groups = self._groups(itemsets)
        for known in groups:
            found = np.where((known[:, None] >= 0) & (known[:, None] == self.group[None, :]), 0.0, found)
        impossible = self._exclusive_itemsets(itemsets)
        return np.where(impossible, 0.0, supports), np.where(impossible[:, None], 0.0, found)

    def _groups(self, itemsets: Ints) -> Ints:
        groups: Ints = np.where(itemsets >= 0, np.append(self.group, -1)[itemsets], -1)
        return groups

    def _exclusive_itemsets(self, itemsets: Ints) -> Mask:
        groups = np.sort(self._groups(itemsets), axis=0)
        twice: Mask = ((groups[1:] == groups[:-1]) & (groups[1:] >= 0)).any(axis=0)
        return twice
