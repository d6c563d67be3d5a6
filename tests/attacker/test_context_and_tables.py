"""Contexts of generalised items, unmarked data, and the distance tables an attack starts from."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.attacker.tables import context, mean_scores, needed_pairs, tables
from decloak.data.dataset import Dataset
from decloak.data.published import Published
from decloak.scenario.published import mark

UNIT = json.loads((Path(__file__).parents[1] / "golden" / "set-generalisation.json").read_text())["unit"]
ITEMS = "abcdefgh"


def elements(found: list) -> tuple:
    return tuple(one if isinstance(one, str) else tuple(one) for one in found)


@pytest.mark.parametrize("case", UNIT["context"])
def test_contexts_are_the_golden_ones(case):
    transaction = elements(case["transaction"])
    for n, name in [(1, "n1"), (2, "n2"), (3, "n3"), (None, "all")]:
        assert context(transaction, case["pos"], n) == tuple(case[name])


@st.composite
def transactions(draw) -> tuple:
    """A published transaction with each item at most once."""
    items = draw(st.permutations(ITEMS))
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))  # 0: a plain item
    found, used = [], 0
    for size in sizes:
        taken = items[used : used + max(size, 1)]
        if taken:
            found.append(tuple(taken) if size else taken[0])
        used += len(taken)
    return tuple(found)


def naive_context(transaction: tuple, position: int, n: int) -> list[str]:
    """Walk outwards from the position, left before right, until n plain items are found."""
    outwards = [
        place for distance in range(1, len(transaction)) for place in (position - distance, position + distance)
    ]
    inside = [transaction[place] for place in outwards if 0 <= place < len(transaction)]
    return [one for one in inside if isinstance(one, str)][:n]


@given(transactions(), st.integers(0, 4), st.data())
def test_a_context_is_found_walking_outwards(transaction, n, data):
    generalised = [place for place, one in enumerate(transaction) if not isinstance(one, str)]
    if generalised:
        position = data.draw(st.sampled_from(generalised))
        assert list(context(transaction, position, n)) == naive_context(transaction, position, n)
        assert context(transaction, position, None) == tuple(one for one in transaction if isinstance(one, str))


@pytest.mark.parametrize("case", UNIT["infer"])
def test_unmarked_data_is_marked_as_in_the_golden_file(case):
    found = mark(Dataset.of(case["transactions"]), case["k"], case["utility"])
    assert found.transactions == tuple(map(elements, case["marked"]))
    assert found.labels == tuple(map(str, range(1, len(found.transactions) + 1)))


@given(st.lists(st.lists(st.sampled_from(ITEMS), min_size=1), max_size=6), st.integers(1, 4), st.booleans())
def test_marking_gathers_exactly_the_frequent_items_by_utility_set(data, k, known):
    utility = [{"a", "b", "c"}, {"d", "e"}] if known else None
    for items, marked in zip(data, mark(Dataset.of(data), k, utility).transactions, strict=True):
        frequent = {item for item in items if sum(item in other for other in data) >= k}
        assert {one for one in marked if isinstance(one, str)} == set(items) - frequent
        brackets = [one for one in marked if not isinstance(one, str)]
        assert sorted(item for one in brackets for item in one) == sorted(frequent)
        assert all(list(one) == sorted(one, key=items.index) for one in brackets)
        if known:
            wanted = [frequent & {"a", "b", "c"}, frequent & {"d", "e"}, *({x} for x in frequent - set("abcde"))]
            assert sorted(map(sorted, brackets)) == sorted(sorted(one) for one in wanted if one)
        else:
            assert len(brackets) == bool(frequent)
        firsts = [items.index(one if isinstance(one, str) else one[0]) for one in marked]
        assert firsts == sorted(firsts)


def test_marking_keeps_labels():
    assert mark(Dataset((("a",), ("b",)), ("p", "q")), 2, None).labels == ("p", "q")


def golden_scores() -> dict[tuple[str, str], float | None]:
    return {
        (item, member): None if score is None else float(score)
        for item, member, score in UNIT["distance_table"]["scores"]
    }


def as_floats(rows: list[list[float | None]]) -> np.ndarray:
    return np.array(rows, dtype=float)


def test_a_distance_table_has_the_golden_means():
    case = UNIT["distance_table"]
    d = mean_scores([tuple(found) for found in case["contexts"]], case["items"], golden_scores())
    np.testing.assert_allclose(d, as_floats(case["table"]))


def test_rows_and_columns_without_a_score_are_left_out_as_in_the_golden_file():
    case = UNIT["distance_table"]
    rows, columns, d = case["pruned"]
    members = (*case["items"], "unscored")
    shown = [(*found[:1], members, *found[1:]) for found in case["contexts"]]
    [table] = tables(Published(tuple(shown), ("1", "2", "3")), golden_scores(), 2)
    assert table.transactions.tolist() == rows
    assert table.columns == tuple(case["items"][column] for column in columns)
    assert table.contexts == tuple(tuple(case["contexts"][row]) for row in rows)
    assert table.members == members
    np.testing.assert_allclose(table.d, as_floats(d))


def naive_tables(published: Published, score: dict, n: int | None) -> list[tuple]:
    """Tables cell by cell: (members, transactions, columns, contexts, rows of d)."""
    found = {}
    for number, transaction in enumerate(published.transactions):
        for position, one in enumerate(transaction):
            if not isinstance(one, str):
                rows = found.setdefault(tuple(sorted(one)), (one, []))[1]
                rows.append((number, context(transaction, position, n)))
    result = []
    for members, rows in found.values():
        cells = {}
        for number, near in rows:
            for member in members:
                usable = [score.get((item, member)) for item in near]
                usable = [s for s in usable if s is not None and 0 <= s < math.inf]
                if usable:
                    cells[number, member] = sum(usable) / len(usable)
        kept = [(number, near) for number, near in rows if any((number, m) in cells for m in members)]
        columns = [m for m in members if any((number, m) in cells for number, _ in kept)]
        if kept:
            d = [[cells.get((number, m), math.nan) for m in columns] for number, _ in kept]
            result.append((members, [number for number, _ in kept], columns, [near for _, near in kept], d))
    return result


values = st.none() | st.floats(0, 3) | st.sampled_from([-1.0, math.inf, -math.inf, math.nan, 0.0])


@settings(max_examples=150)
@given(
    st.lists(transactions(), max_size=6), st.randoms(use_true_random=False), st.sampled_from([1, 2, None]), st.data()
)
def test_tables_are_those_made_cell_by_cell(found, random, n, data):
    published = Published(tuple(found), tuple(map(str, range(len(found)))))
    pairs = needed_pairs(published, n)
    score = {pair: data.draw(values) for pair in pairs if random.random() < 0.9}
    ours, theirs = tables(published, score, n), naive_tables(published, score, n)
    assert [table.members for table in ours] == [one[0] for one in theirs]
    for table, (_, numbers, columns, contexts, d) in zip(ours, theirs, strict=True):
        assert table.transactions.tolist() == numbers
        assert (table.columns, table.contexts) == (tuple(columns), tuple(contexts))
        np.testing.assert_allclose(table.d, d, rtol=1e-12)


@given(st.lists(transactions(), max_size=5), st.sampled_from([1, 2, None]))
def test_needed_pairs_are_what_tables_ask_for_each_once(found, n):
    published = Published(tuple(found), tuple(map(str, range(len(found)))))
    wanted = {
        (item, member)
        for transaction in found
        for position, one in enumerate(transaction)
        if not isinstance(one, str)
        for item in context(transaction, position, n)
        for member in one
    }
    pairs = needed_pairs(published, n)
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == wanted


def test_a_generalised_item_is_one_whatever_the_order_of_its_members():
    published = Published((("x", ("a", "b")), ("y", ("b", "a"))), ("1", "2"))
    [table] = tables(published, {("x", "a"): 1.0, ("y", "a"): 2.0, ("y", "b"): 3.0}, 1)
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.d, [[1, math.nan], [2, 3]])


def test_scores_too_large_to_add_up_are_no_score_and_no_warning():
    published = Published((("x", "y", ("a", "b")),), ("1",))
    [table] = tables(published, {("x", "a"): 1e308, ("y", "a"): 1e308, ("x", "b"): 1.0}, 2)
    assert table.columns == ("b",)
