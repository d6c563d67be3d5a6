"""The checks of generalised releases: every broken promise and every loss is told, a sound release is passed."""

import json
from collections import Counter
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
import naive_mining
from decloak.anonymisers.kernels.raised_cut import Local, generalised
from decloak.counting.generalisation_guarantee import (
    Negative,
    check_alike,
    check_diverse,
    check_generalised,
    negative_violations,
)
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
EXAMPLES = GOLDEN["worked_examples"]
ROWS = st.lists(st.sets(st.sampled_from("abcde")).map(sorted).map(tuple), max_size=14)


def dataset(rows):
    return Dataset(tuple(map(tuple, rows)), tuple(str(number) for number in range(1, len(rows) + 1)))


def as_they_are(rows):
    """A release that generalises nothing."""
    items = sorted({item for row in rows for item in row})
    return Generalised(tuple(map(tuple, rows)), {item: (item,) for item in items}, dataset(rows).labels)


def by_cut(hierarchy, rows, cut):
    tree = Hierarchy.from_parents(naive.parents_of(hierarchy))
    local = Local.with_one_cut(np.array(sorted(tree.number[label] for label in cut)), len(rows))
    return generalised(dataset(rows), tree, tree.code(rows), local, method="cut", k=1, m=1)


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_verdicts(case):
    data, k, m = dataset(case["D"]), case["k"], case["m"]
    assert len(check_generalised(data, as_they_are(case["D"]), k, m)) == sum(case["verdict_D"]["n_violations_by_size"])
    for one in case["given_cuts"]:
        faults = check_generalised(data, by_cut(case["hierarchy"], case["D"], one["cut"]), k, m)
        assert len(faults) == sum(one["verdict"]["n_violations_by_size"])


@settings(max_examples=100)
@given(ROWS, st.integers(1, 4), st.integers(1, 4))
def test_label_sets_and_whole_records_are_told_when_too_few_have_them(rows, k, m):
    data, release = dataset(rows), as_they_are(rows)
    counts = Counter(frozenset(one) for row in rows for size in range(1, m + 1) for one in combinations(row, size))
    rare = sorted(", ".join(f"'{item}'" for item in sorted(one)) for one, count in counts.items() if count < k)
    told = check_generalised(data, release, k, m)
    assert sorted(line.removeprefix("together ").split(" have ")[0] for line in told) == rare
    alone = [row for row, count in Counter(rows).items() if row and count < k]
    assert len(check_alike(data, release, k)) == len(alone)


@settings(max_examples=100)
@given(ROWS, st.integers(1, 4), st.integers(1, 3), st.sets(st.sampled_from("abcxe"), max_size=3))
def test_sensitive_items_are_told_when_labels_make_them_too_certain(rows, l, m, sensitive):  # noqa: E741
    plain = [set(row) - sensitive for row in rows]
    hidden = [sensitive.intersection(row) for row in rows]
    expected = naive_mining.certain(plain, hidden, l, m) if rows else []
    told = check_diverse(dataset(rows), as_they_are(rows), sorted(sensitive), l, m)
    lines = [
        f"of {support} with {', '.join(map(repr, labels))}, {having} have {item!r}"
        for labels, support, item, having in expected
    ]
    assert sorted(told) == sorted(lines)


def test_the_paper_s_cut_that_breaks_diversity_is_told():
    case = EXAMPLES["l_diversity_not_monotone"]
    data, l, m = dataset(case["D"]), case["l"], case["m"]  # noqa: E741
    members = {"A": ("a1", "a2"), "s": ("s",)}
    release = Generalised((("A",), ("A", "s"), ("A", "s")), members, data.labels)
    assert check_diverse(data, as_they_are(case["D"]), case["sensitive"], l, m) == []
    assert check_diverse(data, release, case["sensitive"], l, m) == ["of 3 with 'A', 2 have 's'"]
    disguised = Generalised((("A",), ("A",), ("A",)), {"A": ("a1", "a2", "s")}, data.labels)
    assert check_diverse(data, disguised, case["sensitive"], l, m) == ["'A' contains a sensitive item"]


def test_local_recoding_of_section_4_5_holds_in_the_parts_and_as_a_whole():
    case = EXAMPLES["local_recoding_sect_4_5"]
    tree = Hierarchy.from_parents(naive.parents_of(case["hierarchy"]))
    parts = [(case["part1"], case["cut1"]), (case["part2"], case["cut2"])]
    cuts = [np.array(sorted(tree.number[label] for label in cut)) for _, cut in parts]
    for number, (rows, _) in enumerate(parts):
        local = Local.with_one_cut(cuts[number], len(rows))
        release = generalised(dataset(rows), tree, tree.code(rows), local, method="lra", k=3, m=1)
        assert check_generalised(dataset(rows), release, case["k"], case["m"]) == []
    rows = case["part1"] + case["part2"]
    local = Local(np.repeat([0, 1], [len(case["part1"]), len(case["part2"])]), tuple(cuts))
    release = generalised(dataset(rows), tree, tree.code(rows), local, method="lra", k=3, m=1)
    assert check_generalised(dataset(rows), release, case["k"], case["m"]) == []
    assert set(release.transactions[4:]) == {("o2",)}


MEMBERS = {"A": ("a1", "a2"), "B": ("b1", "b2"), "a1": ("a1",), "b1": ("b1",)}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ((), "in the transaction '1' 'a1' is published 0 times"),
        (("A", "a1"), "in the transaction '1' 'a1' is published 2 times"),
        (("A", "B"), "the transaction '1' held nothing that is 'B'"),
        (("A", "z"), "the transaction '1' held nothing that is 'z'"),
    ],
)
def test_what_is_lost_twice_there_or_made_up_is_told_by_every_check(row, fault):
    data = dataset([["a1"]])
    release = Generalised((row,), MEMBERS, data.labels)
    assert check_generalised(data, release, 1, 1) == [fault]
    assert check_alike(data, release, 1) == [fault]
    assert check_diverse(data, release, [], 1, 1) == [fault]


def test_a_release_of_other_transactions_is_told():
    release = Generalised((("A",), ("A",)), MEMBERS, ("1", "3"))
    assert check_alike(dataset([["a1"], ["a2"]]), release, 2) == [
        "the release has other records than the original data"
    ]


def test_hostile_names_stay_on_their_line():
    data = dataset([["a\nb\x1b[31m"]])
    (fault,) = check_generalised(data, Generalised(((),), {}, data.labels), 1, 1)
    assert fault == r"in the transaction '1' 'a\x0ab\x1b[31m' is published 0 times"


def test_figures_1_to_6_negative_knowledge():
    case = EXAMPLES["terrovitis_fig1_6"]
    found = negative_violations(case["D_published"], case["cut"], case["k"], case["m"])
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, case["negative_knowledge_on_published"]))


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_negative_knowledge(case):
    expected = case["OA_published_metrics"]
    release = by_cut(case["hierarchy"], case["D"], expected["cut"])
    found = negative_violations(release.transactions, release.cut, case["k"], expected["negative_knowledge_m"])
    assert len(list(found)) == expected["negative_violations"]


@settings(max_examples=100)
@given(ROWS, st.sets(st.sampled_from("abxy")), st.integers(1, 4), st.integers(1, 4))
def test_every_rare_pattern_of_presence_and_absence_is_found(rows, domain, k, m):
    found = list(negative_violations(rows, domain, k, m))
    labels = domain.union(*rows)
    assert sorted(found) == sorted(naive_mining.negative(rows, labels, k, m))
    known = [(len(one.present) + len(one.absent), sorted(one.present + one.absent)) for one in found]
    assert known == sorted(known)


def test_negative_patterns_come_one_by_one():
    rows = [[f"i{number}"] for number in range(300)]
    first = list(islice(negative_violations(rows, [], 2, 3), 301))
    assert first[0] == Negative(("i0",), (), 1)
    assert len(first[-1].absent) == 1


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 0), (1.5, 1)])
def test_k_and_m_of_negative_knowledge_are_whole_numbers_of_at_least_1(k, m):
    with pytest.raises(DecloakError, match=r"^[km] is .*; give a whole number of at least 1"):
        next(negative_violations([["a"]], [], k, m))
