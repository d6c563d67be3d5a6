"""Attacks on a disassociated release, a cluster at a time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.arrays import Floats
from decloak.data.assignment import Assignment, PairScores
from decloak.rules.reassociate.kernel import ClusterAttack
from decloak.rules.reassociate.scores import ClusterCase, SplitRelease


class AttackedCluster(NamedTuple):
    """What an attack found in a cluster: the fields of `AttackedBatch` for its units, and whether it is exact."""

    case: ClusterCase
    values: Floats
    rows: list[tuple[int, ...]]
    exactly: bool
    ties: Sequence[tuple[int, ...]]

    @property
    def assignments(self) -> Iterator[Assignment]:
        """Yield the assignments, without shared units that went only to other clusters."""
        for unit, rows in zip(self.case.units, self.rows, strict=True):
            if rows:
                yield Assignment(self.case.number, unit.chunk, unit.items, rows)


def attack(release, scores, strategy, *, closer="larger", unrelated=None, **options) -> Iterator[AttackedCluster]:
    """Yield the attacked clusters of `release` in any order; `options` are those of `ClusterAttack`."""
    attacked = ClusterAttack(SplitRelease(release), PairScores(scores, closer, unrelated), strategy, **options)
    for part in attacked.batches():
        rows, ties = part.rows.tuples(), [] if part.ties is None else part.ties.tuples()
        for case, units in part.batch.by_case():
            shares = part.values[units, : len(case.rows.anchors)]
            yield AttackedCluster(case, shares, rows[units], case.number in part.exactly, ties[units])
