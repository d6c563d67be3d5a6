"""The golden cases of generalisation and COAT through the public functions, as other people call them."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import decloak

GOLDEN = json.loads((Path(__file__).parent / "golden" / "generalisation.json").read_text())
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
    local = decloak.anonymise(one["D"], "lra", k=k, m=m, hierarchy=tree, parts=lra["n"], flexibility=lra["f"])
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
    found = decloak.anonymise(one["D"], "coat", k=one["k"], privacy=one["P"], utility=one["U"], items=one["items"])
    expected = one["oracle"]
    assert {item: g and list(g) for item, g in found.phi.items()} == expected["phi"]
    shown = [sorted([e] if isinstance(e, str) else list(e) for e in row) for row in found.transactions]
    assert shown == [sorted(row) for row in expected["published"]]
    assert found.ul == Fraction(expected["UL"]["frac"])
    assert list(found.suppressed) == expected["suppressed"]
