"""The decision table: a case at every bound, and a case that fails for every changed token."""

import inspect

import pytest

from decloak.report import verdict
from mutants import loaded, mutants
from verdict_cases import DEFAULTS, DETAILS, OUTCOMES, failures


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome(name):
    figures, expected = OUTCOMES[name]
    assert verdict.decide(figures(verdict)).outcome == expected


@pytest.mark.parametrize("name", DETAILS)
def test_what_an_outcome_rests_on(name):
    figures, part, expected = DETAILS[name]
    assert part(verdict.decide(figures(verdict))) == expected


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_the_case_by_default(name):
    part, expected = DEFAULTS[name]
    assert part(verdict) == expected


def test_every_outcome_has_a_case():
    assert {expected for _, expected in OUTCOMES.values()} == set(verdict.Outcome)
    assert len(OUTCOMES) >= 30


@pytest.mark.slow
def test_a_case_fails_for_every_changed_token():
    alive = []
    for line, change, tree in mutants(inspect.getsource(verdict)):
        try:
            module = loaded(tree)
        except Exception:  # a copy that cannot be loaded is found at once
            continue
        if not any(True for _ in failures(module)):
            alive.append(f"line {line}: {change}")
    assert not alive, "\n".join(alive)
