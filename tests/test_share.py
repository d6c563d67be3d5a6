"""Shares: printed as floats, compared exactly."""

import copy
import json
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decloak.data.exact_ratio import ExactRatio

FRACTIONS = st.fractions(0, 1)


@given(FRACTIONS, FRACTIONS | st.integers(-1, 2))
def test_a_share_is_compared_with_fractions_whole_numbers_and_shares_as_its_fraction(one, other):
    for left, right in [(ExactRatio(one), other), (one, ExactRatio(other)), (ExactRatio(one), ExactRatio(other))]:
        assert (left == right, left != right) == (one == other, one != other)
        assert (left < right, left <= right) == (one < other, one <= other)
        assert (left > right, left >= right) == (one > other, one >= other)


@given(FRACTIONS)
def test_a_share_equals_the_float_it_prints(one):
    share = ExactRatio(one)
    assert share == float(one) == share
    assert str(share) == repr(share) == repr(float(one))
    assert f"{share:.4f}" == f"{float(one):.4f}"
    assert json.dumps([share]) == json.dumps([float(one)])


def test_shares_that_differ_by_less_than_a_float_tells_differ():
    almost = Fraction(1, 3) + Fraction(1, 10**30)
    assert float(ExactRatio(almost)) == float(ExactRatio(Fraction(1, 3)))
    assert ExactRatio(Fraction(1, 3)) < ExactRatio(almost) != Fraction(1, 3)
    assert Fraction(1, 3) < ExactRatio(almost)
    assert len({ExactRatio(almost), ExactRatio(Fraction(1, 3)), Fraction(1, 3)}) == 2


def test_a_share_too_small_for_a_float_is_not_taken_for_none():
    share = ExactRatio(Fraction(1, 2**2000))
    assert f"{share}" == "0.0"
    assert share > 0
    assert share
    assert not ExactRatio(0)


@pytest.mark.parametrize("kept", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), ExactRatio])
def test_a_copy_is_as_exact(kept):
    assert kept(ExactRatio(Fraction(1, 3))).exact == Fraction(1, 3)
