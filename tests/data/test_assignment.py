"""Assignments as arrays hold what lists of assignments hold."""

import json
from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decloak.data.assignment import Assignment, AssignmentList, RowLists
from decloak.store.assigned import as_read

ROWS = st.lists(st.integers(0, 9), max_size=4, unique=True).map(sorted).map(tuple)
UNITS = st.tuples(
    st.integers(0, 3), st.sampled_from([1, 2, 10, "T", "S0.1"]), st.sampled_from([("a",), ("b",), ("a", "b"), ('"',)])
)


@st.composite
def assigned(draw):
    """Assignments, and rows that share the places of some of their units."""
    units = draw(st.lists(UNITS, unique=True, max_size=8))
    ties = {unit: rows for unit in units if (rows := draw(ROWS))}
    return [Assignment(*unit, draw(ROWS.filter(len))) for unit in units], ties


@given(assigned(), st.randoms())
def test_arrays_hold_what_lists_hold(made, chance):
    listed, ties = made
    arrays = AssignmentList.of(listed, ties)
    assert (list(arrays), arrays.ties, len(arrays)) == (listed, ties, len(listed))
    assert [arrays[at] for at in range(len(listed))] == listed == arrays[:]
    chosen = chance.choices(range(len(listed)), k=len(listed)) if listed else []
    some = arrays.select(np.array(chosen, np.int64))
    assert list(some) == [listed[at] for at in chosen]
    assert some.ties == {listed[at][:3]: ties[listed[at][:3]] for at in chosen if listed[at][:3] in ties}
    numbers = {kind: 7 - at for at, kind in enumerate(dict.fromkeys(one[1:3] for one in listed[1:]))}
    assert arrays.keys(numbers).tolist() == [
        one.cluster * len(numbers) + numbers[one[1:3]] if one[1:3] in numbers else -1 for one in listed
    ]


@given(assigned())
def test_assignments_are_read_by_cluster_chunk_and_unit_and_know_their_findings(made):
    listed, ties = made
    by_text = sorted(listed, key=lambda one: (one.cluster, str(one.chunk), json.dumps(one.unit, ensure_ascii=False)))
    read = as_read(AssignmentList.of(listed, ties))
    assert (list(read), read.ties) == (by_text, ties)
    found = [Assignment(*one[:3], (row,)) for one in listed for row in one.rows]
    assert list(read.by_finding()) == found
    assert list(read.by_finding(np.arange(len(found))[::2])) == found[::2]


@given(st.lists(ROWS), st.lists(ROWS))
def test_lists_of_rows_are_joined_in_order(left, right):
    joined = RowLists.join([RowLists.of(left), RowLists.of(()), RowLists.of(right)])
    assert joined.tuples() == left + right
    assert joined.rows.tolist() == list(chain(*left, *right))
    assert left + right == [tuple(joined.rows[joined.list_of_row == at]) for at in range(len(left + right))]
