"""Negative controls of an attack that learns from a disassociated release: the same attack with permuted training data.

`labels` gives every pair of items the score of another pair, and learns weights from records that had the removed items
in another order (`fitted`). Permuted weights alone leave too much, because any positive weights rank rows correctly.
`contexts` permutes the anchors of a cluster among its rows, `order` renumbers its rows, which must change nothing.
"""

from collections.abc import Sequence

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.knowledge_levels import Control
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import AnchoredRows

__all__ = ["NegativeControl"]


class NegativeControl:
    """The changes of a control to an attack; without a control there are none."""

    def __init__(self, control: Control | None, seed: int = 0) -> None:
        self.control = control
        self._rng = np.random.default_rng(0 if control is None else seed)
        self._places: dict[int, Ints] = {}

    def features(self, features: Floats) -> Floats:
        """Return the `features` of removed items, permuted for the control `labels`."""
        return self._rng.permutation(features) if self.control == "labels" else features

    def scores(self, scores: Floats) -> Floats:
        """Return the `scores` of pairs, permuted for the control `labels`."""
        return self._rng.permutation(scores) if self.control == "labels" else scores

    def cases(self, cases: Sequence[ClusterCase]) -> list[ClusterCase]:
        """Return the clusters `cases`, with their rows in another order for the control `order`."""
        return [self._shuffle_rows(case) for case in cases] if self.control == "order" else list(cases)

    def _shuffle_rows(self, case: ClusterCase) -> ClusterCase:
        places = self._places[case.number] = self._rng.permutation(len(case.rows.of_row))
        of_row = tuple(case.rows.of_row[place] for place in places.tolist())
        return case._replace(rows=AnchoredRows(case.rows.anchors, of_row))

    def restore_order(
        self, case: ClusterCase, rows: list[tuple[int, ...]]
    ) -> tuple[ClusterCase, list[tuple[int, ...]]]:
        """Return the cluster `case` and the `rows` of its units in the published order."""
        places = self._places.get(case.number)
        if places is None:
            return case, rows
        of_row = np.empty(len(places), np.int64)
        of_row[places] = case.rows.of_row
        case = case._replace(rows=AnchoredRows(case.rows.anchors, tuple(of_row.tolist())))
        return case, [tuple(sorted(places[list(unit)].tolist())) for unit in rows]

    def values(self, batch: Sequence[ClusterCase], values: Floats) -> Floats:
        """Return the `values` of units and anchors of `batch`, with permuted anchors for the control `contexts`."""
        if self.control != "contexts":
            return values
        values, first = values.copy(), 0
        for case in batch:
            units, anchors = slice(first, first + len(case.units)), len(case.rows.anchors)
            values[units, :anchors] = values[units, self._rng.permutation(anchors)]
            first = units.stop
        return values
