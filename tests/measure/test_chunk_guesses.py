"""The guesses at what a disassociated release hides, and what rows may have, against the definitions."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_exposure as naive
from decloak.data.disassociated import Chunk, JointCluster
from decloak.measure.kernels import chunk_guesses
from decloak.measure.kernels.chunk_guesses import (
    assigned_candidates,
    best_guesses,
    possible_items,
    published_candidates,
    random_assignment,
)
from decloak.measure.kernels.true_rows import TrueRows
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.strategy import Reassociation
from disassociated_releases import releases, scores

STRATEGIES = [Reassociation.build(combine="mean"), Reassociation.build(match="random")]


@st.composite
def attacked(draw):
    release, records, truth = draw(releases())
    strategy = draw(st.sampled_from(STRATEGIES))
    return release, records, truth, reassociate(release, draw(scores()), strategy, seed=draw(st.integers(0, 9)))


def as_sets(rows, entries):
    held = [set() for _ in range(rows.rows)]
    for entry in entries.tolist():
        held[entry // rows.items].add(rows.names[entry % rows.items])
    return held


@st.composite
def with_shared_chunk(draw):
    """A release where items of the term chunks are published in a shared chunk instead, its truth, and gifts."""
    release, records, truth = draw(releases())
    terms = set().union(*(cluster.term_chunk for cluster in release.clusters))
    moved = draw(st.sets(st.sampled_from(sorted(terms)))) if terms else set()
    if moved:
        numbers = tuple(n for n, cluster in enumerate(release.clusters) if moved & set(cluster.term_chunk))
        there = [moved & set(cluster.term_chunk) for cluster in release.clusters]
        shown = [tuple(sorted(there[n] & set(records[place]))) for n in numbers for place in truth[n]]
        chunk = Chunk(tuple(sorted(moved)), tuple(sorted(filter(None, shown))))
        clusters = [
            replace(cluster, term_chunk=tuple(item for item in cluster.term_chunk if item not in moved))
            for cluster in release.clusters
        ]
        release = replace(release, clusters=tuple(clusters), joints=(JointCluster(numbers, (chunk,)),))
    strategy = draw(st.sampled_from(STRATEGIES))
    assignments = reassociate(release, draw(scores()), strategy, seed=draw(st.integers(0, 9)))
    gifts = [(n, chunk, unit, (row,)) for n, chunk, unit, rows in assignments for row in rows]
    weights = draw(st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=len(gifts), max_size=len(gifts)))
    return release, records, truth, gifts, weights


def chances(rows, right):
    """The probabilities of the items of each row, as the naive twin lists them."""
    shown = [set() for _ in range(rows.rows)]
    for entry in rows.anchor_items.tolist():
        shown[entry // rows.items].add(entry % rows.items)
    hidden = dict(zip(rows.hidden[0].tolist(), right.tolist(), strict=True))
    lists = [[] for _ in shown]
    for entry in rows.held.tolist():
        row, item = divmod(entry, rows.items)
        lists[row].append(1.0 if item in shown[row] else hidden.get(entry, 0.0))
    return lists


@settings(max_examples=300)
@given(with_shared_chunk())
def test_one_guess_is_made_at_each_part_with_the_largest_probability(made):
    release, records, truth, gifts, weights = made
    rows = TrueRows(release, records, truth)
    published = published_candidates(rows, range(len(release.clusters)))
    of_attack = assigned_candidates(rows, rows.assigned_units(gifts), np.array(weights))
    listed = [(n, unit, row, weight) for (n, _, unit, (row,)), weight in zip(gifts, weights, strict=True)]
    for candidates, attack in ((None, ()), (of_attack, listed)):
        right = best_guesses(rows, rows.hidden[0], published, candidates)
        wanted = naive.guesses_in_chunks(release, records, truth, attack)
        for own, expected in zip(chances(rows, right), wanted, strict=True):
            assert sorted(own) == pytest.approx(sorted(expected))


@settings(max_examples=100)
@given(attacked())
def test_rows_may_hold_their_anchor_and_what_their_cluster_publishes_elsewhere(made):
    release, records, truth, assignments = made
    rows = TrueRows(release, records, truth)
    assert as_sets(rows, np.concatenate(list(possible_items(rows)))) == naive.possible_items(release)
    with patch.object(chunk_guesses, "AT_ONCE", 3):
        blocks = list(possible_items(rows))
    assert np.concatenate(blocks).tolist() == np.concatenate(list(possible_items(rows))).tolist()
    anchors = [set(anchor) for cluster in release.clusters for anchor in cluster.anchors]
    assert as_sets(rows, rows.anchor_items) == anchors
    at_random = random_assignment(rows, rows.assigned_units(assignments), np.random.default_rng(1))
    with patch.object(chunk_guesses, "AT_ONCE", 3):
        in_parts = random_assignment(rows, rows.assigned_units(assignments), np.random.default_rng(1))
    assert in_parts.tolist() == at_random.tolist()
    drawn = as_sets(rows, np.concatenate((rows.anchor_items, at_random)))
    added = Counter(item for held, anchor in zip(drawn, anchors, strict=True) for item in held - anchor)
    for item, count in added.items():
        given_to = sum(len(rows_) for _, _, unit, rows_ in assignments if item in unit)
        assert count <= given_to
    alone = Counter(item for _, _, unit, _ in assignments for item in unit)
    for number, _, unit, receivers in assignments:
        if len(unit) == 1 and alone[unit[0]] == 1 and not any(unit[0] in anchor for anchor in anchors):
            assert added[unit[0]] == len(receivers), number
