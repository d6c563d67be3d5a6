"""Who is singled out, what is implied and what is guessed, against the definitions."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_exposure as naive
from decloak.data.rows import CodedRows
from decloak.measure.exposure_sets import NOBODY
from decloak.measure.kernels import candidate_index, singling_out
from decloak.measure.kernels.candidate_index import CandidateIndex
from decloak.measure.kernels.chunk_guesses import implied_in_chunks
from decloak.measure.kernels.random_attack import draws_for, expected_known, random_eliminations
from decloak.measure.kernels.singling_out import (
    SinglingOutSearch,
    Targets,
    classes_of,
    keep_rarest_items,
    sample_targets,
)
from disassociated_releases import releases

ITEMS = 6
SETS = st.sets(st.integers(0, ITEMS - 1))
PAIRS = np.array([(one, other) for one in range(ITEMS) for other in range(ITEMS)]).T
CHANCES = st.lists(st.lists(st.floats(0, 1), max_size=4), max_size=6)


def entries(rows):
    """Items of rows, ascending."""
    return np.array([row * ITEMS + item for row, held in enumerate(rows) for item in sorted(held)], np.int64)


def holding(rows):
    return CandidateIndex.of(len(rows), ITEMS, entries(rows))


def candidates(index, itemsets):
    """The records that may have each itemset."""
    found = [[] for _ in itemsets.T]
    for some, records in index.find_candidates(itemsets):
        for itemset, record in zip(some.tolist(), records.tolist(), strict=True):
            found[itemset].append(record)
    return found


def everybody(known):
    return Targets(np.arange(len(known)), ITEMS, entries(known))


@st.composite
def seen(draw):
    """What records may hold, show of it, and truly hold; and which cannot be told apart."""
    may = draw(st.lists(SETS, min_size=1, max_size=12))
    shows = [held & draw(SETS) for held in may]
    known = [shown | (held & draw(SETS)) for held, shown in zip(may, shows, strict=True)]
    classes = [draw(st.integers(0, 3)) for _ in may]
    return may, shows, known, [sorted(set(classes)).index(one) for one in classes]


@settings(max_examples=200)
@given(seen())
def test_whom_known_items_single_out_are_those_of_one_candidate(made):
    may, _, known, classes = made
    found = SinglingOutSearch(holding(may), everybody(known)).expected_singled_out(np.array(classes))
    assert found == pytest.approx(naive.expected_singled_out(may, known, classes))
    alone = SinglingOutSearch(holding(may), everybody(known)).expected_singled_out()
    assert alone == pytest.approx(naive.expected_singled_out(may, known, range(len(may))))
    assert alone == sorted(alone)


@given(seen(), st.data())
def test_of_some_people_the_same_are_singled_out(made, data):
    may, _, known, _ = made
    some = sorted(data.draw(st.sets(st.integers(0, len(may) - 1), min_size=1)))
    whole = [
        SinglingOutSearch(holding(may), Targets(np.array([one]), ITEMS, entries([known[one]]))).expected_singled_out()
        for one in some
    ]
    targets = Targets(np.array(some), ITEMS, entries([known[one] for one in some]))
    assert SinglingOutSearch(holding(may), targets).expected_singled_out() == [
        sum(counts) for counts in zip(*whole, strict=True)
    ]


@settings(max_examples=200)
@given(seen(), st.sampled_from([1, 5, singling_out.CLAIMS]))
def test_two_items_imply_a_third_that_all_their_candidates_show(made, claims):
    may, shows, known, _ = made
    with patch.object(singling_out, "CLAIMS", claims):
        found = SinglingOutSearch(holding(may), everybody(known)).implied(holding(shows), entries(shows))
    assert found == naive.implied(may, shows, known, shows)


@settings(max_examples=200)
@given(seen(), st.lists(SETS, min_size=1, max_size=6))
def test_of_people_outside_the_data_an_implied_third_is_one_of_their_items(made, others):
    may, shows, *_ = made
    search = SinglingOutSearch(holding(may), Targets(np.full(len(others), NOBODY), ITEMS, entries(others)))
    assert search.implied(holding(shows), entries(others)) == naive.implied(may, shows, others, others)


def test_where_nobody_fits_nothing_is_implied():
    may, known, shown = [{1, 2}, {0, 2}], [{0, 1}, {0, 1}], [{2}, {2}]
    assert SinglingOutSearch(holding(may), everybody(known)).implied(holding(may), entries(shown)) == 0


@given(seen(), SETS)
def test_what_was_eliminated_is_no_candidate(made, eliminated):
    may = made[0]
    rows = np.arange(0, len(may), 2)
    left = [held - eliminated if row % 2 == 0 else held for row, held in enumerate(may)]
    before = holding(may)
    items = np.repeat(np.array(sorted(eliminated), np.int64), len(rows))
    after = before.excluding(items, np.tile(rows, len(eliminated)))
    assert candidates(after, PAIRS) == naive.candidates(left, PAIRS.T.tolist())
    assert candidates(before, PAIRS) == naive.candidates(may, PAIRS.T.tolist())


@given(seen(), st.lists(st.lists(st.integers(0, ITEMS - 1), max_size=3), max_size=4))
def test_whoever_holds_any_of_some_items_holds_the_group(made, groups):
    may, there = made[0], [set(group) for group in groups]
    start = np.cumsum([0, *map(len, may)])
    elements, members = entries(may) % ITEMS, [np.array(group, np.int64) for group in groups]
    found = CandidateIndex.from_elements(start, elements, ITEMS, members)
    twice = CandidateIndex.from_elements(2 * start, np.repeat(elements, 2), ITEMS, members)
    held = [{number for number, group in enumerate(there) if group & row} for row in may]
    pairs = [(one, other) for one in range(len(groups)) for other in range(len(groups))]
    itemsets = np.array(pairs, np.int64).reshape(-1, 2).T
    assert candidates(found, itemsets) == candidates(twice, itemsets) == naive.candidates(held, pairs)


def test_records_are_gone_through_in_windows_and_itemsets_in_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    rows = [set(np.flatnonzero(rng.random(ITEMS) < 0.3).tolist()) for _ in range(300)]
    rows += [{0, 1, 2, 3}, {0, 1, 2, 3, 4}, {3, 4, 5}]
    shows = [set(sorted(row)[:-1]) for row in rows]
    targets = everybody(rows)
    shown = holding(shows)
    search = SinglingOutSearch(holding(rows), targets)
    whole = search.expected_singled_out(), search.implied(shown, entries(shows))
    assert whole[0] == pytest.approx(naive.expected_singled_out(rows, rows, range(len(rows))))
    assert whole[1] == naive.implied(rows, shows, rows, shows)
    monkeypatch.setattr(candidate_index, "FIRST", 1)
    monkeypatch.setattr(candidate_index, "WIDER", 2)
    monkeypatch.setattr(candidate_index, "_PIECE", 5)
    monkeypatch.setattr(candidate_index, "MOST_WORDS", 10)
    monkeypatch.setattr(candidate_index, "BLOCK", 70)
    targets = everybody(rows)
    monkeypatch.setattr(candidate_index, "FEW_WORDS", 0)
    search = SinglingOutSearch(holding(rows), targets)
    assert (search.expected_singled_out(), search.implied(shown, entries(shows))) == whole
    assert candidates(holding(rows), PAIRS) == naive.candidates(rows, PAIRS.T.tolist())


@given(st.lists(st.lists(st.integers(0, 5), unique=True), min_size=1), st.data())
def test_records_that_show_the_same_are_of_one_class(rows, data):
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(rows) - 1)))), np.int64)
    classes = classes_of(CodedRows.of(map(str, row) for row in rows), some).tolist()
    alike = [[one for one in some.tolist() if set(rows[one]) == set(row)] for row in rows]
    assert [number >= 0 for number in classes] == list(map(bool, alike))
    for row, other in combinations(range(len(rows)), 2):
        if alike[row]:
            assert (classes[row] == classes[other]) == (set(rows[row]) == set(rows[other]))


def test_of_very_many_some_people_stand_for_all():
    assert sample_targets(np.full(800, 6), 800).tolist() == list(range(800))
    drawn = sample_targets(np.full(100_000, 12), 100_000)
    assert singling_out.FEWEST <= len(drawn) < 100_000
    assert (np.diff(drawn) > 0).all()
    assert (sample_targets(np.full(100_000, 12), 100_000) == drawn).all()
    assert len(sample_targets(np.full(100_000, 5000), 100_000)) == singling_out.FEWEST
    assert len(sample_targets(np.full(0, 1), 0)) == 0


def test_of_a_long_record_the_items_that_the_fewest_have_are_known():
    support = np.arange(100)[::-1]
    long, short = np.arange(50), 100 + np.array([0, 7])
    assert keep_rarest_items(np.append(long, short), 100, support).tolist() == [
        *range(50 - singling_out.MOST_ITEMS, 50),
        100,
        107,
    ]
    assert keep_rarest_items(np.zeros(0, np.int64), 100, support).tolist() == []


@settings(max_examples=100)
@given(releases(), st.data())
def test_two_items_imply_a_third_that_follows_in_every_cluster_that_may_hold_them(made, data):
    release, records, truth = made
    people = [(number, records[place]) for number, places in enumerate(truth) for place in places]
    assert implied_in_chunks(release, people) == naive.implied_in_chunks(release, people)
    others = [(None, data.draw(st.permutations(items))[: len(items) - 1]) for _, items in people]
    assert implied_in_chunks(release, others, outside=True) == naive.implied_in_chunks(release, others, outside=True)


@given(CHANCES)
def test_one_guess_is_made_at_an_item_of_each_person_that_is_drawn_at_random(chances):
    person = np.array([number for number, own in enumerate(chances) for _ in own], np.int64)
    right = np.array([chance for own in chances for chance in own], np.float64)
    assert expected_known(person, np.ones(len(person), np.int64), right, len(chances)) == pytest.approx(
        naive.expected_known(chances)
    )


def test_a_thing_of_several_items_counts_as_often():
    person, items, right = np.array([0, 0]), np.array([1, 3]), np.array([1.0, 0.5])
    assert expected_known(person, items, right, 2) == naive.expected_known([[1.0, 0.5, 0.5, 0.5], []])


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(0, 40)), max_size=4))
def test_as_many_are_eliminated_by_chance_and_each_row_keeps_one(shapes):
    scored = [np.random.default_rng(row * 7 + col).random((row, col)) < 0.8 for row, col, _ in shapes]
    eliminated = [min(count, int(one.sum())) for one, (_, _, count) in zip(scored, shapes, strict=True)]
    draws = list(random_eliminations(scored, eliminated, 500))
    assert len(draws) == draws_for(500) == 2
    for draw in draws:
        for mask, cells, count in zip(draw, scored, eliminated, strict=True):
            assert not (mask & ~cells).any()
            assert mask.sum() <= count
            assert (~mask).any(axis=1).all()
    again = list(random_eliminations(scored, eliminated, 500))
    assert all((a == b).all() for one, other in zip(draws, again, strict=True) for a, b in zip(one, other, strict=True))
