"""The re-association attack: assign the split parts of a disassociated release to its records.

Each cluster is attacked on its own. The value of a row for a unit comes from the scores of the unit's items with the
items of the row's anchor in the first record chunk, never from earlier assignments (`scores`, `fitted`). The rows are
matched as the strategy says (`match`, `expected`, `exact`), and made consistent if it says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.assignment import Assignment, PairScores, ScoreDirection
from decloak.data.disassociated import Disassociated
from decloak.data.knowledge_levels import Control
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.rules.reassociate.consistent import CoverLimits, cover_limits, make_consistent
from decloak.rules.reassociate.exact import exact_posterior
from decloak.rules.reassociate.expected import expectation, term_rows, term_supports
from decloak.rules.reassociate.fitted import NegativeControl, fitted_scores
from decloak.rules.reassociate.match import assign_rows, best_rows, random_rows, tied_rows
from decloak.rules.reassociate.scores import ClusterCase, Scores, batches, coded_scores, values
from decloak.rules.reassociate.shared import joint_cases
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.structure import row_orders, signatures
from decloak.rules.reassociate.units import TermRows, rows_of_cluster, units_of

__all__ = ["AttackedCluster", "attack", "reassociate"]


class AttackedCluster(NamedTuple):
    """Result of an attack on a cluster.

    `values` has the value of each unit with each anchor, which ranks its rows: larger is closer, -inf is unknown. For
    an expectation it is the probability. `rows` are the rows of each unit; `exactly`: the probabilities come from all
    possible reconstructions. `ties` are the rows that share the last places of each unit, none where nothing is shared.
    """

    case: ClusterCase
    values: Floats
    rows: list[tuple[int, ...]]
    exactly: bool = False
    ties: Sequence[tuple[int, ...]] = ()

    @property
    def assignments(self) -> Iterator[Assignment]:
        """Yield the assignments, without shared units that went only to other clusters."""
        for unit, rows in zip(self.case.units, self.rows, strict=True):
            if rows:
                yield Assignment(self.case.number, unit.chunk, unit.items, rows)


def reassociate(
    release: Disassociated,
    scores: Mapping[Pair, float | None],
    strategy: Reassociation,
    *,
    closer: ScoreDirection = "larger",
    k: int | None = None,
    seed: int = 0,
    unrelated: float | None = None,
) -> list[Assignment]:
    """Return the rows of every unit of `release`, by cluster, chunk and unit.

    `scores` are scores of pairs of items, in either order; None, NaN and infinities are absent scores. `strategy` is
    the attack. `closer` says whether larger or smaller scores mean closer items. `k` replaces the release's own.
    `unrelated` is the score of items with nothing in common, for `bayes`; without it, the mean of the scores. `seed` is
    for random matching.

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
    closer: ScoreDirection = "larger",
    k: int | None = None,
    m: int | None = None,
    seed: int = 0,
    unrelated: float | None = None,
    control: Control | None = None,
    measures: Sequence[PairScores] = (),
) -> Iterator[AttackedCluster]:
    """Yield the attacked clusters of `release` with their values, in any order.

    `scores`, `strategy`, `closer`, `k`, `seed` and `unrelated` are as in `reassociate`; `m` replaces the release's own.
    `control` spoils the training data. `measures` are the measures behind the scores, for a strategy that weighs them.
    """
    # Without a control nothing is permuted, so that the same code runs in both cases.
    negative_control = NegativeControl(control, seed)
    items = _items(release, strategy)
    if strategy.combine == "fitted":
        each = measures or [PairScores(scores, closer, unrelated)]
        by_measure = [coded_scores(one.scores, one.closer, items, one.unrelated) for one in each]
        coded = fitted_scores(release, by_measure, negative_control)
    else:
        coded = coded_scores(scores, closer, items, unrelated)
    k = release.k if k is None else k
    ruled_out = _cover_limits(release, k) if strategy.consistent and release.cover is None else None
    supports = term_supports(release, _require_k(k)) if strategy.give == "expected" else None
    counts = None if supports is None else term_rows(release, supports)
    of_item = signatures(release) if strategy.by_probability else {}
    for batch in batches(negative_control.cases(list(_cases(release, strategy, k, counts)))):
        unit_values = _no_values(batch) if strategy.match == "random" else values(batch, strategy, coded)
        unit_values = negative_control.values(batch, unit_values)
        gone_through: set[int] = set()
        if strategy.by_probability:
            p = expectation(batch, unit_values, _targets(batch, counts), ruled_out)
            if strategy.match == "exact":
                bounds = _require_k(k), _require_m(release.m if m is None else m)
                gone_through = _fill_exact_posteriors(release, batch, unit_values, p, supports or {}, *bounds)
            unit_values = p
        ties: list[tuple[int, ...]] = []
        if strategy.by_probability:
            rows, ties = best_rows(batch, unit_values, row_orders(batch, of_item)), tied_rows(batch, unit_values)
        else:
            rows = _match_rows(batch, strategy, unit_values, seed, ruled_out)
        for case, units in _by_case(batch):
            published, unit_rows = negative_control.restore_order(case, rows[units])
            _, sharing = negative_control.restore_order(case, ties[units])
            shares = unit_values[units, : len(case.rows.anchors)]
            yield AttackedCluster(published, shares, unit_rows, case.number in gone_through, sharing)
    if strategy.by_probability:
        yield from _attack_shared_chunks(release, strategy, coded, negative_control)


def _fill_exact_posteriors(
    release: Disassociated,
    batch: list[ClusterCase],
    values: Floats,
    p: Floats,
    supports: Mapping[int, Floats],
    k: int,
    m: int,
) -> set[int]:
    """Replace p by the exact posterior in small clusters, and return their numbers."""
    joined = {number for joint in release.joints for number in joint.clusters}
    done = set()
    for case, units in _by_case(batch):
        place = units, slice(0, len(case.rows.anchors))
        cluster, chances = release.clusters[case.number], supports[len(case.rows.of_row)]
        share = exact_posterior(
            case, cluster, values[place], chances, k=k, m=m,
            empty_rows=case.number in joined or release.cover is not None, cured=release.cover is not None,
        )  # fmt: skip
        if share is not None:
            p[place] = share
            done.add(case.number)
    return done


def _attack_shared_chunks(
    release: Disassociated, strategy: Reassociation, coded: Scores, negative_control: NegativeControl
) -> Iterator[AttackedCluster]:
    """Yield the assignments of shared chunks to the clusters of each joint cluster."""
    for joint in joint_cases(release):
        batch = [joint.case]
        unit_values = joint.mask_values(negative_control.values(batch, values(batch, strategy, coded)))
        p = expectation(batch, unit_values, _targets(batch, None))
        yield from (AttackedCluster(*part) for part in joint.split_by_cluster(p, best_rows(batch, p)))


def _targets(batch: list[ClusterCase], counts: TermRows | None) -> Floats:
    """Return the number of rows of each unit: for terms the expected number, if the strategy says so."""
    return np.array(
        [
            counts.expected(case.number, len(case.rows.of_row), unit.items[0])
            if counts is not None and unit.chunk == "T"
            else unit.times
            for case in batch
            for unit in case.units
        ],
        dtype=np.float64,
    )


def _require_k(k: int | None) -> int:
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or choose give: multiplicity")
    return k


def _require_m(m: int | None) -> int:
    if m is None:
        raise DecloakError("the release does not say its m", hint="write it in its header, or use match: expectation")
    return m


def _by_case(batch: list[ClusterCase]) -> Iterator[tuple[ClusterCase, slice]]:
    """Yield the units of each cluster in a batch."""
    first = 0
    for case in batch:
        units = slice(first, first + len(case.units))
        yield case, units
        first = units.stop


def _items(release: Disassociated, strategy: Reassociation) -> list[str]:
    """Return every item of a cluster's own chunks, in order; and of shared ones for a strategy that attacks these."""
    items: set[str] = set()
    for cluster in release.clusters:
        items.update(
            cluster.term_chunk, *(subrecord for chunk in cluster.record_chunks for subrecord in chunk.subrecords)
        )
    if strategy.by_probability:
        items.update(item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items)
    return sorted(items)


def _cases(
    release: Disassociated, strategy: Reassociation, k: int | None, counts: TermRows | None
) -> Iterator[ClusterCase]:
    for number, units in units_of(release, strategy, k, counts):
        if units:
            yield ClusterCase(number, rows_of_cluster(release.clusters[number]), units)


def _cover_limits(release: Disassociated, k: int | None) -> dict[int, CoverLimits]:
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or leave consistent out")
    return cover_limits(release, k)


def _no_values(batch: list[ClusterCase]) -> Floats:
    """Return unknown values for random matching."""
    anchors = max(len(case.rows.anchors) for case in batch)
    return np.full((sum(len(case.units) for case in batch), anchors), -np.inf)


def _match_rows(
    batch: list[ClusterCase],
    strategy: Reassociation,
    unit_values: Floats,
    seed: int,
    ruled_out: Mapping[int, CoverLimits] | None,
) -> list[tuple[int, ...]]:
    if strategy.match == "random":
        return random_rows(batch, seed)
    if strategy.match == "best":
        return best_rows(batch, unit_values)
    rows = assign_rows(batch, unit_values)
    return rows if ruled_out is None else _make_all_consistent(batch, unit_values, rows, ruled_out)


def _make_all_consistent(
    batch: list[ClusterCase], unit_values: Floats, rows: list[tuple[int, ...]], ruled_out: Mapping[int, CoverLimits]
) -> list[tuple[int, ...]]:
    for case, units in _by_case(batch):
        rows[units] = make_consistent(
            case, unit_values[units, : len(case.rows.anchors)], rows[units], ruled_out[case.number]
        )
    return rows
