"""The golden cases of generalisation and COAT through the public functions, as other people call them."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import decloak

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
EDGES = GOLDEN["worked_examples"]["edge_cases"]
METHODS = ("cut", "aa", "da", "oa", "vpa", "lra")


def tree_of(hierarchy: dict) -> decloak.Hierarchy:
    return decloak.Hierarchy.from_parents(hierarchy["parent"])


@pytest.mark.parametrize("one", GOLDEN["instances"], ids=lambda one: str(one["seed"]))
def test_every_golden_instance(one):
    tree, k, m = tree_of(one["hierarchy"]), one["k"], one["m"]
    releases = {
        method: decloak.anonymise(one["D"], method, k=k, m=m, hierarchy=tree) for method in ("cut", "aa", "da", "oa")
    }
    vpa, lra = one["oracle_VPA"], one["oracle_LRA"]
    releases["vpa"] = decloak.anonymise(one["D"], "vpa", k=k, m=m, hierarchy=tree, parts=vpa["n"], level=vpa["level"])
    parts, flexibility = lra["n"], lra["f"]
    local = decloak.anonymise(
        one["D"], "lra", k=k, m=m, hierarchy=tree, parts=parts, flexibility=flexibility, order="recorded"
    )
    assert releases["oa"].ncp == Fraction(one["OA_ncp"]["frac"])
    assert list(releases["oa"].cut) in one["OA_all_optimal_cuts"]
    for method in ("DA", "AA", "VPA"):
        found = releases[method.lower()]
        assert list(found.cut) == one[f"oracle_{method}"]["cut"]
        assert found.ncp == Fraction(one[f"oracle_{method}"]["ncp"]["frac"])
    assert [list(row) for row in local.transactions] == lra["published"]
    assert local.ncp == Fraction(lra["ncp"]["frac"])
    for found in (*releases.values(), local):
        assert not decloak.violations(found.transactions, k=k, m=m)
        assert found.ncp >= releases["oa"].ncp or found is local


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", EDGES["cases"], ids=lambda case: case["result"])
def test_every_edge_case(case, method):
    tree = tree_of(EDGES["hierarchy"])

    def made() -> decloak.Hierarchy:
        return decloak.anonymise(case["D"], method, k=case["k"], m=case["m"], hierarchy=tree)

    if case["result"].startswith(("infeasible", "error")):
        with pytest.raises(decloak.DecloakError):
            made()
        return
    release = made()
    whole = case["result"].startswith("cut {ALL}")
    assert release.cut == (("ALL",) if whole else ("a1", "a2", "b1", "b2"))
    assert release.ncp == int(whole)
    assert len(release.transactions) == len(case["D"])


@pytest.mark.parametrize("one", GOLDEN["coat_instances"])
def test_every_golden_instance_of_coat(one):
    found = decloak.anonymise(
        one["D"], "coat", k=one["k"], privacy=one["P"], utility=one["U"], items=one["items"], order="recorded"
    )
    expected = one["oracle"]
    assert {item: g and list(g) for item, g in found.phi.items()} == expected["phi"]
    shown = [sorted([e] if isinstance(e, str) else list(e) for e in row) for row in found.transactions]
    assert shown == [sorted(row) for row in expected["published"]]
    assert found.ul == Fraction(expected["UL"]["frac"])
    assert list(found.suppressed) == expected["suppressed"]


def test_options_that_can_be_read_but_once_make_the_release_and_check_it():
    data = [["a", "d"], ["a", "b", "g"], ["c", "f"], ["e", "h"]]
    privacy, utility = [["a", "b"], ["e", "f"]], [["b", "d", "g"], ["c", "e", "f"]]
    found = decloak.anonymise(data, "coat", k=2, privacy=map(iter, privacy), utility=[iter(one) for one in utility])
    assert found == decloak.anonymise(data, "coat", k=2, privacy=privacy, utility=utility)


def test_numbers_of_numpy_are_numbers(tmp_path):
    tree = decloak.Hierarchy.balanced("abcd", np.int64(2))
    data = [["a", "b"], ["a", "c"], ["b", "d"]]
    options = {"k": 2, "m": 2, "parts": 2, "flexibility": 1}
    numpy = {option: np.int8(value) for option, value in options.items()}
    found = decloak.anonymise(data, "lra", hierarchy=tree, **numpy)
    assert found == decloak.anonymise(data, "lra", hierarchy=tree, **options)
    found.write(tmp_path / "release.jsonl")
    assert decloak.read_release(tmp_path / "release.jsonl").k == 2
    assert not decloak.violations(found.transactions, k=np.int64(2), m=np.int64(2))


@pytest.mark.parametrize("sensitive", [None, "s", ["s", 5], [["s"]]])
def test_sensitive_items_are_a_list_of_names(sensitive):
    tree = decloak.Hierarchy.balanced("ab", 2)
    with pytest.raises(decloak.DecloakError, match=r"^sensitive: .* is not a (list of items|string); write"):
        decloak.anonymise([["a", "s"], ["b"]], "diversity", l=2, m=1, sensitive=sensitive, hierarchy=tree)


def test_an_item_missing_in_the_hierarchy_is_named_with_the_record_and_its_id():
    tree = decloak.Hierarchy.balanced("ab", 2)
    data = decloak.Dataset((("a",), ("b", "zz")), ("p7", "p9"))
    for method, options in (("cut", {"k": 1}), ("lra", {"k": 1}), ("diversity", {"l": 1, "sensitive": []})):
        with pytest.raises(decloak.DecloakError, match=r"^record 'p9': 'zz' is not in the hierarchy; add it"):
            decloak.anonymise(data, method, m=1, hierarchy=tree, **options)


def test_an_item_missing_in_the_hierarchy_is_named_with_both_files(tmp_path):
    (tmp_path / "tree.csv").write_text("child,parent\na,*\nb,*\n")
    (tmp_path / "rows.txt").write_text("a\nzz\n")
    tree = decloak.Hierarchy.read(tmp_path / "tree.csv", "parents")
    data = decloak.read(tmp_path / "rows.txt", "basket")
    said = f"{tmp_path}/rows.txt: record 2: 'zz' is not in the hierarchy {tmp_path}/tree.csv; add it as a leaf"
    for method, options in (("cut", {"k": 1}), ("lra", {"k": 1}), ("diversity", {"l": 1, "sensitive": []})):
        with pytest.raises(decloak.DecloakError) as told:
            decloak.anonymise(data, method, m=1, hierarchy=tree, **options)
        assert str(told.value) == said
