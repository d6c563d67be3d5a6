"""The strategies for users find what is wrong with an anonymiser, and nothing wrong with ours."""

import importlib
import sys

import pytest
from hypothesis import HealthCheck, find, given, settings

import decloak
from decloak.strategies import Case, cases, keeps_km


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_our_own_methods_keep_what_they_promise(case: Case):
    for method in ("cut", "aa", "da", "vpa", "lra"):
        keeps_km(case, decloak.anonymise(case.transactions, method, k=case.k, m=case.m, hierarchy=case.hierarchy))


def test_without_hypothesis_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "decloak.strategies")
    with pytest.raises(ModuleNotFoundError, match="needs the package hypothesis; pip install hypothesis"):
        importlib.import_module("decloak.strategies")


def fails(case: Case, k: int) -> bool:
    """Whether a release that hides among k only is found out."""
    release = decloak.anonymise(case.transactions, "cut", k=k, m=case.m, hierarchy=case.hierarchy)
    try:
        keeps_km(case, release)
    except AssertionError:
        return True
    return False


@pytest.mark.slow
def test_an_anonymiser_that_promises_too_much_is_found_out():
    """One that does nothing hides nobody: the smallest case has one item in one of two transactions."""
    smallest = find(cases(), lambda case: fails(case, k=1), settings=settings(max_examples=500, database=None))
    assert sum(map(len, smallest.transactions)) <= 3


def test_a_release_that_loses_an_item_is_found_out():
    tree = decloak.Hierarchy.balanced(["a", "b"], 2)
    case = Case([["a"], ["a", "b"]], tree, 1, 1)
    release = decloak.anonymise([["a"], ["a"]], "cut", k=1, m=1, hierarchy=tree)
    with pytest.raises(AssertionError, match="'b' is published 0 times"):
        keeps_km(case, release)
