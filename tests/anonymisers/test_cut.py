"""The fast form of k^m generalisation: naive twins, golden optima, both ways of counting, blocks, real data."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from bisect import bisect
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_cut
import naive_generalise as naive
from decloak.anonymisers.kernels import records as records_kernel
from decloak.anonymisers.kernels.counting import counter, node_supports, pairs, rare_itemsets
from decloak.anonymisers.kernels.fast_cut import cut, refine
from decloak.anonymisers.kernels.records import Records, coded_records, merged, recoded, renamed
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from trees import loss, tree_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())

EDGE_CASES = [
    case
    for case in GOLDEN["worked_examples"]["edge_cases"]["cases"]
    if not case["result"].startswith("error")  # an item that is not in the hierarchy: refused before there are records
]


@pytest.fixture(scope="module")
def compiled():
    pytest.importorskip("numba", reason="numba is not installed")
    return counter(True, 0)


def labels(tree, found):
    return frozenset(tree.labels[node] for node in found)


@settings(max_examples=250)
@given(naive.cases())
def test_the_cut_is_what_the_definition_finds(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    found = cut(tree, tree.code(data), k, m)
    assert found.tolist() == sorted(set(found.tolist()))
    assert labels(tree, found) == naive_cut.cut(twin, data, k, m)


@settings(max_examples=150)
@given(naive.cases())
def test_the_cut_and_what_refines_it_are_anonymous_for_labels_and_for_items(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    found = cut(tree, tree.code(data), k, m)
    for one in (found, refine(tree, tree.code(data), k, m, found)):
        rows = naive.recode(twin, data, labels(tree, one))
        assert naive.anonymous(rows, k, m)
        assert naive.anonymous_on_items(twin, rows, k, m)


@settings(max_examples=150)
@given(naive.cases(), st.booleans())
def test_a_refined_cut_is_minimal_and_what_the_definition_finds(case, from_the_root):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    found = np.array([0]) if from_the_root else cut(tree, tree.code(data), k, m)
    refined = refine(tree, tree.code(data), k, m, found)
    assert labels(tree, refined) == naive_cut.refine(twin, data, k, m, labels(tree, found))
    lower = naive_cut.lowered(twin, labels(tree, refined))
    assert not any(naive.anonymous(naive.recode(twin, data, one), k, m) for one in lower)
    assert loss(tree, tree.code(data), refined) <= loss(tree, tree.code(data), found)


def larger(seed):
    """As `naive.cases`, larger: more walks, more records than a word has bits."""
    chance = random.Random(seed)
    level = [f"i{number}" for number in range(chance.randint(10, 30))]
    parent = {}
    while len(level) > 1:
        group = chance.sample(level, min(len(level), chance.randint(2, 4)))
        name = f"N{len(parent)}"
        parent |= dict.fromkeys(group, name)
        level = [node for node in level if node not in group] + [name]
    items = [node for node in parent if node not in parent.values()]
    skew, longest = chance.choice([1, 2, 3]), chance.randint(2, 7)
    data = [
        [items[int(len(items) * chance.random() ** skew)] for _ in range(chance.randint(0, longest))]
        for _ in range(chance.randint(50, 300))
    ]
    return parent, data, chance.randint(2, 9), chance.randint(2, 4)


@pytest.mark.parametrize("seed", range(40))
def test_larger_cuts_are_what_the_definitions_find(seed):
    parent, data, k, m = larger(seed)
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    records = tree.code(data)
    found = cut(tree, records, k, m)
    assert labels(tree, found) == naive_cut.cut(twin, data, k, m)
    for high in (found, cut(tree, records, 3 * k, m), np.array([0])):
        fine = refine(tree, records, k, m, high)
        assert labels(tree, fine) == naive_cut.refine(twin, data, k, m, labels(tree, high))
    expected = [sum(not twin.leaves[label].isdisjoint(row) for row in data) for label in tree.labels]
    assert node_supports(tree, records).tolist() == expected


@settings(max_examples=60)
@given(naive.cases(), st.randoms(use_true_random=False))
def test_neither_the_order_of_records_nor_repeated_items_matter(case, chance):
    parent, data, k, m = case
    tree = Hierarchy.from_parents(parent)
    other = [row + row for row in chance.sample(data, len(data))]
    found = cut(tree, tree.code(data), k, m)
    assert cut(tree, tree.code(other), k, m).tolist() == found.tolist()
    refined = refine(tree, tree.code(data), k, m, found)
    assert refine(tree, tree.code(other), k, m, found).tolist() == refined.tolist()


@settings(max_examples=60)
@given(naive.cases())
def test_every_node_is_counted_once_a_record(case):
    parent, data, _, _ = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    expected = [sum(not twin.leaves[label].isdisjoint(row) for row in data) for label in tree.labels]
    assert node_supports(tree, tree.code(data)).tolist() == expected


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_no_cut_is_better_than_the_golden_optimum(case):
    twin, tree = naive.Tree(naive.parents_of(case["hierarchy"])), tree_of(case["hierarchy"])
    records, k, m = tree.code(case["D"]), case["k"], case["m"]
    found = cut(tree, records, k, m)
    refined = refine(tree, records, k, m, found)
    assert labels(tree, found) == naive_cut.cut(twin, case["D"], k, m)
    assert naive.anonymous(naive.recode(twin, case["D"], labels(tree, refined)), k, m)
    assert Fraction(case["OA_ncp"]["frac"]) <= loss(tree, records, refined) <= loss(tree, records, found)


@pytest.mark.parametrize("case", EDGE_CASES, ids=lambda case: case["result"])
def test_edge_cases(case):
    tree = tree_of(GOLDEN["worked_examples"]["edge_cases"]["hierarchy"])
    records, k, m = tree.code(case["D"]), case["k"], case["m"]
    if case["result"].startswith("infeasible"):
        with pytest.raises(
            DecloakError, match=r"^k = 3 is impossible with 2 non-empty records; use k = 2 or less, or more records"
        ):
            cut(tree, records, k, m)
    else:
        expected = {"ALL"} if case["result"].startswith("cut {ALL}") else set(tree.items)
        found = cut(tree, records, k, m)
        assert labels(tree, found) == labels(tree, refine(tree, records, k, m, found)) == expected


@pytest.mark.parametrize(("k", "m", "name"), [(0, 1, "k"), (1, 0, "m"), (2.0, 1, "k"), (2, True, "m")])
def test_k_and_m_are_whole_numbers_of_at_least_1(k, m, name):
    tree = Hierarchy.balanced("abc", 2)
    records = tree.code([["a"], ["b"]])
    for job in (lambda: cut(tree, records, k, m), lambda: refine(tree, records, k, m, np.array([0]))):
        with pytest.raises(DecloakError, match=f"^{name} is '.*'; give a whole number of at least 1"):
            job()


def test_an_m_beyond_all_bounds_is_as_the_longest_record():
    tree = Hierarchy.balanced("abcdef", 2)
    records = tree.code(["abc", "abd", "ace", "bcf", "abc", "ef"])
    assert cut(tree, records, 2, 10**9).tolist() == cut(tree, records, 2, 3).tolist()


def random_records(seed, records=500, items=40):
    """Some long, many alike, and the rarer items first, as walks have them."""
    chance = random.Random(seed)
    rows = [
        {items - 1 - int(items * chance.random() ** 2) for _ in range(chance.randint(1, 9))} for _ in range(records)
    ]
    start = np.cumsum([0, *map(len, rows)])
    held = np.array([item for row in rows for item in sorted(row)], np.int32)
    return Records(start, held, np.array([chance.randint(1, 2) for _ in rows], np.int32)), rows


def counted(records, rows, size, firsts, k, alive):
    weights = {}
    for row, weight in zip(rows, records.weight.tolist(), strict=True):
        for itemset in combinations(sorted(row), size):
            weights[itemset] = weights.get(itemset, 0) + weight
    return sorted(
        itemset
        for itemset, weight in weights.items()
        if weight < k and itemset[0] < firsts and all(alive[label] for label in itemset)
    )


def listed(blocks):
    return [tuple(itemset) for block in blocks for itemset in block.tolist()]


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("firsts", [1, 17, 40])
def test_rare_itemsets_are_those_of_plain_counting(size, firsts):
    records, rows = random_records(size)
    alive = np.arange(40) % 7 != 3
    expected = counted(records, rows, size, firsts, 5, alive)
    assert expected
    assert listed(rare_itemsets(records, size, firsts, 5, alive)) == expected


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_compiled_loops_find_the_same(compiled, size):
    records, rows = random_records(size)
    alive = np.arange(40) % 7 != 3
    expected = counted(records, rows, size, 30, 5, alive)
    assert expected
    assert listed(compiled(records, size, 30, 5, alive)) == expected


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("name", ["products", "loops"])
def test_what_dies_is_not_in_the_blocks_to_come(request, name, size):
    find = rare_itemsets if name == "products" else request.getfixturevalue("compiled")
    records, rows = random_records(1, records=1_000, items=300)
    alive = np.ones(300, bool)
    every = counted(records, rows, size, 300, 5, alive)
    met, times = set(), 0
    for block in find(records, size, 300, 5, alive):
        assert alive[block].all()
        met.update(listed([block]))
        begin = bisect(every, tuple(block[-1])) if len(block) else len(every)
        coming = next((one for one in islice(every, begin, None) if alive[list(one)].all()), None)
        if coming:
            alive[coming[times % size]] = False
            times += 1
    assert times > 3
    assert {one for one in every if alive[list(one)].all()} <= met <= set(every)


@pytest.mark.parametrize("block", [1, 100, 1_000])
def test_blocks_change_nothing(block):
    records, _ = random_records(5)
    alive = np.ones(40, bool)
    found = list(pairs(records, 40, 5, alive, block))
    assert len(found) == -(-40 // max(1, block // 40))
    assert listed(found) == listed(pairs(records, 40, 5, alive))


def test_labels_that_no_record_holds_make_no_blocks():
    tree = Hierarchy.balanced(map(str, range(30_000)), 5)
    held = tree.code([["7", "15000", "29999"]] * 3 + [["7", "8"]])
    alive = np.ones(len(tree.labels), bool)
    for size, expected in ((2, [["7", "8"]]), (3, [])):
        blocks = list(rare_itemsets(coded_records(tree, held), size, len(alive), 2, alive))
        assert [[tree.labels[node] for node in itemset] for itemset in listed(blocks)] == expected
        assert len(blocks) <= held.shape[0]
    assert len(cut(tree, held, 2, 3)) == 29_996


def test_merged_records_count_as_often_and_different_ones_of_one_key_stay_apart():
    records, rows = random_records(2, records=300, items=4)
    for one in (merged(records), merged(records, np.zeros(len(rows), np.uint64))):
        assert one.weight.sum() == records.weight.sum()
        assert len(one.weight) < len(rows)
        sets = [tuple(one.codes[a:b].tolist()) for a, b in zip(one.start, one.start[1:], strict=False)]
        for itemset in {tuple(sorted(row)) for row in rows}:
            before = sum(records.weight[at] for at, row in enumerate(rows) if tuple(sorted(row)) == itemset)
            assert sum(weight for held, weight in zip(sets, one.weight, strict=True) if held == itemset) == before
    assert len({tuple(sorted(row)) for row in rows}) == len(merged(records).weight)


def test_labels_that_become_equal_collapse_and_names_are_put_in_order():
    records = Records(np.array([0, 3, 5]), np.array([0, 2, 3, 1, 3], np.int32), np.array([1, 4], np.int32))
    assert recoded(records, np.array([0, 0, 1, 1])).codes.tolist() == [0, 1, 0, 1]
    assert recoded(records, np.array([0, 0, 1, 1])).start.tolist() == [0, 2, 4]
    assert renamed(records, np.array([3, 2, 1, 0]), 4).codes.tolist() == [0, 1, 3, 0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_is_the_same_with_compiled_loops(compiled, seed):
    chance = random.Random(seed)
    tree = Hierarchy.balanced(map(str, range(60)), 3)
    data = [{str(int(60 * chance.random() ** 2)) for _ in range(chance.randint(1, 8))} for _ in range(400)]
    records = tree.code(data)
    for m in (1, 2, 3, 4):
        found = [cut(tree, records, 4, m, accelerated=one) for one in (False, True)]
        assert found[0].tolist() == found[1].tolist()
        fine = [refine(tree, records, 4, m, found[0], accelerated=one) for one in (False, True)]
        assert fine[0].tolist() == fine[1].tolist()


def test_without_numba_products_count_unless_loops_are_asked_for():
    code = """
import sys
sys.modules["numba"] = None
from decloak.anonymisers.kernels.counting import counter, rare_itemsets
from decloak.errors import DecloakError
assert counter(None, 10**9) is counter(False, 0) is rare_itemsets
try:
    counter(True, 0)
except DecloakError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("numba cannot be used: ")
    assert re.search(r"; pip install 'numba>=[\d.]+', or count without it\n$", said.stdout)


COMPILED = """\
scenario: labels, by compiled loops
data: {file: baskets.dat, format: basket, separator: " "}
anonymise: {method: cut, k: 3, m: 2, hierarchy: {by: names, fanout: 2}}
attack: [km_violation]
measure: [loss]
"""


@pytest.mark.slow  # it compiles
def test_compiled_loops_work_where_no_cache_can_be_written(compiled, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = """
import sys
import numpy as np
from decloak.anonymisers.kernels.counting import counter, rare_itemsets
from decloak.anonymisers.kernels.records import coded_records
from decloak.data.hierarchy import Hierarchy
tree = Hierarchy.balanced("abcd", 2)
records = coded_records(tree, tree.code(["abc", "abd", "bd"]))
alive = np.ones(len(tree.labels), bool)
find = counter(True, 0)
print(type(sys.modules[find.__module__]._search._cache).__name__)
for size in (2, 3):
    kernels = (find, rare_itemsets)
    a, b = ([x for block in one(records, size, len(alive), 2, alive) for x in block.tolist()] for one in kernels)
    assert a == b, (a, b)
    print(len(a))
"""
    env = {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_CACHE_DIR": str(blocked / "inside"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert said.returncode == 0, said.stderr
    assert said.stdout == "NullCache\n3\n2\n"
    (tmp_path / "baskets.dat").write_text("a b c\n" * 3 + "a b d\n" * 3 + "b d\n")
    (tmp_path / "cut.yaml").write_text(COMPILED)
    code = """
import decloak.anonymisers.kernels.counting as counting
from decloak.cli import main
counting.LARGE = 1
main(["run", "cut.yaml", "--jobs", "1"])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    told = [line for line in said.stderr.splitlines() if "compiling" in line]
    asks = "as every run has to that may write them nowhere; it takes up to half a minute"
    assert told == [f"release: compiling loops, {asks}"]
    assert "warning" not in said.stderr.lower()


@pytest.mark.parametrize(
    ("name", "loss_of_pairs", "loss_of_triples", "left", "refined"),
    [("bms_webview1", 0.0286, 0.1082, 12, 0.1082), ("bms_webview2", 0.0197, 0.0373, 27, 0.0359)],
)
def test_real_data_loses_as_little_as_was_measured(shared_data, name, loss_of_pairs, loss_of_triples, left, refined):
    with gzip.open(shared_data / f"{name}.dat.gz", "rt") as lines:
        data = [line.split() for line in lines]
    tree = Hierarchy.balanced(sorted({item for row in data for item in row}, key=int), 5)
    records = tree.code(data)
    assert loss(tree, records, cut(tree, records, 5, 2)) < loss_of_pairs
    found = cut(tree, records, 5, 3)
    assert len(found) == left
    assert loss(tree, records, found) < loss_of_triples
    assert loss(tree, records, refine(tree, records, 5, 3, found)) < refined


@pytest.mark.parametrize("entries", [1, 2, 5, 1000])
@given(
    rows=st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=8),
    to=st.lists(st.integers(0, 6), min_size=10, max_size=10).map(sorted),
)
def test_labels_are_put_for_others_in_runs_of_any_length(entries, rows, to):
    held = [sorted(row) for row in rows]
    labels = np.array(list(chain.from_iterable(held)), np.int32)
    records = Records(np.cumsum([0, *map(len, held)]), labels, np.ones(len(held), np.int32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_kernel, "ENTRIES", entries)
        made = recoded(records, np.array(to))
    expected = [sorted({to[label] for label in row}) for row in held]
    assert [made.codes[begin:end].tolist() for begin, end in pairwise(made.start.tolist())] == expected
