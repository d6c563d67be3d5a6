"""Weights of scores, learned from the release itself: its record chunks show items that the algorithm did not separate.

For two items a and y of the same record chunks, T is the number of records with both, and E the number expected if they
were independent within each chunk. Then lift(a, y) = ln((T + 2) / (E + 2)). theta_i(a, y) is their score by measure i
minus the score of unrelated items. A row with the anchor A has a unit u with odds proportional to exp(z),

    z(u | A) = sum over a in A and y in u of (w1 theta_1(a, y) + w2 theta_2(a, y) + ... + w lift(a, y)) / sqrt(|A|)

The root is needed because the items of an anchor depend on each other. w is learned by separation: each item of a
record chunk is removed from its sub-records in turn. Then w makes it most likely that it returns to the records that
had it (softmax over the records of the cluster). The lift is then without that chunk, and w has the prior N(0, 1) in
units of the standard deviation of its feature. So a useless feature gets a weight near 0, and the originals are not
needed.

Record chunks are a biased sample of pairs. The algorithm separates items of one or two records, so that in sparse data
most of the rest is never together, even if related. One more weight, of sqrt|A|, absorbs that and is dropped, because
it does not hold for separated items. Without it relatedness counted against an item in short rows. Relatedness cannot
count against an item: a weight below a minimum (LEAST) is replaced by it, so that it decides where all else is equal.

Negative controls of an attack that learns from a disassociated release: the same attack with permuted training data.

`labels` gives every pair of items the score of another pair, and learns weights from records that had the removed items
in another order (`fitted`). Permuted weights alone leave too much, because any positive weights rank rows correctly.
`contexts` permutes the anchors of a cluster among its rows, `order` renumbers its rows, which must change nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import distinct
from decloak.data.assignment import RowLists
from decloak.data.content import Chunk
from decloak.data.disassociated import Disassociated
from decloak.data.knowledge_levels import Control
from decloak.rules.reassociate.match import ascending
from decloak.rules.reassociate.scores import ClusterBatch, ClusterCase, Scores, SplitRelease
from decloak.rules.reassociate.units import AnchoredRows

__all__ = ["NegativeControl", "fitted_scores", "softmax_weights"]


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

    def batches(self, split: SplitRelease) -> list[ClusterBatch]:
        """Return the batches of `split`, with the rows of each cluster in another order for the control `order`."""
        if self.control != "order":
            return split.batches
        shuffled = {case.number: self._shuffle_rows(case) for case in split.cases}
        return [batch.with_cases([shuffled[case.number] for case in batch.cases]) for batch in split.batches]

    def _shuffle_rows(self, case: ClusterCase) -> ClusterCase:
        places = self._places[case.number] = self._rng.permutation(len(case.rows.of_row))
        of_row = tuple(case.rows.of_row[place] for place in places.tolist())
        return case._replace(rows=AnchoredRows(case.rows.anchors, of_row))

    def restore_order(self, batch: ClusterBatch, rows: RowLists) -> RowLists:
        """Return the `rows` of the units of `batch` by the published order."""
        if not self._places:
            return rows
        places = RowLists.of([self._places[case.number].tolist() for case in batch.cases])
        begin = places.start[batch.owner[rows.list_of_row]]
        return ascending(rows._replace(rows=places.rows[begin + rows.rows]))

    def values(self, batch: ClusterBatch, values: Floats) -> Floats:
        """Return the `values` of units and anchors of `batch`, with permuted anchors for the control `contexts`."""
        if self.control != "contexts":
            return values
        values = values.copy()
        for case, units in batch.by_case():
            anchors = len(case.rows.anchors)
            values[units, :anchors] = values[units, self._rng.permutation(anchors)]
        return values


LEAST = 0.01
"""Smallest weight of relatedness: log odds for a standard deviation of theta, or of the lifts."""

PRIOR = 2.0
"""Added to the records of a pair, seen and expected."""

ENTRIES = 2_000_000
"""Sub-records by items of their chunk that weights are learned from, about; beyond, only every n-th chunk is used."""

ROUNDS = 50


class _Chunks(NamedTuple):
    """Record chunks of one width as one array: chunks × sub-records × items, False beyond a chunk's sub-records."""

    codes: Ints  # chunks × items
    records: Ints  # of each chunk's cluster
    holds: Mask

    def every_nth(self, step: int) -> "_Chunks":
        """Return every n-th chunk for n = `step`, beginning with the first."""
        return _Chunks(self.codes[::step], self.records[::step], self.holds[::step])


class _Pairs(NamedTuple):
    """Pairs of items of the same chunks: their key, and T and E over all chunks."""

    keys: Ints
    together: Floats
    expected: Floats

    def of(self, keys: Ints) -> tuple[Floats, Floats]:
        """Return T and E of `keys` that exist."""
        index = np.searchsorted(self.keys, keys)
        return self.together[index], self.expected[index]


def fitted_scores(
    release: Disassociated, measures: Sequence[Scores], negative_control: NegativeControl | None = None
) -> Scores:
    """Return the scores by each of `measures` and lifts in one, with weights learned from the record chunks of
    `release`.

    `negative_control` spoils the training data, if there is one.
    """
    negative_control, code = negative_control or NegativeControl(None), measures[0].code
    chunks = list(_by_width(release, code))
    pairs = _pairs(chunks, len(code))
    # Scores are measured from that of unrelated items, so that a missing pair counts as unrelated.
    weighed = [(one.keys, one.values - one.neutral) for one in measures]
    weighed.append((pairs.keys, _lift(pairs.together, pairs.expected)))
    keys = distinct(np.concatenate([own for own, _ in weighed]))
    values = np.zeros(len(keys))
    for weight, (own, theta) in zip(
        _weights(chunks, pairs, measures, negative_control).tolist()[:-1], weighed, strict=True
    ):
        values[np.searchsorted(keys, own)] += max(weight, _minimum_weight(theta)) * negative_control.scores(theta)
    return Scores(code, keys, values, 0.0)


def _minimum_weight(theta: Floats) -> float:
    """Return the weight that gives a standard deviation the minimum effect."""
    deviation = math.sqrt(float(np.mean(theta**2))) if len(theta) else 0.0
    return LEAST / deviation if deviation > 0 else 0.0


def _lift(together: Floats, expected: Floats) -> Floats:
    return np.asarray(np.log((together + PRIOR) / (expected + PRIOR)))


def _by_width(release: Disassociated, code: Mapping[str, int]) -> Iterator[_Chunks]:
    """Yield the record chunks of two or more items that show something, grouped by items and about the same number of
    rows.
    """
    alike: dict[tuple[int, int], list[tuple[int, Chunk]]] = {}
    for cluster in release.clusters:
        for chunk in cluster.record_chunks:
            if len(chunk.items) > 1 and chunk.subrecords:
                sides = len(chunk.items), len(chunk.subrecords).bit_length()
                alike.setdefault(sides, []).append((cluster.size, chunk))
    for (width, bits), chunks in alike.items():
        most = max(1, ENTRIES // (width << bits))
        for low in range(0, len(chunks), most):
            yield _chunks(chunks[low : low + most], width, code)


def _chunks(chunks: Sequence[tuple[int, Chunk]], width: int, code: Mapping[str, int]) -> _Chunks:
    longest = max(len(chunk.subrecords) for _, chunk in chunks)
    holds = np.zeros((len(chunks), longest, width), np.bool_)
    for number, (_, chunk) in enumerate(chunks):
        place = {item: index for index, item in enumerate(chunk.items)}
        lengths = [len(subrecord) for subrecord in chunk.subrecords]
        rows = np.repeat(np.arange(len(lengths)), lengths)
        holds[number, rows, [place[item] for subrecord in chunk.subrecords for item in subrecord]] = True
    codes = np.array([[code[item] for item in chunk.items] for _, chunk in chunks], np.int64)
    return _Chunks(codes, np.array([size for size, _ in chunks], np.int64), holds)


def _keys(chunks: _Chunks, items: int) -> Ints:
    """Return the key of every pair of items of every chunk: chunks × items × items."""
    a, b = chunks.codes[:, :, None], chunks.codes[:, None, :]
    return np.asarray(np.minimum(a, b) * items + np.maximum(a, b))


def _counts(chunks: _Chunks) -> tuple[Floats, Floats]:
    """Return T and E within each chunk: chunks × items × items, 0 for an item with itself."""
    held = chunks.holds.astype(np.float64)
    together = np.swapaxes(held, 1, 2) @ held
    support = held.sum(axis=1)
    expected = support[:, :, None] * support[:, None, :] / chunks.records[:, None, None]
    apart = 1 - np.eye(held.shape[2])
    return together * apart, expected * apart


def _pairs(chunks: Sequence[_Chunks], items: int) -> _Pairs:
    keys: list[Ints] = [np.zeros(0, np.int64)]
    together: list[Floats] = [np.zeros(0)]
    expected: list[Floats] = [np.zeros(0)]
    for some in chunks:
        upper = np.triu_indices(some.codes.shape[1], 1)
        counts = _counts(some)
        keys.append(_keys(some, items)[:, *upper].ravel())
        together.append(counts[0][:, *upper].ravel())
        expected.append(counts[1][:, *upper].ravel())
    distinct, index = np.unique(np.concatenate(keys), return_inverse=True)
    t, e = (np.bincount(index, np.concatenate(part), len(distinct)).astype(float) for part in (together, expected))
    return _Pairs(distinct, t, e)


def _weights(
    chunks: Sequence[_Chunks], pairs: _Pairs, measures: Sequence[Scores], negative_control: NegativeControl
) -> Floats:
    """Return w of the scores by each measure, of the lifts, and of being in an anchor."""
    # More than ENTRIES rows change the weights little, and cost much time.
    step = max(1, -(-sum(some.holds.size for some in chunks) // ENTRIES))
    torn = [_tear_chunks(some.every_nth(step), pairs, measures) for some in chunks]
    if not torn:
        return np.zeros(len(measures) + 2)
    features, alike, chosen, units = zip(*torn, strict=True)
    torn_from = negative_control.features(np.concatenate(features))
    return softmax_weights(torn_from, np.concatenate(alike), np.concatenate(chosen), _renumber(units))


def _renumber(units: Sequence[Ints]) -> Ints:
    """Return the numbers of units, where each part continues after the part before."""
    first, numbered = 0, []
    for part in units:
        numbered.append(part + first)
        first += int(part.max(initial=-1)) + 1
    return np.concatenate(numbered)


def _tear_chunks(chunks: _Chunks, pairs: _Pairs, measures: Sequence[Scores]) -> tuple[Floats, Floats, Floats, Ints]:
    """Return features, the number of equal records, how many of them had the item, and the unit, of every candidate
    row.
    """
    count, _, width = chunks.holds.shape
    keys, (own_t, own_e) = _keys(chunks, len(measures[0].code)), _counts(chunks)
    apart = ~np.eye(width, dtype=np.bool_)
    by_measure = (one.of(chunks.codes[:, :, None], chunks.codes[:, None, :]) - one.neutral for one in measures)
    thetas = [np.nan_to_num(theta) * apart for theta in by_measure]
    lift = np.zeros(keys.shape)
    t, e = pairs.of(keys[:, apart])
    # Rounding may leave a sum without one of its parts a little below 0.
    lift[:, apart] = _lift(np.maximum(t - own_t[:, apart], 0), np.maximum(e - own_e[:, apart], 0))
    held = chunks.holds.astype(np.float64)
    others = held.sum(axis=2, keepdims=True) - held
    length = np.sqrt(np.maximum(others, 1))
    near = [held @ theta / length for theta in (*thetas, lift)]
    features = np.stack([*near, others / length], axis=-1)
    shown: Mask = np.asarray(chunks.holds.any(axis=2))
    alike = np.repeat(shown[:, :, None].astype(np.float64), width, axis=2)
    unit = np.broadcast_to(np.arange(count)[:, None, None] * width + np.arange(width), alike.shape)
    # The records of a cluster that show nothing in the chunk, as one row.
    silent = np.repeat((chunks.records - shown.sum(axis=1))[:, None].astype(np.float64), width, axis=1)
    return (
        np.concatenate([features.reshape(-1, features.shape[-1]), np.zeros((count * width, features.shape[-1]))]),
        np.concatenate([alike.ravel(), silent.ravel()]),
        np.concatenate([held.ravel(), np.zeros(count * width)]),
        np.concatenate([unit.ravel(), np.arange(count * width)]),
    )


def softmax_weights(features: Floats, alike: Floats, chosen: Floats, unit: Ints) -> Floats:
    """Return the weights under which the chosen rows of every unit are most likely.

    `features` describe rows, each repeated `alike` times; `chosen` of the repeated rows were chosen for `unit`.
    Newton's method on a concave sum; a feature that is the same in all rows has weight 0.
    """
    count = int(unit.max(initial=-1)) + 1
    scale = np.sqrt(np.average(features**2, axis=0, weights=alike)) if alike.sum() else np.zeros(features.shape[1])
    x = np.divide(features, scale, out=np.zeros_like(features), where=scale > 0)
    draws: Floats = np.bincount(unit, chosen, count).astype(np.float64)
    weights = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        gradient, curvature = _slope(x, alike, chosen, unit, draws, weights)
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step * min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))  # no step may overshoot
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(np.divide(weights, scale, out=np.zeros_like(weights), where=scale > 0))


def _slope(
    x: Floats, alike: Floats, chosen: Floats, unit: Ints, draws: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the gradient of the log likelihood with its prior, and the negative of its second derivative."""
    z = x @ weights
    top = np.full(len(draws), -np.inf)
    np.maximum.at(top, unit, z)
    mass = alike * np.exp(z - top[unit])
    p = mass / np.bincount(unit, mass, len(draws))[unit] * draws[unit]
    means = np.stack([np.bincount(unit, p * column, len(draws)) for column in x.T], axis=1)
    gradient = x.T @ (chosen - p) - weights
    inner = means.T @ np.divide(means, draws[:, None], out=np.zeros_like(means), where=draws[:, None] > 0)
    return gradient, x.T @ (x * p[:, None]) - inner + np.eye(x.shape[1])
