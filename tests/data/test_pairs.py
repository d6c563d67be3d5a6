"""Pairs as arrays against the same pairs in dictionaries."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decloak.data import pairs as module
from decloak.data.pairs import Pairs, ScoredPairs, first_occurrences

ITEMS = st.sampled_from(["a", "b", "ab", "c", "é", ""])
PAIRS = st.lists(st.tuples(ITEMS, ITEMS))
SCORES = st.dictionaries(st.tuples(ITEMS, ITEMS), st.none() | st.floats(-2, 2))


@given(PAIRS)
def test_pairs_are_distinct_and_in_order(listed):
    pairs = Pairs.of(listed)
    expected = list(dict.fromkeys(listed))
    assert list(pairs) == expected
    assert [pairs[number] for number in range(len(pairs))] == expected
    assert pairs == expected
    assert pairs.terms == list(dict.fromkeys(item for pair in expected for item in pair))
    assert Pairs.of(pairs) is pairs


@given(PAIRS)
def test_keys_give_the_pairs_back(listed):
    pairs = Pairs.of(listed)
    assert Pairs.of_keys(pairs.items, pairs.keys) == pairs


@given(SCORES, st.lists(ITEMS), st.lists(ITEMS))
def test_scores_are_those_of_the_dictionary(scores, rows, columns):
    found = ScoredPairs.of(scores)
    assert found == scores
    assert dict(found) == scores
    expected = [[_number(scores.get((row, column))) for column in columns] for row in rows]
    np.testing.assert_array_equal(found.block(rows, columns), np.reshape(expected, (len(rows), len(columns))))


@given(SCORES, PAIRS)
def test_scores_of_other_pairs_are_looked_up(scores, listed):
    pairs = Pairs.of(listed)
    expected = [_number(scores.get(pair)) for pair in pairs]
    np.testing.assert_array_equal(ScoredPairs.of(scores).of_pairs(pairs), np.array(expected, float))


@given(PAIRS, st.dictionaries(ITEMS, st.none() | st.integers(0, 9)))
def test_values_of_items_are_by_code(listed, counts):
    pairs = Pairs.of(listed)
    by_code = pairs.by_code(counts)
    for a, code in zip(pairs.items, by_code, strict=True):
        np.testing.assert_equal(float(code), _number(counts.get(a)) if a in pairs.terms else math.nan)


@given(st.lists(st.lists(st.integers(0, 20))), st.integers(1, 8))
def test_numbers_are_kept_where_they_first_occur(blocks, at_once):
    was, module.AT_ONCE = module.AT_ONCE, at_once
    try:
        found = first_occurrences(np.array(block, np.int64) for block in blocks)
    finally:
        module.AT_ONCE = was
    assert found.tolist() == list(dict.fromkeys(number for block in blocks for number in block))


def _number(score):
    return math.nan if score is None else float(score)
