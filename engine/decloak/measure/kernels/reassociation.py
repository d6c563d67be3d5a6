"""How much of what a disassociated release took apart an attack put back where it belongs.

Rows are those of the attack; truth[cluster][row] is the number of the row's record. A unit is truly in a row when the
record, cut down to the items of the unit's chunk, is the unit. For a unit and a class of rows (of the same anchor), a
rows of the class were given the unit and t truly have it:

correct_row = rows given that truly have it; correct_class = sum of min(a, t), for which any record behind an identical
anchor is right; correct_exp = sum of a t / |class|, what a guesser who cannot tell identical anchors apart expects to
have right. Accuracy = correct / assigned, recall = correct / reachable; clusters are pooled by summing counts. Units
of shared chunks count where an attack gives any; most ignore shared chunks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.counting.ascending import among
from decloak.data.assignment import Assignment, ChunkNumber
from decloak.data.disassociated import Disassociated
from decloak.measure.kernels.random_attack import Gifts
from decloak.measure.kernels.true_rows import Given, TrueRows, Truth
from decloak.rules.reassociate.units import rows_of_cluster

__all__ = [
    "Accuracy",
    "ClusterAccuracy",
    "accuracy_by_cluster",
    "accuracy_of",
    "added_items",
    "gifts_of",
    "reconstructed",
]


@dataclass(frozen=True)
class Accuracy:
    """The counts of a release; a measure is None where its divisor is 0.

    `expected` is how many rows would be correct had the same number been drawn at random for every unit. Of the rows
    that have a unit (`true`), those are `reachable` that have an anchor in their cluster to go by: units of clusters
    without a record chunk are given to nobody by any attack.
    """

    assigned: int
    true: int
    reachable: int
    correct_row: int
    correct_class: int
    correct_exp: Fraction
    expected: Fraction

    @property
    def accuracy(self) -> float | None:
        """The headline: identical anchors told apart by chance."""
        return _ratio(self.correct_exp, self.assigned)

    @property
    def accuracy_row(self) -> float | None:
        return _ratio(self.correct_row, self.assigned)

    @property
    def accuracy_class(self) -> float | None:
        """Any record behind an identical anchor is right; chance alone gets much of it where anchors are few."""
        return _ratio(self.correct_class, self.assigned)

    @property
    def recall(self) -> float | None:
        return _ratio(self.correct_exp, self.reachable)

    @property
    def gain(self) -> float | None:
        """Of the rows that chance would have wrong, the share that is right; below 0 worse than chance."""
        whole = self.assigned - self.expected
        return float(self.won / whole) if whole else None

    @property
    def won(self) -> Fraction:
        """How many more rows are right than chance would have right."""
        return self.correct_exp - self.expected

    @property
    def chance(self) -> float | None:
        """The accuracy that as many rows drawn at random would have."""
        return _ratio(self.expected, self.assigned)


class ClusterAccuracy(NamedTuple):
    """The counts of a cluster: rows given, how many of them are right, and would be by chance; how many could be."""

    cluster: int
    assigned: float
    correct_exp: float
    expected: float
    reachable: float


def _ratio(part: Fraction | int, whole: int) -> float | None:
    return float(Fraction(part) / whole) if whole else None


def accuracy_of(rows: TrueRows, assignments: Sequence[Assignment]) -> Accuracy:
    """Count what an attack has right; units it did not give anybody count as true all the same.

    >>> from decloak.data.disassociated import Chunk, Cluster, Disassociated
    >>> chunks = (Chunk(("a",), (("a",), ("a",))), Chunk(("c",), (("c",),)))
    >>> rows = TrueRows(Disassociated((Cluster(2, chunks, ()),)), [["a"], ["a", "c"]], [[0, 1]])
    >>> won_back = accuracy_of(rows, [Assignment(0, 1, ("c",), (0,))])
    >>> won_back.accuracy, won_back.accuracy_row, won_back.accuracy_class
    (0.5, 0.0, 1.0)
    """
    given = rows.given(assignments)
    unit = given.unit
    right = among(unit[given.assignment] * rows.rows + given.row, rows.true)
    _, of_class = _by_class(rows, given, unit)
    correct_exp = _summed(of_class.part * of_class.true, of_class.whole * of_class.size)
    a, t = _class_counts(rows, given, unit)
    shared = given.shared
    held = len(rows.true) if shared else rows.own
    expected = _summed(given.times * rows.true_times(unit), rows.sizes[given.cluster])
    correct = int(right.sum()), int(np.minimum(a, t).sum()), correct_exp
    return Accuracy(len(given.row), held, int(rows.reachable(shared=shared).sum()), *correct, expected)


def accuracy_by_cluster(rows: TrueRows, assignments: Sequence[Assignment]) -> list[ClusterAccuracy]:
    """Count it in each of the clusters where something was or could be given, identical anchors told apart by
    chance.
    """
    given = rows.given(assignments)
    unit = given.unit
    assignment, of_class = _by_class(rows, given, unit)
    clusters = len(rows.sizes)
    assigned = np.bincount(given.cluster, given.times, clusters)
    shares = of_class.part * of_class.true / (of_class.whole * of_class.size)
    right = np.bincount(given.cluster[assignment], shares, clusters)
    expected = np.bincount(given.cluster, given.times * rows.true_times(unit) / rows.sizes[given.cluster], clusters)
    reachable = rows.reachable(shared=given.shared)
    return [
        ClusterAccuracy(cluster, assigned[cluster], right[cluster], expected[cluster], float(reachable[cluster]))
        for cluster in np.flatnonzero(assigned + reachable).tolist()
    ]


def gifts_of(rows: TrueRows, assignments: Sequence[Assignment]) -> Gifts:
    """Return what an attack gave, as what it is compared with needs it."""
    given = rows.given(assignments)
    chunks: dict[tuple[int, ChunkNumber], int] = {}
    block = np.array([chunks.setdefault(one[:2], len(chunks)) for one in assignments], np.int64)
    return Gifts(
        block[given.assignment], given.row, given.unit[given.assignment], rows.shares, rows.of_row, rows.class_sizes,
        rows.home, np.array([cluster for cluster, _ in chunks], np.int64),
    )  # fmt: skip


class _Class(NamedTuple):
    """What the rows of a class were given: `part` of `whole` units; how many of `size` rows truly have the unit."""

    part: Ints
    whole: Ints
    true: Ints
    size: Ints


def _by_class(rows: TrueRows, given: Given, unit: Ints) -> tuple[Ints, _Class]:
    """What every class was given, with the assignment; places that equal rows share are dealt out among these."""
    classes, spread = len(rows.class_sizes), given.spread
    key = spread.assignment * classes + rows.of_row[spread.row]
    assigned, first, place = np.unique(key, return_index=True, return_inverse=True)
    part = np.zeros(len(assigned), np.int64)
    np.add.at(part, place, spread.part)  # rows of one anchor are all as likely: all share, or none does
    assignment, row_class = np.divmod(assigned, max(1, classes))
    true = rows.true_in_class(unit[assignment], row_class)
    return assignment, _Class(part, spread.whole[first], true, rows.class_sizes[row_class])


def _class_counts(rows: TrueRows, given: Given, unit: Ints) -> tuple[Ints, Ints]:
    """How many rows of a class were given a unit, and how many truly have it."""
    classes = len(rows.class_sizes)
    assigned, a = np.unique(given.assignment * classes + rows.of_row[given.row], return_counts=True)
    assignment, row_class = np.divmod(assigned, max(1, classes))
    return a, rows.true_in_class(unit[assignment], row_class)


def _summed(numerators: Ints, denominators: Ints) -> Fraction:
    """The exact sum, by denominator: without a fraction for every unit."""
    bottom, place = np.unique(denominators, return_inverse=True)
    top = np.zeros(len(bottom), np.int64)
    np.add.at(top, place, numerators)
    return sum(map(Fraction, top.tolist(), bottom.tolist()), Fraction(0))


def added_items(release: Disassociated, assignments: Iterable[Assignment]) -> list[list[set[str]]]:
    """Return the items an attack added to every row of every cluster."""
    added: list[list[set[str]]] = [[set() for _ in range(cluster.size)] for cluster in release.clusters]
    for cluster, _, unit, rows in assignments:
        for row in rows:
            added[cluster][row].update(unit)
    return added


def reconstructed(release: Disassociated, truth: Truth, assignments: Iterable[Assignment]) -> list[frozenset[str]]:
    """Return every record as the attack has it, its anchor and what was added, in the order of the records."""
    rebuilt: dict[int, frozenset[str]] = {}
    for numbers, cluster, added in zip(truth, release.clusters, added_items(release, assignments), strict=True):
        anchors, of_row = rows_of_cluster(cluster)
        for record, anchor, more in zip(numbers, of_row, added, strict=True):
            rebuilt[record] = frozenset(anchors[anchor]) | more
    return [rebuilt[record] for record in sorted(rebuilt)]
