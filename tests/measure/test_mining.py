"""ML², dML², the top itemsets, supports and labels of generalised releases: golden figures, twins, edge cases."""

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import naive_generalise as naive
import naive_mining
from decloak.anonymisers.kernels.raised_cut import Local, generalised
from decloak.counting.frequent import frequent
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.measure.loss import information_loss, labels_left, support_error
from decloak.measure.mining import Level, least_support, ml2, tkd_labels

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
FIGURE = GOLDEN["worked_examples"]["terrovitis_fig1_6"]


def dataset(rows):
    return Dataset(tuple(map(tuple, rows)), tuple(str(number) for number in range(1, len(rows) + 1)))


def released(tree, rows, part, cuts):
    """The release by cuts given as labels."""
    nodes = tuple(np.array(sorted(tree.number[label] for label in cut)) for cut in cuts)
    local = Local(np.array(part, np.int64), nodes)
    return generalised(dataset(rows), tree, tree.code(rows), local, method="cut", k=1, m=1)


def everywhere(tree, rows, cut):
    return released(tree, rows, [0] * len(rows), [cut])


def fraction(golden):
    return None if golden is None else Fraction(golden["frac"])


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_mining_losses(case):
    tree = Hierarchy.from_parents(naive.parents_of(case["hierarchy"]))
    expected = case["OA_published_metrics"]
    found = ml2(tree, dataset(case["D"]), everywhere(tree, case["D"], expected["cut"]), expected["minsup"])
    assert found.ml2 == fraction(expected["ml2"])
    assert found.dml2_eq2 == fraction(expected["dml2_eq2"])
    assert found.dml2_experiments == fraction(expected["dml2_experiments"])


def test_figures_1_to_6_mining_losses():
    tree = Hierarchy.from_parents(naive.parents_of(FIGURE["hierarchy"]))
    found = ml2(tree, dataset(FIGURE["D"]), everywhere(tree, FIGURE["D"], FIGURE["cut"]), 2)
    assert found.ml2 == fraction(FIGURE["ml2_minsup2"])
    assert found.dml2_eq2 == fraction(FIGURE["dml2_minsup2_eq2"])
    assert found.dml2_experiments == fraction(FIGURE["dml2_minsup2_experiments"])
    assert found.levels == (Level(0, 8, 3), Level(1, 3, 3))


@st.composite
def releases(draw):
    """A tree, records, and two cuts that some of the records each are published by."""
    parent = draw(naive.parents(5))
    items = [node for node in parent if node not in parent.values()]
    kinds = draw(st.lists(st.sets(st.sampled_from(items), max_size=4).map(sorted), min_size=1, max_size=6))
    rows = draw(st.lists(st.sampled_from(kinds), max_size=12))
    cuts = st.sampled_from(sorted(map(sorted, naive.cuts(naive.Tree(parent)))))
    part = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    return parent, rows, part, [draw(cuts), draw(cuts)], draw(st.integers(1, 5))


@settings(max_examples=150)
@given(releases())
def test_mining_losses_are_those_of_the_definition(case):
    parent, rows, part, cuts, minsup = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    release = released(tree, rows, part, cuts)
    found = ml2(tree, dataset(rows), release, minsup)
    assert (found.ml2, found.dml2_eq2, found.dml2_experiments) == naive_mining.ml2(
        twin, rows, release.transactions, minsup
    )
    assert all(0 <= level.published <= level.original for level in found.levels)


@settings(max_examples=60)
@given(releases())
def test_what_is_published_as_it_is_loses_nothing(case):
    parent, rows, *_ = case
    tree = Hierarchy.from_parents(parent)
    release = everywhere(tree, rows, tree.items)
    found = ml2(tree, dataset(rows), release, 1)
    filled = any(rows)
    assert found[0] == found[2] == (0 if filled else None)
    assert found.dml2_experiments is None
    assert tkd_labels(release, rows, 5) == support_error(dataset(rows), release) == (0 if filled else None)
    assert information_loss(dataset(rows), release) == (0 if filled else None)


def test_a_set_that_is_never_frequent_again_counts_one_level_more_than_there_are():
    tree = Hierarchy.from_parents({"a": "A", "b": "A"})
    release = Generalised(((), ()), {"a": ("a",), "b": ("b",)}, ("1", "2"))
    assert ml2(tree, dataset([["a"], ["a"]]), release, 2)[2:] == (2, 2)


def test_sensitive_items_beside_the_hierarchy_are_left_out():
    tree = Hierarchy.from_parents({"a": "A", "b": "A", "A": "*", "c": "*"})
    rows = [["a", "c"], ["b", "c"], ["a", "b"]]
    release = everywhere(tree, rows, ["A", "c"])
    shown = tuple((*row, "s") for row in release.transactions)
    diverse = Generalised(shown, {**release.members, "s": ("s",)}, release.ids)
    assert ml2(tree, dataset([[*row, "s"] for row in rows]), diverse, 2) == ml2(tree, dataset(rows), release, 2)
    with pytest.raises(DecloakError, match=r"^record 1: 's' is not in the hierarchy"):
        ml2(tree, dataset([["s"]] * 3), release, 2)


def test_a_release_of_another_hierarchy_is_refused():
    tree = Hierarchy.from_parents({"a": "Group", "b": "Group"})
    misspelt = Generalised((("Grouq",),), {"Grouq": ("a", "b")}, ("1",), origin="r.jsonl")
    with pytest.raises(
        DecloakError, match=r"^r.jsonl: the label 'Grouq' is not in the hierarchy; did you mean 'Group'"
    ):
        ml2(tree, dataset([["a"]]), misspelt, 1)
    other = Generalised((("Group",),), {"Group": ("a",)}, ("1",), origin="r.jsonl")
    with pytest.raises(DecloakError, match=r"^r.jsonl: the label 'Group' has other items than in the hierarchy"):
        ml2(tree, dataset([["a"]]), other, 1)


@pytest.mark.parametrize("minsup", [0, 1.5, True])
def test_the_threshold_is_a_whole_number_of_at_least_1(minsup):
    tree = Hierarchy.from_parents({"a": "A", "b": "A"})
    with pytest.raises(DecloakError, match=r"^minsup is .*; give a whole number of at least 1"):
        ml2(tree, dataset([["a"]]), everywhere(tree, [["a"]], ["a", "b"]), minsup)


def test_too_low_a_threshold_is_refused():
    tree = Hierarchy.balanced([f"i{number}" for number in range(40)], 4)
    rows = [tree.items]
    with pytest.raises(DecloakError, match=r"^more than 1,000,000 itemsets are in 1 records or more; raise"):
        ml2(tree, dataset(rows), everywhere(tree, rows, tree.items), 1)


def test_a_share_of_the_records_is_rounded_up_and_exactly():
    assert [least_support(share, 100) for share in (0.07, 0.071, 0.29, 0, 1)] == [7, 8, 29, 1, 100]
    assert least_support(Fraction(1, 3), 10) == 4
    assert least_support(0.5, 0) == 1


@settings(max_examples=100)
@given(st.lists(st.sets(st.integers(0, 6)), max_size=20), st.integers(1, 5), st.sampled_from([1, 7, 1 << 21]))
def test_frequent_itemsets_are_all_and_each_once_whatever_the_pieces(rows, low, piece):
    start = np.cumsum([0, *map(len, rows)])
    columns = np.array([item for row in rows for item in sorted(row)], np.int64)
    records = sparse.csr_array((np.ones(len(columns), np.int8), columns, start), (len(rows), 7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("decloak.counting.frequent.PIECE", piece)
        found = [tuple(itemset) for block in frequent(records, low) for itemset in block.tolist()]
    counts = Counter(tuple(one) for row in rows for one in _subsets(sorted(row)))
    assert sorted(found) == sorted(one for one, count in counts.items() if count >= low)


def _subsets(row):
    return [[item for at, item in enumerate(row) if mask >> at & 1] for mask in range(1, 1 << len(row))]


def test_the_top_itemsets_are_kept_where_their_items_are_published_and_no_label_comes_before():
    tree = Hierarchy.from_parents({"a": "A", "b": "A", "A": "*", "c": "*", "d": "*"})
    rows = [["a", "c"], ["b", "c"], ["a", "c"], ["c", "d"], ["d"]]
    release = everywhere(tree, rows, ["A", "c", "d"])
    assert tkd_labels(release, rows, 1) == 0  # c
    assert tkd_labels(release, rows, 2) == 1 / 2  # c and a, of which the release has c and A
    assert tkd_labels(release, [], 2) is None
    with pytest.raises(DecloakError, match=r"^the top 0 itemsets; ask for at least 1"):
        tkd_labels(release, rows, 0)


def test_a_label_is_not_taken_for_an_item_of_the_same_name():
    release = Generalised((("flu",), ("flu",)), {"flu": ("flu", "cold")}, ("1", "2"))
    assert tkd_labels(release, [["flu"], ["flu"]], 1) == 1


@settings(max_examples=100)
@given(releases())
def test_information_loss_and_support_error_are_those_of_the_definition(case):
    parent, rows, part, cuts, _ = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    release = released(tree, rows, part, cuts)
    occurrences = sum(map(len, rows))
    parts = [[row for row, own in zip(rows, part, strict=True) if own == number] for number in (0, 1)]
    paid = sum(naive.paid(twin, some, cut) for some, cut in zip(parts, cuts, strict=True))
    assert information_loss(dataset(rows), release) == (paid / occurrences if occurrences else None)
    if occurrences:
        assert release.ncp == paid / occurrences
    errors = []
    for item in {item for row in rows for item in row}:
        support = sum(item in row for row in rows)
        expected = sum(
            Fraction(1, len(twin.leaves[label]))
            for row in release.transactions
            for label in row
            if item in twin.leaves[label]
        )
        errors.append(abs(expected - support) / support)
    mean = support_error(dataset(rows), release)
    assert mean == (pytest.approx(float(sum(errors) / len(errors))) if errors else None)


def test_what_is_suppressed_loses_everything():
    original = dataset([["a", "b"], ["a"], ["c"]])
    release = Generalised.of(Published((("a",), ("a",), ()), original.labels))
    assert information_loss(original, release) == Fraction(1, 2)
    assert support_error(original, release) == pytest.approx(2 / 3)
    assert labels_left(release) == (1, 1)
    assert labels_left(Generalised.of(Published(((), ()), ("1", "2")))) == (0, 0)


LABELS = st.sets(st.sampled_from("abcdef"), min_size=2).map(sorted).map(tuple)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef")), st.lists(LABELS, unique=True, max_size=5)), max_size=4))
def test_of_the_labels_of_a_transaction_above_an_item_the_narrowest_counts(rows):
    rows = [*rows, ({"g", "h"}, [("g", "h")])]
    original = dataset([sorted(held) for held, _ in rows])
    release = Generalised.of(Published(tuple(tuple(labels) for _, labels in rows), original.labels))
    everything = len({item for held, labels in rows for items in (held, *labels) for item in items})
    lost = [
        min((len(label) for label in labels if item in label), default=everything)
        for held, labels in rows
        for item in held
    ]
    assert information_loss(original, release) == Fraction(sum(lost), len(lost) * everything)


def test_labels_left_of_a_hierarchy_release():
    tree = Hierarchy.from_parents({"a": "A", "b": "A", "A": "*", "c": "C", "d": "C", "C": "*"})
    release = everywhere(tree, [["a", "c"], ["b", "c"]], ["A", "c", "d"])
    assert labels_left(release) == (2, Fraction(2, 4))


def test_a_release_of_other_records_is_refused():
    with pytest.raises(DecloakError, match=r"^1 published transactions, 2 original ones; give the data"):
        information_loss(dataset([["a"], ["a"]]), Generalised.of(Published((("a",),), ("1",))))


@pytest.mark.slow
def test_real_data_is_mined_at_all_levels(shared_data):
    with gzip.open(shared_data / "bms_webview2.dat.gz", "rt") as lines:
        rows = [line.split() for line in lines]
    data = dataset(rows)
    tree = Hierarchy.balanced(sorted(data.items, key=int), 5)
    release = everywhere(tree, rows, [tree.labels[node] for node in range(len(tree.labels)) if tree.level[node] == 2])
    found = ml2(tree, data, release, least_support(0.01, len(rows)))
    assert [level.original for level in found.levels] == [81, 114, 143, 177, 44, 3]
    assert [level.published for level in found.levels] == [0, 0, 143, 177, 44, 3]
    assert found.ml2 == Fraction(81 + 114, 81 + 114 + 143 + 177 + 44 + 3)
