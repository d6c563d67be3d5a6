"""Probability that a row has a unit, for any attack: the expectation that the release itself teaches.

The probabilities of `expectation` add up to the published numbers and are calibrated. So any attack's assignment to a
row has the probability that they give it, for the scores of the attacker.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import places_in
from decloak.data.assignment import Assignment, AssignmentList, Kind, PairScores
from decloak.rules.reassociate.kernel import ClusterAttack
from decloak.rules.reassociate.scores import SplitRelease
from decloak.rules.reassociate.strategy import Reassociation

__all__ = ["Posterior", "posterior"]

EXPECTATION = Reassociation.build(combine="fitted", give="expected", match="expectation", consistent=True)


class Posterior(NamedTuple):
    """The probability of every unit and anchor: from `p[begin[i]]` on those of the unit with the key `keys[i]`.

    A key is `cluster * len(kinds) + kind`. `of_row` has the anchor of each row, from `first` of its cluster on.
    """

    kinds: Mapping[Kind, int]
    keys: Ints
    begin: Ints
    p: Floats
    first: Ints
    of_row: Ints

    def of(self, assignments: Iterable[Assignment]) -> Floats:
        """Return the probability of every row of `assignments`, in order; NaN where nothing is known."""
        listed = AssignmentList.of(assignments)
        place, known = places_in(self.keys, listed.keys(self.kinds))
        owner, rows = listed.given.list_of_row, listed.given.rows
        p, there = np.full(len(rows), np.nan), known[owner]
        owner, rows = owner[there], rows[there]
        p[there] = self.p[self.begin[place[owner]] + self.of_row[self.first[listed.cluster[owner]] + rows]]
        return p


def posterior(split: SplitRelease, measures: Sequence[PairScores]) -> Posterior:
    """Compute the probability of every row of every unit of the release `split` from the scores of `measures`."""
    # The learner weighs the scores itself, so that no combined scores are given.
    attack = ClusterAttack(split, PairScores({}), EXPECTATION, measures=measures)
    parts = [(published, p) for published, _, p in attack.valued_batches()]
    parts += [(part.batch, part.values) for part in attack.shared_chunks()]
    nothing, end = np.zeros(0, np.int64), 0
    cluster: list[Ints] = [nothing]
    kind: list[Ints] = [nothing]
    begin: list[Ints] = [nothing]
    flat: list[Floats] = [np.zeros(0)]
    of_row = np.zeros(split.first[-1], np.int64)
    for batch, p in parts:
        number = np.array([case.number for case in batch.cases], np.int64)
        cluster.append(number[batch.owner])
        kind.append(batch.kind)
        begin.append(end + np.arange(len(p)) * p.shape[1])
        flat.append(p.ravel())
        end += p.size
        for case in batch.cases:
            of_row[split.first[case.number] : split.first[case.number + 1]] = case.rows.of_row
    kinds = dict(split.kinds)  # a later attack may number further units
    keys = np.concatenate(cluster) * len(kinds) + np.concatenate(kind)
    order = np.argsort(keys, kind="stable")
    return Posterior(kinds, keys[order], np.concatenate(begin)[order], np.concatenate(flat), split.first, of_row)
