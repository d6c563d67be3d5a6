"""l^m-diversity by generalisation: the paper's claim that fails, a naive twin, and what every release must have."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
from decloak.anonymisers.kernels.diversity import diversity
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from naive_mining import Diverse, certain

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
NOT_MONOTONE = GOLDEN["worked_examples"]["l_diversity_not_monotone"]

SENSITIVE = st.sampled_from([[], [], [], [], ["s"], ["t"], ["s", "t"]])


def labels(tree, cut):
    return sorted(tree.labels[node] for node in cut)


@st.composite
def cases(draw):
    parent = draw(naive.parents(8))
    items = [node for node in parent if node not in parent.values()]
    record = st.tuples(st.sets(st.sampled_from(items), max_size=4).map(sorted), SENSITIVE)
    data, hidden = zip(*draw(st.lists(record, min_size=3, max_size=14)), strict=True)
    return parent, data, hidden, draw(st.integers(1, 3)), draw(st.integers(1, 3))


def test_a_cut_that_is_diverse_may_have_one_above_it_that_is_not():
    hidden = [sorted(set(row) & set(NOT_MONOTONE["sensitive"])) for row in NOT_MONOTONE["D"]]
    rows = [sorted(set(row) - set(NOT_MONOTONE["sensitive"])) for row in NOT_MONOTONE["D"]]
    tree = Hierarchy.from_parents({"a1": "A", "a2": "A"})
    assert certain(list(map(set, rows)), hidden, 2, 1) == NOT_MONOTONE["violations_before"]
    (found,) = certain([{"A"}] * 3, hidden, 2, 1)
    assert [[*found[0]], *found[1:]] == NOT_MONOTONE["violations_after"][0]
    assert labels(tree, diversity(tree, tree.code(rows), hidden, 2, 1)) == ["a1", "a2"]


@settings(max_examples=150)
@given(cases())
def test_it_finds_what_the_definition_finds_and_no_more_certainty_is_left(case):
    parent, data, hidden, l, m = case  # noqa: E741
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    slow = Diverse(twin, data, hidden, l)
    slow.search(m)
    if slow.infeasible:
        with pytest.raises(DecloakError, match=r"^infeasible: [0-9]+ of [0-9]+ records have .*; lower l"):
            diversity(tree, tree.code(data), hidden, l, m)
    else:
        found = labels(tree, diversity(tree, tree.code(data), hidden, l, m))
        assert found == sorted(slow.cut())
        assert not certain(naive.recode(twin, data, found), hidden, l, m)


@pytest.mark.parametrize("seed", range(30))
def test_it_finds_what_the_definition_finds_in_larger_data(seed):
    chance = random.Random(seed)
    items = [f"i{number}" for number in range(9)]
    tree = Hierarchy.balanced(items, chance.choice([2, 3]))
    data = [chance.sample(items, chance.randint(1, 4)) for _ in range(40)]
    hidden = [["s"] * (chance.random() < 0.3) + ["t"] * (chance.random() < 0.1) for _ in data]
    slow = Diverse(naive.Tree(tree.parents()), data, hidden, 2)
    slow.search(2)
    assert not slow.infeasible
    assert len(slow.cut()) < len(items)
    assert labels(tree, diversity(tree, tree.code(data), hidden, 2, 2)) == sorted(slow.cut())


def test_without_sensitive_items_or_records_nothing_is_generalised():
    tree = Hierarchy.balanced("abcd", 2)
    for rows in ([], [[], []], [["a"], ["b", "c"]]):
        assert labels(tree, diversity(tree, tree.code(rows), [[]] * len(rows), 3, 2)) == ["a", "b", "c", "d"]
    assert labels(tree, diversity(tree, tree.code([[], []]), [["s"], ["s"]], 3, 2)) == ["a", "b", "c", "d"]


def test_what_half_of_all_have_cannot_be_hidden_from_more_than_half():
    tree = Hierarchy.balanced("abcd", 2)
    with pytest.raises(
        DecloakError, match=r"^infeasible: 2 of 3 records have the same sensitive item, l is 2; lower l"
    ):
        diversity(tree, tree.code([["a"], ["b"], ["d"], []]), [["s"], ["s"], [], ["s"]], 2, 1)


@pytest.mark.parametrize("l", [2**62, 2**63 - 1, 10**30])
def test_an_l_beyond_all_records_is_one_that_nobody_can_keep(l):  # noqa: E741
    tree = Hierarchy.balanced("abcd", 2)
    with pytest.raises(DecloakError, match=f"^infeasible: 2 of 4 records have .*, l is {l}; lower l"):
        diversity(tree, tree.code("abcd"), [["s"], [], ["s"], []], l, 2)
    assert len(diversity(tree, tree.code("abcd"), [[]] * 4, l, 2)) == 4


@pytest.mark.parametrize(("l", "m", "name"), [(0, 1, "l"), (1, 0, "m"), (2.0, 1, "l"), (2, True, "m")])
def test_l_and_m_are_whole_numbers_of_at_least_1(l, m, name):  # noqa: E741
    tree = Hierarchy.balanced("abc", 2)
    with pytest.raises(DecloakError, match=f"^{name} is '.*'; give a whole number of at least 1"):
        diversity(tree, tree.code([["a"], ["b"]]), [[], []], l, m)


@pytest.mark.parametrize("piece", [1, 7, 50])
def test_in_whatever_pieces_it_is_counted_the_cut_is_the_same(monkeypatch, piece):
    chance = random.Random(5)
    tree = Hierarchy.balanced([f"i{number}" for number in range(12)], 3)
    records = tree.code([chance.sample(tree.items, chance.randint(1, 6)) for _ in range(60)])
    hidden = [["s"] * (chance.random() < 0.2) + ["t"] * (chance.random() < 0.1) for _ in range(60)]
    whole = [labels(tree, diversity(tree, records, hidden, 2, m)) for m in (1, 2, 3, 4)]
    monkeypatch.setattr("decloak.anonymisers.kernels.diversity.PIECE", piece)
    assert [labels(tree, diversity(tree, records, hidden, 2, m)) for m in (1, 2, 3, 4)] == whole
