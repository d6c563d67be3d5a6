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

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from types import ModuleType
from typing import NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints, Mask
from decloak.compiled import try_import
from decloak.data.assignment import ChunkNumber, Kind, PairScores, ScoreDirection
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.pairs import ScoredPairs
from decloak.data.rows import Coding
from decloak.errors import DecloakError, quote
from decloak.rules.reassociate.strategy import Combine, Reassociation
from decloak.rules.reassociate.units import AnchoredRows, Unit, rows_of_cluster, units_of

__all__ = [
    "EPSILON",
    "ODDS",
    "ClusterBatch",
    "ClusterCase",
    "Scores",
    "SplitRelease",
    "add_lines",
    "batches",
    "coded_scores",
    "compiled_loops",
    "padded",
    "scored_occurrences",
    "values",
]

Number = TypeVar("Number", np.float64, np.int64)

EPSILON = 1e-9
"""Difference up to which values are equal."""

ODDS = ("bayes", "fitted")
"""Ways to combine that add log odds."""

TABLE = 1 << 24
"""Scores of all items with all up to which they are looked up in a table: a search takes five times as long."""

LARGE = 1 << 24
"""Numbers of a release (units by anchors by items of an anchor) from which on compiled loops are worth their import."""

AT_ONCE = 1 << 20
"""Numbers in the largest array of a batch, about: bounds the memory."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores by pairs of item codes, larger is closer; `neutral` is the score of items with nothing in common."""

    code: Mapping[str, int]
    keys: Ints
    values: Floats
    neutral: float

    @cached_property
    def table(self) -> NDArray[np.int32] | None:
        """The places of all items with all in `scores`, if these are few; the last row is for negative codes.

        The last column is for these, too. A place takes half the memory of a score, and nobody has to fill in 0.
        """
        items = len(self.code)
        if (items + 1) ** 2 > TABLE:
            return None
        table = np.zeros((items + 1, items + 1), np.int32)
        a, b = np.divmod(self.keys, items)
        table[a, b] = table[b, a] = np.arange(1, len(self.keys) + 1)
        return table

    @cached_property
    def scores(self) -> Floats:
        """The score at each place of the table, NaN at 0."""
        return np.append(np.nan, self.values)

    def of(self, a: Ints, b: Ints) -> Floats:
        """Return the scores of pairs of `a` and `b`, in either order; NaN where there is none.

        A negative code has no scores.
        """
        if not len(self.keys):
            return np.full(np.broadcast_shapes(a.shape, b.shape), np.nan)
        if self.table is not None:
            return self.scores[self.table[a, b]]
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
    among: Container[str] | None = None,
) -> Scores:
    """Return the scores of pairs of `items`, of those `among` them if given; what is not finite is none.

    Without `unrelated`, the score of unrelated items is the mean of the `scores`. `closer` is the direction of closer
    items.
    """
    signs = {"larger": 1.0, "smaller": -1.0}
    if closer not in signs:
        raise DecloakError(f"closer is {quote(closer)}", hint="scores are closer when larger, or when smaller")
    sign = signs[closer]
    code, scored = {item: number for number, item in enumerate(items)}, _scored(scores)
    known = code if among is None else {item: number for item, number in code.items() if item in among}
    codes = np.array([known.get(item, -1) for item in scored.pairs.items], np.int64)
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


class ClusterBatch:
    """Clusters that are attacked together, with their units and rows as arrays.

    Units follow each other cluster after cluster. `code` numbers items and `kinds` units; all batches of a release
    share them. `of_large` says whether compiled loops pay off. Arrays are made when they are first needed, and stay
    for the next attack.
    """

    def __init__(
        self,
        cases: Sequence[ClusterCase],
        code: Mapping[str, int] | None = None,
        kinds: Coding[Kind] | None = None,
        of_large: bool = False,
    ) -> None:
        self.cases, self.code, self._kinds = cases, code or {}, Coding[Kind]() if kinds is None else kinds
        self.of_large = of_large

    def with_cases(self, cases: Sequence[ClusterCase]) -> "ClusterBatch":
        """Return a batch of other `cases` with the same numbers of items and units."""
        return ClusterBatch(cases, self.code, self._kinds, self.of_large)

    @property
    def units(self) -> Iterator[Unit]:
        """Every unit, cluster after cluster."""
        return chain.from_iterable(case.units for case in self.cases)

    @cached_property
    def start(self) -> Ints:
        """The first unit of each case, and at the end the number of units."""
        return np.cumsum([0, *(len(case.units) for case in self.cases)])

    @cached_property
    def owner(self) -> Ints:
        """The case of each unit."""
        return np.repeat(np.arange(len(self.cases)), np.diff(self.start))

    @cached_property
    def times(self) -> Ints:
        """The number of rows that the release publishes of each unit."""
        return np.array([unit.times for unit in self.units], np.int64)

    @cached_property
    def kind(self) -> Ints:
        """The number of each unit's chunk and items."""
        return np.array([self._kinds[unit[:2]] for unit in self.units], np.int64)

    @cached_property
    def _by_kind(self) -> tuple[list[Kind], Ints]:
        """The distinct chunks and items of units, and the place of each unit's among them."""
        numbers, place = np.unique(self.kind, return_inverse=True)
        named = list(self._kinds)
        return [named[number] for number in numbers.tolist()], place

    @cached_property
    def is_term(self) -> Mask:
        """True for each unit that is a term."""
        kinds, place = self._by_kind
        return np.array([chunk == "T" for chunk, _ in kinds], np.bool_)[place]

    @cached_property
    def chunk(self) -> Ints:
        """The number of each unit's chunk within the batch; a term is a chunk of its own."""
        names, (kinds, place) = Coding[ChunkNumber](), self._by_kind
        name = np.array([names[chunk] for chunk, _ in kinds], np.int64)[place]
        begins = self.is_term.copy()
        begins[:1] = True
        begins[1:] |= (name[1:] != name[:-1]) | (self.owner[1:] != self.owner[:-1])
        return np.cumsum(begins) - 1

    @cached_property
    def codes(self) -> Ints:
        """The items of each unit, padded with -1."""
        kinds, place = self._by_kind
        return padded([[self.code[item] for item in items] for _, items in kinds], np.int64(-1))[place]

    @cached_property
    def records(self) -> Ints:
        """The number of rows of each case."""
        return np.array([len(case.rows.of_row) for case in self.cases], np.int64)

    @cached_property
    def anchors(self) -> Ints:
        """The number of anchors of each case."""
        return np.array([len(case.rows.anchors) for case in self.cases], np.int64)

    @cached_property
    def of_row(self) -> Ints:
        """The anchor of each row of each case, padded with the largest number of anchors."""
        return padded([case.rows.of_row for case in self.cases], np.int64(self.anchors.max()))

    @cached_property
    def sizes(self) -> Floats:
        """The number of rows of each anchor of each case, padded with 0."""
        width = int(self.anchors.max())
        place = np.arange(len(self.cases))[:, None] * (width + 1) + self.of_row
        return np.bincount(place.ravel(), minlength=len(self.cases) * (width + 1)).reshape(-1, width + 1)[
            :, :width
        ] * np.float64(1)

    @cached_property
    def empty(self) -> Ints:
        """The anchor of each case that shows nothing, -1 where all show something."""
        return np.array([case.rows.anchors.index(()) if () in case.rows.anchors else -1 for case in self.cases])

    @cached_property
    def anchor_items(self) -> tuple[Ints, Ints]:
        """The items of every case's anchors, and every anchor by the indices of its items among these."""
        names = [list(dict.fromkeys(chain.from_iterable(case.rows.anchors))) for case in self.cases]
        items = padded([[self.code[item] for item in item_names] for item_names in names], np.int64(-1))
        nothing = np.int64(items.shape[1])
        lists = []
        for case, item_names in zip(self.cases, names, strict=True):
            place = {item: index for index, item in enumerate(item_names)}
            lists.append([[place[item] for item in anchor] for anchor in case.rows.anchors])
        flat = padded(list(chain.from_iterable(lists)), nothing)
        longest = flat.shape[1]
        anchors = np.full((len(self.cases), int(self.anchors.max()), max(1, longest)), nothing)
        anchors[np.arange(anchors.shape[1]) < self.anchors[:, None], :longest] = flat
        return items, anchors

    def by_case(self, times: Ints | None = None) -> Iterator[tuple[ClusterCase, slice]]:
        """Yield each case and its units; with `times`, the units have these numbers of rows."""
        for case, (begin, end) in zip(self.cases, pairwise(self.start.tolist()), strict=True):
            if times is not None:
                rows = zip(case.units, times[begin:end].tolist(), strict=True)
                case = case._replace(units=[unit._replace(times=count) for unit, count in rows])
            yield case, slice(begin, end)


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


class SplitRelease:
    """The clusters of a release that have anchors and units, in batches, and its scores: for all attacks on it.

    `coded` are the scores of the items, where the release is a part of a larger one. An item without scores has the
    code -1 there.
    """

    def __init__(self, release: Disassociated, coded: Scores | None = None) -> None:
        self.release, self._given = release, coded
        self.cases = [
            ClusterCase(number, rows_of_cluster(release.clusters[number]), units)
            for number, units in units_of(release)
            if units
        ]
        self._own = {item for cluster in release.clusters for item in _own_items(cluster)}
        shared = {item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items}
        self.code = {item: number for number, item in enumerate(sorted(self._own | shared))}
        if coded is not None:
            self.code = {item: coded.code.get(item, -1) for item in self.code}
        self.kinds = Coding[Kind]()
        self._coded: list[tuple[PairScores, bool, Scores]] = []

    @cached_property
    def first(self) -> Ints:
        """The first row of each cluster among the rows of all, and at the end their number."""
        return np.cumsum([0, *(cluster.size for cluster in self.release.clusters)], dtype=np.int64)

    @cached_property
    def batches(self) -> list[ClusterBatch]:
        return [self.batch(cases) for cases in batches(self.cases)]

    def batch(self, cases: Sequence[ClusterCase]) -> ClusterBatch:
        """Return `cases` as a batch with the numbers of this release."""
        return ClusterBatch(cases, self.code, self.kinds, self._is_large)

    @cached_property
    def _is_large(self) -> bool:
        """True if compiled loops are worth their import for the values of the release."""
        numbers = 0
        for _, (anchors, _), units in self.cases:
            numbers += len(units) * len(anchors) * max(map(len, anchors))
        return numbers >= LARGE

    def coded(self, scores: PairScores, *, shared: bool) -> Scores:
        """Return `scores` of pairs of items of the clusters' own chunks, and with `shared` of shared chunks too."""
        if self._given is not None:
            return self._given
        shared = shared and bool(self.release.joints)
        for known, with_shared, coded in self._coded:
            if known.scores is scores.scores and known[1:] == scores[1:] and with_shared == shared:
                return coded
        among = None if shared else self._own
        coded = coded_scores(scores.scores, scores.closer, list(self.code), scores.unrelated, among)
        self._coded.append((scores, shared, coded))
        return coded


def _own_items(cluster: Cluster) -> Iterator[str]:
    yield from cluster.term_chunk
    for chunk in cluster.record_chunks:
        yield from chain.from_iterable(chunk.subrecords)


def values(batch: ClusterBatch, strategy: Reassociation, scores: Scores) -> Floats:
    """Return the value of every unit of `batch`, cluster after cluster, with every anchor of its cluster.

    `strategy` says how the `scores` are combined.
    """
    items, anchors = batch.anchor_items
    unit_values = np.full((len(batch.owner), anchors.shape[1]), -np.inf)
    ways: dict[Combine, Mask] = {}
    for chunk, mask in ((1, ~batch.is_term), ("T", batch.is_term)):
        combine = strategy.combine_for(chunk)
        ways[combine] = mask | ways.get(combine, np.False_)
    for combine, mask in ways.items():
        alike = np.flatnonzero(mask)
        loops = compiled_loops() if batch.of_large and len(scores.keys) and scores.table is not None else None
        if loops is not None:
            way, table = get_args(Combine).index(combine), scores.table
            loops.value_units(
                *(unit_values, alike, batch.codes, batch.owner, items, anchors, batch.anchors),
                *(table, scores.scores, scores.neutral, way),
            )
            continue
        for members in np.array_split(alike, 1 + len(alike) * anchors[0].size // AT_ONCE) if len(alike) else ():
            owner = batch.owner[members]
            v = _item_scores(batch.codes[members], items[owner], scores, combine)
            unit_values[members] = _combine_scores(v, anchors[owner], combine)
    return np.where(np.arange(unit_values.shape[1]) < batch.anchors[batch.owner, None], unit_values, -np.inf)


@try_import
def compiled_loops() -> ModuleType:
    """Return the compiled loops over clusters; None without numba."""
    from decloak.rules.reassociate import cluster_loops

    return cluster_loops


def scored_occurrences(batch: ClusterBatch, values: Floats) -> int:
    """Count the records of the clusters of `batch`, once for each unit that has one of the `values` there."""
    return int(batch.sizes[batch.owner][np.isfinite(values)].sum())


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
    # The items of an anchor come first: numpy is slow at many sums of a few numbers each.
    places = np.ascontiguousarray(anchors.transpose(2, 0, 1))
    x: Floats = v[np.arange(len(v))[:, None], places]
    seen = ~np.isnan(x)
    if combine == "best":
        top: Floats = np.where(seen, x, -np.inf).max(axis=0)
        return top
    if combine == "upper_half":
        seen &= x >= _median(x, seen) - EPSILON
    total = add_lines(np.where(seen, x, 0.0))
    if combine == "bayes":
        return total
    if combine == "fitted":
        return np.asarray(total / np.sqrt(np.maximum((places < v.shape[1] - 1).sum(axis=0), 1)))
    count = seen.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), -np.inf)


def _median(x: Floats, seen: Mask) -> Floats:
    """Return the upper of the middle two scores at each place: none lies between it and the mean of the two."""
    middle = np.minimum(seen.sum(axis=0, keepdims=True) // 2, len(x) - 1)
    return np.take_along_axis(np.sort(x, axis=0), middle, axis=0)


def add_lines(x: Floats) -> Floats:
    """Add up the lines of `x`, in the order in which numpy adds the numbers of one line."""
    lines = len(x)
    if lines < 8:
        return np.asarray(x.sum(axis=0))
    if lines > 128:
        half = lines // 16 * 8
        return add_lines(x[:half]) + add_lines(x[half:])
    eight = x[:8].copy()
    for first in range(8, lines - 7, 8):
        eight += x[first : first + 8]
    two = eight[0::2] + eight[1::2]
    total: Floats = (two[0] + two[1]) + (two[2] + two[3])
    for line in x[lines - lines % 8 :]:
        total += line
    return total
