"""Attacks on many small releases of the generated clinic, by the kernels alone: what intervals are simulated with."""

from functools import cache

import numpy as np

from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.anonymisers.sets import by_sets, random_sets
from decloak.attacker.tables import needed_pairs, tables
from decloak.data.generators.clinic import generate
from decloak.measure.accuracy import accuracy_by_cluster
from decloak.measure.kernels.advantage import Advantage, ClaimCounts
from decloak.measure.kernels.true_rows import TrueRows
from decloak.measure.recovery import recovery
from decloak.relate.clinic import clinic_counts
from decloak.relate.ngd import distances
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.kernel import reassociate

RECORDS = 120
SCORES: dict = {}
rule = cache(lambda name: Catalogue().rule(name).compiled)


def scores(pairs):
    missing = [pair for pair in pairs if pair not in SCORES]
    SCORES.update(distances(clinic_counts(), missing, unseen=1.0, cap=1.0).distances)
    return SCORES


def eliminated(data, seed, names):
    """Claims by attack and table on a release of random sets of three, which are drawn by a seed; and what was won."""
    published = by_sets(data, random_sets(data.items, 3, 0.3, seed))
    made = tables(published, scores(needed_pairs(published, 2)), 2)
    true = [frozenset(row) for row in data.transactions]
    original = [np.array([[item in true[row] for item in t.columns] for row in t.transactions]) for t in made]
    claims = {}
    for name in names:
        done = eliminate([table.d for table in made], rule(name), threshold=None, ratio=1.0, seeds=None, further={})
        orders = [np.where(one.scored & ~one.kept, 0, -1) for one in done]
        counts = [recovery(order, truth, one.scored) for order, truth, one in zip(orders, original, done, strict=True)]
        claims[name] = [
            (ClaimCounts(one.eliminated, one.correct, one.expected), Advantage(one.correct - one.expected, one.added))
            for one in counts
        ]
    return claims


def given_back(data, names):
    """Claims by attack and cluster on a disassociated release, and what was won."""
    made = disassociate(data, k=3, m=2, max_cluster=15)
    pairs = {
        (anchor, item)
        for cluster in made.release.clusters
        for anchor in (cluster.record_chunks[0].items if cluster.record_chunks else ())
        for chunk in (*(chunk.items for chunk in cluster.record_chunks[1:]), cluster.term_chunk)
        for item in chunk
    }
    known = scores(sorted(pairs))
    rows = TrueRows(made.release, data.transactions, made.truth)
    claims = {}
    for name in names:
        given = reassociate(made.release, known, rule(name), closer="smaller")
        claims[name] = [
            (ClaimCounts(tried, right, chance), Advantage(right - chance, hidden))
            for _, tried, right, chance, hidden in accuracy_by_cluster(rows, given)
        ]
    return claims


def draws(kind, count, names):
    """Claims and what was won by attack, of many draws: for each a list with a pair for each table or cluster."""
    if kind == "releases":
        data = generate(RECORDS, seed=7)
        made = [eliminated(data, seed, names) for seed in range(count)]
    elif kind == "data sets":
        made = [eliminated(generate(RECORDS, seed=1000 + seed), seed, names) for seed in range(count)]
    else:
        made = [given_back(generate(RECORDS, seed=1000 + seed), names) for seed in range(count)]
    return {name: [one[name] for one in made] for name in names}
