"""What stands together in a release, carried over to the items it hides by the traits they have.

X has a row per transaction and a column per plain item, 1 where it is shown. Of N transactions f(x) show x, and C(x, y)
show both. x leans to y by Y(x, y) = (C(x, y) - f(x) f(y) / N) / sqrt(f(x) f(y)), and by nothing to itself. T has the
traits of x in row x. W makes the squares of Y - T W T' least, held back by RIDGE on either side:
W = (T'T + RIDGE)^-1 T' Y T (T'T + RIDGE)^-1. T(x) W T(m) is then what x leans to an item m that no transaction shows.

Items whose own leanings are not to be used are hidden: of tables of plain items their members, for members of true
tables are never seen beside anything either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from decloak.arrays import Floats
from decloak.data.tables import Pair
from decloak.lazy import sparse

__all__ = ["Carrier", "carrier"]

RIDGE = 5.0
DUST = 1e-9
"""Deviations that are left by rounding where all is hidden."""


@dataclass(frozen=True)
class Carrier:
    """The transactions by their plain items, and the traits of all items."""

    place: Mapping[str, int]
    held: "sparse.csc_array[np.float64]"
    traits: Floats

    def distances(self, pairs: Sequence[Pair], hidden: Iterable[str] = ()) -> dict[Pair, float]:
        """How far each member, the second of a pair, is from the first: less its leaning, of the deviation of all.

        The more is hidden, the less is carried over: in one unit what is learned of some holds for others.
        """
        weights = self._weights(hidden)
        firsts, seconds = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
        lean = (self._traits_of(firsts) @ weights) @ self._traits_of(seconds).T
        row, column = ({item: at for at, item in enumerate(side)} for side in (firsts, seconds))
        d = -lean[[row[a] for a, _ in pairs], [column[b] for _, b in pairs]]
        deviation = float(d.std()) if len(d) else 0.0
        d = d / deviation if deviation > DUST else np.zeros_like(d)
        return dict(zip(pairs, d.tolist(), strict=True))

    def _traits_of(self, items: Sequence[str]) -> Floats:
        return np.asarray(self.traits[[self.place[item] for item in items]])

    def _weights(self, hidden: Iterable[str]) -> Floats:
        every, without = self._sums, self._sums_of(sorted({self.place[item] for item in hidden}))
        together, usual, itself, squares = (whole - part for whole, part in zip(every, without, strict=True))
        lean = together.T @ together - np.outer(usual, usual) / max(1, self.held.shape[0]) - itself
        held_back = squares + RIDGE * np.eye(len(squares))
        return np.asarray(np.linalg.solve(held_back, np.linalg.solve(held_back, lean).T).T)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Those of all items, once: what is hidden is little, and is taken off them."""
        return self._sums_of(list(range(len(self.traits))))

    def _sums_of(self, places: Sequence[int]) -> tuple[Floats, Floats, Floats, Floats]:
        """What shown items add up to: T / sqrt(f) in each transaction, T sqrt(f), Y of each to itself, T'T."""
        held = self.held[:, places]
        support: Floats = np.asarray(held.sum(axis=0)).ravel()
        shown = support > 0
        t, root = np.where(shown[:, None], self.traits[places], 0.0), np.sqrt(support)
        together = held @ np.divide(t, root[:, None], out=np.zeros_like(t), where=shown[:, None])
        share = support / max(1, self.held.shape[0])
        return together, root @ t, (t * (1 - share)[:, None]).T @ t, t.T @ t


def carrier(transactions: Sequence[Iterable[str]], items: Sequence[str], traits: Floats) -> Carrier:
    """What carries over from these transactions to any of the items."""
    place = {item: at for at, item in enumerate(items)}
    rows = [sorted({place[item] for item in transaction}) for transaction in transactions]
    starts = np.cumsum([0, *map(len, rows)])
    where = np.array([item for row in rows for item in row], np.int64)
    held = sparse.csr_array((np.ones(len(where)), where, starts), (len(rows), len(items)))
    return Carrier(place, held.tocsc(), traits)
