"""The share of sub-records that an attack on a disassociated release re-associates correctly, by cluster and pooled.

Rows are in the order of the attack; truth[cluster][row] is the row index of the record. A unit is truly in a row when
the record, restricted to the items of the unit's chunk, is the unit. For a unit and a class of rows (of the same
anchor), a rows of the class were assigned the unit and t truly have it:

correct_row = assigned rows that truly have it; correct_class = sum of min(a, t), where any record behind an identical
anchor is right; correct_exp = sum of a t / |class|, the expected number for an attacker who cannot distinguish
identical anchors. Accuracy = correct / assigned, recall = correct / reachable; clusters are pooled by summing counts.
Units of shared chunks count if an attack assigns any; most attacks ignore shared chunks.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.blocks import some_clusters
from decloak.counting.itemsets import among
from decloak.data.assignment import Assignment, AssignmentArrays, AssignmentList, ChunkNumber
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block
from decloak.data.formats.cluster_files import read_arrays, read_assignments, read_truth
from decloak.data.pairs import first_occurrences
from decloak.data.rows import CodedRows, Coding
from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.measure.kernels.cluster_search import loops
from decloak.measure.kernels.random_attack import (
    BlockAssignments,
    Moments,
    gamma_tail,
    moments_of,
    reassociation_p,
)
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows, Truth
from decloak.parallel import gather_tasks
from decloak.releases.stored import UNKNOWN, PartedDisassociation, StoredDisassociation
from decloak.rules.reassociate.units import rows_of_cluster

MOST_GROUPS = 1_000
"""Groups of clusters in files with figures of their own, at most: each is a row of the store."""


@dataclass(frozen=True)
class Accuracy:
    """The counts of a release; a measure is None where its divisor is 0.

    `expected` is the number of right rows if the same number is drawn at random for every unit. Of the rows that have a
    unit (`true`), `reachable` ones have an anchor in their cluster. Attacks ignore the units of clusters without a
    record chunk.
    """

    assigned: int
    true: int
    reachable: int
    correct_row: int
    correct_class: int
    correct_exp: Fraction
    expected: Fraction

    def __add__(self, other: "Accuracy") -> "Accuracy":
        """Return the counts of the clusters of both."""
        return Accuracy(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def accuracy(self) -> float | None:
        """Return the main measure, where identical anchors are indistinguishable."""
        return _exact_ratio(self.correct_exp, self.assigned)

    @property
    def accuracy_row(self) -> float | None:
        return _exact_ratio(self.correct_row, self.assigned)

    @property
    def accuracy_class(self) -> float | None:
        """Return the accuracy if any record behind an identical anchor is right; few anchors make
        it large at random.
        """
        return _exact_ratio(self.correct_class, self.assigned)

    @property
    def recall(self) -> float | None:
        return _exact_ratio(self.correct_exp, self.reachable)

    @property
    def gain(self) -> float | None:
        """Return the normalised advantage: the share right of what the baseline has wrong; 0 is random."""
        whole = self.assigned - self.expected
        return float(self.won / whole) if whole else None

    @property
    def won(self) -> Fraction:
        """Return the number of right rows beyond the baseline."""
        return self.correct_exp - self.expected

    @property
    def chance(self) -> float | None:
        """Return the baseline: the accuracy of the same number of rows drawn at random."""
        return _exact_ratio(self.expected, self.assigned)


class ClusterAccuracy(NamedTuple):
    """The counts of a cluster: assigned rows, right rows, rows right at random, and reachable rows."""

    cluster: int
    assigned: float
    correct_exp: float
    expected: float
    reachable: float


def _exact_ratio(part: Fraction | int, whole: int) -> float | None:
    return float(Fraction(part) / whole) if whole else None


def accuracy_of(rows: TrueRows, assignments: Sequence[Assignment]) -> Accuracy:
    """Count the `assignments` that are right for `rows`; units that were not assigned count as true too.

    Return the accuracy.

    >>> from decloak.data.disassociated import Chunk, Cluster, Disassociated
    >>> chunks = (Chunk(("a",), (("a",), ("a",))), Chunk(("c",), (("c",),)))
    >>> rows = TrueRows(Disassociated((Cluster(2, chunks, ()),)), [["a"], ["a", "c"]], [[0, 1]])
    >>> won_back = accuracy_of(rows, [Assignment(0, 1, ("c",), (0,))])
    >>> won_back.accuracy, won_back.accuracy_row, won_back.accuracy_class
    (0.5, 0.0, 1.0)
    """
    given = rows.assigned_units(assignments)
    unit = given.unit
    # A row is right if the record behind it truly has the unit.
    right = among(unit[given.assignment] * rows.rows + given.row, rows.true)
    _, of_class = _count_by_class(rows, given, unit)
    correct_exp = _summed(of_class.part * of_class.true, of_class.whole * of_class.size)
    a, t = _class_counts(rows, given, unit)
    shared = given.shared
    held = len(rows.true) if shared else rows.own_units
    expected = _summed(given.times * rows.true_times(unit), rows.sizes[given.cluster])
    correct = int(right.sum()), int(np.minimum(a, t).sum()), correct_exp
    return Accuracy(len(given.row), held, int(rows.reachable(shared=shared).sum()), *correct, expected)


def accuracy_by_cluster(rows: TrueRows, assignments: Sequence[Assignment]) -> list[ClusterAccuracy]:
    """Return the counts of each cluster of `rows` where `assignments` were made or possible."""
    given = rows.assigned_units(assignments)
    unit = given.unit
    assignment, of_class = _count_by_class(rows, given, unit)
    clusters = len(rows.sizes)
    assigned = np.bincount(given.cluster, given.times, clusters)
    shares = of_class.part * of_class.true / (of_class.whole * of_class.size)
    right = np.bincount(given.cluster[assignment], shares, clusters)
    expected = np.bincount(given.cluster, given.times * rows.true_times(unit) / rows.sizes[given.cluster], clusters)
    reachable = rows.reachable(shared=given.shared)
    where = np.flatnonzero(assigned + reachable)
    # Plain floats: numbers of numpy take ten times as long to send to another process.
    counts = (of_all[where].tolist() for of_all in (assigned, right, expected, reachable.astype(float)))
    return [ClusterAccuracy(*of_one) for of_one in zip(where.tolist(), *counts, strict=True)]


def block_assignments(rows: TrueRows, assignments: Sequence[Assignment]) -> BlockAssignments:
    """Return the `assignments` to `rows` by block, for the comparison with random ones."""
    listed = AssignmentList.of(assignments)
    given, chunks = rows.assigned_units(assignments), Coding[ChunkNumber]()
    chunk = np.array([chunks[chunk] for chunk, _ in listed.kinds], np.int64)[listed.kind]
    # One number for a cluster and a chunk. It is divided by the factor again, which so is never 0.
    keys = listed.cluster * max(1, len(chunks)) + chunk
    blocks = first_occurrences([keys])
    order = np.argsort(blocks)
    block = order[np.searchsorted(blocks[order], keys)]
    return BlockAssignments(
        block[given.assignment], given.row, given.unit[given.assignment], rows.shares, rows.of_row, rows.class_sizes,
        rows.home, blocks // max(1, len(chunks)),
    )  # fmt: skip


class _ClassCounts(NamedTuple):
    """Counts of a class: `part` of `whole` units were assigned, and `true` of `size` rows have the unit."""

    part: Ints
    whole: Ints
    true: Ints
    size: Ints


def _count_by_class(rows: TrueRows, given: AssignedUnits, unit: Ints) -> tuple[Ints, _ClassCounts]:
    """Count the assignments of every class; places that equal rows share are divided among these."""
    classes, spread = len(rows.class_sizes), given.spread
    # One number for an assignment and a class, so that np.unique groups by both.
    key = spread.assignment * classes + rows.of_row[spread.row]
    assigned, first, place = np.unique(key, return_index=True, return_inverse=True)
    part = np.zeros(len(assigned), np.int64)
    np.add.at(part, place, spread.part)  # rows of one anchor are all as likely: all share, or none does
    assignment, row_class = np.divmod(assigned, max(1, classes))
    true = rows.true_in_class(unit[assignment], row_class)
    return assignment, _ClassCounts(part, spread.whole[first], true, rows.class_sizes[row_class])


def _class_counts(rows: TrueRows, given: AssignedUnits, unit: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of rows of a class that were assigned a unit, and that truly have it."""
    classes = len(rows.class_sizes)
    assigned, a = np.unique(given.assignment * classes + rows.of_row[given.row], return_counts=True)
    assignment, row_class = np.divmod(assigned, max(1, classes))
    return a, rows.true_in_class(unit[assignment], row_class)


def _summed(numerators: Ints, denominators: Ints) -> Fraction:
    """Return the exact sum, by denominator: without a fraction for every unit."""
    bottom, place = np.unique(denominators, return_inverse=True)
    top = np.zeros(len(bottom), np.int64)
    np.add.at(top, place, numerators)
    return sum(map(Fraction, top.tolist(), bottom.tolist()), Fraction(0))


def added_items(release: Disassociated, assignments: Iterable[Assignment]) -> list[list[set[str]]]:
    """Return the items that `assignments` added to every row of every cluster of `release`."""
    added: list[list[set[str]]] = [[set() for _ in range(cluster.size)] for cluster in release.clusters]
    for cluster, _, unit, rows in assignments:
        for row in rows:
            added[cluster][row].update(unit)
    return added


def reconstructed(release: Disassociated, truth: Truth, assignments: Iterable[Assignment]) -> list[frozenset[str]]:
    """Return every record as the attack reconstructs it, its anchor and the added items, in the order of the records.

    `release`, `truth` and `assignments` are the arguments of `accuracy_of`.
    """
    rebuilt: dict[int, frozenset[str]] = {}
    for numbers, cluster, added in zip(truth, release.clusters, added_items(release, assignments), strict=True):
        anchors, of_row = rows_of_cluster(cluster)
        for record, anchor, more in zip(numbers, of_row, added, strict=True):
            rebuilt[record] = frozenset(anchors[anchor]) | more
    return [rebuilt[record] for record in sorted(rebuilt)]


class _Merged(NamedTuple):
    """The counts of a file: its accuracy, the counts of each cluster, and the moments of random assignments."""

    counts: Accuracy
    clusters: Floats
    moments: Moments


def _measure_parts(attacked: AttackResult[StoredDisassociation], held: PartedDisassociation) -> MetricResult:
    """Measure an attack on clusters in files: the sums over all clusters, and those of some clusters at a time."""
    key = attacked.digest
    tasks = [(block, held.truth(block.path), held.findings(block.path, key)) for block in held.blocks.blocks]
    done = gather_tasks(_count_block, tasks)
    counts = reduce(Accuracy.__add__, [part.counts for part in done])
    clusters = np.concatenate([part.clusters for part in done])
    clusters = clusters[clusters[:, 0] + clusters[:, 3] > 0]
    # Clusters are in random order, so any of them together are a sample.
    groups = np.array_split(clusters, min(len(clusters), MOST_GROUPS)) if len(clusters) else []
    scopes = (figure for group, some in enumerate(groups) for figure in _of_cluster(group, *some.sum(axis=0).tolist()))
    p = gamma_tail(Moments(*map(math.fsum, zip(*(part.moments for part in done), strict=True))))
    return [*scopes, *_pooled(counts, p if counts.assigned else None)], None


def _count_block(block: Block, truth: Path, findings: Path) -> _Merged:
    """Count the assignments to the clusters of `block` that are right by the records in the file `truth`."""
    some = read_arrays(block)
    behind, assigned = read_truth(truth, some).records, read_assignments(findings, some)
    if (compiled := loops()) is None:
        return _count_by_batches(block, behind, assigned)
    code = {name: at for at, name in enumerate(some.names)}
    of_record, of_unit = (
        np.array([code[name] for name in names] or [0], np.int32) for names in (behind.names, assigned.names)
    )
    counts, right, expected, clusters, moments = compiled.count_right(
        some.sizes, some.chunks, some.lists, some.items, some.subs, some.entries, some.held, some.terms, some.term,
        len(code), behind.start, of_record[behind.codes], assigned.cluster, assigned.chunk, assigned.items.start,
        of_unit[assigned.items.rows].astype(np.int64), assigned.given.start, assigned.given.rows,
    )  # fmt: skip
    by_size = np.arange(1, len(right))
    assigned_rows, true, reachable, right_rows, right_by_class = counts.tolist()
    sums = _summed(right[1:], by_size), _summed(expected[1:], by_size)
    accuracy = Accuracy(assigned_rows, true, reachable, right_rows, right_by_class, *sums)
    return _Merged(accuracy, clusters, Moments(*moments.tolist()))


def _count_by_batches(block: Block, behind: CodedRows[str], assigned: AssignmentArrays) -> _Merged:
    """Count as the compiled loops do, some clusters at a time."""
    nothing = Accuracy(0, 0, 0, 0, 0, Fraction(), Fraction())
    parts, first, row = [_Merged(nothing, np.zeros((0, 4)), Moments(0, 0, 0))], 0, 0
    for release in some_clusters(block):
        clusters = len(release.clusters)
        listed, end = assigned.in_clusters(first, first + clusters), row + sum(one.size for one in release.clusters)
        rows = TrueRows.of_truth(release, list(behind[row:end]))
        of_cluster = np.zeros((clusters, 4))
        for cluster, *of_one in accuracy_by_cluster(rows, listed):
            of_cluster[int(cluster)] = of_one
        moments = moments_of(block_assignments(rows, listed)) if len(listed) else Moments(0, 0, 0)
        parts.append(_Merged(accuracy_of(rows, listed), of_cluster, moments))
        first, row = first + clusters, end
    counts = reduce(Accuracy.__add__, [part.counts for part in parts])
    moments = Moments(*np.sum([part.moments for part in parts], axis=0).tolist())
    return _Merged(counts, np.concatenate([part.clusters for part in parts]), moments)


def _measure(attacked: AttackResult[StoredDisassociation]) -> MetricResult:
    if isinstance(attacked.release, PartedDisassociation):
        return _measure_parts(attacked, attacked.release)
    rows = attacked.release.with_ground_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("accuracy")
    counts = accuracy_of(rows, attacked.assignments)
    p = reassociation_p(block_assignments(rows, attacked.assignments))
    by_cluster = accuracy_by_cluster(rows, attacked.assignments)
    return [*(figure for cluster in by_cluster for figure in _of_cluster(*cluster)), *_pooled(counts, p)], None


def _pooled(counts: Accuracy, p: float | None) -> Iterator[MetricValue]:
    """Yield the figures of all clusters: `p` is the probability that random assignments are right as often."""
    yield from (
        (POOLED, "assigned", counts.assigned, counts.assigned, None),
        (POOLED, "true", counts.true, counts.true, None),
        (POOLED, "accuracy", counts.accuracy, float(counts.correct_exp), counts.assigned),
        (POOLED, "accuracy_class", counts.accuracy_class, counts.correct_class, counts.assigned),
        (POOLED, "baseline", counts.chance, float(counts.expected), counts.assigned),
        (POOLED, "normalised_advantage", counts.gain, float(counts.won), float(counts.assigned - counts.expected)),
        (POOLED, "p_random", p, None, None),
        (POOLED, "recall", counts.recall, float(counts.correct_exp), counts.reachable),
    )


def _of_cluster(
    cluster: int, assigned: float, correct: float, expected: float, reachable: float
) -> Iterator[MetricValue]:
    yield cluster, "accuracy", _ratio(correct, assigned), correct, assigned
    yield cluster, "baseline", _ratio(expected, assigned), expected, assigned
    yield cluster, "recall", _ratio(correct, reachable), correct, reachable


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


FAMILY = Family(
    name="accuracy",
    about="Sub-records that an attack assigns to the right record",
    metrics=metrics_of("accuracy"),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
    by_default=True,
)
