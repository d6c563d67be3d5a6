"""Controls of an attack that learns from a disassociated release: the same attack with what it goes by spoilt.

`labels` gives every pair of items the score of another pair, and weighs scores by records that had the torn items in
another order (`fitted`): weights alone leave too much, for any that are positive rank rows as the right ones do.
`contexts` deals the anchors of a cluster out anew among its rows, `order` numbers its rows anew, which must change
nothing.
"""

from collections.abc import Sequence

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attack.controls import Control
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import AnchoredRows

__all__ = ["Spoiler"]


class Spoiler:
    """What a control does on the way of an attack; none does nothing."""

    def __init__(self, control: Control | None, seed: int = 0) -> None:
        self.control = control
        self._rng = np.random.default_rng(0 if control is None else seed)
        self._places: dict[int, Ints] = {}

    def features(self, features: Floats) -> Floats:
        """What torn items have to go by, of other records where labels are spoilt."""
        return self._rng.permutation(features) if self.control == "labels" else features

    def scores(self, scores: Floats) -> Floats:
        """How near pairs of items are, of other pairs where labels are spoilt."""
        return self._rng.permutation(scores) if self.control == "labels" else scores

    def cases(self, cases: Sequence[ClusterCase]) -> list[ClusterCase]:
        """Clusters, their rows in another order where that is spoilt."""
        return [self._dealt(case) for case in cases] if self.control == "order" else list(cases)

    def _dealt(self, case: ClusterCase) -> ClusterCase:
        places = self._places[case.number] = self._rng.permutation(len(case.rows.of_row))
        of_row = tuple(case.rows.of_row[place] for place in places.tolist())
        return case._replace(rows=AnchoredRows(case.rows.anchors, of_row))

    def restored(self, case: ClusterCase, rows: list[tuple[int, ...]]) -> tuple[ClusterCase, list[tuple[int, ...]]]:
        """A cluster and the rows of its units in the order that is published."""
        places = self._places.get(case.number)
        if places is None:
            return case, rows
        of_row = np.empty(len(places), np.int64)
        of_row[places] = case.rows.of_row
        case = case._replace(rows=AnchoredRows(case.rows.anchors, tuple(of_row.tolist())))
        return case, [tuple(sorted(places[list(unit)].tolist())) for unit in rows]

    def values(self, batch: Sequence[ClusterCase], values: Floats) -> Floats:
        """The values of units and anchors, the anchors of each cluster dealt out anew where contexts are spoilt."""
        if self.control != "contexts":
            return values
        values, first = values.copy(), 0
        for case in batch:
            units, anchors = slice(first, first + len(case.units)), len(case.rows.anchors)
            values[units, :anchors] = values[units, self._rng.permutation(anchors)]
            first = units.stop
        return values
