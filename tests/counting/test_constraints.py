"""Making constraints for COAT, and checking releases against them."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.anonymisers.kernels.constraints import (
    all_items,
    item_names,
    nested_sets,
    privacy_constraints,
    random_items,
    related_sets,
)
from decloak.counting.generalisation_guarantee import broken_privacy, broken_utility
from decloak.data.published import Published
from decloak.errors import DecloakError
from naive_coat import broken

ITEMS = [f"i{number}" for number in range(9)]
WIDE = [f"i{number}" for number in range(61)]
ELEMENTS = ["a", "b", "c", ("d", "e"), ("f", "g", "h"), ("i",), ("c", "j")]
PUBLISHED = st.lists(st.lists(st.sampled_from(ELEMENTS), unique=True).map(tuple), max_size=12).map(
    lambda rows: Published(tuple(rows), tuple(map(str, range(len(rows)))))
)
PRIVACY = st.lists(st.lists(st.sampled_from("abcdefghijk"), min_size=1, max_size=6, unique=True), max_size=4)


def unordered(items):
    return frozenset(items)


@settings(max_examples=200)
@given(PUBLISHED, PRIVACY, st.integers(1, 5))
def test_broken_combinations_are_those_found_by_trying_all(published, privacy, k):
    """Some smallest broken combination of every constraint that has one; also where items are not sent to one set."""
    every = broken(published.transactions, privacy, k)
    found = broken_privacy(published, privacy, k=k)
    assert {one.constraint for one in found} == {constraint for constraint, _ in every}
    for one in found:
        itemset = tuple(sorted(one.itemset))
        assert every[one.constraint, itemset] == one.support
        assert not any((one.constraint, q) in every for n in range(1, len(itemset)) for q in combinations(itemset, n))


def test_a_generalised_item_must_lie_in_one_utility_constraint():
    published = Published(((("a", "b"), ("c", "d")), (("e",), "f", ("a", "b"))), ("1", "2"))
    assert broken_utility(published, [["a", "b", "c"], ["d"]]) == [("c", "d")]
    assert broken_utility(published, []) == [("a", "b"), ("c", "d")]
    assert broken_utility(published, [["d", "c"], ["b", "a"]]) == []


def test_a_share_of_the_items_is_protected_each_alone():
    drawn = random_items(ITEMS, 1 / 3, seed=4)
    assert len(drawn) == 3
    assert set(drawn) <= {(item,) for item in ITEMS}
    assert drawn == random_items(unordered(ITEMS), 1 / 3, seed=4)
    assert random_items(ITEMS, 1.0, seed=4) == tuple((item,) for item in ITEMS)
    assert len({random_items(ITEMS, 1 / 3, seed=seed) for seed in range(9)}) > 1


def test_nested_sets_grow_by_one_item_and_the_same_seed_gives_the_same_whatever_the_sizes():
    sets = nested_sets(ITEMS, 5, seed=3)
    assert [len(one) for one in sets] == [3] * 5 + [4] * 5 + [5] * 5 + [6] * 5
    assert all(len(set(one)) == len(one) and set(one) <= set(ITEMS) for one in sets)
    for smaller, larger in zip(sets, sets[5:], strict=False):
        assert set(smaller) < set(larger)
    assert nested_sets(unordered(ITEMS), 5, seed=3, sizes=(4,)) == sets[5:10]
    assert nested_sets(ITEMS, 5, seed=4) != sets


def test_a_list_of_names_keeps_its_order_and_a_set_has_none_of_its_own():
    assert item_names(["b", "a", "b"], "items") == ("b", "a")
    assert item_names(unordered(ITEMS), "items") == tuple(ITEMS)


def test_all_items_may_stand_for_one_another():
    assert all_items(unordered(ITEMS)) == (tuple(ITEMS),)


def test_related_items_are_shared_out_in_the_order_of_the_privacy_constraints():
    close = {frozenset(pair): 0.6 for pair in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("f", "g"))}
    close[frozenset("af")] = 0.5

    def similar(one, other):
        return close.get(frozenset((one, other)))

    assert related_sets("abcdefg", [["a"], ["c", "d"]], similar) == (("a", "b"), ("c", "d", "e"))
    assert related_sets("abcdefg", [["c", "d"], ["a"]], similar) == (("b", "c", "d", "e"), ("a",))
    assert related_sets("abcdefg", [["a"], ["b"], ["g"]], similar, threshold=0.4) == (("a", "b", "f"), ("c",), ("g",))


def test_what_is_not_known_is_not_related_even_below_a_negative_threshold():
    assert related_sets("abc", [["a"]], lambda one, other: None if "c" in (one, other) else -1.0, -2.0) == (("a", "b"),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nested_sets(ITEMS, 1, 1, sizes=(10,)), "random sets of 10 out of 9 items; give smaller sizes"),
        (lambda: item_names(None, "items"), "items: 'None' is not a list of items"),
        (lambda: item_names([["a"]], "items"), "items: the item '['a']' is not a string"),
        (lambda: privacy_constraints([WIDE], WIDE), "privacy constraint 1: 61 items; give at most 60"),
        (lambda: related_sets(ITEMS, [["x"]], lambda one, other: 1.0), "privacy constraint 1: the item 'x' is in no"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(make, message):
    with pytest.raises(DecloakError) as error:
        make()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
