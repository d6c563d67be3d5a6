"""How much more often right than chance: against the definitions, and where little was tried."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_lead as naive
from decloak.measure.kernels.advantage import (
    Advantage,
    ClaimCounts,
    advantage_over_repetitions,
    difference_over_repetitions,
    jackknife_advantage,
    jackknife_difference,
    repetitions_needed,
    total,
)

LEVELS = st.sampled_from([0.9, 0.95, 0.99])


@st.composite
def claims(draw, least=0):
    tried = draw(st.integers(least, 200))
    return ClaimCounts(tried, draw(st.integers(0, tried)), draw(st.floats(0, 1)) * tried)


@given(st.lists(claims(), max_size=12), LEVELS)
def test_the_lead_of_a_release_is_what_leaving_out_each_table_gives(units, level):
    found = jackknife_advantage(units, level)
    eliminated = [unit for unit in units if unit.tried]
    assert (found.n, found.missing) == (len(eliminated), len(units) - len(eliminated))
    if len(eliminated) < 2:
        assert found.low is found.high is None
        return
    assert found[:3] == pytest.approx(naive.resampled([tuple(unit) for unit in units], level), abs=1e-9)
    chance = total(eliminated).expected / total(eliminated).tried
    assert -chance - 1e-12 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1 - chance + 1e-12


@given(st.lists(claims(least=1), min_size=2, max_size=8), LEVELS)
def test_the_lead_of_repetitions_is_paired_with_their_own_chance(repetitions, level):
    found = advantage_over_repetitions(repetitions, level)
    leads = [one.advantage for one in repetitions]
    assume(max(leads) - min(leads) > 1e-9)
    assert found[:3] == pytest.approx(naive.repeated([tuple(one) for one in repetitions], level), abs=1e-9)
    assert found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12


def test_a_table_without_a_elimination_is_missing_and_a_lead_of_nothing_is_none():
    nothing = ClaimCounts(0, 0, 0)
    assert jackknife_advantage([nothing, ClaimCounts(4, 3, 2)]) == (0.25, None, None, 1, 1)
    assert jackknife_advantage([nothing, nothing]) == (None, None, None, 0, 2)
    assert advantage_over_repetitions([nothing]) == (None, None, None, 0, 1)
    assert (nothing.advantage, total([])) == (None, nothing)


def test_few_eliminations_that_all_happen_to_be_right_tell_little():
    """Three eliminations, each right by chance in three of four cases: all right in 42 of 100 cases."""
    few = [ClaimCounts(1, 1, 0.75)] * 3
    found = jackknife_advantage(few)
    assert found.low < 0 < found.mean == 0.25
    many = jackknife_advantage([ClaimCounts(40, 40, 30)] * 3)
    assert 0.15 < many.low < 0.25
    assert many.high == pytest.approx(0.25)


def test_repetitions_that_do_not_differ_have_no_interval():
    assert advantage_over_repetitions([ClaimCounts(10, 9, 6)] * 3) == (pytest.approx(0.3), None, None, 3, 0)


def test_a_lead_always_right_stays_within_what_can_be():
    found = advantage_over_repetitions([ClaimCounts(30, 30, 20), ClaimCounts(30, 30, 21), ClaimCounts(30, 30, 19)])
    assert found.high == pytest.approx(1 - 2 / 3)
    assert 0 < found.low < found.mean == pytest.approx(1 / 3)


REPEATED = [ClaimCounts(50, 40, 30), ClaimCounts(50, 33, 30), ClaimCounts(50, 46, 30)]


def test_as_many_repetitions_are_needed_as_first_decide():
    assert advantage_over_repetitions(REPEATED).low < 0
    n = repetitions_needed(REPEATED, 0.95, above=0.0)
    assert n == 6
    longer = [one for _ in range(2) for one in REPEATED]  # the same mean, and nearly the same spread
    assert advantage_over_repetitions(longer).low > 0
    assert repetitions_needed(REPEATED, 0.99, above=0.0) > n
    assert repetitions_needed(REPEATED, 0.95, below=0.02) is None
    weak = [ClaimCounts(500, 301, 300), ClaimCounts(500, 299, 300), ClaimCounts(500, 280, 300)]
    assert repetitions_needed(weak, 0.95, below=0.02) == 5
    assert repetitions_needed(REPEATED[:1], 0.95, above=0.0) is None


@given(st.lists(claims(least=1), min_size=2, max_size=6))
def test_more_comparisons_widen_every_interval(repetitions):
    for lead in (advantage_over_repetitions, jackknife_advantage):
        one, five = lead(repetitions, 0.95), lead(repetitions, 0.99)
        if one.low is not None:
            assert five.low <= one.low + 1e-12
            assert one.high <= five.high + 1e-12


@st.composite
def both_won(draw, least=0):
    hidden = draw(st.integers(least, 200))
    return tuple(Advantage(draw(st.floats(-0.9, 0.9)) * hidden, hidden) for _ in range(2))


@given(st.lists(both_won(least=1), min_size=2, max_size=8), LEVELS)
def test_two_attacks_are_compared_repetition_by_repetition(pairs, level):
    found = difference_over_repetitions(*zip(*pairs, strict=True), level)
    ahead = [first.share - second.share for first, second in pairs]
    assume(max(ahead) - min(ahead) > 1e-6)
    assume(abs(sum(ahead)) < 1.99 * len(ahead))
    assert found[:3] == pytest.approx(naive.difference_over_repetitions(pairs, level), abs=1e-9)
    most = 1 if abs(found.mean) < 1 else 2
    assert -most <= found.low <= found.mean + 1e-12 <= found.high + 2e-12 <= most + 3e-12


@given(st.lists(both_won(), min_size=2, max_size=12), LEVELS)
def test_on_one_release_two_attacks_are_compared_by_leaving_out_each_table(pairs, level):
    found = jackknife_difference(*zip(*pairs, strict=True), level)
    hiding = [pair for pair in pairs if pair[0].hidden]
    assert (found.n, found.missing) == (len(hiding), len(pairs) - len(hiding))
    if found.low is None:
        return
    assert found[:3] == pytest.approx(naive.jackknife_difference(pairs, level), abs=1e-9)
    back = jackknife_difference(*reversed(list(zip(*pairs, strict=True))), level)
    assert (-back.mean, -back.high, -back.low) == pytest.approx(found[:3], abs=1e-9)


def test_one_attack_may_be_as_far_below_chance_as_the_other_is_above():
    above, below = [Advantage(0, 1), Advantage(0.75, 1)], [Advantage(-0.75, 1), Advantage(-0.75, 1)]
    for compared in (difference_over_repetitions, jackknife_difference):
        difference = compared(above, below)
        assert -2 <= difference.low < difference.mean < difference.high <= 2
        assert difference.mean == 1.125


def test_attacks_that_never_differ_have_a_difference_without_an_interval():
    both = [Advantage(3, 10), Advantage(4, 10)]
    assert difference_over_repetitions(both, both) == (0.0, None, None, 2, 0)
    assert jackknife_difference(both, both) == (0.0, None, None, 2, 0)
    assert jackknife_difference([Advantage(0, 0)], [Advantage(0, 0)]) == (None, None, None, 0, 1)
    assert difference_over_repetitions([Advantage(0, 0), Advantage(3, 4)], [Advantage(0, 0), Advantage(1, 4)]) == (
        0.5,
        None,
        None,
        1,
        1,
    )
