"""AA in parts, of the records (LRA) or of the items (VPA): golden releases, the paper's examples, naive twins."""

import gzip
import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
from decloak.anonymisers.kernels import count_tree, lra_vpa
from decloak.anonymisers.kernels.lra_vpa import gray_order, lra, runs_of_classes
from decloak.anonymisers.kernels.optimal import oa
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.parallel import map_tasks
from slowly import slow_but
from trees import local_ncp, loss, tree_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
EXAMPLES = GOLDEN["worked_examples"]
PARTS = st.integers(1, 4) | st.integers(5, 60)


def aa(*given):
    return count_tree.aa(*given).cut


def vpa(*given, **options):
    return lra_vpa.vpa(*given, **options).cut


def labels(tree, cut):
    return sorted(tree.labels[node] for node in cut)


def published(tree, data, local):
    """Every record under the cut of its part."""
    above = [dict(zip(tree.items, tree.above(cut), strict=True)) for cut in local.cuts]
    return [{tree.labels[above[part][item]] for item in row} for part, row in zip(local.part, data, strict=True)]


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_parts(case):
    tree, data, k, m = tree_of(case["hierarchy"]), case["D"], case["k"], case["m"]
    records = tree.code(data)
    assert gray_order(records).tolist() == case["gray_order"]
    expected = case["oracle_VPA"]
    cut = vpa(tree, records, k, m, parts=expected["n"], level=expected["level"])
    assert labels(tree, cut) == expected["cut"]
    assert loss(tree, records, cut) == Fraction(expected["ncp"]["frac"])
    expected = case["oracle_LRA"]
    local = lra(tree, records, k, m, parts=expected["n"], flexibility=expected["f"])
    assert list(map(sorted, published(tree, data, local))) == expected["published"]
    assert local_ncp(tree, records, local) == Fraction(expected["ncp"]["frac"])


def test_table_1_gray_codes():
    signatures = dict(EXAMPLES["gray_table1"])
    codes = sorted(signatures)
    tree = Hierarchy.balanced("012", 3)
    records = tree.code([[str(at) for at, bit in enumerate(code) if bit == "1"] for code in codes])
    assert [signatures[codes[at]] for at in gray_order(records)] == list(range(8))


def test_section_4_5_a_part_may_keep_what_another_must_generalise():
    case = EXAMPLES["local_recoding_sect_4_5"]
    tree, k, m = tree_of(case["hierarchy"]), case["k"], case["m"]
    data = [*case["part1"], *case["part2"]]
    assert labels(tree, aa(tree, tree.code(case["part1"]), k, m)) == case["cut1"]
    assert labels(tree, aa(tree, tree.code(case["part2"]), k, m)) == case["cut2"]
    assert labels(tree, aa(tree, tree.code(data), k, m)) == case["cut_whole"]
    local = lra(tree, tree.code(data), k, m, parts=2, flexibility=0)
    assert [labels(tree, cut) for cut in local.cuts] == [case["cut2"], case["cut1"]]
    assert local.part.tolist() == [1, 1, 0, 0, 0, 0, 1, 1]


def test_figure_8_the_domain_is_split_at_the_classes_of_a_level():
    tree = Hierarchy.from_parents(
        dict.fromkeys(["a1", "a2", "a3", "a4"], "A")
        | dict.fromkeys(["b1", "b2"], "B")
        | dict.fromkeys(["c1", "c2"], "C")
        | {"A": "X", "B": "X", "X": "ALL", "C": "ALL"}
    )
    assert runs_of_classes(tree, 2, 0) == [(0, 4), (4, 8)]
    assert runs_of_classes(tree, 4, 0) == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert runs_of_classes(tree, 4, 1) == [(0, 4), (4, 6), (6, 8)]
    assert runs_of_classes(tree, 4, 2) == [(0, 6), (6, 8)]
    assert runs_of_classes(tree, 4, 3) == [(0, 8)]


@settings(max_examples=100)
@given(naive.cases(), PARTS, st.integers(0, 3))
def test_vpa_finds_what_the_definition_finds_and_is_anonymous(case, parts, level):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    records = tree.code(data)
    cut = vpa(tree, records, k, m, parts=parts, level=level)
    assert labels(tree, cut) == sorted(naive.vpa(twin, data, k, m, parts, level))
    rows = naive.recode(twin, data, labels(tree, cut))
    assert naive.anonymous(rows, k, m)
    assert naive.anonymous_on_items(twin, rows, k, m)
    assert loss(tree, records, cut) >= loss(tree, records, oa(tree, records, k, m))


@pytest.fixture(scope="module")
def clicks(shared_data):
    """BMS-WebView-2 with groups of five in the order of the items' numbers, and its records."""
    with gzip.open(shared_data / "bms_webview2.dat.gz", "rt") as lines:
        data = [line.split() for line in lines]
    tree = Hierarchy.balanced(sorted({item for row in data for item in row}, key=int), 5)
    return tree, tree.code(data)


@pytest.mark.parametrize(
    ("parts", "expected"), slow_but([(10, "0.0567")], [(2, "0.0358"), (3, "0.0373"), (10, "0.0567")], several=True)
)
def test_figure_14_and_18_vpa_loses_little_more_than_aa(clicks, parts, expected):
    tree, records = clicks
    assert f"{float(loss(tree, records, vpa(tree, records, 5, 3, parts=parts))):.4f}" == expected


@settings(max_examples=100)
@given(naive.cases(), PARTS, st.integers(0, 4))
def test_lra_finds_what_the_definition_finds_and_is_anonymous_in_each_part_and_whole(case, parts, flexibility):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    local = lra(tree, tree.code(data), k, m, parts=parts, flexibility=flexibility)
    chunks, expected = naive.lra(twin, data, k, m, parts, flexibility)
    assert [np.flatnonzero(local.part == part).tolist() for part in range(len(local.cuts))] == list(map(sorted, chunks))
    assert [labels(tree, cut) for cut in local.cuts] == list(map(sorted, expected))
    rows = published(tree, data, local)
    for chunk in chunks:
        assert naive.anonymous([rows[at] for at in chunk], k, m)
    assert naive.anonymous_on_items(twin, rows, k, m)
    paid = sum(naive.paid(twin, [data[at] for at in chunk], cut) for chunk, cut in zip(chunks, expected, strict=True))
    assert local_ncp(tree, tree.code(data), local) * sum(map(len, data)) == paid


@settings(max_examples=100)
@given(st.lists(st.sets(st.integers(0, 7)), max_size=12), st.integers(8, 10))
def test_gray_code_order_is_that_of_the_signatures(data, leaves):
    tree = Hierarchy.balanced(map(str, range(leaves)), 3)
    rows = [[str(item) for item in row] for row in data]
    twin = naive.Tree(tree.parents())
    assert gray_order(tree.code(rows)).tolist() == naive.gray_order(twin, rows)


def test_parts_beyond_all_records_and_items_are_no_more_work():
    tree = Hierarchy.balanced("abcdefgh", 2)
    records = tree.code(["ab", "ac", "bc", "de", "df", "gh", "gh"])
    assert vpa(tree, records, 2, 2, parts=10**15).tolist() == vpa(tree, records, 2, 2, parts=8).tolist()
    most, many = (lra(tree, records, 2, 2, parts=parts, flexibility=2) for parts in (10**15, 1000))
    assert most.part.tolist() == many.part.tolist()


def test_processes_change_nothing():
    tree = Hierarchy.balanced(map(str, range(12)), 3)
    records = tree.code([[str(at * step % 12) for step in (1, 3, 5)] for at in range(40)])
    assert vpa(tree, records, 3, 2, processes=3).tolist() == vpa(tree, records, 3, 2).tolist()
    one, several = lra(tree, records, 3, 2), lra(tree, records, 3, 2, processes=2)
    assert one.part.tolist() == several.part.tolist()
    assert [cut.tolist() for cut in one.cuts] == [cut.tolist() for cut in several.cuts]


def test_what_goes_wrong_in_a_process_is_told():
    tree = Hierarchy.balanced("ab", 2)
    with pytest.raises(DecloakError, match=r"^k = 2 is impossible with 1 non-empty record; "):
        map_tasks(count_tree.aa, [(tree, tree.code([["a"]]), 2, 1)] * 2, 2)
    with pytest.raises(DecloakError, match="a parallel process could not start or was killed; use processes 1"):
        map_tasks(os._exit, [(1,), (1,)], 2)


@pytest.mark.parametrize("method", [lra, vpa])
def test_wrong_parameters_are_refused(method):
    tree = Hierarchy.balanced("abc", 2)
    records = tree.code([["a"], ["b"]])
    own = "flexibility" if method is lra else "level"
    for name, options in [("parts", {"parts": 0}), ("processes", {"processes": 0}), (own, {own: -1})]:
        with pytest.raises(DecloakError, match=rf"^{name} is '.*'; give a whole number of at least"):
            method(tree, records, 2, 1, **options)
    with pytest.raises(DecloakError, match=r"^k is '0'"):
        method(tree, records, 0, 1)
    with pytest.raises(DecloakError, match=r"^k = 3 is impossible with 2 non-empty records"):
        method(tree, records, 3, 1)


@pytest.mark.parametrize("data", [[], [[], []]])
def test_nothing_to_hide(data):
    tree = Hierarchy.balanced("abc", 2)
    assert vpa(tree, tree.code(data), 5, 2).tolist() == tree.leaf.tolist()
    local = lra(tree, tree.code(data), 5, 2)
    assert all(cut.tolist() == tree.leaf.tolist() for cut in local.cuts)
    assert len(local.part) == len(data)
    assert local_ncp(tree, tree.code(data), local) == 0
