"""Counts over blocks: compiled, by matrices, and from the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_blocks as naive
from decloak.counting import blocks
from decloak.counting.blocks import Queries, add_pairs, sets_of
from decloak.data.hierarchy import Hierarchy
from decloak.data.rows import CodedRows

ITEMS = "abcdefg"
records = st.lists(st.lists(st.sampled_from(ITEMS), max_size=6), min_size=1, max_size=12)
loops = pytest.mark.parametrize("with_loops", [True, False])


@pytest.fixture(autouse=True)
def _whole(monkeypatch):
    yield
    monkeypatch.undo()


def choose(with_loops):
    """Use the compiled loops, or the products of matrices."""
    if with_loops:
        pytest.importorskip("numba", reason="numba is not installed")
    blocks._loops.cache_clear()
    return pytest.MonkeyPatch.context()


def coded(rows):
    """The records as sets of codes in the order of ITEMS."""
    held = CodedRows.of(rows)
    return sets_of(held, np.array([ITEMS.index(name) for name in held.names], np.int32))


@loops
@given(records)
def test_sets_are_ascending_and_have_each_item_once(with_loops, rows):
    with choose(with_loops) as patch:
        if not with_loops:
            patch.setattr(blocks, "_loops", lambda: None)
        sets = coded(rows)
    found = [sets.codes[begin:end].tolist() for begin, end in zip(sets.start[:-1], sets.start[1:], strict=True)]
    assert found == [sorted({ITEMS.index(item) for item in row}) for row in rows]


@loops
@given(records, st.integers(2, 4), st.sampled_from((np.int32, np.uint8)), st.sampled_from((1, 90)))
def test_pairs_of_nodes_are_counted(with_loops, rows, fanout, kind, times):
    tree, rows = Hierarchy.balanced(ITEMS, fanout), rows * times
    nodes = len(tree.labels)
    table, supports = np.zeros((nodes, nodes), kind), np.zeros(nodes, np.int64)
    with choose(with_loops) as patch:
        if not with_loops:
            patch.setattr(blocks, "_loops", lambda: None)
        add_pairs(coded(rows), tree.leaf, tree.parent, table, supports)
    codes = [[ITEMS.index(item) for item in row] for row in rows]
    expected = naive.pairs(codes, tree.leaf.tolist(), tree.parent.tolist())
    most = np.iinfo(kind).max
    assert {(a, b): int(table[a, b]) for a, b in np.argwhere(table).tolist()} == {
        pair: min(number, most) for pair, number in expected.items()
    }
    assert {(a, a): int(number) for a, number in enumerate(supports) if number} == {
        pair: number for pair, number in expected.items() if pair[0] == pair[1]
    }


code = st.integers(0, len(ITEMS) - 1)


@loops
@given(records, st.lists(st.tuples(code, code, code, st.booleans(), st.integers(1, 4)), min_size=1, max_size=8))
def test_queries_are_answered_up_to_the_number_that_settles_them(with_loops, rows, asked):
    sets, lacks = np.array([one[:3] for one in asked]), np.array([one[3] for one in asked])
    most = np.array([one[4] for one in asked])
    with choose(with_loops) as patch:
        if not with_loops:
            patch.setattr(blocks, "_loops", lambda: None)
        queries = Queries(sets, lacks, most.copy(), len(ITEMS))
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            queries.search(coded(half))
    codes = [[ITEMS.index(item) for item in row] for row in rows]
    assert (most - queries.left).tolist() == [min(naive.answers(codes, one[:3], one[3]), one[4]) for one in asked]
