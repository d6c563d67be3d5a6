"""Minimality: the truth is among the originals that are kept, and what is fixed is true."""

import random

import pytest

import decloak
from decloak.errors import DecloakError
from effect_minimality import METHODS, TREE
from minimality import minimality
from slowly import slow_but


@pytest.mark.parametrize("instances", slow_but([3], [3, 12]))
@pytest.mark.parametrize("name", METHODS)
def test_what_is_fixed_is_true(name, instances):
    method, options = METHODS[name]
    tried = 0
    for seed in range(12):
        chance = random.Random(seed)
        data = [sorted(chance.sample("abcd", chance.choice([1, 1, 2]))) for _ in range(4)]
        try:
            release = decloak.anonymise(data, method, **options)
            found = minimality(release, method, most=2_000, **options)
        except DecloakError:
            continue
        tried += 1
        if tried > instances:
            break
        assert 0 <= found.consistent <= found.possible
        assert found.present <= found.hidden
        assert found.absent <= found.hidden - found.present
        if method != "disassociation" and not getattr(release, "suppressed", ()):
            assert found.consistent  # the truth is one of them
            # Rows are in another order than records, but as many hold each item at least, or lack it.
            for item in "abcd":
                holders = sum(item in row for row in data)
                assert sum(one == item for _, one in found.present) <= holders
                assert sum(one == item for _, one in found.absent) <= len(data) - holders
    assert tried > 2


def test_an_example_by_hand():
    """Three rows show ab with k = 2, so one of the two items is in exactly one record. There are 12 such originals."""
    release = decloak.anonymise([["a"], ["a"], ["b"]], "cut", k=2, m=1, hierarchy=TREE)
    found = minimality(release, "cut", k=2, m=1, hierarchy=TREE)
    assert (found.possible, found.consistent) == (27, 12)
    assert not found.present | found.absent


def test_originals_that_need_no_generalisation_are_ruled_out():
    """Of two records with a, b or both, those with both items in no or two records would be published as they are."""
    release = decloak.anonymise([["a"], ["b"]], "cut", k=2, m=1, hierarchy=TREE)
    found = minimality(release, "cut", k=2, m=1, hierarchy=TREE)
    assert (found.possible, found.consistent) == (9, 6)


def test_a_large_release_is_refused():
    release = decloak.anonymise([["a"], ["b"]] * 12, "cut", k=20, m=1, hierarchy=TREE)
    with pytest.raises(DecloakError, match="originals are possible, more than 50,000"):
        minimality(release, "cut", k=20, m=1, hierarchy=TREE)
    with pytest.raises(DecloakError, match="unknown method"):
        minimality(release, "shuffle")
