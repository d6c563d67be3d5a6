"""How surely what was cut off is put back, and what rows may hold, against the definitions."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_exposure as naive
from decloak.measure.kernels.put_back import possible, put_back, reconstructed_at_random, released
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


@settings(max_examples=150)
@given(attacked())
def test_every_unit_is_put_back_as_surely_as_its_class_was_given_it(made):
    release, records, truth, assignments = made
    rows = TrueRows(release, records, truth)
    gifts = rows.given(assignments)
    alone, found = released(rows, rows.true), put_back(rows, gifts, rows.true)
    some = slice(None, None, 2)
    for whole, part in zip(
        (*alone, *found), (*released(rows, rows.true[some]), *put_back(rows, gifts, rows.true[some])), strict=True
    ):
        np.testing.assert_array_equal(whole[some], part)
    own = [not str(chunk).startswith("S") for _, chunk, _ in rows.named_units]
    unit = rows.true // max(1, rows.rows)
    lines = zip(unit.tolist(), alone.row.tolist(), alone.items.tolist(), alone.right, *found, strict=True)
    units = [
        (row, items, *(None if math.isnan(one) else pytest.approx(one) for one in chances))
        for number, row, items, *chances in lines
        if own[number]
    ]
    wanted = naive.put_back(*made)
    key = lambda line: [-1.0 if one is None else float(getattr(one, "expected", one)) for one in line]  # noqa: E731
    assert sorted(wanted, key=key) == sorted(units, key=key)
    assert ((alone.right >= 0) & (alone.right <= 1)).all()


@settings(max_examples=100)
@given(attacked())
def test_rows_may_hold_their_anchor_and_what_their_cluster_publishes_elsewhere(made):
    release, records, truth, assignments = made
    rows = TrueRows(release, records, truth)
    assert as_sets(rows, possible(rows)) == naive.possible(release)
    anchors = [set(anchor) for cluster in release.clusters for anchor in cluster.anchors]
    assert as_sets(rows, rows.shown) == anchors
    drawn = as_sets(rows, reconstructed_at_random(rows, rows.given(assignments), np.random.default_rng(1)))
    added = Counter(item for held, anchor in zip(drawn, anchors, strict=True) for item in held - anchor)
    for item, count in added.items():
        given_to = sum(len(rows_) for _, _, unit, rows_ in assignments if item in unit)
        assert count <= given_to
    alone = Counter(item for _, _, unit, _ in assignments for item in unit)
    for number, _, unit, receivers in assignments:
        if len(unit) == 1 and alone[unit[0]] == 1 and not any(unit[0] in anchor for anchor in anchors):
            assert added[unit[0]] == len(receivers), number
