"""What attackers know: how much, from whom, the same for the same seed, and what a knowledge file may hold."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.attacker.knowledge import explicit, frequent_itemsets, moderate, strong_pairs, weak
from decloak.errors import DecloakError

RECORDS = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), max_size=9)
ITEMS = [f"item {number}" for number in range(30)]
WORDS = [f"word {number}" for number in range(25)]


@given(RECORDS, st.integers(1, 4))
def test_the_strong_attacker_knows_every_itemset_of_every_record_once(records, m):
    expected = {itemset for record in records for itemset in combinations(sorted(record), m)}
    assert strong_pairs(records, m) == sorted(expected)


@given(RECORDS, st.integers(1, 4), st.sampled_from([0.1, 0.5, 0.999999999999]), st.integers())
def test_the_moderate_attacker_knows_one_itemset_of_each_record_of_a_strict_subset(records, m, share, seed):
    known = moderate(records, m, share, seed)
    long_enough = [record for record in records if len(record) >= m]
    assert len(known) <= max(0, len(records) - 1)
    if len(long_enough) == len(records) > 0:
        assert len(known) == min(int(share * len(records) + 1e-9), len(records) - 1)
    assert all(len(set(one)) == m and list(one) == sorted(one) for one in known)
    # Each itemset has a record of its own: the largest matching of itemsets to records is complete.
    assert matched(known, [set(record) for record in records]) == len(known)
    assert moderate(records, m, share, seed) == known


def matched(itemsets, records):
    owner = {}

    def place(number, seen):
        for at, record in enumerate(records):
            if at not in seen and record.issuperset(itemsets[number]):
                seen.add(at)
                if at not in owner or place(owner[at], seen):
                    owner[at] = number
                    return True
        return False

    return sum(place(number, set()) for number in range(len(itemsets)))


def test_the_moderate_attacker_knows_half_the_records_by_default():
    assert len(moderate([["a", "b", "c"]] * 101, 2)) == 50


def test_each_record_and_each_itemset_of_it_is_as_likely():
    records = [[f"{number}a", f"{number}b", f"{number}c"] for number in range(3)]
    known = [moderate(records, 2, 0.4, seed) for seed in range(900)]
    counts = {pair: sum(one == [pair] for one in known) for record in records for pair in combinations(record, 2)}
    assert sum(counts.values()) == 900
    assert all(60 <= count <= 140 for count in counts.values())


def test_the_weak_attacker_knows_the_190_pairs_of_ten_items_and_ten_foreign_words():
    known = weak(ITEMS, WORDS, 2)
    words = {word for pair in known for word in pair}
    assert len(known) == len(set(known)) == 190
    assert (len(words & set(ITEMS)), len(words & set(WORDS))) == (10, 10)


@given(st.integers(), st.integers(1, 3))
def test_the_weak_attacker_is_the_same_for_the_same_seed_in_any_order(seed, m):
    assert weak(ITEMS, WORDS, m, seed) == weak(reversed(ITEMS), set(WORDS), m, seed)


def test_other_seeds_other_knowledge():
    records = [ITEMS[number : number + 5] for number in range(20)]
    assert len({tuple(moderate(records, 2, seed=seed)) for seed in range(10)}) == 10
    assert len({tuple(weak(ITEMS, WORDS, 2, seed)) for seed in range(10)}) == 10


def test_the_weak_attacker_takes_all_items_when_there_are_fewer_than_ten():
    assert len(weak("abc", WORDS, 2)) == 13 * 12 / 2


def test_a_word_of_the_data_is_not_foreign():
    with pytest.raises(DecloakError, match=r"9 foreign words that are no items.*at least 10"):
        weak(ITEMS, WORDS[:9] + ITEMS, 2)


def test_attackers_leave_the_global_random_state_alone():
    before = random.getstate()
    moderate([["a", "b"]] * 5, 2, seed=3)
    weak(ITEMS, WORDS, 2, seed=3)
    assert random.getstate() == before


@pytest.mark.parametrize("m", [0, -1, 1.5, True, "2"])
def test_m_is_a_whole_number_from_1(m):
    for attempt in (lambda: strong_pairs([["a"]], m), lambda: moderate([["a"]], m), lambda: weak(ITEMS, WORDS, m)):
        with pytest.raises(DecloakError, match=r"m is .*whole number of at least 1"):
            attempt()


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan")])
def test_a_share_that_leaves_no_strict_subset_is_refused(share):
    with pytest.raises(DecloakError, match="share of records"):
        moderate([["a"]] * 4, 1, share)


def test_too_many_itemsets_are_refused_before_they_are_made():
    with pytest.raises(DecloakError, match="itemsets of 10 items"):
        strong_pairs([list(map(str, range(60)))], 10)


def written(tmp_path, data):
    path = tmp_path / "known.txt"
    path.write_bytes(data)
    return path


def test_a_knowledge_file_has_one_itemset_a_line(tmp_path):
    path = written(tmp_path, b'milk, tea\ntea\n"salt, fine",milk\n')
    items = ["milk", "tea", "salt, fine", "bread"]
    assert explicit(path, items) == [("milk", "tea"), ("tea",), ("milk", "salt, fine")]


def test_items_the_data_do_not_have_are_all_listed_with_the_first_line_of_each(tmp_path):
    path = written(tmp_path, b"milk,tea\nmilk,rum\nrum,gin\n")
    with pytest.raises(DecloakError, match=r"known\.txt:2: .*'rum' \(line 2\), 'gin' \(line 3\); remove them"):
        explicit(path, ["milk", "tea"])


def test_a_long_list_of_unknown_items_is_cut(tmp_path):
    path = written(tmp_path, "\n".join(f"u{number}" for number in range(50)).encode())
    with pytest.raises(DecloakError, match="'u9' \\(line 10\\) and 40 more"):
        explicit(path, ["milk"])


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"milk\n\nmilk\n", b"\xff\xfe\x00", b"milk\0", b"milk,,tea\n", b"m\xed\xa0\x80", b"x" * 10_000_000],
    ids=["empty", "blank", "gap", "binary", "zero", "ragged", "surrogate", "long"],
)
def test_a_broken_knowledge_file_is_an_error_with_its_place_in_one_line(tmp_path, data):
    with pytest.raises(DecloakError, match=r"known\.txt") as caught:
        explicit(written(tmp_path, data), ["milk", "tea"])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@settings(max_examples=60)
@given(
    st.lists(st.sets(st.sampled_from("abcde"), min_size=1, max_size=5), min_size=1, max_size=12),
    st.integers(1, 3),
    st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_what_is_frequent_is_what_counting_finds(records, m, support):
    held = {
        itemset: sum(set(itemset) <= record for record in records)
        for itemset in combinations(sorted(set().union(*records)), m)
    }
    often = [itemset for itemset, count in held.items() if count and count >= support * len(records) - 1e-9]
    assert frequent_itemsets(records, m, support=support, count=10**6) == sorted(often)
    few = frequent_itemsets(records, m, support=support, count=2, seed=5)
    assert few == frequent_itemsets(records, m, support=support, count=2, seed=5)
    assert len(few) == min(2, len(often))
    assert set(few) <= set(often)
