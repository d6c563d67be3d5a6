"""One cut for all records by OA, DA and AA: golden cuts, the paper's examples, naive twins, what every cut promises."""

import gzip
import json
import random
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
from decloak.anonymisers.kernels import count_tree, lra_vpa, raised_cut
from decloak.anonymisers.kernels.count_tree import supporting
from decloak.anonymisers.kernels.optimal import MOST_CUTS, cuts, oa, optimum
from decloak.anonymisers.kernels.raised_cut import ncp, ranks
from decloak.counting.violations import violations
from decloak.data.generators.baskets import baskets
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from trees import loss, tree_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
EXAMPLES = GOLDEN["worked_examples"]


def da(*given):
    return count_tree.da(*given).cut


def aa(*given):
    return count_tree.aa(*given).cut


GLOBAL = {"oa": oa, "da": da, "aa": aa}


def labels(tree, cut):
    return sorted(tree.labels[node] for node in cut)


def da_fixes(tree, records, k, m):
    """What DA cures, step by step: the itemset, its support, and the nodes committed for it."""
    steps = []

    def cure(raised, rank, itemset, k, support):
        steps.append((itemset, support(itemset), raised_cut.cure(raised, rank, itemset, k, support)))
        return steps[-1][2]

    with mock.patch.object(count_tree, "cure", cure):
        da(tree, records, k, m)
    return steps


def nodes(tree, names):
    return np.array(sorted(tree.number[name] for name in names))


def published(tree, data, cut):
    above = dict(zip(tree.items, tree.above(cut), strict=True))
    return [{tree.labels[above[item]] for item in row} for row in data]


def check_verdict(rows, k, m, verdict):
    found = [[sorted(itemset), support] for itemset, support in violations(rows, k=k, m=m)]
    assert verdict["km_anonymous"] == (not found)
    sizes = [sum(len(itemset) == size for itemset, _ in found) for size in range(1, m + 1)]
    assert sizes == verdict["n_violations_by_size"]
    assert sorted(found[: len(verdict["minimal"])]) == sorted(verdict["minimal"])
    if "all" in verdict:
        assert sorted(found) == sorted(verdict["all"])


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_cuts(case):
    tree, data, k, m = tree_of(case["hierarchy"]), case["D"], case["k"], case["m"]
    records = tree.code(data)
    assert cuts(tree) == case["n_cuts"]
    best = oa(tree, records, k, m)
    assert loss(tree, tree.code(data), best) == Fraction(case["OA_ncp"]["frac"])
    assert labels(tree, best) in case["OA_all_optimal_cuts"]
    for name, method in (("oracle_DA", da), ("oracle_AA", aa)):
        cut = method(tree, records, k, m)
        assert labels(tree, cut) == case[name]["cut"]
        assert loss(tree, tree.code(data), cut) == Fraction(case[name]["ncp"]["frac"])


@pytest.mark.parametrize("case", GOLDEN["instances"], ids=lambda case: str(case["seed"]))
def test_golden_verdicts(case):
    tree, data, k, m = tree_of(case["hierarchy"]), case["D"], case["k"], case["m"]
    check_verdict(data, k, m, case["verdict_D"])
    for one in case["given_cuts"]:
        cut = nodes(tree, one["cut"])
        assert loss(tree, tree.code(data), cut) == Fraction(one["ncp"]["frac"])
        check_verdict(published(tree, data, cut), k, m, one["verdict"])


def test_figures_1_to_6_supports_tree_order_and_count_tree():
    case = EXAMPLES["terrovitis_fig1_6"]
    tree = tree_of(case["hierarchy"])
    records = tree.code(case["D"])
    support = supporting(tree, records)
    supports = np.array([support((node,)) for node in range(len(tree.labels))])
    assert dict(zip(tree.labels, supports.tolist(), strict=True)) == case["supports"]
    assert support((tree.number["A"], tree.number["b2"])) == case["support_A_b2"]
    assert records.nnz == case["sum_C_p"]
    assert [tree.labels[node] for node in np.argsort(ranks(tree, supports))] == case["tree_order"]
    twin = naive.Heuristic(naive.Tree(naive.parents_of(case["hierarchy"])), case["D"], case["k"])
    assert [[list(itemset), count] for itemset, count in twin.count_tree((1, 2)).items()] == case["count_tree"]
    assert list(map(sorted, map(twin.extended, twin.data))) == case["expanded_D"]


def test_figure_4_cuts_and_their_loss():
    case = EXAMPLES["terrovitis_fig1_6"]
    tree = tree_of(case["hierarchy"])
    assert cuts(tree) == len(case["cuts"])
    for one in case["cuts"]:
        cut = nodes(tree, one["cut"])
        assert loss(tree, tree.code(case["D"]), cut) == Fraction(one["ncp"]["frac"])
        assert (not violations(published(tree, case["D"], cut), k=2, m=2)) == one["km_2_2"]


def test_figures_2_to_6_what_is_published():
    case = EXAMPLES["terrovitis_fig1_6"]
    tree = tree_of(case["hierarchy"])
    check_verdict(case["D"], 2, 2, case["verdict_D"])
    for name, method in GLOBAL.items():
        cut = method(tree, tree.code(case["D"]), case["k"], case["m"])
        assert labels(tree, cut) == case[name.upper()] == case["cut"]
        rows = published(tree, case["D"], cut)
        assert list(map(sorted, rows)) == case["D_published"]
        check_verdict(rows, 2, 2, case["verdict_published"])
        assert loss(tree, tree.code(case["D"]), cut) == Fraction(case["ncp"]["frac"])


def test_section_4_3_the_walk_of_direct_anonymisation():
    case = EXAMPLES["terrovitis_fig1_6"]
    tree = tree_of(case["hierarchy"])
    twin = naive.da(naive.Tree(naive.parents_of(case["hierarchy"])), case["D"], case["k"], case["m"])
    assert twin.trace == case["DA_trace"]
    fixes = da_fixes(tree, tree.code(case["D"]), case["k"], case["m"])
    found = [["fix", [tree.labels[node] for node in itemset], support] for itemset, support, _ in fixes]
    assert found == [step for step in case["DA_trace"] if step[0] == "fix"]
    assert [[tree.labels[node] for node in committed] for *_, committed in fixes] == [["A"]]


@pytest.mark.parametrize("method", GLOBAL.values(), ids=GLOBAL)
def test_thesis_figure_2_9(method):
    case = EXAMPLES["thesis_fig2_9"]
    parent = {leaf: kind for kind, leaves in case["tree"]["any"].items() for leaf in leaves}
    tree = Hierarchy.from_parents(parent | dict.fromkeys(case["tree"]["any"], "any"))
    rows = published(tree, case["D"], method(tree, tree.code(case["D"]), 2, 2))
    assert list(map(sorted, rows)) == case["published"]


def test_a_record_shorter_than_m_is_protected_too():
    case = EXAMPLES["leaf_not_depth_m"]
    tree = tree_of(case["hierarchy"])
    check_verdict(case["D"], case["k"], case["m"], case["verdict"])
    records = tree.code(case["D"])
    assert labels(tree, da(tree, records, case["k"], case["m"])) == case["DA"]
    assert loss(tree, tree.code(case["D"]), oa(tree, records, case["k"], case["m"])) == Fraction(case["OA_ncp"]["frac"])


@pytest.mark.parametrize("method", GLOBAL.values(), ids=GLOBAL)
@pytest.mark.parametrize("case", EXAMPLES["edge_cases"]["cases"], ids=lambda case: case["result"])
def test_edge_cases(case, method):
    tree = tree_of(EXAMPLES["edge_cases"]["hierarchy"])
    if case["result"].startswith("error"):
        with pytest.raises(DecloakError, match=r"record 2: 'zz' is not in the hierarchy"):
            tree.code(case["D"])
    elif case["result"].startswith("infeasible"):
        with pytest.raises(
            DecloakError, match=r"^k = 3 is impossible with 2 non-empty records; use k = 2 or less, or more records"
        ):
            method(tree, tree.code(case["D"]), case["k"], case["m"])
    else:
        expected = ["ALL"] if case["result"].startswith("cut {ALL}") else sorted(tree.items)
        cut = method(tree, tree.code(case["D"]), case["k"], case["m"])
        assert labels(tree, cut) == expected
        assert loss(tree, tree.code(case["D"]), cut) == (expected == ["ALL"])


@pytest.mark.parametrize("method", GLOBAL.values(), ids=GLOBAL)
@pytest.mark.parametrize(("k", "m", "name"), [(0, 1, "k"), (1, 0, "m"), (2.0, 1, "k"), (2, True, "m")])
def test_k_and_m_are_whole_numbers_of_at_least_1(method, k, m, name):
    tree = Hierarchy.balanced("abc", 2)
    with pytest.raises(DecloakError, match=f"^{name} is '.*'; give a whole number of at least 1"):
        method(tree, tree.code([["a"], ["b"]]), k, m)


def test_oa_refuses_a_hierarchy_with_too_many_cuts():
    tree = Hierarchy.balanced(map(str, range(100)), 4)
    records = tree.code([["1"], ["2"]])
    with pytest.raises(DecloakError, match=f"has {cuts(tree):,} cuts, more than the {MOST_CUTS:,} .*; use cut or aa"):
        oa(tree, records, 2, 1)
    assert optimum(tree, records, 2, 1) is None
    tree = Hierarchy.balanced(map(str, range(100_000)), 4)
    with pytest.raises(DecloakError, match=r"about 10\^7\d\d\d cuts"):
        oa(tree, tree.code([["1"]]), 1, 1)


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 4), st.integers(1, 3))
@settings(deadline=None)
def test_the_optimum_by_branch_and_bound_is_that_of_looking_at_all_cuts(seed, fanout, k, m):
    rng = random.Random(seed)
    names = [f"i{number}" for number in range(rng.choice((2, 5, 9, 14)))]
    tree = Hierarchy.balanced(names, fanout)
    records = tree.code([rng.sample(names, rng.randint(1, min(4, len(names)))) for _ in range(rng.randint(4, 30))])
    every = ncp(tree, tree.occurrences(records), oa(tree, records, k, m))
    assert optimum(tree, records, k, m) == every


def test_the_optimum_is_the_least_loss_there_could_be():
    tree = tree_of(EXAMPLES["terrovitis_fig1_6"]["hierarchy"])
    records = tree.code(EXAMPLES["terrovitis_fig1_6"]["D"])
    assert optimum(tree, records, 2, 2) == Fraction(5, 22)
    assert optimum(tree, records, 2, 2, most=4) is None


@pytest.mark.parametrize("method", [da, aa])
def test_of_cures_that_cost_the_same_the_one_over_fewer_items_is_taken(method):
    """{b1, a1} is cured by A, 6 occurrences under 2 items, or by B, 4 under 3: 12 either way. B is the first node."""
    inner = {"A": "ALL", "B": "ALL"}
    tree = Hierarchy.from_parents(dict.fromkeys(["b1", "b2", "b3"], "B") | dict.fromkeys(["a1", "a2"], "A") | inner)
    data = [["a2", "b2"], ["a1", "a2", "b1"], ["a1", "a2", "b2"], ["a2", "b1"]]
    assert labels(tree, method(tree, tree.code(data), 2, 2)) == ["A", "b1", "b2", "b3"]


@settings(max_examples=120)
@given(naive.cases())
def test_a_cut_is_anonymous_for_labels_and_for_items_and_oa_is_the_best(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    least, best = naive.optimal(twin, data, k, m)
    for name, method in GLOBAL.items():
        cut = method(tree, tree.code(data), k, m)
        rows = published(tree, data, cut)
        assert naive.recode(twin, data, labels(tree, cut)) == rows
        assert naive.anonymous(rows, k, m)
        assert naive.anonymous_on_items(twin, rows, k, m)
        assert loss(tree, tree.code(data), cut) == naive.ncp(twin, data, labels(tree, cut)) >= least
        if name == "oa":
            assert frozenset(labels(tree, cut)) in best


@settings(max_examples=120)
@given(naive.cases())
def test_da_and_aa_find_what_the_definition_finds(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    assert tuple(twin.nodes) == tree.labels
    records = tree.code(data)
    direct, by_size = naive.da(twin, data, k, m), naive.aa(twin, data, k, m)
    assert labels(tree, da(tree, records, k, m)) == sorted(direct.cut())
    assert labels(tree, aa(tree, records, k, m)) == sorted(by_size.cut())
    steps = da_fixes(tree, records, k, m)
    fixes = [["fix", [tree.labels[node] for node in itemset], support] for itemset, support, _ in steps]
    assert fixes == [step for step in direct.trace if step[0] == "fix"]


@settings(max_examples=60)
@given(naive.cases())
def test_aa_goes_on_from_a_cut_and_never_below_it(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    inner = [node for node in twin.nodes if node in twin.children]
    start = naive.Heuristic(twin, data, k, rules=inner[-1:])
    found = labels(tree, aa(tree, tree.code(data), k, m, nodes(tree, start.cut())))
    assert found == sorted(naive.aa(twin, data, k, m, start.rules).cut())
    assert all(any(twin.leaves[node] <= twin.leaves[above] for above in found) for node in start.cut())


@settings(max_examples=60)
@given(naive.cases())
def test_an_m_longer_than_every_record_is_as_the_longest(case):
    parent, data, k, _ = case
    tree = Hierarchy.from_parents(parent)
    records = tree.code(data)
    for method in GLOBAL.values():
        longest = max([len(row) for row in data] + [1])
        assert method(tree, records, k, longest).tolist() == method(tree, records, k, 10**9).tolist()


def test_real_data_is_anonymised_well(shared_data):
    with gzip.open(shared_data / "bms_webview1.dat.gz", "rt") as lines:
        data = [line.split() for line in lines]
    tree = Hierarchy.balanced(sorted({item for row in data for item in row}, key=int), 5)
    cut = aa(tree, tree.code(data), 5, 2)
    assert not violations(published(tree, data, cut), k=5, m=2)
    assert loss(tree, tree.code(data), cut) <= Fraction(4, 100)


@settings(max_examples=60)
@given(naive.cases())
def test_a_walk_that_cures_nothing_meets_every_node_of_the_count_tree(case):
    parent, data, _, m = case
    tree = Hierarchy.from_parents(parent)
    whole = naive.Heuristic(naive.Tree(parent), data, 1).count_tree(range(1, m + 1))
    records = tree.code(data)
    assert count_tree.da(tree, records, 1, m).tree_nodes == len(whole)
    assert count_tree.aa(tree, records, 1, m).tree_nodes == len(whole)


@settings(max_examples=60)
@given(naive.cases())
def test_curing_leaves_no_more_nodes_than_there_are(case):
    parent, data, k, m = case
    tree = Hierarchy.from_parents(parent)
    whole = naive.Heuristic(naive.Tree(parent), data, 1).count_tree(range(1, m + 1))
    for walked in (count_tree.aa, count_tree.da):
        assert walked(tree, tree.code(data), k, m).tree_nodes <= len(whole)


@settings(max_examples=100)
@given(naive.cases())
def test_the_built_tree_has_the_itemsets_under_the_cut_with_which_the_last_size_begins(case):
    parent, data, k, m = case
    tree, twin = Hierarchy.from_parents(parent), naive.Tree(parent)
    records = tree.code(data)
    m = max(1, min(m, max((len(set(row)) for row in data), default=1)))
    before = naive.aa(twin, data, k, m - 1)
    assert count_tree.aa(tree, records, k, m, built=True).tree_nodes == len(before.count_tree(range(1, m + 1)))
    bottom = naive.Heuristic(twin, data, k)
    assert count_tree.da(tree, records, k, m, built=True).tree_nodes == len(bottom.count_tree(range(1, m + 1)))


@pytest.mark.parametrize(("items", "m", "direct", "step_by_step"), [(40, 4, 225_327, 309), (50, 3, 41_512, 534)])
def test_the_built_trees_of_generated_baskets(items, m, direct, step_by_step):
    data = baskets(10_000, items, 4, seed=1)
    tree = Hierarchy.balanced(sorted(data.items), 4)
    records = tree.code(data)
    assert count_tree.aa(tree, records, 100, m, built=True).tree_nodes == step_by_step
    assert count_tree.da(tree, records, 100, m, built=True).tree_nodes == direct


@settings(max_examples=40)
@given(naive.cases(), st.integers(1, 4))
def test_the_largest_part_of_items_is_that_of_its_trees_alone(case, parts):
    parent, data, k, m = case
    tree = Hierarchy.from_parents(parent)
    records = tree.code(data)
    walked = lra_vpa.vpa(tree, records, k, m, parts=parts, built=True)
    trees = [0]
    for first, end in lra_vpa.runs_of_classes(tree, parts, 1):
        items = {tree.items[position] for position in range(first, end)}
        share = [[item for item in row if item in items] for row in data]
        if sum(map(bool, share)) >= k:
            trees.append(count_tree.aa(tree, tree.code(share), k, m, built=True).tree_nodes)
    assert walked.part_nodes == max(trees)
    assert walked.tree_nodes >= walked.part_nodes
