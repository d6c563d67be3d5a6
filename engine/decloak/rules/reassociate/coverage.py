"""The coverage of an attack on a disassociated release.

A pair is an item of the first record chunk of a cluster with an item of a later record chunk, or with a term. An
occurrence is a record of a cluster with a unit that may have been taken off it.
"""

from decloak.attacker.tables import anchor_pairs
from decloak.data.assignment import PairScores
from decloak.rules.coverage import Count, Coverage, of_scores
from decloak.rules.reassociate.scores import SplitRelease, scored_occurrences, values
from decloak.rules.reassociate.strategy import Reassociation

__all__ = ["coverage_in_clusters", "coverage_of_learner"]

_MEAN = Reassociation.build(combine="mean", give="multiplicity")


def coverage_in_clusters(split: SplitRelease, scores: PairScores, known: int | None) -> Coverage:
    """Count what the `scores` cover of what the attacks on the release `split` need; return the coverage.

    `known` occurrences have a score, if an attack has counted them.
    """
    items, pairs = of_scores(scores.scores)
    if known is None:
        coded = split.coded(scores, shared=False)
        known = sum(scored_occurrences(batch, values(batch, _MEAN, coded)) for batch in split.batches)
    return Coverage(items, pairs, Count(known, _occurrences(split)))


def coverage_of_learner(split: SplitRelease) -> Coverage:
    """Count what an attack needs that learns all of it from the release `split`: every item shown there has a count.

    Return the coverage.
    """
    pairs = anchor_pairs(split.release)
    items, occurrences = len(pairs.item_codes), _occurrences(split)
    return Coverage(Count(items, items), Count(len(pairs), len(pairs)), Count(occurrences, occurrences))


def _occurrences(split: SplitRelease) -> int:
    """Count the records with the units of their clusters, and with the terms of clusters that show nothing else."""
    bare = (cluster for cluster in split.release.clusters if not cluster.record_chunks)
    units = sum(len(case.rows.of_row) * len(case.units) for case in split.cases)
    return units + sum(cluster.size * len(cluster.term_chunk) for cluster in bare)
