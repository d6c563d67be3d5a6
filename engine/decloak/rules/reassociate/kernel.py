"""The re-association attack: assign the split parts of a disassociated release to its records.

Each cluster is attacked on its own. The value of a row for a unit comes from the scores of the unit's items with the
items of the row's anchor in the first record chunk, never from earlier assignments (`scores`, `fitted`). The rows are
matched as the strategy says (`match`, `expected`, `exact`), and made consistent if it says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.assignment import Assignment, AssignmentArrays, AssignmentList, PairScores, RowLists, ScoreDirection
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block
from decloak.data.formats.cluster_files import read_arrays
from decloak.data.knowledge_levels import Control
from decloak.data.pairs import Pair
from decloak.errors import DecloakError
from decloak.rules.reassociate.consistent import cover_limits, make_consistent
from decloak.rules.reassociate.exact import exact_posterior
from decloak.rules.reassociate.expected import expectation, term_rows, term_supports
from decloak.rules.reassociate.fitted import NegativeControl, fitted_scores
from decloak.rules.reassociate.match import assign_rows, best_rows, random_rows, tied_rows
from decloak.rules.reassociate.scores import (
    ODDS,
    ClusterBatch,
    Scores,
    SplitRelease,
    compiled_loops,
    scored_occurrences,
    values,
)
from decloak.rules.reassociate.shared import joint_cases
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.structure import row_orders, signatures

__all__ = ["AttackedBatch", "ClusterAttack", "ranked_rows", "reassociate"]


class AttackedBatch(NamedTuple):
    """Result of an attack on a batch.

    `values` has the value of each unit with each anchor, which ranks its rows: larger is closer, -inf is unknown. For
    an expectation it is the probability. `rows` are the rows of each unit. `ties` are the rows that share the last
    places of each unit, None for an attack without probabilities. `exactly` has the numbers of the clusters whose
    probabilities come from all possible reconstructions.
    """

    batch: ClusterBatch
    values: Floats
    rows: RowLists
    ties: RowLists | None = None
    exactly: Set[int] = frozenset()

    def values_of_rows(self) -> Floats:
        """Return the value of each of `rows`."""
        unit = self.rows.list_of_row
        ranks: Floats = self.values[unit, self.batch.of_row[self.batch.owner[unit], self.rows.rows]]
        return ranks


def ranked_rows(split: SplitRelease, attacked: Iterable[AttackedBatch]) -> tuple[AssignmentList, Floats]:
    """Return the assignments of all batches by cluster, and the value of each of their rows.

    `split` is the release, and `attacked` are the batches. Shared units come after the others of a cluster.
    """
    nothing = RowLists.of(())
    cluster: list[Ints] = [nothing.rows]
    kind: list[Ints] = [nothing.rows]
    given, tied, ranks = [nothing], [nothing], list[Floats]()
    for part in attacked:
        number = np.array([case.number for case in part.batch.cases], np.int64)
        cluster.append(number[part.batch.owner])
        kind.append(part.batch.kind)
        given.append(part.rows)
        tied.append(part.ties or RowLists(np.zeros(len(part.batch.owner) + 1, np.int64), np.zeros(0, np.int64)))
        ranks.append(part.values_of_rows())
    units, rows, of_row = np.concatenate(cluster), RowLists.join(given), np.concatenate([np.zeros(0), *ranks])
    # Clusters come in the order of batches, and an attack may not depend on how they were put together.
    order = np.argsort(units, kind="stable")
    order = order[rows.lengths[order] > 0]
    listed = AssignmentList(
        units[order],
        np.concatenate(kind)[order],
        tuple(split.kinds),
        rows.select(order),
        RowLists.join(tied).select(order),
    )
    return listed, of_row[rows.places(order)]


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
    split = SplitRelease(release)
    attacked = ClusterAttack(split, PairScores(scores, closer, unrelated), strategy, k=k, seed=seed).batches()
    return list(ranked_rows(split, attacked)[0])


def assigned_by_means(strategy: Reassociation, block: Block, coded: Scores, k: int | None) -> AssignmentArrays | None:
    """Return what `strategy` assigns in the clusters of a file, by compiled loops; None where these do not apply.

    They apply to best matches by means. `coded` are the scores of all items, and `k` bounds the rows of a term.
    """
    by_means = strategy.combine == "mean" and strategy.match == "best" and not strategy.consistent
    if (loops := compiled_loops()) is None or not by_means or strategy.give != "k - 1" or coded.table is None:
        return None
    some = read_arrays(block)
    code = np.array([coded.code.get(name, -1) for name in some.names] or [-1], np.int32)
    held, term = code[some.held], code[some.term]
    units, rows = loops.assign_by_means(
        some.sizes,
        some.chunks,
        some.subs,
        some.entries,
        held,
        some.terms,
        term,
        coded.table,
        coded.scores,
        _require_k(k) - 1,
    )
    cluster, chunk, unit, ends = units.T.copy()
    # A term is a unit of one item: the lists of both kinds follow each other.
    ends_of_terms = some.entries[-1] + np.arange(1, len(term) + 1)
    lists = RowLists(np.concatenate((some.entries, ends_of_terms)), np.concatenate((some.held, some.term)))
    items = lists.select(np.where(chunk < 0, len(some.entries) - 1 + unit, unit))
    return AssignmentArrays(some.names, cluster, chunk, items, RowLists(np.append(0, ends), rows))


class ClusterAttack:
    """An attack on the release `split` by `strategy`, with the `scores` of the attacker.

    `k` and `m` replace the release's own. `control` spoils the training data. `measures` are the measures behind the
    scores, for a strategy that weighs them. `exactly` gets the clusters whose probabilities come from all possible
    reconstructions. `scored` counts the occurrences with a score; it is None for values that need none.
    """

    def __init__(
        self,
        split: SplitRelease,
        scores: PairScores,
        strategy: Reassociation,
        *,
        k: int | None = None,
        m: int | None = None,
        seed: int = 0,
        control: Control | None = None,
        measures: Sequence[PairScores] = (),
    ) -> None:
        release = split.release
        self._split, self._strategy, self._seed = split, strategy, seed
        # Without a control nothing is permuted, so that the same code runs in both cases.
        self._control = NegativeControl(control, seed)
        self.exactly = set[int]()
        values_need_scores = strategy.match != "random" and strategy.combine not in ODDS
        self.scored: int | None = 0 if values_need_scores else None
        each = [split.coded(one, shared=strategy.by_probability) for one in measures or [scores]]
        self._coded = fitted_scores(release, each, self._control) if strategy.combine == "fitted" else each[0]
        self._k, self._m = release.k if k is None else k, release.m if m is None else m
        consistent = strategy.consistent and release.cover is None
        self._ruled_out = cover_limits(release, _require_k(self._k, consistent=True)) if consistent else None
        expected = strategy.give == "expected"
        self._supports = term_supports(release, _require_k(self._k)) if expected else {}
        self._counts = term_rows(release, self._supports) if expected else None

    def batches(self) -> Iterator[AttackedBatch]:
        """Yield the attacked batches of the release, in any order; shared chunks last, a cluster at a time."""
        of_item = signatures(self._split.release) if self._strategy.by_probability else {}
        for published, batch, unit_values in self.valued_batches():
            times, ties = self._times(batch), None
            if self._strategy.by_probability:
                rows = best_rows(batch, unit_values, times, row_orders(batch.cases, of_item))
                ties = self._control.restore_order(batch, tied_rows(batch, unit_values, times))
            else:
                rows = self._match_rows(batch, unit_values, times)
            yield AttackedBatch(published, unit_values, self._control.restore_order(batch, rows), ties, self.exactly)
        if self._strategy.by_probability:
            yield from self.shared_chunks()

    def valued_batches(self) -> Iterator[tuple[ClusterBatch, ClusterBatch, Floats]]:
        """Yield each batch as published and as attacked, and the values of its units."""
        for published, batch in zip(self._split.batches, self._control.batches(self._split), strict=True):
            if self._strategy.match == "random":
                unit_values = np.full((len(batch.owner), int(batch.anchors.max())), -np.inf)
            else:
                unit_values = self._control.values(batch, values(batch, self._strategy, self._coded))
                if self.scored is not None:
                    self.scored += scored_occurrences(batch, unit_values)
            if self._strategy.by_probability:
                p = expectation(batch, unit_values, self._targets(batch), self._ruled_out)
                if self._strategy.match == "exact":
                    self._fill_exact_posteriors(batch, unit_values, p)
                unit_values = p
            yield published, batch, unit_values

    def shared_chunks(self) -> Iterator[AttackedBatch]:
        """Yield the assignments of shared chunks to the clusters of each joint cluster."""
        for joint in joint_cases(self._split.release):
            batch = self._split.batch([joint.case])
            unit_values = self._control.values(batch, values(batch, self._strategy, self._coded))
            p = expectation(batch, joint.mask_values(unit_values), batch.times.astype(np.float64))
            for case, shares, rows in joint.split_by_cluster(p, best_rows(batch, p, batch.times)):
                yield AttackedBatch(batch.with_cases([case]), shares, rows)

    def _times(self, batch: ClusterBatch) -> Ints:
        """Return the number of rows that each unit is given: of a term as the strategy says."""
        if self._strategy.give == "multiplicity" or not batch.is_term.any():
            return batch.times
        if self._counts is not None:
            most = np.rint(self._counts.expected(batch)).astype(np.int64)
        else:
            most = np.full(len(batch.owner), _require_k(self._k) - 1)
        return np.where(batch.is_term, np.minimum(most, batch.records[batch.owner]), batch.times)

    def _targets(self, batch: ClusterBatch) -> Floats:
        """Return the number of rows of each unit: for terms the expected number, if the strategy says so."""
        return self._times(batch).astype(np.float64) if self._counts is None else self._counts.expected(batch)

    def _fill_exact_posteriors(self, batch: ClusterBatch, values: Floats, p: Floats) -> None:
        """Replace p by the exact posterior in small clusters, and note their numbers."""
        release = self._split.release
        joined = {number for joint in release.joints for number in joint.clusters}
        for case, units in batch.by_case():
            place = units, slice(0, len(case.rows.anchors))
            cluster, chances = release.clusters[case.number], self._supports[len(case.rows.of_row)]
            share = exact_posterior(
                case, cluster, values[place], chances, k=_require_k(self._k), m=_require_m(self._m),
                empty_rows=case.number in joined or release.cover is not None, cured=release.cover is not None,
            )  # fmt: skip
            if share is not None:
                p[place] = share
                self.exactly.add(case.number)

    def _match_rows(self, batch: ClusterBatch, unit_values: Floats, times: Ints) -> RowLists:
        if self._strategy.match == "random":
            return random_rows(batch, times, self._seed)
        if self._strategy.match == "best":
            return best_rows(batch, unit_values, times)
        rows = assign_rows(batch, unit_values, times)
        for case, units in batch.by_case(times) if self._ruled_out is not None else ():
            case_values, limits = unit_values[units, : len(case.rows.anchors)], (self._ruled_out or {})[case.number]
            rows[units] = make_consistent(case, case_values, rows[units], limits)
        return RowLists.of(rows)


def _require_k(k: int | None, *, consistent: bool = False) -> int:
    if k is None:
        other = "leave consistent out" if consistent else "choose give: multiplicity"
        raise DecloakError("the release does not say its k", hint=f"give k, or {other}")
    if k < 2:
        raise DecloakError(f"k is {k}", hint="k is at least 2")
    return k


def _require_m(m: int | None) -> int:
    if m is None:
        raise DecloakError("the release does not say its m", hint="write it in its header, or use match: expectation")
    return m
