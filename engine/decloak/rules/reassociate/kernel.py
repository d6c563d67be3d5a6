"""The one re-association attack: give what was taken off the records of a disassociated release back to them.

Each cluster is attacked on its own. The value of a row for a unit comes from the scores of the unit's items with those
of the row's anchor in the first record chunk, never from what the attack has given it (`scores`, `fitted`). The
rows are matched as the strategy says (`match`, `expected`, `exact`), and made consistent if it says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.attack.controls import Control
from decloak.data.assignment import Assignment, Closer, PairScores
from decloak.data.disassociated import Disassociated
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.rules.reassociate.consistent import RuledOut, consistent, limits
from decloak.rules.reassociate.exact import exact
from decloak.rules.reassociate.expected import expectation, term_counts, term_supports
from decloak.rules.reassociate.fitted import fitted_scores
from decloak.rules.reassociate.match import assign, best, by_chance, tied
from decloak.rules.reassociate.scores import ClusterCase, Scores, batches, coded_scores, values
from decloak.rules.reassociate.shared import joint_cases
from decloak.rules.reassociate.spoilt import Spoiler
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.structure import row_orders, signatures
from decloak.rules.reassociate.units import rows_of_cluster, units_of

__all__ = ["AttackedCluster", "attack", "reassociate"]


class AttackedCluster(NamedTuple):
    """A cluster under attack.

    `values` has the value of each unit with each anchor, which its rows are ranked by: larger is closer, -inf where
    nothing is known; for an expectation it is the probability. `rows` are the rows of each unit;
    `exactly`: the probabilities are those of all that the cluster may have been. `ties` are the rows that share the
    last places of each unit, none where nothing is shared.
    """

    case: ClusterCase
    values: Floats
    rows: list[tuple[int, ...]]
    exactly: bool = False
    ties: Sequence[tuple[int, ...]] = ()

    @property
    def assignments(self) -> Iterator[Assignment]:
        """Who gets what; nothing is said of a shared unit that is given to other clusters only."""
        for unit, rows in zip(self.case.units, self.rows, strict=True):
            if rows:
                yield Assignment(self.case.number, unit.chunk, unit.items, rows)


def reassociate(
    release: Disassociated,
    scores: Mapping[Pair, float | None],
    strategy: Reassociation,
    *,
    closer: Closer = "larger",
    k: int | None = None,
    seed: int = 0,
    unrelated: float | None = None,
) -> list[Assignment]:
    """Return the rows of every unit, by cluster, chunk and unit.

    `scores` are of pairs of items, in either order; None, NaN and infinities are no score. `closer` says whether the
    larger or the smaller ones are of closer items. `k` replaces the release's own. `unrelated` is the score of items
    that have nothing in common, for `bayes`; without it, the mean of the scores. `seed` is for chance.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> chunks = (Chunk(("a", "b"), (("a",), ("a",), ("b",))), Chunk(("c",), (("c",), ("c",))))
    >>> release = Disassociated((Cluster(3, chunks, ("d",)),), k=2)
    >>> aba = Reassociation.build(combine="mean")
    >>> reassociate(release, {("a", "c"): 0.9, ("b", "c"): 0.1, ("b", "d"): 0.5}, aba)[1]
    Assignment(cluster=0, chunk='T', unit=('d',), rows=(2,))
    """
    attacked = attack(release, scores, strategy, closer=closer, k=k, seed=seed, unrelated=unrelated)
    # Clusters come in the order of batches, and an attack may not depend on how they were put together.
    in_order = sorted(attacked, key=lambda cluster: cluster.case.number)
    return [assignment for cluster in in_order for assignment in cluster.assignments]


def attack(
    release: Disassociated,
    scores: Mapping[Pair, float | None],
    strategy: Reassociation,
    *,
    closer: Closer = "larger",
    k: int | None = None,
    m: int | None = None,
    seed: int = 0,
    unrelated: float | None = None,
    control: Control | None = None,
    measures: Sequence[PairScores] = (),
) -> Iterator[AttackedCluster]:
    """The same with the values, cluster by cluster in any order; `control` spoils what is learned from.

    `measures` are those that the scores were made of, for who learns what each is worth.
    """
    spoiler = Spoiler(control, seed)
    items = _items(release, strategy)
    if strategy.combine == "fitted":
        each = measures or [PairScores(scores, closer, unrelated)]
        by_measure = [coded_scores(one.scores, one.closer, items, one.unrelated) for one in each]
        coded = fitted_scores(release, by_measure, spoiler)
    else:
        coded = coded_scores(scores, closer, items, unrelated)
    k = release.k if k is None else k
    ruled_out = _limits(release, k) if strategy.consistent else None
    supports = term_supports(release, _known(k)) if strategy.give == "expected" else None
    counts = None if supports is None else term_counts(supports)
    of_item = signatures(release) if strategy.by_probability else {}
    for batch in batches(spoiler.cases(list(_cases(release, strategy, k, counts)))):
        unit_values = _unknown(batch) if strategy.match == "random" else values(batch, strategy, coded)
        unit_values = spoiler.values(batch, unit_values)
        gone_through: set[int] = set()
        if strategy.by_probability:
            p = expectation(batch, unit_values, _targets(batch, counts), ruled_out)
            if strategy.match == "exact":
                bounds = _known(k), _size_known(release.m if m is None else m)
                gone_through = _go_through(release, batch, unit_values, p, supports or {}, *bounds)
            unit_values = p
        ties: list[tuple[int, ...]] = []
        if strategy.by_probability:
            rows, ties = best(batch, unit_values, row_orders(batch, of_item)), tied(batch, unit_values)
        else:
            rows = _matched(batch, strategy, unit_values, seed, ruled_out)
        for case, units in _by_case(batch):
            published, unit_rows = spoiler.restored(case, rows[units])
            _, sharing = spoiler.restored(case, ties[units])
            shares = unit_values[units, : len(case.rows.anchors)]
            yield AttackedCluster(published, shares, unit_rows, case.number in gone_through, sharing)
    if strategy.by_probability:
        yield from _shared(release, strategy, coded, spoiler)


def _go_through(
    release: Disassociated,
    batch: list[ClusterCase],
    values: Floats,
    p: Floats,
    supports: Mapping[int, Floats],
    k: int,
    m: int,
) -> set[int]:
    """Put the exact posterior in the place of p in small clusters, and return their numbers."""
    joined = {number for joint in release.joints for number in joint.clusters}
    done = set()
    for case, units in _by_case(batch):
        place = units, slice(0, len(case.rows.anchors))
        cluster, chances = release.clusters[case.number], supports[len(case.rows.of_row)]
        share = exact(case, cluster, values[place], chances, k=k, m=m, empty_rows=case.number in joined)
        if share is not None:
            p[place] = share
            done.add(case.number)
    return done


def _shared(
    release: Disassociated, strategy: Reassociation, coded: Scores, spoiler: Spoiler
) -> Iterator[AttackedCluster]:
    """What shared chunks give to the clusters of each joint cluster."""
    for joint in joint_cases(release):
        batch = [joint.case]
        unit_values = joint.masked(spoiler.values(batch, values(batch, strategy, coded)))
        p = expectation(batch, unit_values, _targets(batch, None))
        yield from (AttackedCluster(*part) for part in joint.parts(p, best(batch, p)))


def _targets(batch: list[ClusterCase], counts: Mapping[int, float] | None) -> Floats:
    """How many rows each unit has: of terms the expected number, where that is what they are given to."""
    return np.array(
        [
            counts[len(case.rows.of_row)] if counts and unit.chunk == "T" else unit.times
            for case in batch
            for unit in case.units
        ],
        dtype=np.float64,
    )


def _known(k: int | None) -> int:
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or choose give: multiplicity")
    return k


def _size_known(m: int | None) -> int:
    if m is None:
        raise DecloakError("the release does not say its m", hint="write it in its header, or use match: expectation")
    return m


def _by_case(batch: list[ClusterCase]) -> Iterator[tuple[ClusterCase, slice]]:
    """The units of each cluster among those of a batch."""
    first = 0
    for case in batch:
        units = slice(first, first + len(case.units))
        yield case, units
        first = units.stop


def _items(release: Disassociated, strategy: Reassociation) -> list[str]:
    """Every item of a cluster's own chunks, in order; and of shared ones for who attacks these."""
    items: set[str] = set()
    for cluster in release.clusters:
        items.update(
            cluster.term_chunk, *(subrecord for chunk in cluster.record_chunks for subrecord in chunk.subrecords)
        )
    if strategy.by_probability:
        items.update(item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items)
    return sorted(items)


def _cases(
    release: Disassociated, strategy: Reassociation, k: int | None, counts: Mapping[int, float] | None
) -> Iterator[ClusterCase]:
    for number, units in units_of(release, strategy, k, counts):
        if units:
            yield ClusterCase(number, rows_of_cluster(release.clusters[number]), units)


def _limits(release: Disassociated, k: int | None) -> dict[int, RuledOut]:
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or leave consistent out")
    return limits(release, k)


def _unknown(batch: list[ClusterCase]) -> Floats:
    """The values that chance goes by: none is known."""
    anchors = max(len(case.rows.anchors) for case in batch)
    return np.full((sum(len(case.units) for case in batch), anchors), -np.inf)


def _matched(
    batch: list[ClusterCase],
    strategy: Reassociation,
    unit_values: Floats,
    seed: int,
    ruled_out: Mapping[int, RuledOut] | None,
) -> list[tuple[int, ...]]:
    if strategy.match == "random":
        return by_chance(batch, seed)
    if strategy.match == "best":
        return best(batch, unit_values)
    rows = assign(batch, unit_values)
    return rows if ruled_out is None else _consistent(batch, unit_values, rows, ruled_out)


def _consistent(
    batch: list[ClusterCase], unit_values: Floats, rows: list[tuple[int, ...]], ruled_out: Mapping[int, RuledOut]
) -> list[tuple[int, ...]]:
    for case, units in _by_case(batch):
        rows[units] = consistent(
            case, unit_values[units, : len(case.rows.anchors)], rows[units], ruled_out[case.number]
        )
    return rows
