"""COAT that chooses partners which an attacker can hardly distinguish: a naive twin, and the traps of the choice."""

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers.kernels import coat_partner
from decloak.anonymisers.kernels.coat import coat
from decloak.anonymisers.kernels.coat_partner import UNIT, MergingApart, compute_fits
from decloak.data.dataset import Dataset
from decloak.errors import DecloakError
from naive_coat import NaiveCoat, assert_sound, naive_fits, naive_lift
from test_coat import ITEMS, PRIVACY, RECORDS, dataset, possible, utility_constraints

PAIRS = list(combinations(ITEMS, 2))
ABOUT = [tuple(f"about {topic} {n}" for n in range(5)) for topic in "pqrs"]
NEAR = st.dictionaries(st.sampled_from(PAIRS), st.integers(-3, 3) | st.none(), max_size=20)


@settings(max_examples=1000, deadline=None)
@given(
    RECORDS, PRIVACY, utility_constraints() | st.just([list(ITEMS)]), st.integers(1, 6),
    st.sampled_from(["hard", "even"]), st.lists(NEAR, max_size=2), st.sampled_from([1, 1.5, 4]),
)  # fmt: skip
def test_equals_the_naive_twin(records, privacy, utility, k, partner, near, slack):
    k, data = possible(records, k), dataset(records)
    fits = compute_fits(data, ITEMS, near, None if near else data)
    made = coat(data, privacy, utility, k=k, items=ITEMS, partner=partner, near=near, slack=slack)
    whole = dict(zip(ITEMS, fits.tolist(), strict=True))
    twin = NaiveCoat(records, privacy, utility, k, ITEMS, partner, whole, Fraction(str(slack)))
    assert made.trace == tuple(twin.trace)
    assert made.ul == twin.loss()
    assert_sound(records, made, privacy, utility, k, ITEMS)


@settings(max_examples=200, deadline=None)
@given(RECORDS, st.lists(NEAR, max_size=2), st.none() | RECORDS)
def test_fits_equal_their_definition(records, near, population):
    measures = [
        lambda a, b, scores=scores: scores[a, b] if scores.get((a, b)) is not None else scores.get((b, a))
        for scores in near
    ]
    measures += [naive_lift(population)] if population is not None else []
    fits = compute_fits(dataset(records), ITEMS, near, None if population is None else dataset(population))
    expected = naive_fits(records, ITEMS, measures)
    assert np.allclose(fits / UNIT, [expected[item] for item in ITEMS], atol=1e-5)


def members_in_one_record(data, made):
    """The number of records with two members of one generalised item."""
    return sum(
        any(len(set(items) & set(label)) > 1 for label in {made.phi[item] for item in items} - {None})
        for items in data.transactions
    )


def test_a_partner_from_the_same_record_comes_last():
    """By the least win alone b would be the partner, in whose label the first record would have two members."""
    data = dataset([["a", "b", "x"], ["b", "x"], ["c", "y"], ["d"]])
    near = {("a", "x"): 9.0, ("b", "x"): 8.0, ("c", "x"): 1.0, ("c", "y"): 5.0, ("a", "y"): 0.0, ("b", "y"): 0.0}
    for utility, partner in ((["a", "b", "c"], "c"), (["a", "b"], "b")):
        made = coat(data, [["a"]], [utility], k=2, partner="hard", near=near)
        assert made.trace == (("merge", ("a",), ("a",), (partner,)),)


def test_a_record_with_two_members_fits_by_the_better_one():
    fits = np.array([[1, 0], [5, 0], [3, 4]])
    state = MergingApart([["a", "b"], ["c"]], "abc", ["abc"], fits=fits, partner="hard", slack=1)
    assert state.wins(0, np.array([2])).tolist() == [0.5]
    assert state.merge(1, 0) == 0
    assert state.wins(0, np.array([2])).tolist() == [1.0]


def test_by_the_lift_alone_no_more_records_have_two_members_of_a_label():
    """An item in one record has the lift of that record. Without the order of the keys every partner is from there."""
    rng = random.Random(0)
    rows = [["m", *rng.sample([f"r{n}" for n in range(90)], 3)] for _ in range(40)]
    data = Dataset.of(rows)
    privacy = [[item] for item in data.items if item != "m"]
    plain = coat(data, privacy, [data.items], k=2)
    for partner in ("hard", "even"):
        made = coat(data, privacy, [data.items], k=2, partner=partner)
        assert members_in_one_record(data, made) <= members_in_one_record(data, plain)


def test_the_least_win_leaves_a_signal_for_an_attacker_who_knows_the_option():
    """Language says nothing of these records, but the added members are chosen by it: keep the worst fit."""
    rng = random.Random(1)
    topic = {f"item {n}": rng.randrange(4) for n in range(60)}
    data = Dataset.of((*rng.choice(ABOUT), item) for item in topic)
    near = {(word, item): float(topic[item] == n) for n, words in enumerate(ABOUT) for word in words for item in topic}
    rare = [item for item in data.items if item.startswith("item")]

    def right(partner):
        options = {"partner": partner, "near": near} if partner else {}
        made = coat(data, [[item] for item in rare], [rare], k=2, **options)
        records = [(items[0], made.phi[items[-1]], items[-1]) for items in data.transactions]
        return sum(min(label, key=lambda item: near[about, item]) == held for about, label, held in records)

    chance, margin = 30, 9  # of 60, and 2.3 standard deviations
    assert max(right(None), right("even")) < chance + margin < right("hard")


def test_settings_of_a_choice_need_the_choice():
    data = [["a", "b"], ["a"], ["b", "c"]]
    options = {"k": 2, "privacy": [["c"]], "utility": [["b", "c"]]}
    with pytest.raises(DecloakError, match="partner is 'soft'"):
        decloak.anonymise(data, "coat", **options, partner="soft")
    with pytest.raises(DecloakError, match="slack is '0'"):
        decloak.anonymise(data, "coat", **options, partner="hard", slack=0)
    with pytest.raises(DecloakError, match="are for a choice of partners"):
        decloak.anonymise(data, "coat", **options, population=data)
    with pytest.raises(DecloakError, match="no table of scores"):
        decloak.anonymise(data, "coat", **options, partner="hard", near={("a", "b"): "close"})


def test_too_many_fits_are_refused(monkeypatch):
    monkeypatch.setattr(coat_partner, "MOST_FITS", 8)
    with pytest.raises(DecloakError, match="3 items and 3 records are too many"):
        coat(dataset(["ab", "a", "bc"]), [["c"]], [["b", "c"]], k=2, partner="hard")
