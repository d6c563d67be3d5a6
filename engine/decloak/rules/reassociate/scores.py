"""Values of units and anchors: the relatedness of every unit of a cluster to every anchor of it, many clusters
together.

SC(a, y): the score of two items, larger is closer. v_a: the mean of SC(a, y) over the items y of a unit. The value of
a unit and an anchor: mean(v), the mean of {v >= median(v)}, or max(v), over the items a of the anchor; -inf without
any. A missing score is skipped. How `fitted` combines is said there; `bayes` is naive Bayes: what an anchor A holds and
what it lacks both speak for or against a unit u. With I the items of the cluster's anchors,

    odds(u | A) = odds(u) * prod over a in A of P(a|u) / P(a|not u)
                          * prod over a in I - A of (1 - P(a|u)) / (1 - P(a|not u))

P(a|not u) is near the share of the cluster's rows that show a, which is published. The change by u is taken as an odds
ratio, which unlike a probability does not depend on the frequencies of a and u in the cluster. So it carries over from
the attacker's own knowledge: logit P(a|u) = logit P(a|not u) + theta(a, u). Then the factor of an item held over the
factor of the same item lacked is exp(theta), and ln odds(u | A) = constant of u and the cluster + the sum over a in A
of theta(a, u). The constant cancels, for one unit and for an assignment, which gives every unit a fixed number of rows.
theta(a, u) is the sum over the items y of u of theta(a, y), as naive as the rest. It is the score of a and y minus the
score of unrelated items, such as a log odds ratio with `unrelated` 0. Its unit is irrelevant to the ranking. A pair the
attacker knows nothing of has theta = 0; so an empty anchor has a value, unlike under other rules.

Arrays are padded: U units by C anchors by L items of an anchor. There are I items of all anchors of a cluster, and
column I is for absent items. NaN is no score.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints, Mask
from decloak.data.assignment import ScoreDirection
from decloak.data.pairs import ScoredPairs
from decloak.errors import DecloakError, quote
from decloak.rules.reassociate.strategy import Combine, Reassociation
from decloak.rules.reassociate.units import AnchoredRows, Unit

__all__ = ["EPSILON", "ClusterCase", "Scores", "batches", "coded_scores", "padded", "values"]

Number = TypeVar("Number", np.float64, np.int64)

EPSILON = 1e-9
"""Difference up to which values are equal."""

ODDS = ("bayes", "fitted")
"""Ways to combine that add log odds."""

AT_ONCE = 1 << 20
"""Numbers in the largest array of a batch, about: bounds the memory."""


class Scores(NamedTuple):
    """Scores by pairs of item codes, larger is closer; `neutral` is the score of items with nothing in common."""

    code: Mapping[str, int]
    keys: Ints
    values: Floats
    neutral: float

    def of(self, a: Ints, b: Ints) -> Floats:
        """Return the scores of pairs of `a` and `b`, in either order; NaN where there is none.

        A negative code has no scores.
        """
        if not len(self.keys):
            return np.full(np.broadcast_shapes(a.shape, b.shape), np.nan)
        keys = np.minimum(a, b) * len(self.code) + np.maximum(a, b)
        index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[index] == keys, self.values[index], np.nan)


class ClusterCase(NamedTuple):
    """One cluster under attack, by its number in the release."""

    number: int
    rows: AnchoredRows
    units: Sequence[Unit]


def coded_scores(
    scores: Mapping[tuple[str, str], float | None],
    closer: ScoreDirection,
    items: Sequence[str],
    unrelated: float | None,
) -> Scores:
    """Take the scores of pairs of these items; what is not finite is none. Without `unrelated` it is their mean."""
    signs = {"larger": 1.0, "smaller": -1.0}
    if closer not in signs:
        raise DecloakError(f"closer is {quote(closer)}", hint="scores are closer when larger, or when smaller")
    sign = signs[closer]
    code, scored = {item: number for number, item in enumerate(items)}, _scored(scores)
    codes = np.array([code.get(item, -1) for item in scored.pairs.items], np.int64)
    a, b = codes[scored.pairs.a], codes[scored.pairs.b]
    x = sign * scored.numbers
    ours = (a >= 0) & (b >= 0) & np.isfinite(x)
    keys, x = (np.minimum(a, b) * len(code) + np.maximum(a, b))[ours], x[ours]
    # Ascending for searchsorted; so a pair that is given in both directions comes to stand together.
    order = np.argsort(keys, kind="stable")
    keys, x = _first_scores(keys[order], x[order], items)
    neutral = float(x.mean()) if unrelated is None and len(x) else sign * (unrelated or 0.0)
    return Scores(code, keys, x, neutral)


def _first_scores(keys: Ints, x: Floats, items: Sequence[str]) -> tuple[Ints, Floats]:
    """Return ascending keys without repetition, and their scores."""
    first = np.ones(len(keys), dtype=np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    differing = keys[1:][~first[1:] & (x[1:] != x[:-1])].tolist()
    if differing:
        pair = " and ".join(quote(items[code]) for code in divmod(differing[0], len(items)))
        raise DecloakError(f"{pair} have two different scores", hint="a score is the same in both directions")
    return keys[first], x[first]


def _scored(scores: Mapping[tuple[str, str], float | None]) -> ScoredPairs:
    """Return the scores as arrays; a user may have given them as a dictionary of anything."""
    if isinstance(scores, ScoredPairs):
        return scores
    for pair in scores:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DecloakError(f"a score is given for {quote(pair)}", hint="give scores by pairs of items")
    try:
        return ScoredPairs.of(scores)
    except (TypeError, ValueError):
        raise DecloakError("a score is not a number", hint="give numbers, or None or NaN for a missing score") from None


def padded(lists: Sequence[Sequence[float]], fill: Number) -> NDArray[Number]:
    """Return `lists` as the rows of one array, padded with `fill`.

    >>> padded([[1, 2], [3]], np.int64(-1)).tolist()
    [[1, 2], [3, -1]]
    """
    lengths = np.array([len(entries) for entries in lists])
    array = np.full((len(lists), int(lengths.max(initial=0))), fill)
    array[np.arange(array.shape[1]) < lengths[:, None]] = list(chain.from_iterable(lists))
    return array


def batches(cases: Sequence[ClusterCase]) -> Iterator[list[ClusterCase]]:
    """Yield the clusters `cases` to process together: of sizes within a factor of two, so that little is padded."""
    alike: dict[tuple[int, ...], list[ClusterCase]] = {}
    for case in cases:
        longest = max(map(len, case.rows.anchors))
        sides = len(case.rows.of_row), len(case.rows.anchors), longest
        alike.setdefault(tuple(side.bit_length() for side in sides), []).append(case)
    # Larger clusters go in smaller batches, so that arrays stay within AT_ONCE numbers.
    for (size, *_), alike_cases in alike.items():
        room = AT_ONCE >> size
        batch: list[ClusterCase] = []
        units = 0
        for case in alike_cases:
            if batch and units + len(case.units) > room:
                yield batch
                batch, units = [], 0
            batch.append(case)
            units += len(case.units)
        yield batch


def values(batch: Sequence[ClusterCase], strategy: Reassociation, scores: Scores) -> Floats:
    """Return the value of every unit of `batch`, cluster after cluster, with every anchor of its cluster.

    `strategy` says how the `scores` are combined.
    """
    units = [unit for case in batch for unit in case.units]
    owner = np.repeat(np.arange(len(batch)), [len(case.units) for case in batch])
    items, anchors = _anchors(batch, scores)
    unit_values = np.full((len(units), anchors.shape[1]), -np.inf)
    ways = [strategy.combine_for(unit.chunk) for unit in units]
    for combine in dict.fromkeys(ways):
        alike = np.flatnonzero([way == combine for way in ways])
        for members in np.array_split(alike, 1 + len(alike) * anchors[0].size // AT_ONCE):
            codes = padded([[scores.code[item] for item in units[u].items] for u in members.tolist()], np.int64(-1))
            v = _item_scores(codes, items[owner[members]], scores, combine)
            unit_values[members] = _combine_scores(v, anchors[owner[members]], combine)
    sizes = np.array([len(case.rows.anchors) for case in batch])
    return np.where(np.arange(unit_values.shape[1]) < sizes[owner, None], unit_values, -np.inf)


def _anchors(batch: Sequence[ClusterCase], scores: Scores) -> tuple[Ints, Ints]:
    """Return the items of every cluster's anchors by code, and every anchor by the indices of its items among these."""
    names = [list(dict.fromkeys(chain.from_iterable(case.rows.anchors))) for case in batch]
    items = padded([[scores.code[item] for item in item_names] for item_names in names], np.int64(-1))
    nothing = np.int64(items.shape[1])
    lists = []
    for case, item_names in zip(batch, names, strict=True):
        place = {item: index for index, item in enumerate(item_names)}
        lists.append([[place[item] for item in anchor] for anchor in case.rows.anchors])
    flat = padded(list(chain.from_iterable(lists)), nothing)
    longest = flat.shape[1]
    anchors = np.full((len(batch), max(map(len, lists)), max(1, longest)), nothing)
    counts = np.array([len(places) for places in lists])
    anchors[np.arange(anchors.shape[1]) < counts[:, None], :longest] = flat
    return items, anchors


def _item_scores(codes: Ints, items: Ints, scores: Scores, combine: Combine) -> Floats:
    """Return v of every unit and item, NaN where there is none: the mean over the unit's items, for bayes the sum."""
    total = np.zeros((len(codes), items.shape[1] + 1))
    count = np.zeros(total.shape)
    for y in codes.T:
        present = np.flatnonzero(y >= 0)
        score = scores.of(items[present], y[present, None])
        x = score - scores.neutral if combine in ODDS else score  # theta of `bayes`: how far above unrelated items
        seen = ~np.isnan(x)
        total[present, :-1] += np.where(seen, x, 0.0)
        count[present, :-1] += seen
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total, np.nan) if combine in ODDS else total / count


def _combine_scores(v: Floats, anchors: Ints, combine: Combine) -> Floats:
    """Return one value of each unit and anchor."""
    x: Floats = v[np.arange(len(v))[:, None, None], anchors]
    seen = ~np.isnan(x)
    if combine == "best":
        top: Floats = np.where(seen, x, -np.inf).max(axis=2)
        return top
    if combine == "upper_half":
        seen &= x >= _median(x, seen) - EPSILON
    total: Floats = np.where(seen, x, 0.0).sum(axis=2)
    if combine == "bayes":
        return total
    if combine == "fitted":
        return np.asarray(total / np.sqrt(np.maximum((anchors < v.shape[1] - 1).sum(axis=2), 1)))
    count = seen.sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), -np.inf)


def _median(x: Floats, seen: Mask) -> Floats:
    """Return the upper of the middle two scores in each last row: none lies between it and the mean of the two."""
    middle = seen.sum(axis=2, keepdims=True) // 2
    return np.take_along_axis(np.sort(x, axis=2), np.minimum(middle, x.shape[2] - 1), axis=2)
