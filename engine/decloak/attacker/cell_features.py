"""Features of a cell of a distance table, from which a classifier predicts whether the member is original.

A table has a row per record, with its context, and a column per member. For each measure there is the mean and the
smallest of the distances between the member and the items of the context. For each of these, and for the number of
context items that share a word with the member, there are five features. They are the value, the value minus the mean
of its row, minus the mean of its column, minus both, and its rank in the row from 0 to 1. Two more features are the
logarithms of the number of rows and columns. An unknown distance is replaced by the mean of its table, or by the mean
of the measure in all tables.

Features of items, published or hidden: their distances to frequent items, their spelling and other records.

For each measure there are the distances to the LANDMARKS most frequent plain items, minus the mean of each of these (an
unknown distance is the mean). For spelling there are the runs of three and four letters in the words of an item. For
other records of the population there are the records that contain the item, weighted less the more often the
item occurs. What occurs in n of them has the weight 1 / sqrt(n). Each block is reduced to its RANK leading directions,
u sqrt(s), scaled so that its vectors have a mean square length of 1.

Co-occurrence of hidden items, predicted from the co-occurrence of published items by ridge regression on item
features.

X has a row per record and a column per plain item, 1 where the record has the item. Of N records f(x)
contain x, and C(x, y) contain both. The association of x with y is Y(x, y) = (C(x, y) - f(x) f(y) / N) / sqrt(f(x)
f(y)), and 0 for x with itself. Row x of T has the features of item x. W minimises the sum of squares of Y - T W T',
with the penalty RIDGE on either side: W = (T'T + RIDGE)^-1 T' Y T (T'T + RIDGE)^-1. Then T(x) W T(m) predicts the
association of x with a hidden item m.

For tables of plain items the members are hidden as well: the members of real tables are never seen with other items
either.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import Context, Pair, Pairs, ScoredPairs, first_occurrences
from decloak.lazy import sparse

_WORD = re.compile(r"[^\W_]+")

Scores = Mapping[Pair, float | None]


class Occurrences(NamedTuple):
    """Members (columns) of a table and the contexts of its rows; no context is empty."""

    members: tuple[str, ...]
    contexts: Sequence[Context]


def pairs_of(tables: Sequence[Occurrences]) -> list[Pair]:
    """Return every pair of a context item and a member that the features of `tables` need, once."""
    of_table = (product(_context_items(table), table.members) for table in tables)
    return list(dict.fromkeys(chain.from_iterable(of_table)))


def _context_items(table: Occurrences) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(table.contexts)))


def words_of(items: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the set of lower-case words in the name of each of `items`."""
    return {item: frozenset(_WORD.findall(item.lower())) for item in items}


def cell_features(
    tables: Sequence[Occurrences],
    measures: Sequence[Scores],
    own: Sequence[Sequence[Scores]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """Return the features of every cell of `tables`, table after table and row after row.

    `measures` are the scores by each measure, and `own` the scores of further measures, for each table. Without
    `spelling` the count of shared words is 0.
    """
    measures = [ScoredPairs.of(scores) for scores in measures]
    usual = [_mean_score(scores) for scores in measures] + [0.0] * len(own)
    items = {item for table in tables for item in chain(table.members, *table.contexts)}
    words = words_of(items) if spelling else dict.fromkeys(items, frozenset[str]())
    by_table = list(zip(*own, strict=True)) if own else [()] * len(tables)
    cells = (
        _table_features(table, [*measures, *further], usual, words)
        for table, further in zip(tables, by_table, strict=True)
    )
    # The empty array gives concatenate its shape where there are no tables.
    return np.concatenate([np.zeros((0, 10 * len(usual) + 7)), *cells])


def _mean_score(scores: Scores) -> float:
    finite = ScoredPairs.of(scores).numbers
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if len(finite) else 0.0


def _table_features(
    table: Occurrences, measures: Sequence[Scores], usual: Sequence[float], words: Mapping[str, frozenset[str]]
) -> Floats:
    items = _context_items(table)
    place = {item: at for at, item in enumerate(items)}
    # All contexts are concatenated, and `starts` marks where each begins: reduceat then sums over each context at once.
    picked = np.array([place[item] for context in table.contexts for item in context])
    starts = np.cumsum([0, *map(len, table.contexts[:-1])])
    d = np.array([ScoredPairs.of(scores).block(items, table.members) for scores in measures])
    d = d.reshape(len(measures), len(items), len(table.members))
    shares = np.array([[bool(words[item] & words[member]) for member in table.members] for item in items], float)
    kinds = [*_distances(d, picked, starts, np.repeat(usual, 2)), np.add.reduceat(shares[picked], starts, axis=0)]
    cells = _with_deviations(np.array(kinds)).reshape(len(table.contexts) * len(table.members), -1)
    logs = np.log([len(table.contexts), len(table.members)])
    return np.column_stack([cells, np.broadcast_to(logs, (len(cells), 2))])


def _distances(d: Floats, picked: Ints, starts: Ints, usual: Floats) -> Floats:
    """Return the mean and the smallest distance of every cell, one measure after the other."""
    there = np.isfinite(d)
    counts = np.add.reduceat(there[:, picked].astype(float), starts, axis=1)
    totals = np.add.reduceat(np.where(there, d, 0.0)[:, picked], starts, axis=1)
    least = np.minimum.reduceat(np.where(there, d, np.inf)[:, picked], starts, axis=1)
    mean = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    # A cell without any score takes the mean of its table, so that a missing score says nothing.
    both = np.stack([mean, least], axis=1).reshape(-1, *mean.shape[1:])
    seen = np.isfinite(both)
    counts, totals = seen.sum(axis=(1, 2)), np.where(seen, both, 0.0).sum(axis=(1, 2))
    of_table = np.divide(totals, counts, out=np.array(usual, float), where=counts > 0)
    return np.where(seen, both, of_table[:, None, None])


def _with_deviations(kinds: Floats) -> Floats:
    """Return each value with its deviations from the means of its row, its column and both, and its rank in the row."""
    by_row = kinds - kinds.mean(axis=2, keepdims=True)
    by_column = kinds - kinds.mean(axis=1, keepdims=True)
    by_both = by_row - by_row.mean(axis=1, keepdims=True)
    rank = np.argsort(np.argsort(kinds, axis=2, kind="stable"), axis=2) / max(1, kinds.shape[2] - 1)
    return np.stack([kinds, by_row, by_column, by_both, rank], axis=-1).transpose(1, 2, 0, 3)


LANDMARKS = 200
PAIRS = 1_000_000
"""Largest number of pairs with landmarks, about: with more items there are fewer landmarks."""
RANK = 100
OVERSAMPLED = 20
"""Directions computed in addition to the used ones, which makes these nearly exact."""
ROUNDS = 4


def landmarks_of(support: Mapping[str, int], items: Collection[str]) -> list[str]:
    """Return the most frequent plain items by their `support`, for features of `items`; ties are broken by name."""
    # The number of pairs is limited, not that of landmarks: with many items fewer landmarks suffice.
    most = min(LANDMARKS, PAIRS // max(1, len(items)))
    return sorted(support, key=lambda item: (-support[item], item))[:most]


def landmark_pairs(items: Sequence[str], landmarks: Sequence[str]) -> list[Pair]:
    """Return the pairs of `items` and `landmarks` whose scores the features need."""
    return [(landmark, item) for item in items for landmark in landmarks]


def item_features(
    items: Sequence[str],
    landmarks: Sequence[str],
    measures: Sequence[Scores],
    others: Sequence[Sequence[str]] = (),
    *,
    spelling: bool = True,
) -> Floats:
    """Return the features of `items` as a matrix with a row per item.

    `landmarks` are frequent plain items, and `measures` have the scores of items with them. `others` are other
    records of the population. Without `spelling` the letters of names are ignored.
    """
    distances = (ScoredPairs.of(scores).block(landmarks, items).T for scores in measures)
    # Each measure is a block of its own with the same total length, so that none outweighs the others.
    blocks = [_distance_block(d) for d in distances]
    if spelling:
        words = words_of(items)
        blocks.append(_scaled_directions(_weighted_matrix([sorted(set(_letter_runs(words[item]))) for item in items])))
    if others:
        blocks.append(_scaled_directions(_transaction_matrix(items, others)))
    return np.concatenate([np.zeros((len(items), 0)), *blocks], axis=1)


def _distance_block(d: Floats) -> Floats:
    """Return the block of features for the distances of items to landmarks."""
    there = np.isfinite(d)
    usual = np.where(there, d, 0.0).sum(axis=0) / np.maximum(1, there.sum(axis=0))
    return _scaled_directions(sparse.csr_array(np.where(there, usual - d, 0.0)))


def _transaction_matrix(items: Sequence[str], others: Sequence[Sequence[str]]) -> "sparse.csr_array[np.float64]":
    """Return items by the records that contain them, with the weight 1 / sqrt(number) each."""
    holding: dict[str, list[str]] = {item: [] for item in items}
    for number, transaction in enumerate(others):
        # The iteration is over known items only: records of the population have others too.
        for item in holding.keys() & set(transaction):
            holding[item].append(str(number))
    return _weighted_matrix(list(holding.values()), by_column=False)


def _weighted_matrix(
    read_columns: Sequence[Sequence[str]], *, by_column: bool = True
) -> "sparse.csr_array[np.float64]":
    """Return a matrix with a row per list, with 1 / sqrt(n) for each entry, n counting its column or its row."""
    number: dict[str, int] = {}
    where = np.array([number.setdefault(name, len(number)) for names in read_columns for name in names], np.int64)
    sizes = np.array([len(names) for names in read_columns], np.int64)
    n = np.bincount(where, minlength=len(number))[where] if by_column else np.repeat(sizes, sizes)
    shape = len(read_columns), max(1, len(number))
    return sparse.csr_array((n**-0.5, where, np.cumsum([0, *sizes])), shape=shape)


def _letter_runs(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        bounded = f"^{word}$"
        yield from (bounded[at : at + length] for length in (3, 4) for at in range(len(bounded) - length + 1))


def _leading_directions(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """Return U S of the largest singular values, nearly exact: those within the span of randomly drawn rows.

    Halko, Martinsson and Tropp (2011). Where many values are equal, an iteration for single vectors would not end.
    """
    span: Floats = np.random.default_rng(0).normal(size=(matrix.shape[1], RANK + OVERSAMPLED))
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(matrix @ span)
        span = matrix.T @ basis
    u, s, _ = np.linalg.svd(span.T, full_matrices=False)
    return np.asarray((basis @ u)[:, :RANK] * s[:RANK])


def _scaled_directions(matrix: "sparse.csr_array[np.float64]") -> Floats:
    """Return the leading directions U sqrt(S), scaled so that the mean square length of the rows is 1."""
    vectors = _leading_directions(matrix)
    s = np.linalg.norm(vectors, axis=0)
    roots = vectors / np.sqrt(np.where(s > 0, s, 1.0))
    length = np.sqrt((roots**2).sum(axis=1).mean()) if len(roots) else 0.0
    return np.asarray(roots / length if length > 0 else roots)


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
        t_y_t = together.T @ together - np.outer(usual, usual) / max(1, self.occurrences.shape[0]) - itself
        held_back = squares + RIDGE * np.eye(len(squares))
        return np.asarray(np.linalg.solve(held_back, np.linalg.solve(held_back, t_y_t).T).T)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums over all items, computed once: few items are hidden, and their part is subtracted."""
        return self._sums_over(list(range(len(self.features))))

    def _sums_over(self, places: Sequence[int]) -> tuple[Floats, Floats, Floats, Floats]:
        """Sum over the published items of these columns.

        Return T / sqrt(f) in each record, T sqrt(f), Y of each with itself, and T'T.
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
