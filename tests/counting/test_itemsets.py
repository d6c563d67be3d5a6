"""Support counting and the k^m guarantee, against plain enumeration and the worked examples of the papers."""

from collections import Counter
from contextlib import contextmanager
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from decloak.counting import itemsets
from decloak.counting.itemsets import coded_items, count_supports, item_sets, itemset_supports, sets_of, sizes
from decloak.counting.violations import (
    MarkedBlock,
    RareSets,
    _FirstItemsets,
    _narrowed,
    count_rare,
    rare_itemsets,
    violations,
)
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.rows import CodedRows, Sets
from decloak.errors import DecloakError

RECORDS = st.lists(st.sets(st.integers(0, 6)), max_size=9)
TRANSACTIONS = st.lists(st.sets(st.sampled_from("abcdef")), max_size=8)


def matrix(records, items=7):
    dense = np.zeros((len(records), items), np.int64)
    for row, record in enumerate(records):
        dense[row, sorted(record)] = 1
    return sparse.csr_array(dense)


@contextmanager
def pieces_of(size):
    """Count in steps of so many positions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(itemsets, "PIECE", size)
        yield


def listed(blocks):
    return [
        (tuple(itemset), support)
        for block in blocks
        for itemset, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True)
    ]


def counted(records, size, weights=None):
    """The naive twin: every itemset of every record, one by one."""
    total = Counter()
    for number, record in enumerate(records):
        for itemset in combinations(sorted(record), size):
            total[itemset] += weights[number] if weights else 1
    return total


@settings(max_examples=150)
@given(
    RECORDS,
    st.integers(1, 5),
    st.integers(1, 4),
    st.none() | st.integers(0, 4),
    st.none() | st.integers(0, 7),
    st.sampled_from([1, 2, 7, 1000]),
    st.data(),
)
def test_supports_equal_plain_enumeration(records, size, low, high, leading, piece, data):
    weights = data.draw(st.none() | st.lists(st.integers(1, 3), min_size=len(records), max_size=len(records)))
    expected = sorted(
        (itemset, support)
        for itemset, support in counted(records, size, weights).items()
        if support >= low
        and (high is None or support <= high)
        and (leading is None or any(item < leading for item in itemset))
    )
    given = None if weights is None else np.array(weights, np.int64)
    with pieces_of(piece):
        found = itemset_supports(matrix(records), size, weights=given, leading=leading, low=low, high=high)
        assert listed(found) == expected


@settings(max_examples=150)
@given(
    st.lists(st.sets(st.integers(0, 6), min_size=2) | st.just(set()), max_size=40),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from([(16, 4), (4, 2), (1,), ()]),
    st.data(),
)
def test_rare_itemsets_are_those_of_plain_enumeration_whatever_parts_are_looked_at_first(records, size, k, parts, data):
    weights = data.draw(st.none() | st.lists(st.integers(1, 6), min_size=len(records), max_size=len(records)))
    expected = [pair for pair in counted(records, size, weights).items() if pair[1] < k]
    given = None if weights is None else np.array(weights, np.int64)
    assert sorted(listed(rare_itemsets(matrix(records), size, k, weights=given, parts=parts))) == sorted(expected)


@settings(max_examples=150)
@given(RECORDS, st.integers(1, 4), st.integers(1, 7), st.sampled_from([1, 2, 7, 1000]), st.data())
def test_itemsets_are_counted_by_support_without_listing_them(records, size, k, piece, data):
    weights = data.draw(st.none() | st.lists(st.integers(1, 3), min_size=len(records), max_size=len(records)))
    below, expected = (
        [sum(value == support for value in counted(records, part, weights).values()) for support in range(k)]
        if part
        else [0] * k
        for part in (size - 1, size)
    )
    given = None if weights is None else np.array(weights, np.int64)
    with pieces_of(piece):
        assert count_supports(matrix(records), size, k, weights=given).tolist() == [below, expected]
    smaller, rare = count_rare(matrix(records), size, k, weights=given)
    assert rare.tolist() == expected[: len(rare)]
    assert smaller is None or smaller.tolist() == below[: len(smaller)]


def test_what_a_part_of_the_records_holds_often_enough_is_not_counted_in_all():
    often, seldom = np.ones((40, 5), np.int64), np.array([[1, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 1]])
    records = sparse.csr_array(np.concatenate((np.pad(often, ((0, 0), (0, 1))), seldom)))
    assert listed(rare_itemsets(records, 2, 3)) == [((1, 5), 1)]
    rarest_first, ones = sets_of(records[:, ::-1]), np.ones(42, np.int64)
    for k, parts, left in ((3, (16,), 1), (4, (16,), 42), (4, (16, 4), 1), (12, (16, 4), 42), (3, (), 42)):
        assert _narrowed(rarest_first, ones, 2, k, parts)[0].shape[0] == left


@given(RECORDS, st.integers(1, 4), st.integers(7, 20))
def test_a_block_is_never_empty_nor_longer_than_the_piece_asked_for(records, size, piece):
    with pieces_of(piece):
        assert all(0 < len(block.supports) <= piece for block in itemset_supports(matrix(records), size))


def test_itemsets_of_very_many_items_stay_apart():
    items = 1 << 20
    rows = np.arange(3 * 6_000).reshape(-1, 3) * (items // 18_000)
    records = Sets(np.arange(0, rows.size + 1, 3), rows.ravel().astype(np.int32), (len(rows), items))
    assert listed(itemset_supports(records, 3)) == [(tuple(row), 1) for row in rows.tolist()]


def test_a_sum_of_weights_may_fill_sixty_two_bits():
    weights = np.array([1 << 61, (1 << 61) - 1], np.int64)
    assert listed(itemset_supports(matrix([{0, 1}, {0, 1}]), 2, weights=weights)) == [((0, 1), (1 << 62) - 1)]


def test_repeated_entries_count_once_explicit_zeros_never_and_the_matrix_stays_as_it_was():
    records = sparse.csr_array((np.array([1, 1, 0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    assert listed(itemset_supports(records, 1)) == [((1,), 1)]
    assert (records.data.tolist(), records.indices.tolist()) == ([1, 1, 0], [1, 1, 0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_nothing_is_found_where_nothing_is_held(shape):
    empty = sparse.csr_array(shape, dtype=np.int64)
    assert [listed(itemset_supports(empty, size)) for size in (1, 2, 3)] == [[], [], []]
    assert list(sizes(empty, 3)) == []


def test_itemsets_without_items_are_refused():
    with pytest.raises(ValueError, match="0 items"):
        next(itemset_supports(matrix([{1}]), 0))


def test_coding_is_alphabetical_and_keeps_empty_transactions():
    records, items = coded_items([["b", "a", "b"], [], iter(["\ud800", "a\x00"])])
    assert items == ("a", "a\x00", "b", "\ud800")
    assert records.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("transactions", "message"),
    [
        ([["a"], "milk"], "record 2 is 'milk', not a list of items"),
        ([None], "record 1 is 'None', not a list of items"),
        ([["a"], ["a", 7]], "an item of record 2 is '7', not a string"),
        ([b"ab"], "an item of record 1 is '97', not a string"),
        ([["a", ("b", "c\x1b")]], r"an item of record 1 is '('b', 'c\x1b')', not a string"),
    ],
)
def test_what_is_not_a_list_of_strings_is_named_on_one_line(transactions, message):
    for read in (item_sets, lambda given: violations(given, k=2, m=1)):
        with pytest.raises(DecloakError) as caught:
            read(transactions)
        assert caught.value.message == message
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 7, "milk"])
def test_what_is_no_list_at_all_is_told(wrong):
    with pytest.raises(DecloakError, match="not a list of records; give each record as a list of strings"):
        violations(wrong, k=2, m=1)


def test_a_release_is_told_from_its_transactions():
    with pytest.raises(DecloakError, match=r"not a list of records; give its \.transactions"):
        violations(Generalised((("a",),), {"a": ("a",)}, ("1",)), k=2, m=1)


def test_an_item_that_is_a_list_is_told():
    with pytest.raises(DecloakError, match=r"^an item of record 2 is .*, not a string; give"):
        item_sets([["a"], ["a", ["b"]]])


# Terrovitis et al. 2011, Figures 1 and 6; the thesis, Figure 2.11 b; an itemset shorter than m.
FIGURE_1 = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
PUBLISHED_1 = [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
FIGURE_2_11 = [["(a,b)", "(c,d)"], ["(a,b)", "(g,h)"], ["(c,d)", "(e,f)"], ["(e,f)", "(g,h)"]]
SHORT = [["x"], ["y", "z"], ["y", "z"], ["y"]]


@pytest.mark.parametrize(
    ("transactions", "k", "m", "expected"),
    [
        (FIGURE_1, 2, 2, [(["a1", "a2"], 1), (["a1", "b1"], 1)]),
        (PUBLISHED_1, 2, 2, []),
        (FIGURE_2_11, 2, 2, [(sorted(pair), 1) for pair in FIGURE_2_11]),
        (FIGURE_2_11, 2, 1, []),
        (SHORT, 2, 2, [(["x"], 1)]),
        ([], 5, 2, []),
        ([[], []], 5, 2, []),
        ([["a1"], [], ["a1"]], 3, 1, [(["a1"], 2)]),
        ([["a1", "a1"], ["a1"]], 2, 2, []),
        ([["a1"], ["b1"]], 2, 3, [(["a1"], 1), (["b1"], 1)]),
        ([["a1"]], 1, 5, []),
        ([["a1"], ["a1"]], 10**30, 10**30, [(["a1"], 2)]),
    ],
)
def test_violations_of_the_worked_examples(transactions, k, m, expected):
    assert violations(transactions, k=k, m=m) == [(frozenset(itemset), n) for itemset, n in expected]


def test_minimal_violations_come_first_then_the_smaller_then_in_alphabetical_order():
    data = [["c", "a"], ["b", "c"], ["b", "d"], ["d", "c"], ["b", "c"], ["e", "c", "b"], ["d", "b"]]
    found = [("".join(sorted(itemset)), support) for itemset, support in violations(data, k=2, m=3)]
    assert found == [("a", 1), ("e", 1), ("cd", 1), ("ac", 1), ("be", 1), ("ce", 1), ("bce", 1)]


def violations_by_hand(transactions, k, m):
    """The naive twin: the definition, itemset by itemset, minimal against all proper subsets."""
    items = sorted(set().union(*transactions))
    candidates = [frozenset(one) for size in range(1, m + 1) for one in combinations(items, size)]
    support = {one: sum(one <= held for held in transactions) for one in candidates}
    bad = {one for one in candidates if 1 <= support[one] < k}
    return sorted(
        ((one, support[one]) for one in bad),
        key=lambda pair: (any(other < pair[0] for other in bad), len(pair[0]), sorted(pair[0])),
    )


@settings(max_examples=150)
@given(TRANSACTIONS, st.integers(1, 5), st.integers(1, 4))
def test_violations_equal_the_definition(transactions, k, m):
    assert violations(transactions, k=k, m=m) == violations_by_hand(transactions, k, m)


def test_a_dataset_is_read_like_its_transactions():
    data = Dataset((("milk", "tea"), ("milk",)), ("1", "2"))
    assert violations(data, k=2, m=1) == [(frozenset({"tea"}), 1)]


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, None, "2"])
@pytest.mark.parametrize("name", ["k", "m"])
def test_k_and_m_are_whole_numbers_from_1(name, wrong):
    with pytest.raises(DecloakError, match=f"^{name} is .*; give a whole number of at least 1$"):
        violations([["a"]], **{"k": 2, "m": 2, name: wrong})


@settings(max_examples=150)
@given(TRANSACTIONS, st.integers(1, 5), st.integers(1, 4), st.integers(1, 6))
def test_the_first_violations_and_their_number_are_those_of_all(transactions, k, m, most):
    every = violations_by_hand(transactions, k, m)
    rare = RareSets(transactions, k, m)
    assert rare.first(most) == every[:most]
    assert rare.count() == len(every)
    assert rare.counts() == Counter((len(itemset), support) for itemset, support in every)
    bad = {itemset for itemset, _ in every}
    smallest = [(itemset, n) for itemset, n in every if not any(other < itemset for other in bad)]
    assert rare.first(None, minimal=True) == smallest
    assert rare.first(most, minimal=True) == smallest[:most]


def test_larger_sets_are_not_counted_before_they_are_asked_for():
    rare = RareSets([["a", "b", "c"], ["d"]], 2, 3)
    assert rare.first(4) == [(frozenset(item), 1) for item in "abcd"]
    assert rare.counted == {1: 4}
    assert rare.count() == 4 + 3 + 1
    assert rare.counted == {1: 4, 2: 3, 3: 1}


def test_sets_are_told_apart_where_their_numbers_fill_more_than_64_bits():
    rows = [[str(number)] * 2 for number in range(60_000)] + [["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"]]
    frequent = [("a", "b", "c", "d"), ("e",)] * 2
    found = RareSets(rows[60_000:] + [list(row) for row in frequent] + rows[:60_000], 3, 5).first(None, minimal=True)
    assert [itemset for itemset, _ in found if len(itemset) > 1] == [frozenset({item, "e"}) for item in "abcd"]


def test_what_was_found_to_be_in_no_need_of_counting_is_noted_with_the_rows_under_any_names():
    rows = CodedRows.of([["a", "b"], ["a", "b"], ["b"]])
    assert violations(rows, k=2, m=2) == []
    assert rows.verified_supports == rows.with_names(str.upper).verified_supports == {1: 2, 2: 2}
    assert rows.with_names(lambda name: "one").verified_supports == {}
    assert violations(rows, k=2, m=1) == []
    assert violations(rows, k=3, m=2) == [(frozenset("a"), 2), (frozenset("ab"), 2)]
    assert violations(rows.with_names(str.upper), k=3, m=1) == [(frozenset("A"), 2)]
    assert rows.verified_supports == {1: 2, 2: 2}


def test_what_is_settled_of_rows_is_not_of_some_of_them():
    rows = CodedRows.of([["a"], ["a"], []])
    assert violations(rows, k=2, m=1) == []
    assert violations(rows[1:], k=2, m=1) == [(frozenset("a"), 1)]


@settings(max_examples=60)
@given(st.permutations(sorted(combinations(range(5), 2))), st.integers(1, 4), st.integers(1, 11), st.data())
def test_the_first_are_the_same_however_blocks_come(pairs, step, most, data):
    least = _FirstItemsets(most)
    kept = data.draw(st.sets(st.sampled_from(pairs)))
    for begin in range(0, len(pairs), step):
        block = pairs[begin : begin + step]
        told = MarkedBlock(np.array(block), np.ones(len(block), np.int64), np.array([pair in kept for pair in block]))
        least.take(told, told.minimal)
    assert list(least.named(tuple("abcde"))) == [
        (frozenset({"abcde"[a], "abcde"[b]}), 1) for a, b in sorted(kept)[:most]
    ]
