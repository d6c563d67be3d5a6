"""Frames are read with the arguments that files have, and every value can become one."""

import sys

import pandas as pd
import polars as pl
import pytest

import decloak
from decloak.errors import DecloakError

VISITS = pd.DataFrame({"id": [1, 1, 2, 3], "symptom": ["a", "b", "a", "c"], "doctor": ["x", "y", "x", "z"]})
LISTS = pd.DataFrame({"who": ["p", "q"], "items": ["a|b", "c"], "doctor": ["x", "y"]})
FLAGS = pd.DataFrame({"who": ["p", "q"], "a": [1, 0], "b": [1, 1]})


@pytest.mark.parametrize("frame", [VISITS, pl.from_pandas(VISITS), pl.from_pandas(VISITS).to_arrow()], ids=type)
def test_a_long_frame_is_read_by_the_names_of_its_columns_and_further_columns_are_left_out(frame):
    data = decloak.read(frame, format="long", transaction="id", item="symptom")
    assert data.transactions == (("a", "b"), ("a",), ("c",))
    assert data.labels == ("1", "2", "3")


def test_a_frame_of_lists_and_one_of_flags_are_read_too():
    texts = decloak.read(LISTS, format="basket", ids=True, item="items", within="|")
    lists = decloak.read(LISTS.assign(items=[["a", "b"], ["c"]]), "basket", ids=True, item="items")
    assert texts == lists
    assert lists.labels == ("p", "q")
    assert decloak.read(FLAGS, format="onehot", ids=True).transactions == (("a", "b"), ("b",))
    assert decloak.read(FLAGS[["a", "b"]]).transactions == (("a", "b"), ("b",))


def test_a_file_and_the_frame_of_its_columns_are_the_same_data(tmp_path):
    VISITS.to_csv(tmp_path / "visits.csv", index=False)
    options = {"format": "long", "transaction": "id", "item": "symptom"}
    of_file, of_frame = decloak.read(tmp_path / "visits.csv", **options), decloak.read(VISITS, **options)
    assert (of_file.transactions, of_file.labels) == (of_frame.transactions, of_frame.labels)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (VISITS, {"format": "long"}, "no column 'tid' among 'id', 'symptom', 'doctor'; did you mean 'id'?"),
        (VISITS, {"format": "csv"}, "a frame is not read as 'csv'; use long, onehot, basket"),
        (VISITS, {"format": "long", "separator": ";"}, "a frame in the format long has no option separator; remove it"),
        (VISITS, {"header": True}, "a frame has no option header; remove it"),
        (FLAGS, {"format": "onehot"}, "the column 'who' has other values than 0 and 1; remove it; an id column comes"),
        (
            LISTS,
            {"format": "basket", "item": "items"},
            "the column 'items' holds no lists of items; give the character",
        ),
        (VISITS[:0], {"format": "long", "transaction": "id", "item": "symptom"}, "no transactions in the frame; give"),
    ],
)
def test_a_frame_that_does_not_fit_is_an_error_in_one_line(frame, options, message):
    with pytest.raises(DecloakError) as error:
        decloak.read(frame, **options)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_equal_ids_of_two_rows_need_repeats():
    twice = LISTS.assign(who="p", items=[["a"], ["b"]])
    with pytest.raises(DecloakError, match="two rows of the frame have the id 'p'; ids must be unique"):
        decloak.read(twice, "basket", ids=True, item="items")
    assert decloak.read(twice, "basket", ids=True, item="items", repeats=True).labels == ("1", "2")


def test_a_file_needs_a_format():
    with pytest.raises(DecloakError, match=r"visits\.csv: no format; name the format; `decloak look FILE`"):
        decloak.read("visits.csv")


ROWS = [["a", "b", "c"], ["a", "b"], ["a", "c"]] * 4
TREE = decloak.Hierarchy.balanced(["a", "b", "c"], fanout=2)


@pytest.mark.parametrize(
    ("value", "columns", "rows"),
    [
        (decloak.Dataset.of(ROWS), ["transaction", "item"], 28),
        (TREE, ["node", "parent"], 5),
        (decloak.anonymise(ROWS, "sets", sets=[["a", "b"]]), ["record", "published", "members"], 20),
        (decloak.anonymise(ROWS, "cut", k=2, m=1, hierarchy=TREE), ["record", "published", "members"], 28),
        (decloak.anonymise(ROWS, "disassociation", k=2, m=2), ["cluster", "chunk", "subrecord", "item"], 28),
    ],
    ids=lambda value: type(value).__name__,
)
def test_data_and_releases_become_long_frames(value, columns, rows):
    for library in (None, "pandas", "polars"):
        frame = value.to_frame(library)
        assert list(frame.columns) == columns
        assert len(frame) == rows


def test_a_frame_of_a_disassociated_release_names_term_and_shared_chunks():
    from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster

    cluster = Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("t",))
    joint = JointCluster((0, 1), (Chunk(("s",), (("s",), ("s",))),))
    frame = Disassociated((cluster, cluster), (joint,), k=2).to_frame("polars")
    assert frame.rows()[:3] == [(0, "0", 0, "a"), (0, "0", 1, "a"), (0, "T", None, "t")]
    assert frame.rows()[-2:] == [(None, "S0.0", 0, "s"), (None, "S0.0", 1, "s")]


def test_without_pandas_polars_serves_and_without_both_a_remedy_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(TREE.to_frame(), pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DecloakError, match="a frame needs pandas or polars; pip install 'pandas"):
        TREE.to_frame()
    with pytest.raises(DecloakError, match="no frames of 'numpy'; use pandas or polars"):
        TREE.to_frame("numpy")
