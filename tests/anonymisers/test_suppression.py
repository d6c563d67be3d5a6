"""Suppression of items and of cells: a literal twin, real data, every form of use."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
import naive_suppression as naive
from decloak.data.dataset import Dataset
from decloak.errors import DecloakError

NAIVE = {"items": naive.suppress_items, "cells": naive.suppress_cells}
rows = st.lists(st.sets(st.sampled_from("abcdefg"), max_size=6), min_size=1, max_size=14)


def check_equal_to_words(data, k, m, suppress):
    release = decloak.anonymise(data, "suppression", suppress=suppress, k=k, m=m, order="recorded")
    assert [frozenset(row) for row in release.transactions] == NAIVE[suppress](data, k, m)
    assert decloak.violations(release.transactions, k=k, m=m) == []


cases = given(rows, st.integers(1, 4), st.integers(1, 4), st.sampled_from(sorted(NAIVE)))


@settings(max_examples=80)
@cases
def test_equal_to_the_search_in_words(data, k, m, suppress):
    check_equal_to_words(data, k, m, suppress)


@pytest.mark.slow
@settings(max_examples=1000)
@cases
def test_equal_to_the_search_in_words_in_many_cases(data, k, m, suppress):
    check_equal_to_words(data, k, m, suppress)


@pytest.mark.parametrize("suppress", NAIVE)
def test_names_and_order_of_records_change_nothing(suppress):
    data = [["b", "a"], ["a", "b", "c"], ["c", "a"], ["d"], ["a", "c"]]
    first = decloak.anonymise(data, "suppression", suppress=suppress, k=2, m=2)
    assert first == decloak.anonymise(data[::-1], "suppression", suppress=suppress, k=2, m=2)
    assert first.parameters == {"suppress": suppress, "k": 2, "m": 2, "order": "sorted"}


def test_another_word_is_an_error():
    with pytest.raises(DecloakError, match="give suppress as items or cells"):
        decloak.anonymise([["a"]], "suppression", suppress="rows", k=1, m=1)


@pytest.mark.parametrize(
    ("name", "suppress", "share"),
    [
        ("groceries", "items", 0.269),
        ("groceries", "cells", 0.228),
        pytest.param("bms", "items", 0.508, marks=pytest.mark.slow),
        pytest.param("bms", "cells", 0.230, marks=pytest.mark.slow),
    ],
)
def test_occurrences_lost_of_halves_of_real_data(shared_data, name, suppress, share):
    if name == "groceries":
        with gzip.open(shared_data / "groceries.tsv.gz", "rt") as file:
            data = [line.rstrip("\n").split("\t")[1].split("|") for line in file]
    else:
        with gzip.open(shared_data / "bms_webview1.dat.gz", "rt") as file:
            data = [list(dict.fromkeys(line.split())) for line in file]
    half = [data[place] for place in np.random.default_rng(1).permutation(len(data))[: len(data) // 2]]
    release = decloak.anonymise(half, "suppression", suppress=suppress, k=5, m=2)
    lost = 1 - sum(map(len, release.transactions)) / sum(map(len, half))
    assert lost == pytest.approx(share, abs=0.001)


SCENARIO = """\
scenario: s
data: {file: rows.txt, format: basket}
anonymise: {method: suppression, suppress: cells, k: 2, m: 2}
attack: [{rule: km_violation, k: 2, m: 2}]
measure: [loss, utility]
"""


def test_a_run_measures_checks_and_publishes_it(tmp_path, call):
    (tmp_path / "rows.txt").write_text("a, b\na, b, c\nb, c\na\nz\n" * 3 + "a, z\nq\n")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    figures = {key: figure.value for (key, _), figure in run.variants[0].figures.items()}
    assert figures["guarantee_violations"] == 0
    assert figures["suppressed"] == 1
    assert figures["hidden"] > 0
    assert call("publish", "last", tmp_path / "r.txt", "--store", tmp_path / "s.db").code == 0
    assert call("check", tmp_path / "r.txt", "--input", "published", "--k", 2, "--m", 2).code == 0


def test_too_many_itemsets_are_an_error():
    data = Dataset.of([[str(number) for number in range(300)] for _ in range(2)])
    with pytest.raises(DecloakError, match="use m: 3"):
        decloak.anonymise(data, "suppression", suppress="cells", k=2, m=4)
