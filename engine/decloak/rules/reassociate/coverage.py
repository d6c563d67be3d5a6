"""The coverage of an attack on a disassociated release.

A pair is an item of the first record chunk of a cluster with an item of a later record chunk, or with a term. An
occurrence is a record of a cluster with a unit that may have been taken off it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from decloak.attacker.tables import anchor_pairs
from decloak.data.disassociated import Cluster, Disassociated
from decloak.data.tables import Pair
from decloak.rules.coverage import Count, Coverage, of_scores
from decloak.rules.reassociate.scores import ClusterCase, batches, coded_scores, values
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.units import rows_of_cluster, units_of

__all__ = ["coverage_in_clusters", "coverage_of_learner"]

_MEAN = Reassociation.build(combine="mean", give="multiplicity")


def coverage_in_clusters(release: Disassociated, scores: Mapping[Pair, float | None]) -> Coverage:
    """Count what the `scores` cover of what the attacks on `release` need; return the coverage."""
    items, pairs = of_scores(scores)
    cases = _cases(release)
    coded = coded_scores(scores, "larger", _coded_items(release), 0.0)
    known = 0
    for batch in batches(cases):
        scored = np.isfinite(values(batch, _MEAN, coded))
        first = 0
        for case in batch:
            sizes = np.bincount(case.rows.of_row, minlength=len(case.rows.anchors))
            known += int((scored[first : first + len(case.units), : len(sizes)] @ sizes).sum())
            first += len(case.units)
    return Coverage(items, pairs, Count(known, _occurrences(release, cases)))


def coverage_of_learner(release: Disassociated) -> Coverage:
    """Count what an attack needs that learns all of it from `release`: every item shown there has a count.

    Return the coverage.
    """
    pairs = anchor_pairs(release)
    items, occurrences = len(pairs.item_codes), _occurrences(release, _cases(release))
    return Coverage(Count(items, items), Count(len(pairs), len(pairs)), Count(occurrences, occurrences))


def _coded_items(release: Disassociated) -> list[str]:
    return sorted({item for cluster in release.clusters for item in _own_items(cluster)})


def _own_items(cluster: Cluster) -> Sequence[str]:
    return (*cluster.term_chunk, *(item for chunk in cluster.record_chunks for item in chunk.items))


def _cases(release: Disassociated) -> list[ClusterCase]:
    return [
        ClusterCase(number, rows_of_cluster(release.clusters[number]), units)
        for number, units in units_of(release, _MEAN, None)
        if units
    ]


def _occurrences(release: Disassociated, cases: Sequence[ClusterCase]) -> int:
    """Count the records with the units of their clusters, and with the terms of clusters that show nothing else."""
    bare = sum(cluster.size * len(cluster.term_chunk) for cluster in release.clusters if not cluster.record_chunks)
    return bare + sum(len(case.rows.of_row) * len(case.units) for case in cases)
