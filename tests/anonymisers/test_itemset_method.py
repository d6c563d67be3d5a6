"""Itemset tables: a literal twin, their cells, their file and store, and every form of use."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
import naive_table as naive
from decloak.counting.violations import small_cells
from decloak.data.itemset_table import ItemsetTable
from decloak.errors import DecloakError
from decloak.guarantees import keeps_cells
from decloak.measure.kernels.estimate.itemsets import TableEstimates
from decloak.releases.public_store import read_store
from decloak.store.opening import connect_readonly

ITEMS = "abcdef"
rows = st.lists(st.frozensets(st.sampled_from(ITEMS), max_size=5), min_size=3, max_size=24)
cases = given(rows, st.integers(1, 4), st.integers(1, 3), st.booleans())


def check_equal_to_words(data, k, m, zeros):
    if k < 2:
        k = 2
    release = decloak.anonymise(data, "itemsets", k=k, m=m, zeros="allow" if zeros else "refuse")
    expected = naive.table(data, k, m, zeros)
    assert release.by_itemset == expected
    assert list(small_cells(release, k, zeros=zeros)) == []
    number = {name: at for at, name in enumerate(release.items)}
    estimator = TableEstimates.of(release, number)
    for size in (1, 2, 3):
        sets = list(combinations(ITEMS, size))
        codes = np.array([[number.get(item, -1) for item in one] for one in sets], np.int64).T
        assert estimator.supports(codes) == pytest.approx([naive.estimate(expected, k, m, one) for one in sets])
        supports, extended = estimator.extended(codes)
        assert supports.tolist() == estimator.supports(codes).tolist()
        for one, row in zip(sets, extended, strict=True):
            for item in set(number) - set(one):
                known = all(other in number for other in one)
                if size < 3:
                    wanted = naive.estimate(expected, k, m, [*one, item])
                else:
                    wanted = naive.larger(expected, k, m, one, item) if known else 0
                assert row[number[item]] == pytest.approx(wanted)


@settings(max_examples=60)
@cases
def test_equal_to_the_table_in_words(data, k, m, zeros):
    check_equal_to_words(data, k, m, zeros)


@pytest.mark.slow
@settings(max_examples=1000)
@cases
def test_equal_to_the_table_in_words_in_many_cases(data, k, m, zeros):
    check_equal_to_words(data, k, m, zeros)


@settings(max_examples=60)
@given(rows, st.integers(2, 4))
def test_cells_of_a_table_of_all_supports_are_counts_of_records(data, k):
    items = sorted(frozenset().union(*data))
    sets = [one for size in (1, 2, 3) for one in combinations(items, size)]
    supports = tuple(sum(set(one) <= row for row in data) for one in sets)
    found = list(small_cells(ItemsetTable(len(data), tuple(sets), supports), k, zeros=True))
    for there, absent, size in found:
        assert size == sum(set(there) <= row and not row & set(absent) for row in data)
    every = (cell for one in sets for cell in naive.cells(data, frozenset(one)))
    assert len(found) == sum(0 < cell < k for cell in every)


def test_wrong_settings_are_errors():
    data = [["a", "b"]] * 3
    with pytest.raises(DecloakError, match="give refuse or allow"):
        decloak.anonymise(data, "itemsets", zeros="keep")
    with pytest.raises(DecloakError, match="at most 3"):
        decloak.anonymise(data, "itemsets", m=4)


GROCERIES = "bread, milk\nbread, milk, tea\nmilk\ntea, bread\nmilk, tea\nbread\n" * 4 + "tea, salt\n"
SCENARIO = """\
scenario: s
data: {file: rows.txt, format: basket}
anonymise: {method: itemsets, k: 3, zeros: allow}
attack: all
measure: [exposure, utility]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text(GROCERIES)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


def test_a_run_measures_publishes_checks_and_reads_it_back(folder, call):
    run = decloak.run("s.yaml", store="s.db")
    figures = {key: figure.value for (key, _), figure in run.variants[0].figures.items()}
    assert figures["exposed_3_release"] == figures["singled_out_3_release"] == figures["guarantee_violations"] == 0
    assert figures["hidden"] == 1
    assert figures["count_error_1"] < 0.5
    for name in ("t.jsonl", "t.db"):
        assert call("publish", "last", name, "--store", "s.db").code == 0
        assert "k = 3, in every cell of an itemset" in call("check", name).err
    table = decloak.read_release("t.jsonl")
    assert table == read_store("t.db") == decloak.read_release("t.jsonl")
    assert table.support(["bread", "tea"]) == 8
    assert "salt" not in table.items
    (folder / "r.yaml").write_text("scenario: r\ndata: {release: t.jsonl}\nattack: [differenced]\n")
    assert decloak.run("r.yaml", store="r.db").ok
    (folder / "o.yaml").write_text(
        "scenario: o\ndata: {release: t.jsonl, original: rows.txt}\nattack: [differenced]\nmeasure: [utility]\n"
    )
    own = {key: figure.value for (key, _), figure in decloak.run("o.yaml", store="o.db").variants[0].figures.items()}
    assert own["count_error"] == figures["count_error"]
    assert own["implied_release"] == figures["implied_release"]
    assert call("init", "--from", "t.jsonl", "i.yaml").code == 0
    assert call("validate", "i.yaml").code == 0


@pytest.fixture
def implying(folder):
    """A file of a table with an empty cell, which says nothing of empty cells: nobody has bread without tea."""
    release = decloak.anonymise([["bread", "tea"]] * 4 + [["tea"]] * 4, "itemsets", k=3, m=2, zeros="allow")
    release.write("t.jsonl")
    return release


def test_a_check_refuses_empty_cells_like_the_method_unless_they_are_allowed(implying, call):
    found = decloak.check("t.jsonl")
    assert not found
    assert ("bread",) in {has for has, _, records in found.violations.rows if records == 0}
    assert decloak.check("t.jsonl", zeros="allow")
    assert decloak.check(implying), "the release in memory says that they are allowed"
    assert not decloak.check(implying, zeros="refuse")
    with pytest.raises(AssertionError):
        keeps_cells("t.jsonl", 3)
    assert call("check", "t.jsonl").code == 3
    assert call("check", "t.jsonl", "--zeros", "allow").code == 0


def test_a_published_table_says_that_empty_cells_are_allowed(folder, call):
    (folder / "rows.txt").write_text("bread, tea\n" * 4 + "tea\n" * 4)
    decloak.run("s.yaml", store="s.db")
    for name in ("t.jsonl", "t.db"):
        call("publish", "last", name, "--store", "s.db")
        assert decloak.check(name)
        assert call("check", name).code == 0
        assert call("check", name, "--zeros", "refuse").code == 3


def test_zeros_is_only_for_the_cells_of_a_table(implying, call):
    with pytest.raises(DecloakError, match="zeros is only for the cells of an itemset table; leave zeros out"):
        decloak.check([["a"]] * 3, 2, 1, zeros="allow")
    Path("c.yaml").write_text("{method: itemsets, k: 3, zeros: allow}")
    assert call("check", "t.jsonl", "--constraints", "c.yaml").code == 0
    assert "leave --zeros out" in call("check", "t.jsonl", "--constraints", "c.yaml", "--zeros", "allow").err
    with pytest.raises(DecloakError, match="zeros is 'none'; give refuse or allow"):
        decloak.check("t.jsonl", zeros="none")


@settings(max_examples=40)
@given(rows)
def test_differences_are_found_in_tables_of_others(tmp_path_factory, data):
    items = sorted(frozenset().union(*data))
    sets = [one for size in (1, 2, 3) for one in combinations(items, size) if any(set(one) <= row for row in data)]
    if not sets:
        return
    supports = tuple(sum(set(one) <= row for row in data) for one in sets)
    table = ItemsetTable(len(data), tuple(sets), supports, k=3, m=3)
    folder = tmp_path_factory.mktemp("table")
    table.write(folder / "t.jsonl")
    (folder / "r.yaml").write_text("scenario: r\ndata: {release: t.jsonl}\nattack: [differenced]\n")
    run = decloak.run(folder / "r.yaml", store=folder / "r.db")
    small = [(", ".join(there), ", ".join(absent)) for there, absent, _ in small_cells(table, 3, zeros=True)]
    with connect_readonly(run.store) as connection:
        found = connection.execute("select has, lacks, least, most from found_differenced").fetchall()
    exact = {(has, lacks) for has, lacks, least, most in found if least == most}
    assert bool(found) == bool(small)
    assert {one for one in exact if len("".join(one).replace(", ", "")) == 1} == {
        one for one in small if len("".join(one).replace(", ", "")) == 1
    }
    for has, lacks, least, most in found:
        there, absent = (set(filter(None, text.split(", "))) for text in (has, lacks))
        assert least <= sum(there <= row and not row & absent for row in data) <= most < 3


HEADER = '{"decloak": "release", "version": 1, "method": "itemsets"}'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"items": ["a"], "support": 3}], "the number of records is missing"),
        ([{"items": [], "support": 3}], "without itemsets"),
        ([{"items": [], "support": 3}, {"items": ["a"], "support": 4}], "4 of 3 records"),
        ([{"items": [], "support": 3}, {"items": ["a"], "support": 0}], "support is '0'"),
        ([{"items": [], "support": 3}, {"items": ["a", "a"], "support": 1}], "1 to 3 different items"),
        ([{"items": [], "support": 3}, {"items": list("abcd"), "support": 1}], "1 to 3 different items"),
        ([{"items": [], "support": 3}, *[{"items": ["a"], "support": 1}] * 2], "there twice"),
        ([{"items": [], "support": 3}, {"items": [1], "support": 1}], "no list of names"),
        ([{"items": [], "support": 3}, {"items": ["a"], "count": 1}], "the keys items and support"),
        ([{"items": [], "support": 3}, ["a"]], "the keys items and support"),
    ],
)
def test_hostile_files_are_refused_with_their_line(tmp_path, lines, message):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([HEADER, *map(json.dumps, lines)]) + "\n")
    with pytest.raises(DecloakError, match=message) as error:
        decloak.read_release(path)
    assert f"{path}:{len(lines) + 1}" in str(error.value.place)
