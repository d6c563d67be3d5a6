"""Co-occurrence of hidden items, predicted from the co-occurrence of published items by ridge regression on item
features.

X has a row per transaction and a column per plain item, 1 where the transaction has the item. Of N transactions f(x)
contain x, and C(x, y) contain both. The association of x with y is Y(x, y) = (C(x, y) - f(x) f(y) / N) / sqrt(f(x)
f(y)), and 0 for x with itself. Row x of T has the features of item x. W minimises the sum of squares of Y - T W T',
with the penalty RIDGE on either side: W = (T'T + RIDGE)^-1 T' Y T (T'T + RIDGE)^-1. Then T(x) W T(m) predicts the
association of x with a hidden item m.

For tables of plain items the members are hidden as well: the members of real tables are never seen with other items
either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import Pairs, ScoredPairs, first_occurrences
from decloak.data.tables import Pair
from decloak.lazy import sparse

__all__ = ["CooccurrenceModel", "cooccurrence_model"]

RIDGE = 5.0
ROUNDING = 1e-9
"""Standard deviations below this come from rounding alone."""


@dataclass(frozen=True)
class CooccurrenceModel:
    """Transactions by their plain items, and the features of all items."""

    column_of: Mapping[str, int]
    occurrences: "sparse.csc_array[np.float64]"
    features: Floats

    def distances(self, pairs: Sequence[Pair], hidden: Iterable[str] = ()) -> ScoredPairs:
        """Predict the distance of each of `pairs`, from the first item to the second; return them by pair.

        A distance is minus the predicted association, in units of the standard deviation of all predictions. The
        associations of the `hidden` items are left out. The more is hidden, the smaller are the predictions: in one
        unit, what holds for some holds for the others.
        """
        weights = self._weights(hidden)
        pairs = Pairs.of(pairs)
        # Each item of a side is computed once, however many pairs it is in.
        (firsts, row), (seconds, column) = (_in_order(side) for side in (pairs.a, pairs.b))
        left, right = (self._features_of([pairs.items[code] for code in side.tolist()]) for side in (firsts, seconds))
        d = -((left @ weights) @ right.T)[row, column]
        # One unit for all tables: without it, distances of tables with many hidden items would look small.
        deviation = float(d.std()) if len(d) else 0.0
        d = d / deviation if deviation > ROUNDING else np.zeros_like(d)
        return ScoredPairs(pairs, d)

    def _features_of(self, items: Sequence[str]) -> Floats:
        return np.asarray(self.features[[self.column_of[item] for item in items]])

    def _weights(self, hidden: Iterable[str]) -> Floats:
        # Few items are hidden, so that subtracting their sums is much cheaper than summing over all others.
        every, without = self._sums, self._sums_over(sorted({self.column_of[item] for item in hidden}))
        together, usual, itself, squares = (whole - part for whole, part in zip(every, without, strict=True))
        lean = together.T @ together - np.outer(usual, usual) / max(1, self.occurrences.shape[0]) - itself
        held_back = squares + RIDGE * np.eye(len(squares))
        return np.asarray(np.linalg.solve(held_back, np.linalg.solve(held_back, lean).T).T)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums over all items, computed once: few items are hidden, and their part is subtracted."""
        return self._sums_over(list(range(len(self.features))))

    def _sums_over(self, places: Sequence[int]) -> tuple[Floats, Floats, Floats, Floats]:
        """Sum over the published items of these columns:

        T / sqrt(f) in each transaction, T sqrt(f), Y of each with itself, T'T.
        """
        occurrences = self.occurrences[:, places]
        support: Floats = np.asarray(occurrences.sum(axis=0)).ravel()
        shown = support > 0
        t, root = np.where(shown[:, None], self.features[places], 0.0), np.sqrt(support)
        together = occurrences @ np.divide(t, root[:, None], out=np.zeros_like(t), where=shown[:, None])
        share = support / max(1, self.occurrences.shape[0])
        return together, root @ t, (t * (1 - share)[:, None]).T @ t, t.T @ t


def _in_order(codes: Ints) -> tuple[Ints, Ints]:
    """Return every one of `codes` once, in order of first appearance, and the place of each among these."""
    different = first_occurrences([codes.astype(np.int64)])
    order = np.argsort(different)
    return different, order[np.searchsorted(different[order], codes)]


def cooccurrence_model(
    transactions: Sequence[Iterable[str]], items: Sequence[str], features: Floats
) -> CooccurrenceModel:
    """Return the model of `transactions` for all `items`, whose `features` are the rows of a matrix."""
    column_of = {item: at for at, item in enumerate(items)}
    rows = [sorted({column_of[item] for item in transaction}) for transaction in transactions]
    starts = np.cumsum([0, *map(len, rows)])
    where = np.array([item for row in rows for item in row], np.int64)
    occurrences = sparse.csr_array((np.ones(len(where)), where, starts), (len(rows), len(items)))
    return CooccurrenceModel(column_of, occurrences.tocsc(), features)
