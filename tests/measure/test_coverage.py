"""How often intervals hold what they are about: simulated on the generated clinic, a thousand draws of each kind.

The draws stand for all there could be: their mean is what an interval should hold, 4,000 experiments take a few of them
at random. Of resampled releases each draw is an experiment.
"""

import random
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from math import fsum
from operator import sub
from statistics import fmean

import pytest

from clinic_draws import draws
from decloak.figures import COUNT, GAIN, SHARE
from decloak.measure.kernels.advantage import (
    Advantage,
    ClaimCounts,
    advantage_over_repetitions,
    difference_over_repetitions,
    jackknife_advantage,
    jackknife_difference,
    total,
)
from decloak.measure.kernels.statistics import interval

pytestmark = pytest.mark.slow
DRAWS, EXPERIMENTS = 1000, 4000
LOW, HIGH = 0.93, 0.97
ELIMINATING, GIVING = ("mda", "tba", "wba", "rba"), ("aba", "mra")
KINDS = {"releases": ELIMINATING, "data sets": ELIMINATING, "disassociated data sets": GIVING}
FEW = ("mda",)
"""Attacks of two dozen eliminations a release. Where all are right, intervals are wider than necessary, so that they
contain the true value at least as often as they should."""
FIGURES: dict[str, tuple[Callable[[ClaimCounts], float], object]] = {
    "precision": (lambda claims: claims.right / claims.tried, SHARE),
    "baseline": (lambda claims: claims.expected / claims.tried, SHARE),
    "normalised_advantage": (
        lambda claims: (claims.right - claims.expected) / (claims.tried - claims.expected),
        GAIN,
    ),
    "eliminated": (lambda claims: claims.tried, COUNT),
    "correct": (lambda claims: claims.right, COUNT),
}


@pytest.fixture(scope="module", params=KINDS)
def simulated(request):
    return request.param, draws(request.param, DRAWS, KINDS[request.param])


@pytest.fixture
def drawn(simulated):
    """The claims alone."""
    kind, made = simulated
    return kind, {attack: [[claims for claims, _ in units] for units in of_draws] for attack, of_draws in made.items()}


@pytest.fixture
def won(simulated):
    """What was won alone."""
    kind, made = simulated
    return kind, {attack: [[share for _, share in units] for units in of_draws] for attack, of_draws in made.items()}


def coverage(intervals, value) -> float:
    printed = [found for found in intervals if found.low is not None]
    assert len(printed) >= 400
    return fmean(found.low <= value <= found.high for found in printed)


def experiments(values: Sequence, n: int):
    rng = random.Random(1)
    return ([rng.choice(values) for _ in range(n)] for _ in range(EXPERIMENTS))


def outside(found: dict[str, float], low: float = LOW, high: float = HIGH) -> dict[str, float]:
    few = {name for name in found if name.split(", ")[1] in FEW}
    return {
        name: round(share, 4) for name, share in found.items() if not low <= share <= (1.0 if name in few else high)
    }


def test_the_lead_over_repetitions_is_where_its_interval_says(drawn):
    kind, claims = drawn
    found = {}
    for attack, made in claims.items():
        whole = [total(units) for units in made]
        mean = fmean(one.advantage for one in whole)
        for n in (3, 5, 10):
            found[f"{kind}, {attack}, {n}"] = coverage(map(advantage_over_repetitions, experiments(whole, n)), mean)
    assert outside(found) == {}


def test_the_lead_of_a_release_is_where_leaving_out_its_tables_says(drawn):
    kind, claims = drawn
    found = {}
    for attack, made in claims.items():
        mean = total([total(units) for units in made]).advantage
        found[f"{kind}, {attack}"] = coverage(map(jackknife_advantage, made), mean)
    # It is about data sets of one kind: of one data set all releases share the items, and are more alike.
    assert outside(found, high=1.0 if kind == "releases" else HIGH) == {}


def whole_of(units) -> Advantage:
    return Advantage(fsum(won.beyond for won in units), fsum(won.hidden for won in units))


def test_the_difference_of_two_attacks_over_repetitions_is_where_its_interval_says(won):
    kind, of_attacks = won
    found = {}
    for first, second in combinations(of_attacks, 2):
        pairs = [tuple(map(whole_of, both)) for both in zip(of_attacks[first], of_attacks[second], strict=True)]
        mean = fmean(one.share - other.share for one, other in pairs)
        for n in (3, 5, 10):
            taken = (difference_over_repetitions(*zip(*drawn, strict=True)) for drawn in experiments(pairs, n))
            found[f"{kind}, {first}, {second}, {n}"] = coverage(taken, mean)
    assert outside(found) == {}


def test_the_difference_of_two_attacks_on_a_release_is_where_leaving_out_its_tables_says(won):
    kind, of_attacks = won
    found = {}
    for first, second in combinations(of_attacks, 2):
        wholes = (whole_of([part for units in of_attacks[attack] for part in units]) for attack in (first, second))
        mean = reduce(sub, (whole.share for whole in wholes))
        found[f"{kind}, {first}, {second}"] = coverage(
            map(jackknife_difference, of_attacks[first], of_attacks[second]), mean
        )
    # As of leads: it is about data sets of one kind.
    assert outside(found, high=1.0 if kind == "releases" else HIGH) == {}


def test_all_pairs_of_attacks_at_once_are_where_their_corrected_intervals_say(won):
    kind, of_attacks = won
    pairs = list(combinations(of_attacks, 2))
    wholes = {attack: list(map(whole_of, made)) for attack, made in of_attacks.items()}
    means = {attack: fmean(one.share for one in made) for attack, made in wholes.items()}
    held = []
    for places in experiments(range(DRAWS), 5):
        of_draw = {attack: [made[place] for place in places] for attack, made in wholes.items()}
        bounds = [
            (
                difference_over_repetitions(of_draw[one], of_draw[other], 1 - 0.05 / len(pairs)),
                means[one] - means[other],
            )
            for one, other in pairs
        ]
        held.append(all(found.low <= difference <= found.high for found, difference in bounds))
    assert fmean(held) >= 0.95 - 0.01, kind


def test_shares_gains_and_counts_over_repetitions_are_where_their_intervals_say(drawn):
    kind, claims = drawn
    found = {}
    for attack, made in claims.items():
        whole = [total(units) for units in made]
        for name, (figure, bounds) in FIGURES.items():
            values = [figure(one) for one in whole]
            for n in (3, 5, 10):
                if len(set(values)) < 20:
                    continue  # one elimination a table: a count that is the number of tables, and no more to say of it
                taken = (interval(some, bounds=bounds) for some in experiments(values, n))
                found[f"{kind}, {attack}, {name}, {n}"] = coverage(taken, fmean(values))
    assert outside(found) == {}


def test_all_attacks_of_a_run_at_once_are_where_their_corrected_intervals_say(drawn):
    """At the level 1 - .05 / attacks all intervals hold at once in 95 of 100 runs, or more where attacks are alike."""
    kind, claims = drawn
    level = 1 - 0.05 / len(claims)
    whole = {attack: [total(units) for units in made] for attack, made in claims.items()}
    means = {attack: fmean(one.advantage for one in made) for attack, made in whole.items()}
    held = []
    for places in experiments(range(DRAWS), 5):
        bounds = {
            attack: advantage_over_repetitions([whole[attack][place] for place in places], level) for attack in claims
        }
        held.append(all(bounds[attack].low <= means[attack] <= bounds[attack].high for attack in claims))
    assert fmean(held) >= 0.95 - 0.01, kind


def test_three_eliminations_a_release_that_chance_alone_makes_right_are_no_lead():
    """A release of few eliminations is said to lead in no more of 100 cases than the level allows."""
    rng = random.Random(2)
    chance = 0.75
    runs = [[ClaimCounts(1, rng.random() < chance, chance) for _ in range(tables)] for tables in (2, 3, 6, 12) * 1000]
    said = [jackknife_advantage(units).low > 0 for units in runs]
    for tables in range(4):
        assert fmean(said[tables::4]) <= 0.04
