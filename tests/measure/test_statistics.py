"""Intervals of means and of paired differences, against published values."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.figures import COUNT, GAIN, SHARE, Bounds
from decloak.measure.kernels.statistics import Interval, interval, paired_difference, quantile
from decloak.measure.registry import metrics_by_key

NUMBERS = st.floats(-1e6, 1e6)

# Student's table: degrees of freedom, level, quantile.
STUDENT = [
    (1, 0.95, 12.706), (2, 0.95, 4.303), (4, 0.95, 2.776), (9, 0.95, 2.262), (29, 0.95, 2.045),
    (1, 0.99, 63.657), (9, 0.99, 3.250), (9, 0.90, 1.833), (120, 0.95, 1.980),
]  # fmt: skip

# Cushny and Peebles 1905, hours of sleep gained, as in Student 1908: two drugs, the same ten people.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


@pytest.mark.parametrize(("freedom", "level", "quantile"), STUDENT)
def test_the_half_width_is_students_quantile_times_the_standard_error(freedom, level, quantile):
    values = [float(value % 7) for value in range(freedom + 1)]
    found = interval(values, level)
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert found.n == freedom + 1
    assert found.mean == pytest.approx(statistics.mean(values))
    assert (found.high - found.mean) / error == pytest.approx(quantile, abs=6e-4)
    assert (found.mean - found.low) / error == pytest.approx(quantile, abs=6e-4)


def test_the_sleep_of_students_paper():
    found = paired_difference(DRUG_2, DRUG_1)
    assert found.n == 10
    assert found[:3] == pytest.approx((1.58, 0.7001142, 2.4598858))


def test_a_pair_shows_what_two_intervals_hide():
    apart = interval(DRUG_1), interval(DRUG_2)
    assert apart[0].high > apart[1].low
    assert paired_difference(DRUG_2, DRUG_1).low > 0


def test_below_two_values_there_is_no_interval():
    assert interval([]) == Interval(None, None, None, 0, 0)
    assert interval([0.5]) == Interval(0.5, None, None, 1, 0)
    assert interval([None, 0.5, None]) == Interval(0.5, None, None, 1, 2)


def test_equal_values_have_no_interval_for_chance_may_change_them_yet():
    assert interval([0.1] * 3) == Interval(pytest.approx(0.1), None, None, 3, 0)
    assert interval([1.0] * 3, bounds=SHARE) == Interval(1.0, None, None, 3, 0)


BOUNDED = st.sampled_from([SHARE, COUNT, GAIN, Bounds(0.0, 800.0), Bounds(-3.0, 2.0)])


@given(
    BOUNDED,
    st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=8),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_a_mean_lies_in_its_interval_and_the_interval_within_what_can_be(bounds, places, level):
    start, stop = (0.0 if bounds.low is None else bounds.low), (1.0 if bounds.high is None else bounds.high)
    values = [start + place * (stop - start) for place in places]
    found = interval(values, level, bounds)
    if found.low is not None:
        assert found.low <= found.mean <= found.high
        assert bounds.low is None or found.low >= bounds.low
        assert bounds.high is None or found.high <= bounds.high


def test_the_width_is_students_on_a_scale_without_bounds():
    shares, counts = [0.7, 0.8, 0.95], [3.0, 5.0, 10.0]
    half = 4.303 / math.sqrt(3)
    mean, s = statistics.mean(shares), statistics.stdev(shares)
    found = interval(shares, bounds=SHARE)
    width = half * s / (mean * (1 - mean))
    assert math.log(found.high / (1 - found.high)) == pytest.approx(math.log(mean / (1 - mean)) + width, rel=1e-3)
    assert math.log(found.low / (1 - found.low)) == pytest.approx(math.log(mean / (1 - mean)) - width, rel=1e-3)
    mean, s = statistics.mean(counts), statistics.stdev(counts)
    found = interval(counts, bounds=COUNT)
    assert (found.low, found.high) == pytest.approx(
        (mean * math.exp(-half * s / mean), mean * math.exp(half * s / mean)), rel=1e-3
    )
    gains = [1 - count for count in counts]
    assert interval(gains, bounds=GAIN)[:3] == pytest.approx((1 - found.mean, 1 - found.high, 1 - found.low))


def test_missing_values_are_left_out_and_counted():
    assert interval([0.1, None, 0.4]) == interval([0.1, 0.4])._replace(missing=1)
    assert paired_difference([1.0, None, 2.0, 4.0], [0.5, 0.5, None, 1.0]) == Interval(
        *interval([0.5, 3.0])[:4], missing=2
    )


@given(st.lists(NUMBERS, min_size=2, max_size=8), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_higher_level_gives_an_interval_around_the_lower(values, level):
    inner, outer = interval(values, level), interval(values, level + 0.005)
    if inner.low is not None:
        assert outer.low <= inner.low <= inner.mean <= inner.high <= outer.high


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=8))
def test_swapping_the_attacks_turns_the_difference_round(pairs):
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert back.mean == -there.mean
    if there.low is not None:
        assert (back.low, back.high) == (-there.high, -there.low)


def test_series_of_different_length_cannot_be_paired():
    with pytest.raises(DecloakError, match="cannot pair 2 values with 1; measure both over the same seeds"):
        paired_difference([1.0, 2.0], [1.0])


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan")])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(DecloakError, match="a confidence level of"):
        interval([1.0, 2.0], level)


def test_a_gain_is_never_said_to_be_below_what_all_wrong_would_be():
    gain, precision, eliminated = (
        metrics_by_key()[name] for name in ("normalised_advantage", "precision", "eliminated")
    )
    assert gain.bounds_of(None, [0.5, None, 0.6]) == Bounds(-0.6 / 0.4, 1.0)
    assert gain.bounds_of(None) == gain.bounds_of(None, [1.0]) == GAIN
    assert precision.bounds_of(None, [0.5]) == SHARE
    assert eliminated.bounds_of(12.0, [0.5]) == Bounds(0.0, 12.0)
    chances, gains = [0.55, 0.5], [0.998, 0.2]
    mean = interval(gains, bounds=gain.bounds_of(None, chances))
    assert -0.55 / 0.45 <= mean.low < mean.mean < mean.high <= 1


@pytest.mark.parametrize("tail", [0.025, 0.05, 0.005, 1e-4, 0.4])
def test_the_quantile_of_few_repetitions_leaves_the_tail_that_was_asked_for(tail):
    # Not against stdtrit, whose inverse has ten figures in the least scipy that is declared.
    from scipy.special import betainc

    quantiles = [(freedom, quantile(freedom, tail)) for freedom in range(1, 140)]
    tails = [betainc(n / 2, 0.5, n / (n + t * t)) / 2 for n, t in quantiles]
    assert tails == pytest.approx([tail] * len(tails), rel=1e-11)
