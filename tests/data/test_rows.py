"""Transactions as arrays are the tuples they stand for, whatever is asked of them."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decloak.data import rows as arrays
from decloak.data.dataset import Dataset
from decloak.data.ordering import sort_rows
from decloak.data.published import Published
from decloak.data.rows import CodedRows, RowLabels, compact_labels, select_labels

NAMES = st.sampled_from(["a", "b", "c", "d", "ee", "é"])
ROWS = st.lists(st.lists(NAMES, max_size=5).map(tuple), max_size=12).map(tuple)


@given(ROWS)
def test_rows_are_the_tuples_they_were_made_of(rows):
    coded = CodedRows.of(rows)
    assert coded == rows
    assert rows == coded
    assert hash(coded) == hash(rows)
    assert tuple(coded) == rows
    assert repr(coded) == repr(rows)
    assert [coded[place] for place in range(len(rows))] == list(rows)
    assert coded[1:-1] == rows[1:-1]
    assert coded[::-2] == rows[::-2]
    assert coded.lengths.tolist() == [len(row) for row in rows]
    assert CodedRows.of(coded) is coded


@given(ROWS, ROWS)
def test_rows_are_equal_where_their_tuples_are(rows, others):
    assert (CodedRows.of(rows) == others) == (rows == others)
    assert (CodedRows.of(rows) == CodedRows.of(others)) == (rows == others)


@given(ROWS)
def test_names_in_use_stand_in_order_of_first_appearance(rows):
    wide = CodedRows.of((("never", "b", "a"), *rows))[1:]
    assert wide == rows
    assert wide.used_names == tuple(dict.fromkeys(name for row in rows for name in row))
    assert wide.with_used_names == rows
    assert wide.with_names(str.upper) == tuple(tuple(name.upper() for name in row) for row in rows)


@given(ROWS)
def test_ascending_rows_are_sorted_and_keep_every_name(rows):
    assert CodedRows.of(rows).with_sorted_names() == tuple(tuple(sorted(row)) for row in rows)


@given(ROWS)
def test_supports_count_rows(rows):
    assert CodedRows.of(rows).supports() == Counter(name for row in rows for name in set(row))


@given(ROWS)
def test_names_that_become_the_same_are_counted_as_one(rows):
    merged = CodedRows.of(rows).with_names(lambda name: "x" if name < "c" else name)
    plain = tuple(tuple("x" if name < "c" else name for name in row) for row in rows)
    assert set(merged.used_names) == {name for row in plain for name in row}
    matrix = merged.matrix([sorted(set(merged.names)).index(name) for name in merged.names], len(set(merged.names)))
    assert [len(set(row)) for row in plain] == [int(count) for count in matrix.sum(axis=1)]


def test_rows_are_gone_through_in_blocks(monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK", 2)
    rows = (("a",), (), ("b", "a"), ("a",), ("c",))
    assert tuple(CodedRows.of(rows)) == rows


@given(st.integers(0, 30))
def test_numbers_are_the_labels_they_stand_for(count):
    labels = tuple(str(number) for number in range(1, count + 1))
    numbers = RowLabels(count)
    assert numbers == labels
    assert labels == numbers
    assert tuple(numbers) == labels
    assert hash(numbers) == hash(labels)
    assert numbers[2:5] == labels[2:5]
    assert all(label in numbers for label in labels)
    assert not any(label in numbers for label in ("0", "01", str(count + 1), "", "x", "²"))
    assert numbers != (*labels, "x")


@pytest.mark.parametrize("labels", [("1", "2"), ("1", "3"), ("a",), ()])
def test_labels_are_lean_where_they_are_numbers(labels):
    assert compact_labels(labels) == labels
    assert isinstance(compact_labels(labels), RowLabels) == (labels in [("1", "2"), ()])


@given(ROWS)
def test_rows_are_arranged_as_sorted_tuples_are(rows):
    arranged, places, alike = sort_rows(CodedRows.of(rows))
    written = [tuple(sorted(row)) for row in rows]
    expected = sorted(range(len(rows)), key=written.__getitem__)
    assert places.tolist() == expected
    assert arranged == tuple(written[place] for place in expected)
    distinct = sorted(set(written))
    assert alike.tolist() == [distinct.index(written[place]) for place in expected]


@given(st.integers(0, 20), st.randoms(use_true_random=False))
def test_labels_that_are_numbers_stay_so_in_any_order(count, random):
    places = np.array(random.sample(range(count), random.randint(0, count)), np.int64)
    labels = tuple(str(number) for number in range(1, count + 1))
    picked = select_labels(RowLabels(count), places)
    assert isinstance(picked, RowLabels)
    assert picked == select_labels(labels, places) == tuple(labels[place] for place in places)
    assert (picked == RowLabels(len(places))) == (tuple(picked) == tuple(RowLabels(len(places))))
    assert all(label in picked for label in picked)
    assert picked[1:] == tuple(picked)[1:]


@given(ROWS)
def test_the_digest_of_a_data_set_is_of_its_labels_and_items_with_zeros_between(rows):
    labels = [f"p{number}" for number in range(len(rows))]
    written = "".join("\0".join((label, *items, "\0")) for label, items in zip(labels, rows, strict=True))
    for data in (rows, CodedRows.of(rows)):
        assert Dataset(data, tuple(labels)).digest == hashlib.sha256(written.encode()).hexdigest()


@given(ROWS)
def test_a_data_set_is_the_same_as_arrays_and_as_tuples(rows):
    labels = tuple(str(number) for number in range(1, len(rows) + 1))
    plain, coded = Dataset(rows, labels), Dataset(CodedRows.of(rows), RowLabels(len(rows)))
    assert plain == coded
    assert (plain.items, plain.digest) == (coded.items, coded.digest)
    assert Published(rows, labels).as_labels() == Published(CodedRows.of(rows), RowLabels(len(rows))).as_labels()
